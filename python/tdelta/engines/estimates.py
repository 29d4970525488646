"""Estimates of the resources that a run needs, made before anything else: rough on purpose, labeled as estimates."""

from __future__ import annotations

import os

from tdelta.engines.base import Engine
from tdelta.engines.layout import ResourceEstimate, RunLayout, instance_key, instances_of
from tdelta.engines.server.base import ServerResources, ServerSettings
from tdelta.records import Condition

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

_REWRITTEN_FILES = 3
"""Files of one twin's rewrite: a copy of the file, the new file or the pages that it takes, and the journal."""
_BACKUPS = 4.0
"""A backup as it is written, compressed, decompressed and restored: dumps of small rows are larger than their file."""

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
"""Measuring the unit costs of one cipher's blocks, with a worker's start and the files."""

_BLOCK_PRICE_BYTES = 400_000_000
_SPILL_BYTES = 300_000_000
_SPILL_SECONDS = 2.0

# Of servers. 100 MB of SQLite were 121 to 214 MB of tables and indexes, the more rows the more; loaded in 4 to 15 s.
_ROW_BYTES = 100
_SERVER_LOAD_BYTES_PER_SECOND = 8e6
_SERVER_STEP_BYTES_PER_SECOND = 20e6
"""A load or rebuild by itself: two million facts took MariaDB 10 to 28 s."""

_LOADING_BYTES = 600_000_000
"""The caches of the one server that is being loaded."""

_TWIN_BYTES = 20_000_000
_THREAD_BYTES = 12_000
"""A worker with one connection, and what each connection adds (15 MB; 35 MB with 2048)."""

_SUPERVISOR_BYTES = 15_000_000
_CONNECT_SECONDS = 0.2
_OBSERVATION_SECONDS = 2.0
_SEARCH_SECONDS = 6.0
"""Of one server's files, 165 MB of them empty: 6.2 s each of three MariaDBs on two CPUs with other work; 7.2 s of three
searched side by side on two idle ones."""

_APPLIED_TRIALS = 1.0
"""How long a replica takes after a trial until it has applied it and is at rest, in trials: about as long as those."""

_LAPS = 4
"""Of warm-up; at least three, and fifteen at most."""

_SIZING_TRIALS = 6
_OTHER_FILES = 1000
"""Files that a server has open beside its connections, 810 of which MySQL insists on."""


def templates(engine: Engine, layout: RunLayout) -> dict[tuple[str | int, ...], Condition]:
    """One condition for each kind of data that must be loaded; plain ones first."""
    kinds: dict[tuple[str | int, ...], Condition] = {}
    for condition in sorted(layout.conditions, key=lambda c: c.level("cipher") != "none"):
        kinds.setdefault(engine.template(engine.settings(layout, condition, 0)).key, condition)
    return kinds


def _instances(engine: Engine, layout: RunLayout) -> dict[Condition, tuple[Condition, ...]]:
    return instances_of(layout.conditions, engine.profile.client_factors)


def of_files(engine: Engine, layout: RunLayout, *, times_calls: bool) -> ResourceEstimate:
    size, kinds, conditions = layout.size_bytes, len(templates(engine, layout)), len(layout.conditions)
    is_own = layout.copy is not None
    read = size / _ROWS_BYTES_PER_SECOND
    return ResourceEstimate(
        disk_bytes=round(
            size * (kinds + conditions * _FILE_GROWTH + _REWRITTEN_FILES * layout.converts + _backups(layout))
        ),
        memory_bytes=sum(_WORKER_BYTES + engine.settings(layout, c, size).cache_bytes for c in layout.conditions),
        open_files=0,
        stage_seconds=size / _STAGED_BYTES_PER_SECOND if is_own else 0.0,
        load_seconds=_WORKER_SECONDS + size / (_CONVERTED_BYTES_PER_SECOND if is_own else _LOAD_BYTES_PER_SECOND),
        sizing_seconds=len(layout.strata) * (_WORKER_SECONDS + _SIZING_TRIALS * layout.options["trial_seconds"]),
        start_seconds=conditions * (size / _COPY_BYTES_PER_SECOND + _WORKER_SECONDS),
        price_seconds=_FILE_PRICE_SECONDS * (len(layout.ciphers) - 1),
        rows_seconds=conditions * read / _at_once(),
        search_seconds=conditions * read,
        step_seconds=size / _LOAD_BYTES_PER_SECOND,
        times_calls=times_calls,
    )


def _backups(layout: RunLayout) -> float:
    """How many times the data one backup takes, decompressed to be searched, or restored: there is one at a time."""
    return _BACKUPS if layout.acts & {"backup", "restore"} else 0.0


def of_servers(engine: Engine, layout: RunLayout, resources: ServerResources) -> ResourceEstimate:
    """A loaded server for each kind, and one for all conditions that share it, with a worker for each condition."""
    kinds, instances, conditions = len(templates(engine, layout)), _instances(engine, layout), len(layout.conditions)
    data = layout.size_bytes + _ROW_BYTES * layout.rows
    settings = [engine.settings(layout, first, data) for first in instances]
    factors, trial = engine.profile.client_factors, layout.options["trial_seconds"]
    started = data / _COPY_BYTES_PER_SECOND + resources.start_seconds
    copies = 2 if layout.has_replicas else 1  # a replica is another server on the same data
    strata, servers = len(layout.strata), len({instance_key(c[0], factors) for c in layout.strata.values()})
    others = int(layout.converts or "restore" in layout.acts)  # a copy of one twin's tables, or a server, at a time
    return ResourceEstimate(
        disk_bytes=round(
            (kinds + copies * len(instances) + others) * (data + resources.disk_bytes) + _backups(layout) * data
        ),
        memory_bytes=max(
            _LOADING_BYTES + resources.memory_bytes,
            copies * sum(_server_bytes(one, resources) for one in settings)
            + others * max(_server_bytes(one, resources) for one in settings)
            + sum(_TWIN_BYTES + _THREAD_BYTES * int(c.level("threads")) for c in layout.conditions),
        ),
        open_files=_OTHER_FILES + max(one.connections for one in settings),
        load_seconds=_load_seconds(layout, data) + resources.initialize_seconds,
        observe_seconds=(_OBSERVATION_SECONDS + started) * (len(layout.ciphers) - 1),
        sizing_seconds=copies * servers * started + strata * (_CONNECT_SECONDS + _SIZING_TRIALS * trial),
        start_seconds=copies * len(instances) * started + conditions * _CONNECT_SECONDS,
        rows_seconds=copies * len(instances) * data / _ROWS_BYTES_PER_SECOND / _at_once(),
        laps=_LAPS,
        search_seconds=copies * len(instances) * (_SEARCH_SECONDS + data / _ROWS_BYTES_PER_SECOND) / _at_once(),
        step_seconds=data / _SERVER_STEP_BYTES_PER_SECOND,
        cold_seconds=resources.start_seconds,
        applied_trials=_APPLIED_TRIALS if layout.has_replicas else 0.0,
        times_calls=not engine.profile.not_timed,
    )


def _load_seconds(layout: RunLayout, data_bytes: int) -> float:
    """Of a user's dump, what its first restore took."""
    restored = 0.0 if layout.copy is None else layout.copy.load_seconds
    return restored or data_bytes / _SERVER_LOAD_BYTES_PER_SECOND


def _at_once() -> int:
    """Twins whose rows are read, or whose files are searched, at the same time."""
    return os.cpu_count() or 1


def of_analytic_files(engine: Engine, layout: RunLayout) -> ResourceEstimate:
    """The files of rows, a load for each kind, and a file and a process for each condition."""
    size, kinds, conditions = layout.size_bytes, len(templates(engine, layout)), len(layout.conditions)
    settings = [engine.settings(layout, condition, size) for condition in layout.conditions]
    copies = conditions + layout.converts + _backups(layout)  # one twin's rows at a time are copied into a new file
    read, ciphers = size / _ROWS_BYTES_PER_SECOND, {(s.cipher, s.aes_instructions) for s in settings}
    return ResourceEstimate(
        disk_bytes=round(size * (_GENERATED_SIZES + kinds + copies * _FILE_GROWTH)) + _SPILL_BYTES,
        memory_bytes=max(
            _ANALYTIC_LOADING_BYTES,
            sum(_ANALYTIC_WORKER_BYTES + (one.memory_mib << 20) for one in settings) + _BLOCK_PRICE_BYTES,
        ),
        open_files=0,
        load_seconds=_ANALYTIC_WORKER_SECONDS
        + size / _ANALYTIC_LOAD_BYTES_PER_SECOND
        + size / _GENERATED_BYTES_PER_SECOND / kinds,
        sizing_seconds=len(layout.strata)
        * (_ANALYTIC_WORKER_SECONDS + _SIZING_TRIALS * layout.options["trial_seconds"]),
        start_seconds=conditions * (size / _COPY_BYTES_PER_SECOND + _ANALYTIC_WORKER_SECONDS),
        price_seconds=_BLOCK_PRICE_SECONDS * sum(cipher != "none" for cipher, _ in ciphers),
        rows_seconds=conditions * read / _at_once(),
        search_seconds=conditions * (_SPILL_SECONDS + read),
        step_seconds=size / _ANALYTIC_LOAD_BYTES_PER_SECOND,
    )


def of_connections(engine: Engine, layout: RunLayout) -> ResourceEstimate:
    """Servers of the user's: a worker for each condition, and nothing on this machine's disk."""
    conditions, load_seconds = len(layout.conditions), layout.size_bytes / _SERVER_LOAD_BYTES_PER_SECOND
    load_seconds = load_seconds if layout.copy is None else 0.0  # tables of the user's are there
    kept = 0 if layout.writes else len(templates(engine, layout))
    loaded_anew = (len(_instances(engine, layout)) - kept) * load_seconds
    return ResourceEstimate(
        disk_bytes=0,
        memory_bytes=sum(_TWIN_BYTES + _THREAD_BYTES * int(c.level("threads")) for c in layout.conditions),
        open_files=0,
        load_seconds=load_seconds,
        sizing_seconds=len(layout.strata) * (_CONNECT_SECONDS + _SIZING_TRIALS * layout.options["trial_seconds"]),
        start_seconds=conditions * _CONNECT_SECONDS + loaded_anew,
        rows_seconds=conditions * layout.size_bytes / _ROWS_BYTES_PER_SECOND / _at_once(),
        laps=_LAPS,
    )


def _server_bytes(settings: ServerSettings, resources: ServerResources) -> int:
    connections = settings.connections * resources.connection_bytes
    return resources.memory_bytes + _SUPERVISOR_BYTES + settings.cache_bytes + connections
