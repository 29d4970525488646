"""One round: fresh twins under drawn names in a drawn order, warmed up, then blocks of trials, then the rows again."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from tdelta.design import instances, stratified_order
from tdelta.errors import ServerLost
from tdelta.measure.pressure import watching
from tdelta.messages import Refusal, RunPart
from tdelta.processes import Checksums, TrialJob, Twin
from tdelta.processes.jobs import ROUTINE, ROUTINE_TRACE, TRACE
from tdelta.records import BlockDone, Condition, Measurement, Phase, RoundStarted, Trial, TrialDone
from tdelta.session.check_request import AES_INSTRUCTIONS
from tdelta.session.collectors import Collectors
from tdelta.session.context import TRACES, WARM_UPS, Jobs, Ready, Round, RunContext
from tdelta.session.housing import with_storage
from tdelta.session.pace import FEWEST_BLOCKS, MOST_LAPS, Stage, is_settled

_MOST_LOSSES = 3
"""Past so many servers that died, the run gives up."""

_MOST_VOIDS = 3
"""So often in a row a block may have been void before its twins are given up."""

_MOST_VOIDS_OF_AGENTS = 10
"""The same where load agents did not work together: that is the clients' doing, and leaves the twins as they were."""

_RESTORED_LAP = 0.5
"""The share of a trial by which caches that were restored are warmed up."""

_TRACED_OPERATIONS = 60
"""Operations a trace: enough to average over what they draw, few enough to take no time beside the trial."""


class RoundRunner:
    def __init__(self, context: RunContext, ready: Ready, collectors: Collectors) -> None:
        self._context = context
        self._plan = context.plan
        self._clock = context.clock
        self._pace = context.pace
        self._interruption = context.interruption
        self._ready = ready
        self._collectors = collectors
        self._checks = collectors.checks
        self._jobs = Jobs(context.plan, ready.size)
        self._start_seconds = 0.0
        """Of what came before the last round's first block, but for its warm-up."""

        self._lap_seconds = 0.0
        self._has_settled = False
        """Whether the caches of the last round had come to rest before its first block."""

        self._misses: dict[Condition, float] = {}
        """The most of a trial of the round but its first block, per operation: short trials differ at rest, too."""

        self._at = RunPart.of("before-trials")
        self._next_block = 0
        self.extra_seconds = 0.0
        """The time of profiles and the search in the last round, which later rounds do not need."""

        self.loss: ServerLost | None = None
        """The fault that cut the last round short; None without one."""

    def run(self, number: int, first_block: int) -> int:
        """Run round ``number`` with blocks from ``first_block``. Returns the number of the next block.

        A round ends early when it is interrupted, when the time would not hold another block, or when a server dies:
        then it left `loss`, blocks before that one stay, and another round is to make up for it.
        """
        self._jobs = Jobs(self._plan, self._ready.size)
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
        self._at = RunPart.of("before-trials")
        began = self._clock.elapsed()
        first_block, twins = self._next_block, self._start(number, stack)
        self._start_seconds = self._clock.elapsed() - began - self._lap_seconds
        if first_block == 0 and not self._interruption.requested:
            self._pace.require_block()
        self._context.observe(RoundStarted(number, self._plan.request.blocks_per_round))
        for place in range(self._plan.request.blocks_per_round):
            is_first = self._next_block == first_block
            if self._interruption.requested or not (is_first or self._has_time_for_block(place)):
                break
            self._at = RunPart.of("block", block=self._next_block + 1)
            with self._pace.timed(self._pace.block_stage):
                self._block(number, place, {c: twins[c] for c in self._plan.in_round(number)})
            self._next_block += 1
        is_whole = self._next_block - first_block == self._plan.request.blocks_per_round
        if is_whole and self._has_settled and not self._interruption.requested:
            self._keep_caches(twins)
        self._collect(Round(number, twins, self._jobs))
        if not self._interruption.requested:
            self._at = RunPart.of("rows-compared")
            with self._pace.timed(Stage.ROWS):
                self._compare_rows(twins)

    def _collect(self, of: Round) -> None:
        self.extra_seconds = 0.0
        for collector in self._collectors.behind_blocks:
            self._at = collector.stage
            if self._interruption.requested or not collector.is_due():
                continue
            began = self._clock.elapsed()
            try:
                collector.collect(of)
            finally:  # a server may die meanwhile
                taken = self._clock.elapsed() - began
                self.extra_seconds += taken
                if collector is not self._collectors.search:
                    self._context.extra_seconds += taken

    def _lose(self, number: int, loss: ServerLost) -> None:
        """A server died: its block is void and the round over. The next one has fresh twins; but not without end."""
        self.loss = loss
        self._checks.lost(number, self._at, loss.said)
        self._context.observe(Phase("lost", f"{self._at}, since {loss.said}"))
        if self._checks.losses > _MOST_LOSSES:
            raise ServerLost(Refusal.of("losses-too-many", losses=self._checks.losses, loss=loss))

    def seconds_for(self, blocks: int) -> float:
        """Seconds of a further round of so many blocks."""
        around = self._start_seconds + self._lap_seconds + self._pace.of(Stage.ROWS) + self._pace.of(Stage.END)
        return around + self._pace.blocks(blocks)

    def _has_time_for_block(self, place: int) -> bool:
        """Whether a round has time for its block of that place.

        Timed calls and a CPU profile go before blocks past the fewest.
        """
        preferred = self._collectors.preferred if place >= FEWEST_BLOCKS else ()
        also = sum(collector.first_seconds() for collector in preferred)
        return self._clock.left() >= self._pace.block() + also + self._context.behind_blocks()

    def _has_time_for(self, seconds: float) -> bool:
        """Whether the fewest blocks of a round, and what is to come behind them, fit after so many seconds."""
        blocks = min(FEWEST_BLOCKS, self._plan.request.blocks_per_round)
        return self._clock.left() >= seconds + self._pace.blocks(blocks) + self._context.behind_blocks()

    def _start(self, number: int, stack: ExitStack) -> dict[Condition, tuple[str, Twin]]:
        """Fresh instances, made one after another in the drawn order, then read and warmed up side by side."""
        shared = self._plan.instances(number)
        drawn = instances(self._plan.settings.seed, number, tuple(shared))
        hosts = self._plan.hosts_in(number)
        twins: dict[Condition, tuple[str, Twin]] = {}
        self._misses.clear()
        began, of_prices = self._clock.elapsed(), 0.0
        is_hurried = self._pace.needs.price_seconds > 0 and not self._has_time_for(self._pace.ahead_of_blocks())
        self._collectors.unit_costs.begin_round(number, is_hurried=is_hurried)
        for done, (condition, name) in enumerate(drawn):
            if self._interruption.requested:
                return twins
            self._context.observe(Phase("copy", f"round {number + 1}: fresh copies", done, len(drawn)))
            settings = self._plan.twin_settings(condition, self._ready.data_bytes)
            twin = self._ready.housing.started(
                stack, self._ready.twins, condition, settings, name, host=hosts.get(condition, 0)
            )
            twins[condition] = (name, twin)
            self._checks.fresh(condition, twin)
            priced = self._clock.elapsed()
            self._collectors.unit_costs.collect(shared[condition], twin)
            of_prices += self._clock.elapsed() - priced
            if condition.get(AES_INSTRUCTIONS) and (proof := twin.prove()):
                self._checks.proved(condition, proof)
            for other in shared[condition][1:]:
                settings = self._plan.twin_settings(other, self._ready.data_bytes)
                joined = self._ready.twins.join(twin, settings)
                stack.callback(joined.end)
                twins[other] = (name, joined)
        self._pace.took(Stage.START, self._clock.elapsed() - began - of_prices)
        self._clock.ring_at_end(self._pace.tidying())
        if of_prices:
            self._pace.took(Stage.PRICES, of_prices)
        self._context.observe(Phase("checksum", "rows of all copies before the first trial"))
        with self._pace.timed(Stage.ROWS):
            before = self._checksums({c: twins[c] for c in shared})
        for condition, sums in before.items():
            self._checks.before(condition, sums)
        self._checks.raise_if_rows_differ()
        warm = {condition: twin for condition, twin in twins.items() if self._plan.work(condition) == "warm"}
        if self._plan.warms_until_settled:
            self._has_settled = self._warm_until_settled(number, warm)
        else:
            with self._pace.timed(Stage.LAP):
                for done, (condition, (_, twin)) in enumerate(warm.items()):
                    self._context.observe(Phase("warm-up", f"round {number + 1}", done, len(warm)))
                    self._warm_up(condition, twin, WARM_UPS + number)
        return twins

    def _warm_until_settled(self, number: int, twins: Mapping[Condition, tuple[str, Twin]]) -> bool:
        """Lap after lap of a trial on every twin, the same for all, until no cache misses less often than before.

        A cache that was filled as an earlier one was at rest has come to rest once it misses no more often than that.
        One that has come to rest stays so: it is full.

        Returns:
            Whether all have come to rest.
        """
        busiest = self._busiest(twins)
        known = {condition: self._restored(twins[condition][1]) for condition in busiest}
        warming = self._clock.elapsed()
        misses: dict[Condition, list[float]] = {condition: [] for condition in busiest}
        unsettled: dict[Condition, list[float]] = {}
        at_rest: set[Condition] = set()
        for lap in range(MOST_LAPS):
            if lap and not self._has_time_for(self._pace.of(Stage.LAP)):
                break
            began = self._clock.elapsed()
            for done, (condition, (_, twin)) in enumerate(twins.items()):
                if lap and condition not in busiest:
                    continue  # it has met its connections; the cache is filled by the busiest of its instance
                text = f"round {number + 1}, lap {lap + 1}: until the caches' misses settle"
                self._context.observe(Phase("warm-up", text, done, len(twins)))
                share = 1 if lap or None in known.values() else _RESTORED_LAP
                measured = self._warm_up(condition, twin, WARM_UPS + (number << 8) + lap, share)
                missed = None if measured is None else measured.misses_per_operation
                if condition in busiest and missed is not None:
                    misses[condition].append(missed)
            self._pace.took(Stage.LAP, self._clock.elapsed() - began)
            self._lap_seconds = self._clock.elapsed() - warming
            at_rest |= {c for c, found in misses.items() if is_settled(found, known[c])}
            unsettled = {c: found for c, found in misses.items() if found and c not in at_rest}
            if self._interruption.requested or not unsettled:
                return not unsettled
        self._checks.unsettled(number, unsettled)
        return False

    def _busiest(self, twins: Mapping[Condition, object]) -> set[Condition]:
        """Of the conditions that share an instance, the one whose load fills its cache."""
        shared = ([c for c in conditions if c in twins] for conditions in self._plan.instances().values())
        return {max(met, key=lambda c: int(c.level("threads"))) for met in shared if met}

    def _restored(self, twin: Twin) -> float | None:
        return None if self._interruption.requested else twin.restore_cache()

    def _keep_caches(self, twins: Mapping[Condition, tuple[str, Twin]]) -> None:
        """Keep what caches hold after a round's blocks, so that the next round's are filled and not warmed."""
        for condition in self._busiest({c: twin for c, twin in twins.items() if self._plan.work(c) == "warm"}):
            twin = twins[condition][1]
            if condition in self._misses and twin.keep_cache(self._misses[condition]):
                self._lap_seconds = self._pace.of(Stage.LAP)

    def _checksums(self, twins: Mapping[Condition, tuple[str, Twin]]) -> dict[Condition, Checksums]:
        """Read every row of these twins, as many at once as there are cores; that warms the page cache alike, too."""
        tables = self._plan.populate_job().tables
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            sums = pool.map(lambda entry: entry[1].checksums(tables), twins.values())
            return dict(zip(twins, sums, strict=True))

    def _warm_up(self, condition: Condition, twin: Twin, stream: int, share: float = 1.0) -> Measurement | None:
        """One trial that is not recorded, or a share of one; None if there was a Ctrl-C.

        Raises:
            ServerLost: it stood still until its deadline, so that this twin is no longer as the others are.
        """
        if self._interruption.requested:
            return None
        with self._interruption.watching(twin):
            job, fewest = self._jobs.next(condition, stream), int(condition.level("threads"))
            operations = min(job.operations, max(fewest, math.ceil(share * job.operations)))
            measured = twin.trial(dataclasses.replace(job, operations=operations, discard=round(share * job.discard)))
        if measured.standstill and measured.stopped_by != "count" and not self._interruption.requested:
            raise ServerLost(Refusal.of("stood-still", said=measured.standstill))
        return measured

    def _block(self, number: int, place: int, twins: Mapping[Condition, tuple[str, Twin]]) -> None:
        """Run and store the block that is the ``place``-th of its round, of these twins."""
        block, conditions = self._next_block, tuple(twins)
        before = {c.stratum: self._plan.blocks_before(c.stratum, number) for c in conditions}
        nth = {stratum: blocks + place for stratum, blocks in before.items() if blocks is not None}
        order = stratified_order(self._plan.settings.seed, block, [c.stratum for c in conditions], nth)
        started, measured = self._unbroken(number, twins, order)
        if self._interruption.requested and any(m.stopped_by != "count" for m in measured):
            return
        if self._plan.request.trace and not self._interruption.requested:
            measured = self._traced(block, twins, measured, order)
        for position, index in enumerate(order):
            condition = conditions[index]
            trial = Trial(number, block, position, condition, twins[condition][0], started, measured[index])
            if place and (missed := measured[index].misses_per_operation) is not None:
                self._misses[condition] = max(missed, self._misses.get(condition, 0.0))
            self._context.observe(TrialDone(trial, self._context.keep_trial(trial)))
        self._context.observe(BlockDone(number, block, self._clock.elapsed()))

    def _traced(
        self,
        block: int,
        twins: Mapping[Condition, tuple[str, Twin]],
        measured: Sequence[Measurement],
        order: Sequence[int],
    ) -> list[Measurement]:
        """The trials of a block with what their statements cost one by one, on other operations of the same kind.

        Those that are neither transactions nor routines stay as they are.
        """
        kinds = {"": TRACE, ROUTINE: ROUTINE_TRACE}
        of = {n: c for n, c in enumerate(twins) if self._plan.step(c) in kinds}
        jobs = [self._jobs.in_one_piece(c, TRACES + block) for c in of.values()]
        jobs = [
            dataclasses.replace(job, step=kinds[job.step], operations=min(job.operations, _TRACED_OPERATIONS))
            for job in jobs
        ]
        entries = [(twins[c][1], job) for c, job in zip(of.values(), jobs, strict=True)]
        with self._interruption.watching(*(twin for twin, _ in entries)):
            traced = self._ready.twins.block(entries, [[*of].index(n) for n in order if n in of])
        costs = {n: one.traced for n, one in zip(of, traced, strict=True)}
        return [dataclasses.replace(m, traced=costs.get(n, {})) for n, m in enumerate(measured)]

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
            jobs = [self._jobs.in_block(c, block) for c in twins]
            started = self._clock.unix_seconds()
            measured, standstill = self._measure(tuple(twins.values()), jobs, order)
            if standstill and self._interruption.requested:
                return started, [dataclasses.replace(m, stopped_by="signal") for m in measured]
            if not standstill:
                return started, measured
            most = _MOST_VOIDS_OF_AGENTS if self._plan.agents is not None else _MOST_VOIDS
            if tries == most or any(m.stopped_by != "count" or m.errors for m in measured):
                raise ServerLost(Refusal.of("stood-still", said=standstill))
            self._checks.paused(number, block, Refusal.of("stood-still", said=standstill))
            self._context.observe(Phase("again", f"block {block + 1}, since {standstill}"))

    def _measure(
        self, named: Sequence[tuple[str, Twin]], jobs: Sequence[TrialJob], order: Sequence[int]
    ) -> tuple[list[Measurement], str]:
        """The measurements of the trials, that of the storage below them included, and a standstill meanwhile."""
        twins, usage = [twin for _, twin in named], self._ready.housing.usage
        before = [usage(name) for name, _ in named]
        with self._interruption.watching(*twins), watching("tdelta", *self._beside()) as own:
            measured = self._ready.twins.block(list(zip(twins, jobs, strict=True)), order)
        after = [usage(name) for name, _ in named]
        measured = tuple(with_storage(m, *used) for m, *used in zip(measured, before, after, strict=True))
        standstill = next((m.standstill for m in measured if m.standstill), own.standstill)
        if self._plan.engine.profile.fills_cpus:  # what waits for a CPU is the engine itself
            measured = tuple(dataclasses.replace(m, pressure=_without_cpu(m.pressure)) for m in measured)
        return list(measured), standstill

    def _beside(self) -> tuple[Sequence[int], str]:
        return self._ready.housing.processes, "the encrypted file system below a copy"

    def _compare_rows(self, twins: Mapping[Condition, tuple[str, Twin]]) -> None:
        """Compare what the trials left behind, where one thread makes the order of operations certain."""
        self._context.observe(Phase("checksum", "rows of all copies after the last trial"))
        shared = self._plan.instances()
        certain = {
            condition: twins[condition]
            for condition, conditions in shared.items()
            if condition in twins and all(c.level("threads") == 1 for c in conditions)
        }
        for condition, sums in self._checksums(certain).items():
            self._checks.after(condition, sums)
        self._compare_replicas({c: twins[c] for c in shared if c in twins and self._plan.replication(c)})
        self._checks.round_over()

    def _compare_replicas(self, twins: Mapping[Condition, tuple[str, Twin]]) -> None:
        """Compare every replica with its primary, whatever made the rows."""
        tables = self._plan.populate_job().tables
        for condition, sums in (self._checksums(twins) if twins else {}).items():
            replica = twins[condition][1].replica_checksums(tables)
            if replica is not None:
                self._checks.replicated(condition, sums, replica)


def _without_cpu(pressure: Mapping[str, float]) -> dict[str, float]:
    return {name: share for name, share in pressure.items() if name != "cpu_some"}
