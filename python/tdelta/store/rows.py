"""A trial as a row, and digests of what a store holds, taken as it is written.

Later changes on the disk are reported, and answer nothing.
SQLite notices damage of its pages' structure alone: a bit that flips within a number makes another number.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sqlite3
import typing
from collections.abc import Mapping

from tdelta.records import Condition, Measurement, RunSettings, Trial
from tdelta.records.parts import flat, flat_hints
from tdelta.store.codec import decode, dumps, loads
from tdelta.store.summaries import RunStatus

_DEFINITIONS: Mapping[object, str] = {
    int: "INTEGER NOT NULL",
    float: "REAL NOT NULL",
    str: "TEXT NOT NULL",
    int | None: "INTEGER",
    Mapping: "TEXT NOT NULL",
}
"""The column for values of a type."""

MEASURED_COLUMNS = {
    name: _DEFINITIONS[Mapping if typing.get_origin(hint) is Mapping else hint]
    for name, hint in flat_hints(Measurement).items()
    if name != "histograms"
}
"""The SQL definition of each column that holds a field of a measurement."""

_MEASURED = tuple(MEASURED_COLUMNS)
MAPPINGS = frozenset(name for name, hint in flat_hints(Measurement).items() if typing.get_origin(hint) is Mapping)
"""The fields that are more than one value; all others are scalars."""

_PLACED = ("round", "block", "position", "condition_key", "condition", "instance", "started_unix_seconds")

TRIAL_COLUMNS = (*_PLACED, *_MEASURED)
"""The columns that :func:`trial_row` fills and :func:`trial_of` reads, in order."""


def trial_row(trial: Trial) -> tuple[str | int | float | None, ...]:
    """The cells of a trial, one for each of :data:`TRIAL_COLUMNS`."""
    placed = (
        trial.round,
        trial.block,
        trial.position,
        trial.condition.key,
        dumps(trial.condition),
        trial.instance,
        trial.started_unix_seconds,
    )
    measured = dict(flat(trial.measurement))
    return (*placed, *(_cell(name, measured[name]) for name in _MEASURED))


def trial_of(row: tuple[typing.Any, ...], histograms: Mapping[str, bytes]) -> Trial:
    """The trial of a row of :data:`TRIAL_COLUMNS`."""
    round_number, block, position, _, condition, instance, started, *cells = row
    measured = {
        name: json.loads(cell) if name in MAPPINGS else cell for name, cell in zip(_MEASURED, cells, strict=True)
    }
    measurement = dataclasses.replace(decode(Measurement, measured), histograms=dict(histograms))
    return Trial(round_number, block, position, loads(Condition, condition), instance, started, measurement)


def _cell(name: str, value: typing.Any) -> str | int | float | None:
    return dumps(value) if name in MAPPINGS else typing.cast("str | int | float | None", value)


def put_run(
    db: sqlite3.Connection,
    settings: RunSettings,
    created_unix_seconds: float,
    machine: Mapping[str, object],
    versions: Mapping[str, str],
) -> None:
    """Enter a run as ``planned``; its seal is of all that is put of it, and so is left to the last of that."""
    cells = (settings.run_id, settings.seed, created_unix_seconds, RunStatus.PLANNED.value)
    db.execute(
        "INSERT INTO runs (run_id, seed, created_unix_seconds, status, settings, machine, versions)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*cells, dumps(settings), dumps(machine), dumps(versions)),
    )


def put_fact(db: sqlite3.Connection, run_id: str, key: str, value: object) -> None:
    """Put a fact in place of what was there under its key; the run's seal is left to be made anew."""
    db.execute("INSERT OR REPLACE INTO run_facts (run_id, key, value) VALUES (?, ?, ?)", (run_id, key, dumps(value)))
    seal(db, FACT, run_id, key)


def put_trial(db: sqlite3.Connection, run_id: str, trial: Trial) -> None:
    """Put a trial with its histograms; the run's seal is left to be made anew."""
    names = ("run_id", *TRIAL_COLUMNS)
    marks = ", ".join("?" * len(names))
    added = db.execute(
        f"INSERT INTO trials ({', '.join(names)}) VALUES ({marks})", (run_id, *trial_row(trial))
    ).lastrowid
    rows = ((added, name, payload) for name, payload in trial.measurement.histograms.items())
    db.executemany("INSERT INTO histograms (trial, name, payload) VALUES (?, ?, ?)", rows)
    seal(db, TRIAL, added)
    seal(db, HISTOGRAMS, added)


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


def seal(db: sqlite3.Connection, kind: str, *key: object) -> None:
    """Keep the digest of what is there now; within the transaction that wrote it."""
    db.execute("INSERT OR REPLACE INTO seals (part, digest) VALUES (?, ?)", (_part(kind, key), _digest(db, kind, key)))


def is_broken(db: sqlite3.Connection, kind: str, *key: object) -> bool:
    """Whether what is there is not what was sealed; within one transaction, since another process may write."""
    kept = db.execute("SELECT digest FROM seals WHERE part = ?", (_part(kind, key),)).fetchone()
    return kept is not None and kept[0] != _digest(db, kind, key)


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
    db.execute("DELETE FROM seals WHERE part = ?", (_part(FACT, (run_id, key)),))


def _part(kind: str, key: tuple[object, ...]) -> str:
    return " ".join((kind, *map(str, key)))


def _digest(db: sqlite3.Connection, kind: str, key: tuple[object, ...]) -> str:
    found = hashlib.blake2b(digest_size=16)
    for row in db.execute(_SELECT[kind], key):
        found.update(repr(row).encode())  # exact: a float's repr is read back as the same float
    return found.hexdigest()
