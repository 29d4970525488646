"""One round: fresh twins under drawn names in a drawn order, warmed up, then blocks of trials, then the rows again."""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

from tdelta.design import instances, slice_order, stratified_order
from tdelta.driver import Checksums, TrialJob, Twin, Twins, signals
from tdelta.driver.jobs import TRACE
from tdelta.errors import ServerLost, TimeFault
from tdelta.measure.standstill import watching
from tdelta.records import BlockDone, Condition, Event, Measurement, Phase, RoundStarted, Trial, TrialDone
from tdelta.session.calibration import OPERATIONS_APART, discarded, trial_deadline_seconds
from tdelta.session.checks import Checks
from tdelta.session.evidence import Evidence
from tdelta.session.instructions import FACTOR
from tdelta.session.pace import FEWEST_BLOCKS, Pace, Stage
from tdelta.session.planning import Plan
from tdelta.session.prices import Prices
from tdelta.session.profiling import Profiling, longer
from tdelta.session.state import TrialSize
from tdelta.session.timing import Timing
from tdelta.session.warming import MOST_LAPS, is_settled, misses_per_operation

_SOON = 1e-3
_WARM_UP = 1 << 41
"""Streams of operations from here on are the rounds' warm-ups; calibration's lie below."""

_MOST_LOSSES = 3
"""Past so many servers that died, the run gives up."""

_MOST_VOIDS = 3
"""So often in a row a block may have been void before its twins are given up."""

_SEARCH = 1 << 42
"""Streams of operations from here on run while files are searched."""

_TRACES = 1 << 44
"""Streams of operations from here on are those whose statements are metered one by one."""

_TRACED_OPERATIONS = 60
"""Operations a trace: enough to average over what they draw, few enough to take no time beside the trial."""
_TIMED = 1 << 45
"""Streams of operations from here on run while calls of ciphers are timed."""

_PROFILE = 1 << 43
"""Streams of operations from here on run while functions are sampled."""


class Clock:
    """Wall clock of a sitting, set-up included."""

    def __init__(self, max_seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._began = now()
        self._max_seconds = max_seconds

    def elapsed(self) -> float:
        """Seconds since the sitting began."""
        return self._now() - self._began

    def left(self) -> float:
        """Seconds left, never below 0."""
        return max(0.0, self._max_seconds - self.elapsed())

    def ring_at_end(self, before_seconds: float = 0.0) -> None:
        """Have this process get a SIGALRM when the time is up, or so long before; not by a clock of a test's own."""
        if self._now is time.monotonic and signals.are_ours():
            signal.setitimer(signal.ITIMER_REAL, max(_SOON, self.left() - before_seconds))

    def never_ring(self) -> None:
        """Take `ring_at_end` back."""
        signal.setitimer(signal.ITIMER_REAL, 0.0)

    def fault(self) -> TimeFault:
        """That the time was up before the run could be laid out."""
        why = "the user's database was not made ready by then"
        return TimeFault(self._max_seconds, 2 * self._max_seconds, why)


class Interruption:
    """Ctrl-C: until there is something to say, a `KeyboardInterrupt`; from then on, a request that trials see."""

    def __init__(self) -> None:
        self.requested = False
        self.is_late = False
        self.is_out_of_time = False
        """Whether the time was up with nothing to say yet."""

        self._armed = False
        self._running: tuple[Twin, ...] = ()

    def arm(self) -> None:
        """From now on, requests wait for the trial's end."""
        self._armed = True

    def request(self) -> None:
        """What the signal handler calls. A second request does not wait."""
        if not self._armed or self.requested:
            raise KeyboardInterrupt
        self.requested = True
        for twin in self._running:
            twin.stop()

    def ring(self) -> None:
        """The time is up: a request, too, unless there was one."""
        if not self.requested:
            self.is_late = True
            self.is_out_of_time = not self._armed
            self.request()

    @contextmanager
    def watching(self, *twins: Twin) -> Iterator[None]:
        """While these twins are under load, a request also stops their trials."""
        self._running = twins
        try:
            yield
        finally:
            self._running = ()


class RoundRunner:
    """Runs rounds of one plan."""

    def __init__(
        self,
        plan: Plan,
        twins: Twins[Any],
        calibration: TrialSize,
        data_bytes: int,
        *,
        keep: Callable[[Trial], int],
        observe: Callable[[Event], None],
        checks: Checks,
        evidence: Evidence,
        profiling: Profiling,
        prices: Prices,
        timing: Timing,
        has_much_rest: Callable[[], bool],
        clock: Clock,
        pace: Pace,
        interruption: Interruption,
    ) -> None:
        self._plan = plan
        self._twins = twins
        self._calibration = calibration
        self._data_bytes = data_bytes
        self._keep = keep
        self._observe = observe
        self._checks = checks
        self._evidence = evidence
        self._profiling = profiling
        self._prices = prices
        self._timing = timing
        self._has_much_rest = has_much_rest
        self._clock = clock
        self._pace = pace
        self._interruption = interruption
        self._longest_start = 0.0
        """Of what comes before a round's first block."""

        self._scripts = {name: str(script["text"]) for name, script in plan.workload.scripts().items()}
        self._given: Counter[Condition] = Counter()
        """Trials that each condition of this round was given, warm-ups included."""

        self._first_op = {
            condition: 1 + OPERATIONS_APART * place
            for conditions in plan.instances().values()
            for place, condition in enumerate(conditions)
        }
        self._at = ""
        self._next_block = 0
        self.extra_seconds = 0.0
        """What profiles and the search of the last round took: no later round needs the time for them."""

        self.loss: ServerLost | None = None
        """What ended the last round before its end; None if nothing did."""

    def run(self, number: int, first_block: int) -> int:
        """Run round ``number`` with blocks from ``first_block``. Returns the number of the next block.

        A round ends early when it is interrupted, when the time would not hold another block, or when a server dies:
        then it left `loss`, blocks before that one stay, and another round is to make up for it.
        """
        self._given.clear()
        self.loss = None
        self._next_block = first_block
        try:
            with ExitStack() as stack:
                self._whole(number, stack)
                began = self._clock.elapsed()
            self._pace.took(Stage.END, self._clock.elapsed() - began)
        except ServerLost as loss:
            if not self._interruption.requested:  # else there is nothing to be made up for
                self._lose(number, loss)
        return self._next_block

    def _whole(self, number: int, stack: ExitStack) -> None:
        """All stages of a round. ``_at`` says which one is void if a server dies."""
        self._at = "what came before the first trial"
        began = self._clock.elapsed()
        first_block, twins = self._next_block, self._start(number, stack)
        self._longest_start = max(self._longest_start, self._clock.elapsed() - began)
        if first_block == 0 and not self._interruption.requested:
            self._pace.require_blocks()
        self._observe(RoundStarted(number, self._plan.request.blocks_per_round))
        for place in range(self._plan.request.blocks_per_round):
            taking_part = [c for c in self._plan.in_round(number) if self._plan.has_part(c, place)]
            has_steps = any(self._plan.step(c) for c in taking_part)
            if not taking_part:  # loads and rebuilds are all there is, and they are done
                break
            is_first = self._next_block == first_block
            if self._interruption.requested or not (is_first or self._has_time_for_block(place, has_steps=has_steps)):
                break
            self._at = f"block {self._next_block + 1}"
            with self._pace.timed(Stage.STEPS if has_steps else Stage.BLOCK):
                self._block(number, place, {c: twins[c] for c in taking_part})
            self._next_block += 1
        self.extra_seconds = 0.0
        self._at = "the timed calls"
        self._time_calls()
        self._at = "the CPU profile"
        self._profile(number, twins)
        self._at = "the search of the files"
        self._search(number, twins)
        if not self._interruption.requested:
            self._at = "the comparison of the rows after the last trial"
            with self._pace.timed(Stage.ROWS):
                self._compare_rows(twins)

    def _lose(self, number: int, loss: ServerLost) -> None:
        """A server died: its block is void and the round over. The next one has fresh twins; but not without end."""
        self.loss = loss
        self._checks.lost(number, self._at, loss.said)
        self._observe(Phase("lost", f"{self._at}, since {loss.said}"))
        if self._checks.losses > _MOST_LOSSES:
            raise ServerLost(
                f"{self._checks.losses} times a server or a worker of this run was lost; the last time {loss}"
            )

    def shortest_seconds(self) -> float:
        """What a further round takes that ends behind its first block, by the longest that there were."""
        has_steps = any(self._plan.step(c) for c in self._plan.conditions if self._plan.has_part(c, 0))
        around = self._longest_start + self._pace.of(Stage.ROWS) + self._pace.of(Stage.END)
        return around + self._pace.block(has_steps=has_steps)

    def _has_time_for_block(self, place: int, *, has_steps: bool) -> bool:
        """Whether a round has time for its block of that place.

        Timed calls and a CPU profile go before blocks past the fewest.
        """
        also = self._profiling.first_seconds + self._calls_seconds() if place >= FEWEST_BLOCKS else 0.0
        return self._clock.left() >= self._pace.block(has_steps=has_steps) + also + self._behind_blocks()

    def _calls_seconds(self) -> float:
        """What timing the calls that are still to be timed takes."""
        return 0.0 if self._twins.why_not_timed else self._pace.calls(len(self._timing.due()))

    def _behind_blocks(self) -> float:
        return self._pace.behind_blocks(searches=self._evidence.is_due)

    def _has_time_for(self, seconds: float) -> bool:
        """Whether the fewest blocks of a round, and what is to come behind them, fit after so many seconds."""
        blocks = min(FEWEST_BLOCKS, self._plan.request.blocks_per_round)
        return self._clock.left() >= seconds + self._pace.blocks(blocks) + self._behind_blocks()

    def _start(self, number: int, stack: ExitStack) -> dict[Condition, tuple[str, Twin]]:
        """Fresh instances, made one after another in the drawn order, then read and warmed up side by side."""
        shared = self._plan.instances(number)
        drawn = instances(self._plan.settings.seed, number, tuple(shared))
        twins: dict[Condition, tuple[str, Twin]] = {}
        began, of_prices = self._clock.elapsed(), 0.0
        is_hurried = self._pace.needs.price_seconds > 0 and not self._has_time_for(self._pace.ahead_of_blocks())
        self._prices.begin_round(number, is_hurried=is_hurried)
        for done, (condition, name) in enumerate(drawn):
            if self._interruption.requested:
                return twins
            self._observe(Phase("copy", f"round {number + 1}: fresh twins", done, len(drawn)))
            twin = self._twins.start(self._plan.twin_settings(condition, self._data_bytes), name)
            stack.callback(twin.end)
            twins[condition] = (name, twin)
            self._checks.settled(condition, twin.facts())
            self._checks.in_force(condition, twin.cipher_facts())
            self._checks.planned(condition, twin.plans(self._scripts))
            priced = self._clock.elapsed()
            self._prices.take(shared[condition], twin)
            of_prices += self._clock.elapsed() - priced
            if FACTOR in dict(condition.levels) and (proof := twin.prove()):
                self._checks.proved(condition, proof)
            for other in shared[condition][1:]:
                joined = self._twins.join(twin, self._plan.twin_settings(other, self._data_bytes))
                stack.callback(joined.end)
                twins[other] = (name, joined)
        self._pace.took(Stage.START, self._clock.elapsed() - began - of_prices)
        self._clock.ring_at_end(self._pace.tidying())
        if of_prices:
            self._pace.took(Stage.PRICES, of_prices)
        self._observe(Phase("checksum", "the twins' rows before the first trial"))
        with self._pace.timed(Stage.ROWS):
            before = self._checksums({c: twins[c] for c in shared})
        for condition, sums in before.items():
            self._checks.before(condition, sums)
        self._checks.raise_if_rows_differ()
        warm = {condition: twin for condition, twin in twins.items() if self._plan.work(condition) == "warm"}
        if self._plan.warms_until_settled:
            self._warm_until_settled(number, warm)
        else:
            with self._pace.timed(Stage.LAP):
                for done, (condition, (_, twin)) in enumerate(warm.items()):
                    self._observe(Phase("warm-up", f"round {number + 1}", done, len(warm)))
                    self._warm_up(condition, twin, _WARM_UP + number)
        return twins

    def _warm_until_settled(self, number: int, twins: Mapping[Condition, tuple[str, Twin]]) -> None:
        """Lap after lap of a trial on every twin, the same for all, until no cache misses less often than before."""
        shared = ([c for c in conditions if c in twins] for conditions in self._plan.instances().values())
        busiest = {max(met, key=lambda c: int(c.level("threads"))) for met in shared if met}
        misses: dict[Condition, list[float]] = {condition: [] for condition in busiest}
        for lap in range(MOST_LAPS):
            if lap and not self._has_time_for(self._pace.of(Stage.LAP)):
                break
            began = self._clock.elapsed()
            for done, (condition, (_, twin)) in enumerate(twins.items()):
                if lap and condition not in busiest:
                    continue  # it has met its connections; the cache is filled by the busiest of its instance
                text = f"round {number + 1}, lap {lap + 1}: until the caches' misses settle"
                self._observe(Phase("warm-up", text, done, len(twins)))
                measured = self._warm_up(condition, twin, _WARM_UP + (number << 8) + lap)
                missed = None if measured is None else misses_per_operation(measured)
                if condition in busiest and missed is not None:
                    misses[condition].append(missed)
            self._pace.took(Stage.LAP, self._clock.elapsed() - began)
            if self._interruption.requested or all(not found or is_settled(found) for found in misses.values()):
                return
        self._checks.unsettled(number, {c: found for c, found in misses.items() if not is_settled(found)})

    def _checksums(self, twins: Mapping[Condition, tuple[str, Twin]]) -> dict[Condition, Checksums]:
        """Read every row of these twins, as many at once as there are cores; that warms the page cache alike, too."""
        tables = self._plan.load_job().tables
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            sums = pool.map(lambda entry: entry[1].checksums(tables), twins.values())
            return dict(zip(twins, sums, strict=True))

    def _warm_up(self, condition: Condition, twin: Twin, stream: int) -> Measurement | None:
        """One trial that is not recorded; None if there was a Ctrl-C."""
        if self._interruption.requested:
            return None
        with self._interruption.watching(twin):
            return twin.trial(self._job(condition, stream))

    def _block(self, number: int, place: int, twins: Mapping[Condition, tuple[str, Twin]]) -> None:
        """Run and store the block that is the ``place``-th of its round, of these twins."""
        block, conditions = self._next_block, tuple(twins)
        seed, slices = self._plan.settings.seed, self._calibration.slices
        if slices == 1:
            before = {c.stratum: self._plan.blocks_before(c.stratum, number) for c in conditions}
            nth = {stratum: blocks + place for stratum, blocks in before.items() if blocks is not None}
            order = stratified_order(seed, block, [c.stratum for c in conditions], nth)
        else:
            order = slice_order(seed, block, len(conditions), slices)
        started, measured = self._unbroken(number, twins, order)
        if self._interruption.requested and any(m.stopped_by != "count" for m in measured):
            return
        if self._plan.request.trace and not self._interruption.requested:
            measured = self._traced(block, twins, measured, order[: len(conditions)])
        for position, index in enumerate(order[: len(conditions)]):
            condition = conditions[index]
            trial = Trial(number, block, position, condition, twins[condition][0], started, measured[index])
            self._observe(TrialDone(trial, self._keep(trial)))
        self._observe(BlockDone(number, block, self._clock.elapsed()))

    def _traced(
        self,
        block: int,
        twins: Mapping[Condition, tuple[str, Twin]],
        measured: Sequence[Measurement],
        order: Sequence[int],
    ) -> list[Measurement]:
        """The trials of a block with what their statements cost one by one, on other operations of the same kind."""
        conditions = tuple(twins)
        jobs = [dataclasses.replace(self._job(c, _TRACES + block), step=TRACE, slices=1, discard=0) for c in conditions]
        jobs = [dataclasses.replace(job, operations=min(job.operations, _TRACED_OPERATIONS)) for job in jobs]
        entries = [(twins[c][1], job) for c, job in zip(conditions, jobs, strict=True)]
        with self._interruption.watching(*(twin for twin, _ in entries)):
            traced = self._twins.block(entries, order)
        return [dataclasses.replace(m, traced=t.traced) for m, t in zip(measured, traced, strict=True)]

    def _unbroken(
        self, number: int, twins: Mapping[Condition, tuple[str, Twin]], order: Sequence[int]
    ) -> tuple[float, list[Measurement]]:
        """When the block's trials began, and what they measured: a block in which something stood still is run again.

        Its operations are then others of the same draws: what they changed is in the twins. Where they were not all
        done on every twin, the twins are no longer alike, and the round is over.
        """
        block = self._next_block
        tries = 0
        while True:
            tries += 1
            jobs = [dataclasses.replace(self._job(c, block), step=self._plan.step(c)) for c in twins]
            started = time.time()
            measured, standstill = self._measure([twin for _, twin in twins.values()], jobs, order)
            if standstill and self._interruption.requested:
                return started, [dataclasses.replace(m, stopped_by="signal") for m in measured]
            if not standstill:
                return started, measured
            if tries == _MOST_VOIDS or any(m.stopped_by != "count" or m.errors for m in measured):
                raise ServerLost(standstill)
            self._checks.paused(number, block, standstill)
            self._observe(Phase("again", f"block {block + 1}, since {standstill}"))

    def _measure(
        self, twins: Sequence[Twin], jobs: Sequence[TrialJob], order: Sequence[int]
    ) -> tuple[list[Measurement], str]:
        """What the trials measured, and what stood still meanwhile."""
        with self._interruption.watching(*twins), watching("tdelta") as own:
            measured = self._twins.block(list(zip(twins, jobs, strict=True)), order)
        standstill = next((m.standstill for m in measured if m.standstill), own.standstill)
        if self._plan.family.fills_cpus:  # what waits for a CPU is the engine itself
            measured = tuple(dataclasses.replace(m, pressure=_without_cpu(m.pressure)) for m in measured)
        return list(measured), standstill

    def _search(self, number: int, twins: Mapping[Condition, tuple[str, Twin]]) -> None:
        """Search the files of all twins for planted markers, in one round of the run; of as many as there is time."""
        if self._interruption.requested or not self._evidence.is_due:
            return
        began, behind = self._clock.elapsed(), self._pace.behind_blocks(searches=False)
        for_each = self._pace.of(Stage.SEARCH) / max(1, len(self._plan.instances()))
        self._evidence.gather(
            twins,
            lambda c: self._job(c, _SEARCH + number),
            watching=self._interruption.watching,
            is_interrupted=lambda: self._interruption.requested or self._clock.left() < for_each + behind,
            observe=self._observe,
        )
        if not self._evidence.is_due:
            self._pace.took(Stage.SEARCH, self._clock.elapsed() - began)
        self.extra_seconds += self._clock.elapsed() - began

    def _time_calls(self) -> None:
        """Time the engine's own calls of its ciphers, on instances of their own."""
        if self._interruption.requested or not self._timing.due():
            return
        began = self._clock.elapsed()
        try:
            self._timing.gather(
                self._twins,
                self._data_bytes,
                self._profiling.folder,
                self._fresh_job,
                each_seconds=lambda: self._pace.of(Stage.TIMING),
                seconds_left=lambda: self._clock.left() - self._behind_blocks(),
                timed=lambda: self._pace.timed(Stage.TIMING),
                watching=self._interruption.watching,
                is_interrupted=lambda: self._interruption.requested,
                observe=self._observe,
            )
        finally:  # a server may die meanwhile
            self.extra_seconds += self._clock.elapsed() - began

    def _profile(self, number: int, twins: Mapping[Condition, tuple[str, Twin]]) -> None:
        """Sample the functions of all twins, where that was asked for, or a ledger's rest is much after one round."""
        if self._interruption.requested:
            return
        if self._profiling.may_explain and self._has_much_rest():
            self._profiling.explain()
        if not self._profiling.is_due:
            return
        began = self._clock.elapsed()
        try:
            self._profiling.gather(
                number,
                twins,
                lambda c, lap: self._profiled_job(c, _PROFILE + (number << 8) + lap),
                seconds_left=lambda: self._clock.left() - self._behind_blocks(),
                watching=self._interruption.watching,
                is_interrupted=lambda: self._interruption.requested,
                observe=self._observe,
            )
        finally:  # a server may die meanwhile
            self.extra_seconds += self._clock.elapsed() - began

    def _profiled_job(self, condition: Condition, stream: int) -> TrialJob:
        """As long as some ordinary trials together, whose operations it does, and in one piece."""
        job = dataclasses.replace(self._job(condition, stream), slices=1, discard=0, step=self._plan.step(condition))
        if self._plan.work(condition) != "warm" or self._plan.command is not None:
            return job
        times = longer(self._calibration.trial_seconds)
        self._given[condition] += times - 1
        return dataclasses.replace(
            job,
            operations=job.operations * times,
            deadline_seconds=trial_deadline_seconds(self._calibration.trial_seconds * times),
        )

    def _job(self, condition: Condition, stream: int) -> TrialJob:
        """A condition's next trial. ``:op`` never comes twice on an instance: conditions that share one count apart."""
        operations, slices = self._calibration.operations[condition.stratum], self._calibration.slices
        first_op = self._first_op[condition] + operations * self._given[condition]
        self._given[condition] += 1
        rate = self._calibration.rates.get(condition.stratum)
        return TrialJob(
            seed=self._plan.settings.seed,
            stream=stream,
            operations=operations,
            first_op=first_op,
            deadline_seconds=trial_deadline_seconds(self._calibration.trial_seconds),
            slices=slices,
            discard=self._discarded(condition, operations, slices) if rate is None else 0,
            rate=rate,
            arrivals=self._plan.request.arrivals,
            planted=condition.planted or 0.0,
            trial_seconds=self._plan.request.trial_seconds,
        )

    def _fresh_job(self, condition: Condition, nth: int) -> TrialJob:
        """The ``nth`` trial of a fresh instance of a condition, in one piece; the round's own are not counted on."""
        job, given = self._job(condition, _TIMED + nth), self._given
        given[condition] -= 1
        first_op = self._first_op[condition] + job.operations * nth
        return dataclasses.replace(job, first_op=first_op, slices=1, discard=0)

    def _discarded(self, condition: Condition, operations: int, slices: int) -> int:
        """None of a cold trial, which is about its head, nor of one that has one operation."""
        return 0 if self._plan.work(condition) != "warm" else discarded(self._plan.request, operations, slices)

    def _compare_rows(self, twins: Mapping[Condition, tuple[str, Twin]]) -> None:
        """Compare what the trials left behind, where one thread makes the order of operations certain."""
        self._observe(Phase("checksum", "the twins' rows after the last trial"))
        shared = self._plan.instances()
        certain = {
            condition: twins[condition]
            for condition, conditions in shared.items()
            if condition in twins and all(c.level("threads") == 1 for c in conditions)
        }
        for condition, sums in self._checksums(certain).items():
            self._checks.after(condition, sums)
        self._checks.round_over()


def _without_cpu(pressure: Mapping[str, float]) -> dict[str, float]:
    return {name: share for name, share in pressure.items() if name != "cpu_some"}
