"""What a run takes of a machine, estimated before anything is made: rough on purpose, and said to be estimates."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tdelta.engines.servers import Footprint, ServerSettings

if TYPE_CHECKING:
    from tdelta.session.planning import Plan


@dataclass(frozen=True, slots=True)
class Needs:
    """What a run takes. ``disk_bytes`` and ``memory_bytes`` are what is there at once at most.

    ``open_files`` is the most that one process has; 0 where there are few. The seconds are of stages, in their order: a
    user's database made ready, a load of one kind, which ciphers are in force, the size of a trial found; then in a
    round all twins started, their prices measured, their rows read, ``laps`` warm-up trials on each; once a run the
    files of all twins searched. ``step_seconds`` are a load's or rebuild's, and ``cold_seconds`` what comes before a
    trial with cold caches. ``times_calls``: the engine's own calls of its cipher can be timed.
    """

    disk_bytes: int
    memory_bytes: int
    open_files: int
    load_seconds: float
    start_seconds: float
    rows_seconds: float
    calibrate_seconds: float
    stage_seconds: float = 0.0
    observe_seconds: float = 0.0
    price_seconds: float = 0.0
    laps: int = 1
    search_seconds: float = 0.0
    step_seconds: float = 0.0
    cold_seconds: float = 0.0
    times_calls: bool = False

    def set_up_seconds(self, kinds: int) -> float:
        """Until the first round begins, of so many kinds of data."""
        return self.stage_seconds + kinds * self.load_seconds + self.observe_seconds + self.calibrate_seconds


# A load of 50 MB took 1 to 3 s a cipher, a worker 0.15 s to start.
_LOAD_BYTES_PER_SECOND = 20e6
_COPY_BYTES_PER_SECOND = 400e6
_ROWS_BYTES_PER_SECOND = 100e6
"""Rows read for their checksum, and files searched: 50 MB of SQLite took 0.2 s a twin."""

# A user's database of 325 MB was staged in 6 s, and converted in 1 to 2 s a cipher.
_STAGED_BYTES_PER_SECOND = 50e6
_CONVERTED_BYTES_PER_SECOND = 150e6
_WORKER_SECONDS = 0.25
_FILE_PRICE_SECONDS = 1.0
_WORKER_BYTES = 60_000_000
_FILE_GROWTH = 1.3
"""A twin's file with its write-ahead log and the rows its trials add, over the file as loaded."""

# Of DuckDB. Guesses on the safe side: its files are compressed, and smaller than SQLite's, whose size is what is known.
_GENERATED_SIZES = 1.4
"""The files of rows: 0.9 of the size where most of it is text, 1.3 where it is numbers."""

# Two million facts (200 MB) were written in 4 s and read for their checksum in 2 s, by two CPUs with other work.
_GENERATED_BYTES_PER_SECOND = 25e6
_ANALYTIC_LOAD_BYTES_PER_SECOND = 40e6
_ANALYTIC_LOADING_BYTES = 1_300_000_000
_ANALYTIC_WORKER_BYTES = 150_000_000
_ANALYTIC_WORKER_SECONDS = 1.0
_BLOCK_PRICE_SECONDS = 5.0
"""What blocks of one cipher take to be priced, a worker's start and their files included."""

_BLOCK_PRICE_BYTES = 400_000_000
_SPILL_BYTES = 300_000_000
_SPILL_SECONDS = 2.0

# Of servers. 100 MB of SQLite were 121 to 214 MB of tables and indexes, the more rows the more; loaded in 4 to 15 s.
_ROW_BYTES = 100
_SERVER_LOAD_BYTES_PER_SECOND = 8e6
_SERVER_STEP_BYTES_PER_SECOND = 20e6
"""A load or rebuild by itself: two million facts took MariaDB 10 to 28 s."""

_PAGE_PRICE_SECONDS = 1.5
_LOG_PRICE_SECONDS = 3.0
"""About what a price takes on one server of MariaDB or MySQL."""

_TIMED = ("mariadb", "mysql")
"""Servers whose own processes encrypt: their pages are timed, and their calls."""

_LOADING_BYTES = 600_000_000
"""What a server that is being loaded has for its caches, one at a time."""

_TWIN_BYTES = 20_000_000
_THREAD_BYTES = 12_000
"""A worker with one connection, and what each connection adds (15 MB; 35 MB with 2048)."""

_SUPERVISOR_BYTES = 15_000_000
_CONNECT_SECONDS = 0.2
_OBSERVATION_SECONDS = 2.0
_SEARCH_SECONDS = 6.0
"""Of one server's files, 165 MB of them empty: 6.2 s each of three MariaDBs on two CPUs with other work."""

_LAPS = 4
"""Of warm-up; at least three, and fifteen at most."""

_CALIBRATION_TRIALS = 6
_OTHER_FILES = 1000
"""Files that a server has open beside its connections, 810 of which MySQL insists on."""


def embedded_needs(plan: Plan, *, times_calls: bool) -> Needs:
    """A load for each kind, and a file and a process for each condition."""
    size, kinds, conditions = plan.size_bytes, len(plan.load_kinds()), len(plan.conditions)
    is_own = plan.source is not None
    read = size / _ROWS_BYTES_PER_SECOND
    return Needs(
        disk_bytes=round(size * (kinds + conditions * _FILE_GROWTH)),
        memory_bytes=sum(_WORKER_BYTES + plan.twin_settings(c, size).cache_bytes for c in plan.conditions),
        open_files=0,
        stage_seconds=size / _STAGED_BYTES_PER_SECOND if is_own else 0.0,
        load_seconds=_WORKER_SECONDS + size / (_CONVERTED_BYTES_PER_SECOND if is_own else _LOAD_BYTES_PER_SECOND),
        calibrate_seconds=len(plan.strata)
        * (_WORKER_SECONDS + _CALIBRATION_TRIALS * plan.request.design.trial_seconds),
        start_seconds=conditions * (size / _COPY_BYTES_PER_SECOND + _WORKER_SECONDS),
        price_seconds=_FILE_PRICE_SECONDS * (len(plan.ciphers) - 1),
        rows_seconds=conditions * read / _at_once(),
        search_seconds=conditions * read,
        step_seconds=size / _LOAD_BYTES_PER_SECOND,
        times_calls=times_calls,
    )


def served_needs(plan: Plan, footprint: Footprint) -> Needs:
    """A loaded server for each kind, and one for all conditions that share it, with a worker for each condition."""
    kinds, instances, conditions = len(plan.load_kinds()), plan.instances(), len(plan.conditions)
    data = plan.size_bytes + _ROW_BYTES * sum(plan.workload.rows(plan.scale).values())
    settings = [plan.twin_settings(first, data) for first in instances]
    trial = plan.request.design.trial_seconds
    started = data / _COPY_BYTES_PER_SECOND + footprint.start_seconds
    strata, servers = len(plan.strata), len({plan.family.instance(c[0]) for c in plan.strata.values()})
    return Needs(
        disk_bytes=round((kinds + len(instances)) * (data + footprint.disk_bytes)),
        memory_bytes=max(
            _LOADING_BYTES + footprint.memory_bytes,
            sum(_server_bytes(one, footprint) for one in settings)
            + sum(_TWIN_BYTES + _THREAD_BYTES * int(c.level("threads")) for c in plan.conditions),
        ),
        open_files=_OTHER_FILES + max(one.connections for one in settings),
        load_seconds=_load_seconds(plan, data) + footprint.initialize_seconds,
        observe_seconds=(_OBSERVATION_SECONDS + started) * (len(plan.ciphers) - 1),
        calibrate_seconds=servers * started + strata * (_CONNECT_SECONDS + _CALIBRATION_TRIALS * trial),
        start_seconds=len(instances) * started + conditions * _CONNECT_SECONDS,
        price_seconds=_price_seconds(plan),
        rows_seconds=len(instances) * data / _ROWS_BYTES_PER_SECOND / _at_once(),
        laps=_LAPS,
        search_seconds=len(instances) * (_SEARCH_SECONDS + data / _ROWS_BYTES_PER_SECOND),
        step_seconds=data / _SERVER_STEP_BYTES_PER_SECOND,
        cold_seconds=footprint.start_seconds,
        times_calls=plan.family.name in _TIMED,
    )


def _load_seconds(plan: Plan, data_bytes: int) -> float:
    """Of a user's dump, what its first restore took."""
    restored = 0.0 if plan.source is None else plan.source.load_seconds
    return restored or data_bytes / _SERVER_LOAD_BYTES_PER_SECOND


def _at_once() -> int:
    """Twins whose rows are read at the same time."""
    return os.cpu_count() or 1


def _price_seconds(plan: Plan) -> float:
    """What the ledger's prices take ahead of a round: pages on encrypted servers, the log where rows are written."""
    if plan.family.name not in _TIMED:
        return 0.0
    writes = plan.mix().writes
    pages = sum(first.level("cipher") != "none" for first in plan.instances())
    logs = sum(writes or bool(plan.step(first)) for first in plan.instances())
    return pages * _PAGE_PRICE_SECONDS + logs * _LOG_PRICE_SECONDS


def analytic_needs(plan: Plan) -> Needs:
    """The files of rows, a load for each kind, and a file and a process for each condition."""
    size, kinds, conditions = plan.size_bytes, len(plan.load_kinds()), len(plan.conditions)
    settings = [plan.twin_settings(condition, size) for condition in plan.conditions]
    read, ciphers = size / _ROWS_BYTES_PER_SECOND, {(s.cipher, s.aes_instructions) for s in settings}
    return Needs(
        disk_bytes=round(size * (_GENERATED_SIZES + kinds + conditions * _FILE_GROWTH)) + _SPILL_BYTES,
        memory_bytes=max(
            _ANALYTIC_LOADING_BYTES,
            sum(_ANALYTIC_WORKER_BYTES + (one.memory_mib << 20) for one in settings) + _BLOCK_PRICE_BYTES,
        ),
        open_files=0,
        load_seconds=_ANALYTIC_WORKER_SECONDS
        + size / _ANALYTIC_LOAD_BYTES_PER_SECOND
        + size / _GENERATED_BYTES_PER_SECOND / kinds,
        calibrate_seconds=len(plan.strata)
        * (_ANALYTIC_WORKER_SECONDS + _CALIBRATION_TRIALS * plan.request.design.trial_seconds),
        start_seconds=conditions * (size / _COPY_BYTES_PER_SECOND + _ANALYTIC_WORKER_SECONDS),
        price_seconds=_BLOCK_PRICE_SECONDS * sum(cipher != "none" for cipher, _ in ciphers),
        rows_seconds=conditions * read / _at_once(),
        search_seconds=conditions * (_SPILL_SECONDS + read),
        step_seconds=size / _ANALYTIC_LOAD_BYTES_PER_SECOND,
    )


def own_needs(plan: Plan) -> Needs:
    """Servers of the user's: a worker for each condition, and nothing on this machine's disk."""
    conditions, load_seconds = len(plan.conditions), plan.size_bytes / _SERVER_LOAD_BYTES_PER_SECOND
    kept = 0 if plan.mix().writes else len(plan.load_kinds())
    loaded_anew = (len(plan.instances()) - kept) * load_seconds
    return Needs(
        disk_bytes=0,
        memory_bytes=sum(_TWIN_BYTES + _THREAD_BYTES * int(c.level("threads")) for c in plan.conditions),
        open_files=0,
        load_seconds=load_seconds,
        calibrate_seconds=len(plan.strata)
        * (_CONNECT_SECONDS + _CALIBRATION_TRIALS * plan.request.design.trial_seconds),
        start_seconds=conditions * _CONNECT_SECONDS + loaded_anew,
        rows_seconds=conditions * plan.size_bytes / _ROWS_BYTES_PER_SECOND / _at_once(),
        laps=_LAPS,
    )


def _server_bytes(settings: ServerSettings, footprint: Footprint) -> int:
    connections = settings.connections * footprint.connection_bytes
    return footprint.memory_bytes + _SUPERVISOR_BYTES + settings.cache_bytes + connections
