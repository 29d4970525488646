"""The search of a run's twins for planted markers: once, behind the blocks of a round, while nothing is measured.

A run that is interrupted before keeps what was searched by then and says so; its next sitting searches all twins again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tdelta.design.layout import PLAIN
from tdelta.evidence import FileClass, MarkerHit, Searched, classify, validity
from tdelta.messages import Detail, RunPart
from tdelta.processes import TrialJob
from tdelta.records import Condition, FileEvidence, Phase, Validity
from tdelta.session.context import SEARCHES, Ready, Round, RunContext, lasting
from tdelta.session.pace import Stage
from tdelta.session.run_plan import Plan

_TRIAL_SECONDS = 0.1
"""The log cannot be reset while markers are held in it, so the trial meanwhile is short."""


class FileSearch:
    """The search of all twins, in whichever sitting."""

    stage = RunPart.of("file-search")

    def __init__(self, context: RunContext, ready: Ready) -> None:
        self._context = context
        self._ready = ready
        self._plan = context.plan

    def is_due(self) -> bool:
        """Whether some twin was not searched yet that every round has."""
        return self._context.is_search_due

    def collect(self, of: Round) -> None:
        """Search all twins, each while it runs a trial that nobody measures or stores; servers side by side.

        Most of a server's time goes by while it waits for pages to be written. As many as there is time for; those
        that are left run the trial alone, since the rows of all are compared after the round, and are searched in
        another one.
        """
        context, needles = self._context, self._plan.markers().needles
        began, behind = context.clock.elapsed(), context.pace.behind_blocks(searches=False)
        for_each = context.pace.of(Stage.SEARCH) / max(1, len(self._plan.instances()))
        context.state.evidence = {}
        instances = [c for c in context.searchable() if c in of.twins]
        at_once = len(instances) if self._plan.engine.profile.is_server else 1
        for done in range(0, len(instances), at_once):
            if context.interruption.requested:
                break
            context.observe(Phase("evidence", "files are searched for planted markers", done, len(instances)))
            is_late = context.clock.left() < for_each + behind
            self._search(of, instances[done : done + at_once], needles, is_late=is_late)
        if not self.is_due():
            context.pace.took(Stage.SEARCH, context.clock.elapsed() - began)

    def _search(self, of: Round, conditions: Sequence[Condition], needles: Sequence[bytes], *, is_late: bool) -> None:
        """Search these at once; where it is late, run their trials alone."""

        def searched(condition: Condition, job: TrialJob) -> Sequence[MarkerHit] | None:
            _, twin = of.twins[condition]
            if not is_late:
                return twin.evidence(job, needles)
            twin.trial(job)
            return None

        context, twins = self._context, [of.twins[condition][1] for condition in conditions]
        jobs = [self._short(of.jobs.next(condition, SEARCHES + of.number)) for condition in conditions]
        with context.interruption.watching(*twins), ThreadPoolExecutor(len(conditions)) as pool:
            found = list(pool.map(searched, conditions, jobs))
        for condition, hits in zip(conditions, found, strict=True):
            if hits is not None:
                below = self._ready.housing.below(of.twins[condition][0], needles)
                context.state.evidence[condition.key] = (*hits, *below)

    def records(self) -> tuple[FileEvidence, ...]:
        plan = self._plan
        evidence = self._context.state.evidence
        searched = self._context.searched()
        return classify([Searched(c, evidence[c.key], _covered(plan, c)) for c in searched])

    def validity(self) -> tuple[Validity, ...]:
        return () if self._plan.settings.compares_builds else validity(self.records(), self._not_searched())

    def _not_searched(self) -> tuple[Detail, ...]:
        searched, searchable = self._context.searched(), self._context.searchable()
        if searchable and not searched:
            return (Detail.of("not-checked", why="the run ended before the search"),)
        if out_of_reach := lasting(self._plan.instances()) - lasting(searchable):
            why = self._plan.engine.profile.unsearched
            return (Detail.of("not-checked", why=f"{out_of_reach} copies ({why})"),)
        twins = lasting(searchable)
        left = twins - lasting(searched)
        return (Detail.of("not-checked", why=f"{left} of {twins} copies, since the run ended before"),) if left else ()

    def _short(self, job: TrialJob) -> TrialJob:
        share = min(1.0, _TRIAL_SECONDS / self._plan.request.trial_seconds)
        return dataclasses.replace(job, operations=max(1, round(job.operations * share)), discard=0, injected=0.0)


def _covered(plan: Plan, condition: Condition) -> frozenset[FileClass] | None:
    """The classes of files that a twin's encryption is to cover; None: every one."""
    own = plan.engine.covered(plan.twin_settings(condition, 0))
    if not condition.is_on_encrypted_storage:
        return own
    if condition.level("cipher") == PLAIN:
        own = frozenset()
    return None if own is None else own | {FileClass.STORAGE}
