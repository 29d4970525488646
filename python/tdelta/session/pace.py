"""How long the rest of a run takes: estimated before anything is made, then corrected by every stage that was timed.

One estimate serves the preflight, ``--dry-run`` and the run itself. A stage that was run takes as long again as it did
at its longest; one that was not takes what was estimated, times the factor by which those that were run went past their
estimates; trials are sized to a time, and do not. So a machine that others press, too, is known by its first load.

Where time is short, a run leaves out, in this order: rounds, blocks of a round (down to `FEWEST_BLOCKS`), the CPU
profile, the timed calls, its unit costs, laps of a warm-up (down to one), the search of the files. What does
not fit even so is refused, with the least time that would do.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum

from tdelta.engines.layout import ResourceEstimate
from tdelta.errors import TimeFault
from tdelta.inference.decisions import FEWEST_BLOCKS as BLOCKS_OF_ANSWER
from tdelta.records import Condition
from tdelta.session.housing import resource_estimate
from tdelta.session.run_plan import Plan
from tdelta.session.trial_size import LONGEST_TRIALS

# Whether a cache has come to rest: detected from the misses that trials count, never assumed.
#
# A pool that holds all of the data stops missing, which two trials without a miss show; one that holds a part
# misses less from trial to trial until it is full. Trials of few transactions differ by more than that, so the
# misses need not agree: they have stopped falling.

LOOKED_AT = 3
"""How many trials it takes to see that misses no longer fall."""

_WITHOUT = 2
"""How many in a row suffice that do not miss at all: there is nothing left to be read."""

MOST_LAPS = 15
"""After so many trials the run goes on, and says that the caches had not settled."""

_TOLERANCE = 0.05
_ALMOST_NONE = 0.02
"""Misses an operation below which a cache counts as warm, whatever they do."""


def is_settled(misses: Sequence[float], at_rest: float | None = None) -> bool:
    """Whether the last trial misses as often as the two before did, less a twentieth; or two do not miss at all.

    Args:
        misses: misses per operation, trial by trial.
        at_rest: of such a cache when it had come to rest, where that is known: the last may not miss more often.
    """
    if at_rest is not None and misses and misses[-1] <= max(_ALMOST_NONE, (1 + _TOLERANCE) * at_rest):
        return True
    if len(misses) >= _WITHOUT and not any(misses[-_WITHOUT:]):
        return True
    last = misses[-LOOKED_AT:]
    if len(last) < LOOKED_AT:
        return False
    *before, now = last
    return max(last) <= _ALMOST_NONE or now >= (1 - _TOLERANCE) * sum(before) / len(before)


FEWEST_BLOCKS = 2
"""Of the shortest run there is: of one block nothing can be said of how far blocks differ."""

CLOSING_SECONDS = 1.5
"""Kept back at the end of the time for the verdict itself, or `_LOOKS` looks where these take longer."""

_LOOKS = 2.0
MOST_EXTENSION = 4.0
"""Times a default time: nobody who typed none waits longer than that without having agreed to it."""

_SPARE = 1.1
"""Times the estimate: what is named as the least time has to do."""

_ROUNDED_SECONDS = ((36_000.0, 3600.0), (600.0, 60.0), (0.0, 5.0))
"""From so many on, the least time is named in whole so many."""

_MINUTES_FROM = 600
_EVEN_SECONDS = 3.0
"""Weighs against what short stages say of the machine: starting a process is no measure of a load."""

_TRIAL_GAP_SECONDS = 0.02
_SLOWDOWN = 1.3
_MOST_SLOWDOWN = 4.0
"""One slow stage, a load above all, does not say that all others are slower by more."""

_MOST_PRESSED = 2.0
"""Of the set-up alone: what is measured in less than a second, before anything is made, is not relied on for more."""

_MOST_PRESSED_EMBEDDED = 6.0
_EMBEDDED_ALLOWANCE = 2.0
"""The set-up of an embedded engine is CPU work alone, starting processes above all; what is estimated for it is twice
what it takes on an idle machine. Measured of SQLite at a load of 17 on two CPUs: work took 10 times as long, and the
first load 5 times as long as estimated."""

_WORTH_SAYING = 1.1

_END_SECONDS = 0.1
_SERVER_END_SECONDS = 0.3
"""Of one twin, its files removed."""

_LOADED_END = 2.0
"""How many times as long it takes to remove what twins were copied from: 7.5 s of a PostgreSQL on a busy disk, where a
twin took 3 s. A twin takes as much longer to end, as far as can be said before, as it took to be made."""


TRIALS = 4
"""Trials of an instance whose calls are timed: how they scatter says how sure their mean is."""

_SETTLING_LAPS = 2
"""Of servers. Where their cache misses more or less often than in the measured trials, calls are scaled by pages."""

SHARE_OF_TIME = 0.1
"""The share of the run's time that timed calls, profiles that nobody asked for, and the search may take together."""


class Stage(StrEnum):
    """The stages of a run, in their order.

    ``STEPS`` is a block that has loads or rebuilds, ``TIMING`` one condition's calls of its cipher.
    """

    LOAD = "load"
    OBSERVE = "observe"
    SIZE = "size"
    START = "start"
    PRICES = "prices"
    ROWS = "rows"
    LAP = "lap"
    BLOCK = "block"
    STEPS = "steps"
    TIMING = "timing"
    SEARCH = "search"
    END = "end"
    LOOK = "look"


_OF_TRIALS = (Stage.LAP, Stage.BLOCK)
"""These are sized to a time, on the machine as it is."""

_SET_UP = (Stage.LOAD, Stage.OBSERVE, Stage.SIZE)


def timed_conditions(plan: Plan) -> list[Condition]:
    """Conditions whose calls are timed: all that encrypt and are judged, but for loads and rebuilds."""
    return [condition for condition in plan.conditions if condition.is_encrypted and not plan.step(condition)]


def laps_of(plan: Plan, condition: Condition) -> int:
    """Trials that warm up an instance whose calls are timed."""
    if plan.work(condition) != "warm":
        return 0
    return _SETTLING_LAPS if plan.warms_until_settled else 1


class Pace:
    """Seconds of the stages of one plan.

    Args:
        elapsed: how long it has been under way.
    """

    def __init__(self, plan: Plan, elapsed: Callable[[], float] = lambda: 0.0) -> None:
        self._plan = plan.of_one_round()
        self._elapsed = elapsed
        self.max_seconds = plan.request.max_seconds
        self.needs = resource_estimate(self._plan)
        self._counts = {Stage.LOAD: len(self._plan.data_templates()), Stage.OBSERVE: 1, Stage.SIZE: 1}
        self._timed = len(timed_conditions(self._plan)) if self.needs.times_calls else 0
        self._estimates = _estimates(self._plan, self.needs)
        self.block_stage = Stage.STEPS if any(map(self._plan.step, self._plan.conditions)) else Stage.BLOCK
        self._estimates[Stage.TIMING] = self._estimate_timing(self._estimates.__getitem__)
        self._done = Counter[Stage]()
        self._took = Counter[Stage]()
        self._longest: dict[Stage, float] = {}
        self._under_way: Stage | None = None
        self._pressed = 1.0
        is_served = plan.request.is_served
        self._most_pressed = _MOST_PRESSED if is_served else _MOST_PRESSED_EMBEDDED
        self._allowance = 1.0 if is_served else _EMBEDDED_ALLOWANCE

    @contextmanager
    def timed(self, stage: Stage) -> Iterator[None]:
        """Take note of how long a stage takes; not of one that fails."""
        began, self._under_way = self._elapsed(), stage
        yield
        self._under_way = None
        self.took(stage, self._elapsed() - began)

    def took(self, stage: Stage, seconds: float) -> None:
        self._done[stage] += 1
        self._took[stage] += seconds  # type: ignore[assignment]
        # Caches fill from lap to lap: the last one is the most like what comes.
        self._longest[stage] = seconds if stage is Stage.LAP else max(seconds, self._longest.get(stage, 0.0))

    def filled(self, trial_seconds: float) -> None:
        """Take note of the length of a trial that was found, where it is longer than was asked for."""
        longer = max(1.0, trial_seconds / self._plan.request.trial_seconds)
        for stage in (Stage.LAP, Stage.BLOCK):
            self._estimates[stage] *= longer

    def of(self, stage: Stage) -> float:
        measured = self._longest.get(stage)
        if measured is not None:
            return measured
        if stage is Stage.TIMING:
            return self._estimate_timing(self.of)
        slowdown = 1.0 if stage in _OF_TRIALS else self._slowdown()
        if stage in _SET_UP:
            slowdown = max(slowdown, min(self._most_pressed, self._pressed / self._allowance))
        if stage is Stage.END and self._estimates[Stage.START]:
            slowdown = max(slowdown, self._longest.get(Stage.START, 0.0) / self._estimates[Stage.START])
        return self._estimates[stage] * slowdown

    def _estimate_timing(self, of: Callable[[Stage], float]) -> float:
        """One more instance, started, warmed up, given its trials and ended, by what such stages take."""
        timed, instances = timed_conditions(self._plan), len(self._plan.instances())
        trials = TRIALS + max((laps_of(self._plan, c) for c in timed), default=0)
        each = max(of(Stage.BLOCK), of(Stage.LAP)) / len(self._plan.conditions)
        return (of(Stage.START) + of(Stage.END)) / instances + trials * each

    def calls(self, conditions: int) -> float:
        """Seconds to time the calls of so many conditions, or of as many as may be timed in a run's time."""
        each = self.of(Stage.TIMING)
        return each * min(conditions, int(self.extras() / each))

    def extras(self) -> float:
        """Seconds of a run's time for timed calls and profiles that nobody requested."""
        return max(0.0, SHARE_OF_TIME * self.max_seconds - self.of(Stage.SEARCH))

    def tidying(self) -> float:
        each = self.of(Stage.END) / len(self._plan.instances())
        return self.of(Stage.END) + _LOADED_END * each * len(self._plan.data_templates())

    def _slowdown(self) -> float:
        """By how much the stages that were run took longer than was estimated; at least 1, and at most so much."""
        known = [stage for stage in self._done if stage is not Stage.LOOK]
        estimated = _EVEN_SECONDS + sum(self._done[stage] * self._estimates[stage] for stage in known)
        took = _EVEN_SECONDS + sum(self._took[stage] for stage in known)
        return min(_MOST_SLOWDOWN, max(1.0, took / estimated))

    def block(self) -> float:
        """Seconds of the next block; a lap of the warm-up is one, too."""
        if self.block_stage is Stage.STEPS:
            return self.of(Stage.STEPS)
        of_lap = self._longest.get(Stage.LAP, 0.0) * self._estimates[Stage.BLOCK] / self._estimates[Stage.LAP]
        return self.of(Stage.BLOCK) if Stage.BLOCK in self._longest else max(self.of(Stage.BLOCK), of_lap)

    def closing(self) -> float:
        """Seconds behind the last round: its files removed, and the verdict."""
        verdict = max(CLOSING_SECONDS * self._slowdown(), _LOOKS * self._longest.get(Stage.LOOK, 0.0))
        return verdict + self.tidying() - self.of(Stage.END)

    def behind_blocks(self, *, searches: bool) -> float:
        """Seconds behind the last block of a round, until the run has its answer."""
        return self.of(Stage.ROWS) + self.of(Stage.END) + self.closing() + (self.of(Stage.SEARCH) if searches else 0.0)

    def ahead_of_blocks(self, *, laps: int | None = None, prices: bool = True) -> float:
        times = self.needs.laps if laps is None else min(laps, self.needs.laps)
        before = self.of(Stage.START) + self.of(Stage.ROWS) + times * self.of(Stage.LAP)
        return before + (self.of(Stage.PRICES) if prices else 0.0)

    def blocks(self, number: int) -> float:
        return number * self.block()

    def set_up_left(self) -> float:
        return sum(max(0, self._counts[s] - self._done[s]) * self.of(s) for s in _SET_UP)

    def shortest(self, *, searches: bool = True) -> float:
        """Seconds until an answer of one round, as short as can be."""
        blocks = self.blocks(min(FEWEST_BLOCKS, self._plan.request.blocks_per_round))
        ahead = self.ahead_of_blocks(laps=LOOKED_AT if searches else 1, prices=False)
        return self.set_up_left() + ahead + blocks + self.behind_blocks(searches=searches)

    def answering(self) -> float:
        """Seconds until a run of so many blocks that it can have an answer, in as many rounds as that takes."""
        blocks = self._plan.request.blocks_per_round
        missing = max(0, BLOCKS_OF_ANSWER - min(FEWEST_BLOCKS, blocks))
        again = math.ceil(BLOCKS_OF_ANSWER / blocks) - 1
        around = self.ahead_of_blocks(laps=1, prices=False) + self.of(Stage.ROWS) + self.of(Stage.END)
        return self.shortest() + self.blocks(missing) + again * around

    def whole(self, rounds: int) -> float:
        """Seconds until an answer of so many whole rounds."""
        one = self.ahead_of_blocks() + self.blocks(self._plan.request.blocks_per_round) + self.of(Stage.ROWS)
        once = self.of(Stage.SEARCH) + self.calls(self._timed)
        spared = max(0, self.needs.laps - 1) * self.of(Stage.LAP)  # later rounds know how a cache misses at rest
        of_rounds = rounds * (one + self.of(Stage.END)) - max(0, rounds - 1) * spared
        return self.set_up_left() + of_rounds + once + self.closing()

    def require(self, *, searches: bool = True) -> None:
        """Raise ``TimeFault`` where what is left does not fit into the run's time.

        Args:
            searches: whether the search of the files, and a whole warm-up, are to fit, too.
        """
        if self._elapsed() + self.shortest(searches=searches) > self.max_seconds:
            raise self.fault()

    def holds_a_block(self) -> bool:
        """Whether one block fits if stages still to come take no longer than on an idle machine."""
        stages = [stage for stage in _SET_UP for _ in range(self._counts[stage] - self._done[stage])]
        stages += [Stage.START, Stage.ROWS, Stage.LAP, self.block_stage, Stage.END]
        left = sum(self._longest.get(stage, self._estimates[stage]) for stage in stages)
        return self._elapsed() + left <= self.max_seconds

    def extension(self, rounds: int) -> float | None:
        """The time of so many whole rounds from here on, with what has passed; None if that is much longer."""
        needed = _rounded(_SPARE * (self._elapsed() + self.whole(rounds)))
        return needed if needed <= MOST_EXTENSION * self.max_seconds else None

    def pressed(self, slowdown: float) -> None:
        """Take note of how many times as long everything takes, measured before anything is made."""
        self._pressed = max(1.0, slowdown)

    def is_tight(self) -> bool:
        """Whether the shortest run would not fit if the set-up took as long as it is taken to do at most."""
        before, self._pressed = self._pressed, self._most_pressed * self._allowance
        shortest = self.shortest(searches=False)
        self._pressed = before
        return self._elapsed() + shortest > self.max_seconds

    def require_block(self) -> None:
        """Raise ``TimeFault`` where not even one block of a round whose twins are there fits."""
        if self._elapsed() + self.block() + self.behind_blocks(searches=False) > self.max_seconds:
            raise self.fault()

    def fault(self) -> TimeFault:
        found, elapsed = self.max_seconds, self._elapsed()
        needed = max(elapsed, found if self._done else 0.0, elapsed + self.answering())
        return TimeFault(found, _rounded(_SPARE * needed), self._why(elapsed))

    def _why(self, elapsed: float) -> str:
        set_up = self.set_up_left()
        before = (
            f"{about(elapsed)} have passed" if self._done else f"the set-up takes about {about(elapsed + set_up)} here"
        )
        if self._pressed >= _WORTH_SAYING and not self._done:
            before += f" while other programs are at work (work takes {self._pressed:.1f} times as long now)"
        if self._done and set_up:
            before += f", {about(set_up)} more of the set-up are to come"
        if self._under_way is Stage.SIZE:
            before += " (transactions of the workload are still running: does each of its scripts come to an end?)"
        return (
            f"{before}, and the {BLOCKS_OF_ANSWER} blocks of an answer, with the search of the files, take about"
            f" {about(self.answering() - set_up)}"
        )


def _rounded(seconds: float) -> float:
    """Rounded up to what reads well."""
    step = next(step for least, step in _ROUNDED_SECONDS if seconds >= least)
    return step * math.ceil(seconds / step)


def about(seconds: float) -> str:
    """An estimated time for people; no more of it than is known."""
    if seconds < _MINUTES_FROM:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"


def _estimates(plan: Plan, needs: ResourceEstimate) -> dict[Stage, float]:
    return {
        Stage.LOAD: needs.load_seconds,
        Stage.OBSERVE: needs.observe_seconds,
        Stage.SIZE: needs.sizing_seconds,
        Stage.START: needs.start_seconds,
        Stage.PRICES: needs.price_seconds,
        Stage.ROWS: needs.rows_seconds,
        Stage.LAP: (1.0 + needs.applied_trials)
        * sum(_trial_seconds(plan, c) for c in plan.conditions if plan.work(c) == "warm")
        or _TRIAL_GAP_SECONDS,
        Stage.BLOCK: sum(_part_seconds(plan, needs, c) for c in plan.conditions if not plan.step(c)),
        Stage.STEPS: sum(_part_seconds(plan, needs, c) for c in plan.conditions),
        Stage.SEARCH: 0.0 if plan.settings.compares_builds else needs.search_seconds,
        Stage.END: len(plan.instances()) * (_SERVER_END_SECONDS if plan.request.is_served else _END_SECONDS),
        Stage.LOOK: 0.0,
    }


def _trial_seconds(plan: Plan, condition: Condition) -> float:
    """About how long a trial takes. Twins that derive a key for each operation take the longest there are."""
    usual = plan.request.trial_seconds * _SLOWDOWN + _TRIAL_GAP_SECONDS
    derives = plan.workload.connects and condition.level("cipher") != "none"
    return LONGEST_TRIALS * plan.request.trial_seconds if derives else usual


def _part_seconds(plan: Plan, needs: ResourceEstimate, condition: Condition) -> float:
    """A condition's part of a block.

    A load or rebuild takes as long as the data does at first, and before a cold trial a server is started.
    """
    if plan.step(condition):
        return needs.step_seconds
    traced = _trial_seconds(plan, condition) if plan.request.trace else 0.0
    applied = needs.applied_trials * _trial_seconds(plan, condition)
    return _trial_seconds(plan, condition) + applied + traced + (needs.cold_seconds if plan.is_cold(condition) else 0.0)
