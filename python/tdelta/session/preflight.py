"""Whether there is room and time for a run, and what ``--dry-run`` shows of it; known before anything is made."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tdelta.design import fresh_seed
from tdelta.engines.server.pairs import ReachedServers, external_dsns, reached
from tdelta.errors import EnvironmentFault, TimeFault, UsageError
from tdelta.inference.decisions import FEWEST_ROUNDS
from tdelta.measure.space import (
    free_disk_bytes,
    free_memory_bytes,
    require_memory,
    require_open_files,
    require_space,
    require_threads,
    require_writable,
)
from tdelta.messages import Caution, Refusal
from tdelta.processes.templates import Templates
from tdelta.records import DatabaseFacts, Event, Phase
from tdelta.session.clock import Clock, Interruption, interruptible
from tdelta.session.housing import resource_estimate, user_folders
from tdelta.session.pace import MOST_EXTENSION, Pace, about
from tdelta.session.request import RunRequest
from tdelta.session.run_plan import Plan, Source, check, plan
from tdelta.session.staging import own_source, staged
from tdelta.workloads.user_workload import require_free_folder, write_user_workload


@dataclass(frozen=True, slots=True)
class TableLine:
    name: str
    rows: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class TransactionLine:
    """A transaction type on a user's database, in a dry run. ``share`` is its share of all transactions."""

    name: str
    title: str
    share: float
    script: str


@dataclass(frozen=True, slots=True)
class DryRun:
    """The needs of a run, before anything is made (``--dry-run``).

    ``seconds_least`` is the shortest run there is, ``seconds_at_least`` one of the fewest rounds asked for. ``faults``
    say why the run would be refused; empty where it would not. Fields after the cautions are of a user's database only:
    its tables, the transactions on it, what a proposal left out, and the folder to which the proposal was written.
    """

    conditions: tuple[str, ...]
    seconds_least: float
    seconds_at_least: float
    seconds_at_most: float
    disk_bytes: int
    disk_free_bytes: int
    memory_bytes: int
    memory_free_bytes: int
    directory: str
    trials_at_least: int
    faults: tuple[Refusal, ...] = ()
    cautions: tuple[Caution, ...] = ()
    database: DatabaseFacts | None = None
    tables: tuple[TableLine, ...] = ()
    transactions: tuple[TransactionLine, ...] = ()
    notes: tuple[str, ...] = ()
    written: str | None = None


Observer = Callable[[Event], None]

_FEWEST_BLOCKS = 4
"""Of a round that is made shorter so that more rounds fit."""


@dataclass(frozen=True, slots=True)
class RunInputs:
    """``source`` where rows are the user's, ``servers`` where servers are."""

    source: Source | None = None
    servers: ReachedServers | None = None

    def active(self) -> AbstractContextManager[None]:
        """While the block lasts, what the run needs is there: its schemas on servers of the user's."""
        return nullcontext() if self.servers is None else self.servers.made()


@contextmanager
def prepared_inputs(
    request: RunRequest, run_id: str, observe: Observer, templates: Templates | None = None
) -> Iterator[RunInputs]:
    """Make ready what a run stands on, while the block lasts.

    Args:
        templates: as `tdelta.session.staging.staged`.
    """
    dsns = external_dsns(request.baseline, request.encrypted, request.contrast)
    if dsns is not None:
        check(request)
        with reached(request.values, dsns, run_id) as servers:  # silent: a person may be asked for a password
            observe(Phase("compare", "the two servers match"))
            yield RunInputs(own_source(request, servers, observe) if servers.is_own else None, servers)
    else:
        with staged(request, run_id, observe, templates) as source:
            yield RunInputs(source=source)


def patient_clock(request: RunRequest, now: Callable[[], float] = time.monotonic) -> Clock:
    """A clock for the time in which the user's rows are made ready: as long as a default time may be extended to."""
    return Clock(request.max_seconds * (1.0 if "max_seconds" in request.typed else MOST_EXTENSION), now)


def check_room(plan: Plan, elapsed_seconds: float = 0.0) -> None:
    """Raise where the run cannot fit, naming what is missing.

    Args:
        elapsed_seconds: how long it has been under way; what is staged of a user's database is staged by then.
    """
    for fits in _checks(plan, elapsed_seconds):
        fits()


def with_enough_time(plan: Plan, clock: Clock) -> Plan:
    """The plan with its default time extended to that of the fewest rounds, if not even the shortest run fits."""
    clock.extend(plan.request.max_seconds)
    try:
        Pace(plan, clock.elapsed).require()
        _require_time_as_pressed(plan, clock)
    except TimeFault:
        request, pace = plan.request, Pace(plan, clock.elapsed)
        if "max_seconds" in request.typed:
            raise
        pace.pressed(clock.slowdown())
        needed = pace.extension(request.min_rounds)
        if needed is None:
            raise
        plan = plan.extended(needed)
        clock.extend(needed)
    return plan


def _require_time_as_pressed(plan: Plan, clock: Clock) -> None:
    """Raise where the set-up would take so long on a machine as busy as this one that no round fits.

    That would turn out after the first load, of servers minutes later. Where there is plenty of time nothing is
    measured, nor where the servers are the user's, or on hosts: what is set up there does not need this machine's CPUs.
    """
    if plan.settings.external_servers is not None or plan.hosts is not None:
        return
    pace = Pace(plan, clock.elapsed)
    if pace.is_tight():
        pace.pressed(clock.slowdown())
        pace.require(searches=False)


def _checks(plan: Plan, elapsed_seconds: float) -> tuple[Callable[[], None], ...]:
    """The resources that have to fit, each raising where it does not."""
    one_round = plan.of_one_round()
    needs = resource_estimate(one_round)
    of_instance = needs.disk_bytes // max(1, len(one_round.instances()))
    space, memory = partial(require_space, plan.base, needs.disk_bytes), partial(require_memory, needs.memory_bytes)
    if plan.source is not None:
        space = partial(space, remedy="or name another folder (--dir)")
        memory = partial(memory, remedy="use a smaller --cache or fewer --threads")
    if plan.hosts is not None:  # whether there is room on them, they see themselves
        return (Pace(plan, lambda: elapsed_seconds).require,)
    return (
        Pace(plan, lambda: elapsed_seconds).require,
        partial(require_writable, plan.base),
        partial(require_open_files, needs.open_files),
        partial(require_threads, max(int(condition.level("threads")) for condition in plan.conditions)),
        space,
        memory,
        *(partial(require_space, folder, of_instance) for folder in user_folders(plan)),
    )


def time_caution(plan: Plan, elapsed_seconds: float = 0.0) -> Caution | None:
    """The caution where the run has time for fewer rounds than requested; None where it has enough."""
    request = plan.request
    whole = elapsed_seconds + Pace(plan).whole(request.min_rounds)
    if whole <= request.max_seconds:
        return None
    rounds, given = request.min_rounds, about(request.max_seconds)
    return Caution.of("time-short", rounds=rounds, needed=about(whole), given=given)


def with_bb_twin(plan: Plan) -> Plan:
    """Decide whether a run has a B/B twin where the request leaves it open: where the time, disk and memory allow.

    Nothing is encrypted in a run of identical twins, nor in one that only injects costs: these have none. Two servers
    of the user's have both controls or neither: a second copy of the data on one alone would take its cache.
    """
    if plan.request.bb_control is not None:
        return plan
    grown = plan.decided(bb_control=True)
    if not grown.bb_twins:
        return plan.decided(bb_control=False)
    lacking = _lacking(grown)
    if lacking is None:
        return grown
    return plan.decided(bb_control=False, cautions=(Caution.of("no-bb-twin", lacking=lacking),))


def with_enough_rounds(plan: Plan) -> Plan:
    """The plan with fewer blocks per round than usual if `FEWEST_ROUNDS` rounds fit with them, and not otherwise.

    Few rounds hardly show how much copies differ: simulated intervals of 5 rounds of 6 blocks are up to 14% narrower
    than those of 4 rounds of 8.
    """
    request = plan.request
    if "blocks_per_round" in request.typed or request.study is not None or request.max_rounds is not None:
        return plan
    for blocks in range(request.blocks_per_round, _FEWEST_BLOCKS - 1, -1):
        shorter = plan.with_options(blocks_per_round=blocks)
        if Pace(shorter).whole(FEWEST_ROUNDS) <= request.max_seconds:
            return shorter
    return plan


def _lacking(plan: Plan) -> str | None:
    """The limit that a run does not fit into, in words; None where it fits."""
    pace, request = Pace(plan), plan.request
    needs, seconds, memory = pace.needs, pace.shortest(), free_memory_bytes()
    if seconds > request.max_seconds:
        given = about(request.max_seconds)
        return f"the shortest run with it requires about {about(seconds)}, --max-time is {given}"
    if plan.hosts is not None:  # whether there is room on them, they see themselves
        return None
    if needs.disk_bytes > free_disk_bytes(plan.base):
        return f"not enough free disk space in {plan.base}"
    if memory is not None and needs.memory_bytes > memory:
        return "not enough free memory"
    return None


def dry_run(
    request: RunRequest, observe: Callable[[Event], None] = lambda _event: None, write_workload: Path | None = None
) -> DryRun:
    """The outline of a run. Makes nothing, but for a copy of a user's database, which is gone at the end.

    Args:
        write_workload: where to write the workload that is proposed for a user's database.

    Raises:
        UsageError: as `tdelta.session.plan`; there is nothing to write, or the folder is taken.
        TimeFault: the user's database was not made ready within the run's time.
        DatabaseFault: as `tdelta.session.staging.staged`.
    """
    if write_workload is not None:
        _require_proposal(request)
        require_free_folder(write_workload)
    if request.seed is None:
        request = request.replace(seed=fresh_seed())
    clock, name = patient_clock(request), f"dry-run-{os.getpid()}"
    with interruptible(Interruption(), clock, clock.fault), prepared_inputs(request, name, observe) as inputs:
        source = inputs.source
        outlook = _outlook(request, inputs, clock)
        if source is not None and write_workload is not None:
            write_user_workload(source.workload, write_workload, source.notes)
            outlook = replace(outlook, written=str(write_workload))
    return outlook


def _require_proposal(request: RunRequest) -> None:
    if (request.database is None and request.restore is None) or request.workload is not None:
        raise UsageError(
            Refusal.of(
                "requires", what="--write-workload", needs="--database FILE or --restore CMD, without --workload"
            )
        )


def _outlook(request: RunRequest, inputs: RunInputs, clock: Clock) -> DryRun:
    source = inputs.source
    made = with_enough_rounds(with_bb_twin(plan(request, "dry-run", source, inputs.servers)))
    with suppress(TimeFault):  # is among the faults
        made = with_enough_time(made, clock)
    pace = Pace(made)
    staged_seconds = pace.needs.stage_seconds
    caution = time_caution(made, staged_seconds)
    faults = tuple(_faults(made, staged_seconds))
    if faults:
        caution = None  # it would say the same again
    return DryRun(
        conditions=tuple(condition.key for condition in made.conditions),
        seconds_least=staged_seconds + pace.answering(),
        seconds_at_least=staged_seconds + pace.whole(request.min_rounds),
        seconds_at_most=made.request.max_seconds,
        disk_bytes=pace.needs.disk_bytes,
        disk_free_bytes=free_disk_bytes(made.base),
        memory_bytes=pace.needs.memory_bytes,
        memory_free_bytes=free_memory_bytes() or 0,
        directory=str(made.base),
        trials_at_least=sum(made.trials_in(number) for number in range(request.min_rounds)),
        faults=faults,
        cautions=(
            *made.cautions,
            *filter(None, (caution,)),
            *(() if made.hosts is None else (Caution.of("hosts-not-asked"),)),
            *(() if source is None else source.cautions),
        ),
        database=made.settings.database,
        tables=() if source is None else _table_lines(source),
        transactions=() if source is None else _transaction_lines(source),
        notes=() if source is None else _notes(source),
    )


def _notes(source: Source) -> tuple[str, ...]:
    """Notes of a proposal that are not in the cautions already."""
    said = {caution.text for caution in source.cautions}
    return tuple(note for note in source.notes if note not in said)


def _faults(plan: Plan, elapsed_seconds: float) -> Iterator[Refusal]:
    for fits in _checks(plan, elapsed_seconds):
        try:
            fits()
        except (TimeFault, EnvironmentFault) as fault:
            yield from fault.refusals


def _table_lines(source: Source) -> tuple[TableLine, ...]:
    ordered = sorted(source.database.tables, key=lambda table: (-table.size_bytes, table.name))
    return tuple(TableLine(table.name, table.rows, table.size_bytes) for table in ordered)


def _transaction_lines(source: Source) -> tuple[TransactionLine, ...]:
    total = sum(transaction.weight for transaction in source.workload.transactions)
    return tuple(
        TransactionLine(transaction.name, transaction.title, transaction.weight / total, transaction.text)
        for transaction in source.workload.transactions
    )
