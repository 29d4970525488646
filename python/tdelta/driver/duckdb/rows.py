"""The generated rows on their way into DuckDB: files that every kind of twin is filled from, made once.

The row generator is native and writes into SQLite, so it does that here: its rows go into a plain file, which is
compared with the generator's own checksums, and out of that file into one of values separated by commas a table, which
DuckDB reads fast, in parallel and in order. Both are gone before anything is measured.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from tdelta import _native
from tdelta.driver.answers import as_checksums, checksums
from tdelta.driver.files import TwinFolder
from tdelta.driver.jobs import LoadJob
from tdelta.driver.workers import Worker
from tdelta.engines import SQLITE3MC, SqliteEngine, TwinSettings
from tdelta.engines.duckdb import quoted
from tdelta.errors import TdeltaError

_SECONDS = 24 * 3600.0
_PAGE_BYTES = 65536


class GeneratedRows:
    """The files of a run's rows, in a folder of their own within the run's."""

    def __init__(self, folder: TwinFolder, job: LoadJob) -> None:
        self._folder = folder
        self._job = job
        self.path = folder.path / "rows"

    def generate(self) -> Path:
        """Have the rows made, in a plain file of SQLite. Returns it.

        Raises:
            StorageFault: the disk is full.
            TdeltaError: the rows are not those of the generator.
        """
        self.path.mkdir()
        made = self.path / "rows.sqlite"
        settings = TwinSettings("none", _PAGE_BYTES, "off", "off", 0, threads=1, cache_bytes=0)
        job, engine = self._job, SqliteEngine(SQLITE3MC)
        with Worker() as worker:
            options = engine.create_options(str(made), settings, None)
            worker.ask("open", library=SQLITE3MC.name, options=options, connections=1)
            worker.ask(
                "load",
                seconds=_SECONDS,
                plan=job.plan,
                seed=job.seed,
                threads=os.cpu_count() or 1,
                tables=[_untyped(table, columns) for table, columns in job.tables],
                indexes=[],
            )
            found = checksums(worker, job.tables)
        text = _native.plan_checksums(json.dumps(job.plan), job.seed, os.cpu_count() or 1)
        if found != as_checksums(json.loads(text)):
            raise TdeltaError("the rows that were made for DuckDB are not those of the generator")
        return made

    def files(self) -> dict[str, str]:
        """Where each table's rows are, once they are written."""
        return {table: str(self.path / f"{number}.csv") for number, (table, _) in enumerate(self._job.tables)}

    def remove(self) -> None:
        """Remove all of it."""
        shutil.rmtree(self.path, ignore_errors=True)


def write_files(database: Path, tables: Sequence[tuple[str, Sequence[str]]], files: Mapping[str, str]) -> None:
    r"""Write the rows of a plain SQLite file, table by table in the order in which they were made; then remove it.

    NULL becomes ``\N``, bytes hexadecimal digits, and a double what reads back as the same.
    """
    import sqlite3  # not earlier: only here a worker of DuckDB needs it

    source = sqlite3.connect(database)
    try:
        for table, columns in tables:
            with Path(files[table]).open("w", encoding="utf-8", newline="") as file:
                rows = source.execute(f"SELECT {', '.join(map(_told, columns))} FROM {quoted(table)} ORDER BY rowid")
                csv.writer(file, lineterminator="\n").writerows(rows)
    finally:
        source.close()
    database.unlink()


def _told(column: str) -> str:
    name = quoted(column)
    return f"CASE typeof({name}) WHEN 'null' THEN '\\N' WHEN 'blob' THEN hex({name}) ELSE {name} END"


def _untyped(table: str, columns: Sequence[str]) -> str:
    """A table whose columns hold whatever they are given, as it is."""
    return f"CREATE TABLE {quoted(table)} ({', '.join(map(quoted, columns))})"
