"""The data and tools of one sitting at a run, and those that a round hands to its collectors."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from tdelta.processes import TrialJob, Twin, Twins
from tdelta.records import Condition, Event, Phase, Role, Trial
from tdelta.session.clock import Clock, Interruption
from tdelta.session.housing import Housing
from tdelta.session.pace import Pace
from tdelta.session.run_plan import Plan
from tdelta.session.state import RunState, TrialSize
from tdelta.session.trial_size import discarded, operations_apart, trial_deadline_seconds
from tdelta.store import Store

Observer: TypeAlias = Callable[[Event], None]

WARM_UPS, SEARCHES, PROFILES, TRACES, TIMED = (1 << bit for bit in range(41, 46))
"""Where streams of operations begin: of warm-ups, and of trials meanwhile files are searched, functions sampled,
statements metered one by one, and calls of ciphers timed. Blocks count from 0, and the sizing of trials lies below."""


@dataclass(slots=True)
class RunContext:
    """One sitting. ``trials`` are all that the run has, without their histograms."""

    plan: Plan
    store: Store
    state: RunState
    observe: Observer
    clock: Clock
    pace: Pace
    trials: list[Trial]
    interruption: Interruption = field(default_factory=Interruption)
    extra_seconds: float = 0.0
    """The time that calls and profiles have taken."""

    earlier_trials: int = 0
    """How many of ``trials`` are of earlier sittings."""

    @classmethod
    def of(cls, plan: Plan, store: Store, state: RunState, observe: Observer, clock: Clock) -> RunContext:
        trials = list(store.trials(plan.settings.run_id, histograms=False))
        pace = Pace(plan, clock.elapsed)
        return cls(plan, store, state, observe, clock, pace, trials, earlier_trials=len(trials))

    @property
    def measured_seconds(self) -> float:
        """Seconds of this sitting's trials that count, with their checkpoints and without their heads."""
        measured = (trial.measurement for trial in self.trials[self.earlier_trials :])
        return sum(one.elapsed_ns + one.checkpoint.ns for one in measured) / 1e9

    @property
    def run_id(self) -> str:
        return self.plan.settings.run_id

    def keep_state(self) -> None:
        self.state.keep(self.store, self.run_id)

    def keep_trial(self, trial: Trial) -> int:
        """Store a trial durably; keep it without its histograms. Returns how many there are."""
        self.store.add_trial(self.run_id, trial)
        bare = dataclasses.replace(trial.measurement, histograms={})
        self.trials.append(dataclasses.replace(trial, measurement=bare))
        return len(self.trials)

    def require_time(self) -> None:
        """See that a block fits as long as nothing is measured: a default time is extended, a typed one is kept.

        Raises:
            TimeFault: not one block fits into the time that was typed.
        """
        if not self.trials and not self.pace.holds_a_block():
            request = self.plan.request
            needed = self.pace.extension(request.min_rounds)
            if "max_seconds" in request.typed or needed is None:
                raise self.pace.fault()
            self.plan = self.plan.extended(needed)
            self.pace.max_seconds = needed
            self.clock.extend(needed)
            self.state.extended_seconds = needed
            self.keep_state()
            self.observe(Phase("time", self.plan.cautions[-1].text))
        self.clock.ring_at_end(self.pace.tidying())

    def searchable(self) -> list[Condition]:
        """One condition of each instance whose files can be read as they lie on the disk."""
        plan = self.plan
        if plan.settings.compares_builds:  # no marker could be missing from files that nothing encrypts
            return []
        return [c for c in plan.instances() if plan.engine.can_be_searched(plan.twin_settings(c, 0))]

    def searched(self) -> list[Condition]:
        return [condition for condition in self.plan.conditions if condition.key in self.state.evidence]

    @property
    def is_search_due(self) -> bool:
        """Whether some twin was not searched yet that every round has."""
        return lasting(self.searched()) < lasting(self.searchable())

    def behind_blocks(self) -> float:
        """The seconds of what comes behind the last block of a round."""
        return self.pace.behind_blocks(searches=self.is_search_due)

    def extras_left(self) -> float:
        """Seconds left for timed calls, and for profiles that nobody requested."""
        return self.pace.extras() - self.extra_seconds

    def seconds_left(self) -> float:
        """Seconds of the run's time left for collectors behind the blocks; below 0 once it is used up."""
        return self.clock.left() - self.behind_blocks()


def lasting(conditions: Iterable[Condition]) -> int:
    """How many are in every round; of B/B twins that is searched which takes part in the round of the search."""
    return sum(condition.role is not Role.BB for condition in conditions)


@dataclass(frozen=True, slots=True)
class Ready:
    """Inputs of rounds: the maker of twins, sizes of the plain data and a trial, the run's folder, its rooms."""

    twins: Twins[Any]
    data_bytes: int
    size: TrialSize
    folder: Path
    housing: Housing = field(default_factory=Housing)


@dataclass(frozen=True, slots=True)
class Round:
    """A round whose blocks are done: its twins, each with its name, and the trials that they may be given."""

    number: int
    twins: Mapping[Condition, tuple[str, Twin]]
    jobs: Jobs


class Jobs:
    """The trials that the instances of a round are given. ``:op`` never comes twice on an instance."""

    def __init__(self, plan: Plan, size: TrialSize) -> None:
        self._plan = plan
        self.size = size
        self._given: Counter[Condition] = Counter()
        """Trials that each condition was given, warm-ups included."""

        apart = operations_apart(plan, size)
        self._first_op = {
            condition: 1 + apart * place
            for conditions in plan.instances().values()
            for place, condition in enumerate(conditions)
        }

    def next(self, condition: Condition, stream: int) -> TrialJob:
        """A condition's next trial; conditions that share an instance count apart."""
        operations = self.size.operations[condition.stratum]
        first_op = self._first_op[condition] + operations * self._given[condition]
        self._given[condition] += 1
        rate = self.size.rates.get(condition.stratum)
        return TrialJob(
            seed=self._plan.settings.seed,
            stream=stream,
            operations=operations,
            first_op=first_op,
            deadline_seconds=trial_deadline_seconds(self.size.trial_seconds),
            discard=self._discarded(condition, operations) if rate is None else 0,
            rate=rate,
            injected=condition.injected or 0.0,
            trial_seconds=self._plan.request.trial_seconds,
        )

    def in_block(self, condition: Condition, block: int) -> TrialJob:
        """The next as a block has it: a step, or transactions, maybe with something beside them.

        Nothing at the head is left out where a replica applies all of it.
        """
        plan = self._plan
        job = dataclasses.replace(self.next(condition, block), step=plan.step(condition), during=plan.during(condition))
        return dataclasses.replace(job, discard=0) if plan.replication(condition) else job

    def in_one_piece(self, condition: Condition, stream: int, times: int = 1) -> TrialJob:
        """The next, with nothing left out; where transactions are its work as long as so many trials."""
        job = dataclasses.replace(self.next(condition, stream), discard=0, step=self._plan.step(condition))
        if times == 1 or self._plan.work(condition) != "warm" or self._plan.command is not None:
            return job
        self._given[condition] += times - 1
        return dataclasses.replace(
            job,
            operations=job.operations * times,
            deadline_seconds=trial_deadline_seconds(self.size.trial_seconds * times),
        )

    def of_fresh_instance(self, condition: Condition, nth: int) -> TrialJob:
        """The ``nth`` trial of an instance beside the round's, with its head; the round's own are not counted on."""
        job = self.next(condition, TIMED + nth)
        self._given[condition] -= 1
        first_op = self._first_op[condition] + job.operations * nth
        return dataclasses.replace(job, first_op=first_op, discard=0)

    def _discarded(self, condition: Condition, operations: int) -> int:
        """None of a cold trial, which is about its head, nor of one that has one operation."""
        return 0 if self._plan.work(condition) != "warm" else discarded(self._plan.request, operations)
