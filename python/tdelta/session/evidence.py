"""The search of a run's twins for planted markers: once, behind the blocks of a round, while nothing is measured.

A run that is interrupted before keeps what was searched by then and says so; its next sitting searches all twins again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager

from tdelta.driver import TrialJob, Twin
from tdelta.evidence import Searched, validity, weigh
from tdelta.records import Condition, Event, FileEvidence, Phase, Role, Validity
from tdelta.session.planning import Plan
from tdelta.session.state import RunState

_TRIAL_SECONDS = 0.1
"""The log cannot be reset while markers are held in it, so the trial meanwhile is short."""

_INTERRUPTED = "NOT searched: the run ended before the search"


class Evidence:
    """What a search of all twins found, whichever sitting made it."""

    def __init__(self, plan: Plan, state: RunState) -> None:
        self._plan = plan
        self._state = state

    @property
    def is_due(self) -> bool:
        """Whether some twin was not searched yet that every round has."""
        return _lasting(self._searched()) < _lasting(self._searchable())

    def _searched(self) -> list[Condition]:
        return [condition for condition in self._plan.conditions if condition.key in self._state.evidence]

    def gather(
        self,
        twins: Mapping[Condition, tuple[str, Twin]],
        job: Callable[[Condition], TrialJob],
        *,
        watching: Callable[[Twin], AbstractContextManager[None]],
        is_interrupted: Callable[[], bool],
        observe: Callable[[Event], None],
    ) -> None:
        """Search all twins of a round, one after another, each while it runs a trial that nobody measures or stores.

        Args:
            twins: the round's, each with its name.
            job: the trial that would be next, for a condition; the same operations for all of a stratum.
            watching: within what it returns, a Ctrl-C ends the twin's trial.
            is_interrupted: whether there was a Ctrl-C; then the twins that are left are not searched.
            observe: told what happens.
        """
        needles = self._plan.markers().needles
        self._state.evidence = {}
        for done, condition in enumerate(instances := [c for c in self._searchable() if c in twins]):
            twin = twins[condition][1]
            if is_interrupted():
                return
            observe(Phase("evidence", "files are searched for planted markers", done, len(instances)))
            with watching(twin):
                self._state.evidence[condition.key] = twin.evidence(self._short(job(condition)), needles)

    def _searchable(self) -> list[Condition]:
        """One condition of each instance whose files can be read as they lie on the disk."""
        plan = self._plan
        return [c for c in plan.instances() if plan.family.can_be_searched(plan.twin_settings(c, 0))]

    def records(self) -> tuple[FileEvidence, ...]:
        """What it means, in the design's order."""
        plan = self._plan
        evidence, covered = self._state.evidence, plan.family.covered
        return weigh([Searched(c, evidence[c.key], covered(plan.twin_settings(c, 0))) for c in self._searched()])

    def validity(self) -> tuple[Validity, ...]:
        """Whether nothing leaks, and whether the search would have seen it."""
        return validity(self.records(), self._not_searched())

    def _not_searched(self) -> str:
        if self._searchable() and not self._state.evidence:
            return _INTERRUPTED
        out_of_reach = _lasting(self._plan.instances()) - _lasting(self._searchable())
        if out_of_reach:
            return f"{out_of_reach} twins NOT searched: {self._plan.family.unsearched}"
        twins = _lasting(self._searchable())
        left = twins - _lasting(self._searched())
        return f"{left} of {twins} twins NOT searched: the run ended before" if left else ""

    def _short(self, job: TrialJob) -> TrialJob:
        share = min(1.0, _TRIAL_SECONDS / self._plan.request.trial_seconds)
        return dataclasses.replace(
            job, operations=max(1, round(job.operations * share)), slices=1, discard=0, planted=0.0
        )


def _lasting(conditions: Iterable[Condition]) -> int:
    """How many are in every round; of B/B twins that is searched which takes part in the round of the search."""
    return sum(condition.role is not Role.BB for condition in conditions)
