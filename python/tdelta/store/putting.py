"""How a run, a fact and a trial become rows, sealed, within a transaction that is open."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from tdelta.records import RunSettings, Trial
from tdelta.store.codec import dumps
from tdelta.store.rows import TRIAL_COLUMNS, trial_row
from tdelta.store.seals import FACT, HISTOGRAMS, TRIAL, seal
from tdelta.store.summaries import RunStatus


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
