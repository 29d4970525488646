"""CPU profiles of a run's twins: behind the blocks of each round, trials that are sampled, and not measured.

Every twin of a round runs them, each the same operations, so that the twins' rows stay equal; all but A/A twins are
sampled, in passes that each draw an order of their own, so that what drifts does not fall on one side. Every round has
some, as far as the time allows, since instances differ by more than samples know. What keeps ``perf`` from working is a
caution of the run and ends nothing.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

from tdelta.design import stream
from tdelta.engines.registry import profiles
from tdelta.errors import EnvironmentFault
from tdelta.inference.cost_breakdown import Explained, cost_breakdowns, may_have_large_residual
from tdelta.inference.profiles import Profiled, cpu_profiles
from tdelta.inference.unit_costs import prices_from_json
from tdelta.measure.effort import IS_BRIEF
from tdelta.messages import Caution, Refusal, RunPart
from tdelta.processes import Twin
from tdelta.processes.protocol import nobody_waits
from tdelta.profiling.functions import Functions
from tdelta.profiling.perf import Perf, Recording, added, find_perf
from tdelta.profiling.sampling import FREQUENCY_HZ, Sampling
from tdelta.records import Condition, CpuProfile, Measurement, Phase, Role
from tdelta.session.context import PROFILES, Round, RunContext
from tdelta.session.state import ProfileNotes, SampledTwins

_TRIAL_SECONDS = 1.0
"""The least length of such a trial: starting, ending and reading perf take about as long."""

_PERF_SECONDS = 1.0
"""Starting, ending and reading perf, once."""
_AROUND_TRIAL = 3.0
"""How many times as long as its trial such a trial takes, all in all."""

_ENOUGH_SAMPLES = 3000
"""A class that has a tenth of them is known to a ninth of itself (95%)."""

_MOST_PASSES = 8
"""So many are shared out among the rounds that a run has at least; a round has one or more."""

_SHARE_OF_TIME = 0.25
"""The share of the run's time that passes behind the first may take."""

_NOT_SAMPLED = (Role.AA, Role.BB)
"""Run along, so that what is done to one twin is done to all, and not sampled."""

_CLOSING_SECONDS = 5.0
"""The part of the run's time that must be left after a profile."""


class CpuProfiles:
    """The profiles of a run, whichever sitting made them."""

    stage = RunPart.of("cpu-profile")

    def __init__(self, context: RunContext, folder: Path) -> None:
        self._context = context
        self._folder = folder
        self._plan = context.plan
        if context.state.profile is None:
            context.state.profile = ProfileNotes(is_given_up=not context.plan.request.profile)
        self._notes = context.state.profile
        self._is_explaining = False
        self._spent_seconds = 0.0

    def is_due(self) -> bool:
        """Whether a round has some: they were requested or a residual is large, and they were not given up.

        For a cost breakdown they are sampled in one round; on the user's servers only on request.
        """
        request = self._plan.request
        may_explain = not (request.profile or request.baseline is not None or self._is_explaining or self._is_begun)
        if may_explain and self._has_much_rest():
            self._is_explaining, self._notes.is_given_up = True, False
        return not self._notes.is_given_up

    def first_seconds(self) -> float:
        """About how long the first pass takes; 0 where none is to come."""
        each = _PERF_SECONDS + max(_TRIAL_SECONDS, self._plan.request.trial_seconds)
        return 0.0 if self._found or self._notes.is_given_up else len(self._plan.conditions) * each

    def _has_much_rest(self) -> bool:
        state = self._context.state
        known = Explained(prices_from_json(state.unit_costs), state.timed_calls, {})
        return any(map(may_have_large_residual, cost_breakdowns(self._context.trials, self._plan.settings, known)))

    def explained(self) -> Explained:
        state = self._context.state
        prices = prices_from_json(state.unit_costs)
        functions = {profile.condition.condition.key: profile for profile in self.records()}
        return Explained(prices, state.timed_calls, functions, self._why_none())

    def _why_none(self) -> str:
        """Why functions were not sampled for the cost breakdown, and how they can be; empty where they were."""
        if self._found:
            return ""
        if self._plan.request.baseline is not None:
            return "functions of your own servers are sampled with --profile only"
        why = [str(caution.parameters.get("why", caution)) for caution in self._notes.cautions]
        if self._notes.lost_passes:
            why.append(self._in_lost_passes())
        return "; ".join(why) or "the run was too short to sample functions unasked: --profile does in any"

    @property
    def _is_begun(self) -> bool:
        """Whether there is anything to restore: samples, or why there are none."""
        return bool(self._found or self._notes.cautions or self._notes.lost_passes)

    def collect(self, of: Round) -> None:
        """Run and sample all twins of a round, one after another, in passes; none where the time is up."""
        seconds_left = self._context.seconds_left
        is_first, twins = not self._found, len(of.twins)
        if seconds_left() < self.first_seconds():
            return
        if not (is_first or self._affordable(seconds_left(), 0.0)):
            return
        if self._is_explaining and IS_BRIEF:
            self._give_up(EnvironmentFault(Refusal.of("perf-unavailable", fault="not found")))
            return
        try:
            perf = find_perf()
        except EnvironmentFault as fault:
            self._give_up(fault)
            return
        if self._is_explaining and not self._may_explain(seconds_left(), twins * _AROUND_TRIAL * _TRIAL_SECONDS):
            return
        perf = dataclasses.replace(perf, looks_at_cpus=perf.looks_at_cpus and not self._notes.follows_threads)
        if self._found and not self._notes.follows_threads and not perf.looks_at_cpus:
            self._give_up(EnvironmentFault(Refusal.of("perf-failed", fault="permission for whole CPUs was revoked")))
            return
        passes = _Passes(self._context, of, perf, self._folder)
        wanted, free, before = 1, 0.0, seconds_left()
        while len(passes.done) < wanted and not self._context.interruption.requested:
            if not passes.run(wanted):
                if passes.fault is None or not passes.perf.looks_at_cpus or not is_first or passes.done:
                    break
                # If whole CPUs cannot be sampled, threads may be; both ways in one run compare nothing.
                self._notes.why_threads = str(passes.fault)
                passes.follow_threads()
                before = seconds_left()
                continue
            if len(passes.done) == 1:
                taken = before - seconds_left()
                free = taken if is_first else 0.0
                self._notes.pass_seconds = max(self._notes.pass_seconds, taken)
                wanted = min(self._passes_wanted(passes), 1 + self._affordable(seconds_left(), taken - free))
        self._add(passes)
        taken = before - seconds_left()
        self._spent_seconds += taken - free
        self._notes.pass_seconds = max(self._notes.pass_seconds, taken / max(1, len(passes.done)))
        if passes.fault is not None:
            self._give_up(passes.fault)
        self._notes.is_given_up = self._notes.is_given_up or self._is_explaining
        self._notes.has_kernel = self._notes.has_kernel and passes.has_kernel
        self._notes.follows_threads = not passes.perf.looks_at_cpus
        self._notes.lost_passes += passes.lost

    def _may_explain(self, left: float, needed: float) -> bool:
        """Whether the run's time has room for a first pass that nobody asked for; a short run stays short."""
        self._notes.is_given_up = left < _CLOSING_SECONDS + needed
        taken = self._plan.request.max_seconds - left
        return not self._notes.is_given_up and needed <= min(_SHARE_OF_TIME * taken, self._context.extras_left())

    def records(self) -> tuple[CpuProfile, ...]:
        found = self._found
        sampled = [
            Profiled(c, found[c.key].trials, found[c.key].operations, found[c.key].functions)
            for c in self._plan.conditions
            if c.key in found
        ]
        return cpu_profiles(sampled, Functions(one.functions for one in profiles()))

    def cautions(self) -> tuple[Caution, ...]:
        """Cautions of profiles; why there are none, if they were requested."""
        if not self._plan.request.profile:
            return ()
        noted = list(self._notes.cautions)
        if self._notes.lost_passes:
            noted.append(self._lost_passes())
        if not self._notes.is_given_up and not self._is_begun:
            return (Caution.of("no-profile", why="the run ended before"),)
        if self._found and not self._notes.has_kernel:
            noted.append(Caution.of("profile-limited", why="no kernel functions (sysctl kernel.perf_event_paranoid=1)"))
        if self._found and self._notes.follows_threads and self._notes.why_threads:
            noted.append(Caution.of("profile-limited", why=f"threads, not whole CPUs ({self._notes.why_threads})"))
        elif self._found and self._notes.follows_threads and self._plan.request.is_served:
            noted.append(
                Caution.of(
                    "profile-limited",
                    why="slows servers with many threads (sysctl kernel.perf_event_paranoid=0, or CAP_PERFMON)",
                )
            )
        if (
            any(not any(f.samples for f in one.functions) for one in self._found.values())
            and not self._notes.is_given_up
        ):
            noted.append(Caution.of("no-profile", why="perf took no samples"))
        return tuple(dict.fromkeys(noted))

    @property
    def _found(self) -> dict[str, SampledTwins]:
        return self._notes.conditions

    def _add(self, passes: _Passes) -> None:
        for condition, more in passes.found():
            if (known := self._found.get(condition.key)) is not None:
                functions = added(Recording(of.functions) for of in (known, more)).functions
                more = SampledTwins(known.trials + more.trials, known.operations + more.operations, functions)
            self._found[condition.key] = more

    def _in_lost_passes(self) -> str:
        passes = "1 pass, which does" if self._notes.lost_passes == 1 else f"{self._notes.lost_passes} passes, which do"
        return f"perf could not write everything down in {passes} not count"

    def _lost_passes(self) -> Caution:
        if self._found:
            return Caution.of("profile-limited", why=f"{self._notes.lost_passes} trial passes lost by perf")
        return Caution.of("no-profile", why=self._in_lost_passes())

    def _give_up(self, fault: Exception) -> None:
        self._notes.is_given_up = True
        caution = (
            Caution.of("profile-limited", why=f"cut short: {fault}")
            if self.records()
            else Caution.of("no-profile", why=fault)
        )
        self._notes.cautions.append(caution)
        self._context.observe(Phase("profile", caution.text))

    def _passes_wanted(self, passes: _Passes) -> int:
        """As many a round as give every condition enough samples, over the rounds that a run has at least."""
        wanted = math.ceil(_ENOUGH_SAMPLES / max(1.0, passes.fewest_cpu_seconds * FREQUENCY_HZ))
        rounds = min(self._plan.request.min_rounds, self._plan.request.max_rounds or math.inf)
        rounds = 1 if self._is_explaining else rounds
        return math.ceil(min(wanted, _MOST_PASSES) / max(1, rounds))

    def _affordable(self, left: float, taken: float) -> int:
        """Passes that the run's time still has room for, where so many seconds of this round's share are gone.

        Where nobody asked for a profile, that is what may be taken unasked.
        """
        if self._is_explaining:
            share = self._context.extras_left() - taken
        else:
            share = _SHARE_OF_TIME * self._plan.request.max_seconds - self._spent_seconds - taken
        return max(0, int(min(left - _CLOSING_SECONDS, share) / max(self._notes.pass_seconds, 1e-3)))


class _Passes:
    def __init__(self, context: RunContext, of: Round, perf: Perf, folder: Path) -> None:
        self._context = context
        self._folder = folder
        self._round = of
        self.perf = perf
        plan = context.plan
        self._conditions = [
            c for c in plan.conditions if c in of.twins and (c.role not in _NOT_SAMPLED or plan.workload_spec().writes)
        ]
        self._begun = 0
        self.done: list[dict[Condition, tuple[Recording, Measurement]]] = []
        """The samples of each pass."""

        self.lost = 0
        """Passes of which perf lost a part."""

        self.fault: EnvironmentFault | None = None
        """The fault that ended the sampling; the rest of its pass was run without."""

    @property
    def fewest_cpu_seconds(self) -> float:
        conditions = self.done[0] if self.done else ()
        return min((sum(one[condition][1].cpu_seconds for one in self.done) for condition in conditions), default=0.0)

    @property
    def has_kernel(self) -> bool:
        return all(recording.has_kernel for one in self.done for recording, _ in one.values())

    def follow_threads(self) -> None:
        """Try the other way from now on."""
        self.perf = dataclasses.replace(self.perf, looks_at_cpus=False)
        self.fault = None

    def run(self, of: int) -> bool:
        """One trial on every twin, in a drawn order. Whether all were wholly sampled: half a pass compares nothing."""
        context, number, in_round = self._context, self._begun, self._round.number
        self._begun += 1
        seed = context.plan.settings.seed
        order = stream(seed, "profile", in_round, number).permutation(len(self._conditions))
        sampled: dict[Condition, tuple[Recording, Measurement]] = {}
        for done, index in enumerate(order):
            if context.interruption.requested:
                return False
            text = f"functions are sampled, pass {len(self.done) + 1} of {of}"
            context.observe(Phase("profile", text, done, len(self._conditions)))
            condition = self._conditions[int(index)]
            if (found := self._trial(number, condition)) is not None:
                sampled[condition] = found
        if self.fault is not None or any(c.role not in _NOT_SAMPLED and c not in sampled for c in self._conditions):
            return False
        if any(recording.is_lost for recording, _ in sampled.values()):
            self.lost += 1
            return False
        self.done.append(sampled)
        return True

    def _trial(self, number: int, condition: Condition) -> tuple[Recording, Measurement] | None:
        """One trial; None where it was not sampled, perf did not last, or it did not come to its end."""
        twin = self._round.twins[condition][1]
        stream_of = PROFILES + (self._round.number << 8) + number
        times = longer(self._round.jobs.size.trial_seconds)
        job = self._round.jobs.in_one_piece(condition, stream_of, times)
        file = self._folder / f"perf-{number}-{self._conditions.index(condition)}.data"
        with ExitStack() as stack:
            stack.callback(self._remove)
            is_sampled = condition.role not in _NOT_SAMPLED and self.fault is None
            sampling = self._attached(twin, file, stack) if is_sampled else None
            with self._context.interruption.watching(twin):
                # The time before the work, a server's start, is in no figure of the run, and is not sampled.
                measured = twin.trial(job, nobody_waits if sampling is None else partial(self._begin, sampling))
            if sampling is None or self.fault is not None or measured.stopped_by == "signal":
                return None
            try:
                return self.perf.read(sampling.end()), measured
            except EnvironmentFault as fault:
                self.fault = fault
                return None

    def _attached(self, twin: Twin, file: Path, stack: ExitStack) -> Sampling | None:
        try:
            return stack.enter_context(self.perf.sampling(twin.processes, file))
        except EnvironmentFault as fault:
            self.fault = fault
            return None

    def _begin(self, sampling: Sampling) -> None:
        """Sample from now on, in the midst of a trial, which goes on whether perf does or not."""
        try:
            sampling.begin()
        except EnvironmentFault as fault:
            self.fault = fault

    def found(self) -> Iterator[tuple[Condition, SampledTwins]]:
        """The samples of each condition, in the design's order."""
        for condition in self._conditions:
            if kept := [one[condition] for one in self.done if condition in one]:
                recording = added(recording for recording, _ in kept)
                operations = sum(measured.counted_operations for _, measured in kept)
                yield condition, SampledTwins(len(kept), operations, recording.functions)

    def _remove(self) -> None:
        for file in self._folder.glob("perf-*.data*"):
            with suppress(OSError):
                file.unlink()


def longer(trial_seconds: float) -> int:
    """How many ordinary trials of so many seconds one that is sampled is as long as."""
    return max(1, math.ceil(_TRIAL_SECONDS / max(trial_seconds, 1e-3)))
