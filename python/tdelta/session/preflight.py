"""Is there room, and how long will it take? Asked before anything is made."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

from tdelta.design import fresh_seed
from tdelta.errors import UsageError
from tdelta.measure import (
    free_disk_bytes,
    free_memory_bytes,
    require_memory,
    require_open_files,
    require_space,
    require_writable,
)
from tdelta.records import Condition, Event
from tdelta.session.calibration import LONGEST_TRIALS
from tdelta.session.families.needs import Needs
from tdelta.session.ground import Ground, grounded
from tdelta.session.planning import Plan, plan
from tdelta.session.request import DryRun, RunRequest, TableLine, TransactionLine
from tdelta.session.source import Source
from tdelta.workloads.own_folder import require_free_folder, write_own_folder

_TRIAL_GAP_SECONDS = 0.02
_SLOWDOWN = 1.3


def check_room(plan: Plan) -> None:
    """Raise ``StorageFault`` or ``EnvironmentFault`` where the run cannot fit, naming what is missing."""
    needs = plan.family.needs(plan.of_one_round())
    require_writable(plan.base)
    require_open_files(needs.open_files)
    if plan.source is None:
        require_space(plan.base, needs.disk_bytes)
        require_memory(needs.memory_bytes)
    else:
        require_space(plan.base, needs.disk_bytes, remedy="or name another folder (--dir)")
        require_memory(needs.memory_bytes, remedy="take a smaller --cache or fewer --threads")


def _block_seconds(plan: Plan, needs: Needs, place: int) -> float:
    """About how long the ``place``-th block of a round takes.

    Twins that derive a key for each operation take the longest trials there are. A load or rebuild takes as long as the
    data does at first, and before a cold trial a server is started.
    """
    usual = plan.request.trial_seconds * _SLOWDOWN + _TRIAL_GAP_SECONDS
    longest = LONGEST_TRIALS * plan.request.trial_seconds if plan.workload.connects else usual

    def seconds(condition: Condition) -> float:
        if plan.step(condition):
            return needs.step_seconds
        trial = usual if condition.level("cipher") == "none" else longest
        trial += usual if plan.request.trace else 0.0
        return trial + (needs.cold_seconds if plan.is_cold(condition) else 0.0)

    return sum(seconds(condition) for condition in plan.conditions if plan.has_part(condition, place))


def _least_seconds(plan: Plan, needs: Needs) -> float:
    """About how long the fewest rounds asked for take, set-up included."""
    blocks = (_block_seconds(plan.of_one_round(), needs, place) for place in range(plan.request.blocks_per_round))
    return needs.set_up_seconds + plan.request.min_rounds * (needs.round_seconds + sum(blocks))


def with_bb_twin(plan: Plan) -> Plan:
    """Decide whether a run has a B/B twin where the request leaves it open: where the time, disk and memory allow.

    Nothing is encrypted in a run of identical twins, nor in one that only plants costs: these have none. A user's own
    servers have none either unless asked for, since it is one more schema on a server that others may use.
    """
    if plan.request.bb_twin is not None:
        return plan
    grown = plan.decided(bb_twin=True)
    if plan.settings.own_servers is not None or not grown.bb_twins:
        return plan.decided(bb_twin=False)
    lacking = _lacking(grown)
    if lacking is None:
        return grown
    return plan.decided(bb_twin=False, cautions=(f"no B/B twin (a second encrypted instance): {lacking}",))


def _lacking(plan: Plan) -> str | None:
    """What a run does not fit into, in words; None where it fits."""
    needs, request = plan.family.needs(plan.of_one_round()), plan.request
    seconds, memory = _least_seconds(plan, needs), free_memory_bytes()
    if seconds > request.max_seconds:
        rounds = f"{request.min_rounds} rounds" if request.min_rounds > 1 else "1 round"
        return f"{rounds} with it take about {seconds:.0f} s and --max-time is {request.max_seconds:.0f} s"
    if needs.disk_bytes > free_disk_bytes(plan.base):
        return f"the disk under {plan.base} has no room for it"
    if memory is not None and needs.memory_bytes > memory:
        return "there is too little free memory for it"
    return None


def dry_run(
    request: RunRequest, observe: Callable[[Event], None] = lambda _event: None, write_workload: Path | None = None
) -> DryRun:
    """What a run would take. Makes nothing, but for a copy of a user's database, which is gone at the end.

    Args:
        request: what was asked.
        observe: told how far the copy is.
        write_workload: where to write the workload that is proposed for a user's database.

    Raises:
        UsageError: as `tdelta.session.plan`; there is nothing to write, or the folder is taken.
        DatabaseFault: as `tdelta.session.database.staged`.
    """
    if write_workload is not None:
        _require_proposal(request)
        require_free_folder(write_workload)
    if request.seed is None:
        request = dataclasses.replace(request, seed=fresh_seed())
    with grounded(request, f"dry-run-{os.getpid()}", observe) as ground:
        source = ground.source
        outlook = _outlook(request, ground)
        if source is not None and write_workload is not None:
            write_own_folder(source.workload, write_workload, source.notes)
            outlook = dataclasses.replace(outlook, written=str(write_workload))
    return outlook


def _require_proposal(request: RunRequest) -> None:
    if (request.database is None and request.restore is None) or request.workload is not None:
        found = "--workload" if request.workload is not None else "neither"
        raise UsageError(
            "--write-workload writes what is proposed for --database FILE or --restore CMD without --workload; found"
            f" {found}"
        )


def _outlook(request: RunRequest, ground: Ground) -> DryRun:
    source = ground.source
    made = with_bb_twin(plan(request, "dry-run", source, ground.servers))
    needs = made.family.needs(made.of_one_round())
    trials = sum(made.trials_in(number) for number in range(request.min_rounds))
    blocks = [_block_seconds(made.of_one_round(), needs, place) for place in range(request.blocks_per_round)]
    at_least = _least_seconds(made, needs)
    first_block = needs.set_up_seconds + needs.round_seconds + blocks[0]  # these are always finished
    cautions = list(made.cautions)
    if at_least > request.max_seconds:
        cautions.append(
            f"{request.min_rounds} rounds take about {at_least:.0f} s and --max-time is {request.max_seconds:.0f} s:"
            " the run would be cut short"
        )
    return DryRun(
        conditions=tuple(condition.key for condition in made.conditions),
        seconds_at_least=at_least if request.max_seconds > at_least else first_block,
        seconds_at_most=max(request.max_seconds, first_block),
        disk_bytes=needs.disk_bytes,
        disk_free_bytes=free_disk_bytes(made.base),
        memory_bytes=needs.memory_bytes,
        memory_free_bytes=free_memory_bytes() or 0,
        directory=str(made.base),
        trials_at_least=trials,
        cautions=(*cautions, *(() if source is None else source.cautions)),
        database=made.settings.database,
        tables=() if source is None else _table_lines(source),
        transactions=() if source is None else _transaction_lines(source),
        notes=() if source is None else tuple(note for note in source.notes if note not in source.cautions),
    )


def _table_lines(source: Source) -> tuple[TableLine, ...]:
    ordered = sorted(source.database.tables, key=lambda table: (-table.size_bytes, table.name))
    return tuple(TableLine(table.name, table.rows, table.size_bytes) for table in ordered)


def _transaction_lines(source: Source) -> tuple[TransactionLine, ...]:
    total = sum(transaction.weight for transaction in source.workload.transactions)
    return tuple(
        TransactionLine(transaction.name, transaction.title, transaction.weight / total, transaction.text)
        for transaction in source.workload.transactions
    )
