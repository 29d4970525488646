"""Is there room, and how long will it take? Asked before anything is made."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

from tdelta.design import fresh_seed
from tdelta.errors import UsageError
from tdelta.measure import free_disk_bytes, free_memory_bytes, require_memory, require_space, require_writable
from tdelta.records import Event
from tdelta.session.calibration import LONGEST_TRIALS
from tdelta.session.database import staged
from tdelta.session.planning import Plan, plan
from tdelta.session.request import DryRun, RunRequest, TableLine, TransactionLine
from tdelta.session.source import DatabaseSource
from tdelta.workloads.own_folder import require_free_folder, write_own_folder

# Rough on purpose, and said to be estimates: a load of 50 MB took 1 to 3 s a cipher, a worker 0.15 s to start.
_LOAD_BYTES_PER_SECOND = 20e6
_COPY_BYTES_PER_SECOND = 400e6
# A user's database of 325 MB was staged in 6 s, and converted in 1 to 2 s a cipher.
_STAGED_BYTES_PER_SECOND = 50e6
_CONVERTED_BYTES_PER_SECOND = 150e6
_WORKER_SECONDS = 0.25
_TRIAL_GAP_SECONDS = 0.02
_SLOWDOWN = 1.3
_WORKER_BYTES = 60_000_000
_FILE_GROWTH = 1.3
"""A twin's file with its write-ahead log and the rows its trials add, over the file as loaded."""


def needed_disk_bytes(plan: Plan) -> int:
    """Bytes that all files of a run take at once: a load for each kind, an instance for each condition."""
    files = len(plan.load_kinds()) + len(plan.conditions) * _FILE_GROWTH
    return round(plan.size_bytes * files)


def needed_memory_bytes(plan: Plan) -> int:
    """Bytes that the workers of a round take at once, page caches included."""
    size = plan.size_bytes
    return sum(_WORKER_BYTES + plan.twin_settings(c, size).cache_bytes for c in plan.conditions)


def check_room(plan: Plan) -> None:
    """Raise ``StorageFault`` or ``EnvironmentFault`` where the run cannot fit, naming what is missing."""
    require_writable(plan.base)
    if plan.source is None:
        require_space(plan.base, needed_disk_bytes(plan))
        require_memory(needed_memory_bytes(plan))
    else:
        require_space(plan.base, needed_disk_bytes(plan), remedy="or name another folder (--dir)")
        require_memory(needed_memory_bytes(plan), remedy="take a smaller --cache or fewer --threads")


def _block_seconds(plan: Plan) -> float:
    """About how long a block takes. Twins that derive a key for each operation take the longest trials there are."""
    usual = plan.request.trial_seconds * _SLOWDOWN + _TRIAL_GAP_SECONDS
    longest = LONGEST_TRIALS * plan.request.trial_seconds if plan.workload.connects else usual
    return sum(usual if condition.level("cipher") == "none" else longest for condition in plan.conditions)


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
    with staged(request, f"dry-run-{os.getpid()}", observe) as source:
        outlook = _outlook(request, source)
        if source is not None and write_workload is not None:
            write_own_folder(source.workload, write_workload, source.notes)
            outlook = dataclasses.replace(outlook, written=str(write_workload))
    return outlook


def _require_proposal(request: RunRequest) -> None:
    if request.database is None or request.workload is not None:
        found = "no --database" if request.database is None else "--workload"
        raise UsageError(
            f"--write-workload writes what is proposed for --database FILE without --workload; found {found}"
        )


def _outlook(request: RunRequest, source: DatabaseSource | None) -> DryRun:
    made = plan(request, "dry-run", source)
    size = made.size_bytes
    conditions = len(made.conditions)
    trials = request.min_rounds * request.blocks_per_round * conditions
    set_up = _set_up_seconds(made)
    a_round = conditions * (size / _COPY_BYTES_PER_SECOND + _WORKER_SECONDS)
    a_block = _block_seconds(made)
    at_least = set_up + request.min_rounds * (a_round + request.blocks_per_round * a_block)
    first_block = set_up + a_round + a_block  # these are always finished
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
        disk_bytes=needed_disk_bytes(made),
        disk_free_bytes=free_disk_bytes(made.base),
        memory_bytes=needed_memory_bytes(made),
        memory_free_bytes=free_memory_bytes() or 0,
        directory=str(made.base),
        trials_at_least=trials,
        cautions=(*cautions, *(() if source is None else source.cautions)),
        database=made.settings.database,
        tables=() if source is None else _table_lines(source),
        transactions=() if source is None else _transaction_lines(source),
        notes=() if source is None else tuple(note for note in source.notes if note not in source.cautions),
    )


def _set_up_seconds(plan: Plan) -> float:
    kinds, size = len(plan.load_kinds()), plan.size_bytes
    if plan.source is None:
        return kinds * size / _LOAD_BYTES_PER_SECOND
    return size / _STAGED_BYTES_PER_SECOND + kinds * size / _CONVERTED_BYTES_PER_SECOND


def _table_lines(source: DatabaseSource) -> tuple[TableLine, ...]:
    ordered = sorted(source.database.tables, key=lambda table: (-table.size_bytes, table.name))
    return tuple(TableLine(table.name, table.rows, table.size_bytes) for table in ordered)


def _transaction_lines(source: DatabaseSource) -> tuple[TransactionLine, ...]:
    total = sum(transaction.weight for transaction in source.workload.transactions)
    return tuple(
        TransactionLine(transaction.name, transaction.title, transaction.weight / total, transaction.text)
        for transaction in source.workload.transactions
    )
