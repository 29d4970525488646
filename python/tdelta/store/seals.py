"""Digests of what a store holds, taken as it is written: what changes on the disk later is told, and answers nothing.

SQLite notices damage of its pages' structure alone: a bit that flips within a number makes another number. What was
written by a version before this has no seal, and is taken as it is.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping

from tdelta.store.rows import DEFAULTS, EARLIER_COLUMNS, TRIAL_COLUMNS

RUN, FACT, TRIAL, HISTOGRAMS, CALIBRATION = "run", "fact", "trial", "histograms", "calibration"

_SELECT = {
    RUN: "SELECT seed, status, settings, machine, versions, result,"
    " (SELECT count(*) FROM trials NOT INDEXED WHERE trials.run_id = runs.run_id),"
    " (SELECT group_concat(key, char(10)) FROM (SELECT key FROM run_facts WHERE run_id = ?1 ORDER BY key))"
    " FROM runs WHERE run_id = ?1",
    FACT: "SELECT value FROM run_facts WHERE run_id = ?1 AND key = ?2",
    TRIAL: f"SELECT run_id, {', '.join(TRIAL_COLUMNS)} FROM trials WHERE trial = ?1",
    HISTOGRAMS: "SELECT name, payload FROM histograms WHERE trial = ?1 ORDER BY name",
    CALIBRATION: "SELECT engine, workload, key, calibration FROM calibrations WHERE calibration_id = ?1",
}


_FIRST_NAMES = {name: was for was, name in reversed(list(EARLIER_COLUMNS.items()))}
"""What columns of trials that were renamed were called first: a seal keeps to that, whatever they are called later."""

_DEFAULTS = {_FIRST_NAMES.get(name, name): default for name, default in DEFAULTS.items()}

_NAMED = "named "
"""How the digest of a trial begins that is of cells by name. Those of store versions 6 to 8 were of cells in a row, so
that a column that came later, or elsewhere, broke each of them."""

_IN_A_ROW = (
    *("run_id", "round", "block", "position", "condition_key", "condition", "instance", "started_unix_seconds"),
    *("operations", "elapsed_ns", "transactions", "statements", "errors", "retries"),
    *("cpu_user_seconds", "cpu_system_seconds", "asked_read_bytes", "asked_written_bytes"),
    *("device_read_bytes", "device_written_bytes", "minor_faults", "major_faults"),
    *("voluntary_switches", "involuntary_switches", "client_cpu_user_seconds", "client_cpu_system_seconds"),
    *("agents", "client_peak_rss_bytes", "engine_counters", "files_bytes"),
    *("checkpoint_ns", "checkpoint_asked_written_bytes", "checkpoint_device_written_bytes"),
    *("planted_cpu_ns", "planted_elapsed_ns", "late_starts", "backlog_max", "executed_operations", "stopped_by"),
    *("pressure", "traced", "run_delay_ns", "client_run_delay_ns", "others_delay_ns", "standstill"),
)
"""The columns of trials in the order in which version 8 sealed them in the end, by their first names."""

_LEFT_OUT = ("checkpoint_asked_written_bytes", "checkpoint_device_written_bytes")
"""Those that were left out of a row where they are NULL."""


def seal(db: sqlite3.Connection, kind: str, *key: object) -> None:
    """Keep the digest of what is there now; within the transaction that wrote it."""
    db.execute("INSERT OR REPLACE INTO seals (part, digest) VALUES (?, ?)", (_part(kind, key), _digest(db, kind, key)))


def is_broken(db: sqlite3.Connection, kind: str, *key: object) -> bool:
    """Whether what is there is not what was sealed; within one transaction, since another process may write."""
    kept = db.execute("SELECT digest FROM seals WHERE part = ?", (_part(kind, key),)).fetchone()
    if kept is None or kept[0] == _digest(db, kind, key):
        return False
    if kind != TRIAL or str(kept[0]).startswith(_NAMED):
        return True
    return kept[0] not in {_digest_of([row]) for row in _rows_of_earlier_versions(_trial(db, key))}


def delete(db: sqlite3.Connection, run_id: str) -> None:
    """Remove a run with its trials, their histograms, its facts and the seals of all that.

    Not by cascades alone: they go by indexes, which may be damaged where the rows are not.
    """
    of_run = "SELECT trial FROM trials NOT INDEXED WHERE run_id = ?"
    _unseal(db, run_id)
    db.execute(f"DELETE FROM histograms WHERE trial IN ({of_run})", (run_id,))
    for table in ("trials", "run_facts", "runs"):
        db.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))


def _unseal(db: sqlite3.Connection, run_id: str) -> None:
    """Forget the seals of a run, of its facts and of its trials, while these are still there."""
    trials = [trial for (trial,) in db.execute("SELECT trial FROM trials NOT INDEXED WHERE run_id = ?", (run_id,))]
    keys = [key for (key,) in db.execute("SELECT key FROM run_facts WHERE run_id = ?", (run_id,))]
    parts = [_part(kind, (trial,)) for trial in trials for kind in (TRIAL, HISTOGRAMS)]
    parts += [_part(RUN, (run_id,)), *(_part(FACT, (run_id, key)) for key in keys)]
    db.executemany("DELETE FROM seals WHERE part = ?", ((part,) for part in parts))


def unseal_fact(db: sqlite3.Connection, run_id: str, key: str) -> None:
    """Forget the seal of one fact."""
    db.execute("DELETE FROM seals WHERE part = ?", (_part(FACT, (run_id, key)),))


def _part(kind: str, key: tuple[object, ...]) -> str:
    return " ".join((kind, *map(str, key)))


def _digest(db: sqlite3.Connection, kind: str, key: tuple[object, ...]) -> str:
    if kind == TRIAL:
        return _NAMED + _digest_of(_stated(_trial(db, key)))
    return _digest_of(db.execute(_SELECT[kind], key))


def _digest_of(rows: Iterable[tuple[object, ...]]) -> str:
    found = hashlib.blake2b(digest_size=16)
    for row in rows:
        found.update(repr(row).encode())  # exact: a float's repr is read back as the same float
    return found.hexdigest()


def _trial(db: sqlite3.Connection, key: tuple[object, ...]) -> dict[str, object]:
    """The cells of a trial by the first names of their columns; none where it is gone."""
    names = ("run_id", *TRIAL_COLUMNS)
    return {
        _FIRST_NAMES.get(name, name): cell
        for row in db.execute(_SELECT[TRIAL], key)
        for name, cell in zip(names, row, strict=True)
    }


def _stated(cells: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """What differs from a trial that was stored without it: columns that are added later leave a seal as it is."""
    for name, cell in sorted(cells.items()):
        if name not in _DEFAULTS or repr(cell) != repr(_DEFAULTS[name]):  # 0.0 is not -0.0
            yield name, cell


def _rows_of_earlier_versions(cells: Mapping[str, object]) -> Iterator[tuple[object, ...]]:
    """The cells of a trial in a row, as versions 6 to 8 sealed them; those that came later must hold nothing."""
    if not cells:
        return
    row = {name: cells[name] for name in _IN_A_ROW if cells[name] is not None or name not in _LEFT_OUT}
    yield tuple(row.values())
    if row.pop("client_peak_rss_bytes") is not None:
        return
    yield tuple(row.values())
    agents = row.pop("agents")
    yield (*row.values(), agents)  # where they stood at first
    if agents == _DEFAULTS["agents"]:
        yield tuple(row.values())
