"""DuckDB twins: filled from files of rows, which DuckDB reads fast; temporary files have a control of their own."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdelta import own_folders
from tdelta.engines.duckdb.exposure import spilled
from tdelta.engines.embedded.twins import EmbeddedTwin, EmbeddedTwins
from tdelta.errors import Defect
from tdelta.evidence import FileClass, MarkerHit, TwinFile, search
from tdelta.processes.answers import as_checksums, checksums
from tdelta.processes.files import TwinFolder
from tdelta.processes.jobs import AnyJob, PopulateJob, WorkloadSpec, needles_of
from tdelta.processes.protocol import NOTHING, Checksums
from tdelta.processes.workers import Worker

if TYPE_CHECKING:
    from tdelta.engines.duckdb.engine import DuckdbEngine

_LOAD_SECONDS = 24 * 3600.0
_OPEN_SECONDS = 120.0


class DuckdbTwins(EmbeddedTwins):
    engine: DuckdbEngine

    def __init__(self, engine: DuckdbEngine, folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> None:
        super().__init__(engine, folder, job, mix)
        self._rows = GeneratedRows(folder, self.rows_job)
        self._expected: Checksums = {}
        self._encrypted: set[Path] = set()
        self._shown: tuple[MarkerHit, ...] | None = None

    def expected_checksums(self) -> Checksums:
        if self._expected:
            return self._expected
        options = {**self.engine.loading(self._rows.path / "digest"), "path": None}
        with Worker(program=self.engine.program) as worker:
            files = self._rows.write(worker)
            worker.ask("open", seconds=_OPEN_SECONDS, options=options)
            found = as_checksums(worker.ask("digest", seconds=_LOAD_SECONDS, **self._tables(), files=files))
        self._rows.check(found)
        self._expected = found
        return self._expected

    def fill(self, engine: Any, path: Path, settings: Any) -> tuple[str, Checksums]:
        """There are no secondary indexes: an analytic engine's tables are scanned by the ranges of their blocks."""
        self.expected_checksums()
        with Worker(program=engine.program) as worker:
            options = engine.loading(path, settings, self.key(settings.cipher))
            library: str = worker.ask("open", seconds=_OPEN_SECONDS, options=options)["library"]
            worker.ask("load", seconds=_LOAD_SECONDS, **self._tables(), files=self._rows.files())
            if worker.ask("facts", queries=dict(engine.cipher_queries))["encrypted"] == "true":
                self._encrypted.add(path)
            sums = checksums(worker, self.rows_job.tables)
            worker.ask("close", seconds=_LOAD_SECONDS)
        return library, sums

    def is_encrypted(self, path: Path) -> bool:
        """Whether DuckDB says so, the file's header does, and none of the planted rows can be read in the file."""
        found = path.stat()
        file = TwinFile(path.name, str(path), FileClass.DATABASE, (found.st_dev, found.st_ino))
        is_hidden = not any(one.markers_found for one in search([file], needles_of(self.rows_job)))
        return path in self._encrypted and super().is_encrypted(path) and is_hidden

    def start(self, settings: Any, name: str, environment: Mapping[str, str] = NOTHING) -> EmbeddedTwin:
        if self._mix.steps is None:
            self._rows.remove()  # every kind is loaded by now
        return super().start(settings, name, environment)

    def step_request(self, step: str, settings: Any) -> tuple[dict[str, Any], int]:
        request, rows = super().step_request(step, settings)
        if request["load"] is not None:
            request["load"] = {**self._tables(), "files": self._rows.files(), "threads": settings.threads}
        return request, rows

    def control(self, settings: Any, needles: Sequence[bytes]) -> tuple[MarkerHit, ...]:
        """Temporary files that are not encrypted, searched once in a run with the rows of the plain load."""
        if self.engine.needs_key(settings.cipher) or not settings.encrypts_temp:
            return ()
        if self._shown is None:
            readable = dataclasses.replace(settings, scope="none")
            options = self.engine.loading(self.plain(settings), readable) | {"read_only": True}
            self._shown = spilled(self.engine.program, options, needles)
        return self._shown

    def _tables(self) -> dict[str, Any]:
        return {"tables_sql": self.rows_job.tables_sql, "tables": self.rows_job.tables}


class GeneratedRows:
    """The files of a run's rows, in a folder of their own within the run's, that every kind of twin is filled from.

    The native row generator writes each table as values separated by commas, which DuckDB reads fast, in parallel and
    in order. It streams: what is in memory does not grow with the table, and what is on disk are the files. They are
    gone before anything is measured, unless loads are what is measured.
    """

    def __init__(self, folder: TwinFolder, job: PopulateJob) -> None:
        self._job = job
        self.path = folder.path / "rows"

    def write(self, worker: Worker) -> dict[str, str]:
        self.path.mkdir()
        files = self.files()
        worker.ask("write_rows", seconds=_LOAD_SECONDS, plan=self._job.plan, seed=self._job.seed, files=files)
        return files

    def files(self) -> dict[str, str]:
        return {table: str(self.path / f"{number}.csv") for number, (table, _) in enumerate(self._job.tables)}

    def check(self, found: Checksums) -> None:
        """See that the engine finds as many rows in the files as the generator was to make."""
        planned: Any = self._job.plan["tables"]
        for table in planned:
            rows, name = found[table["name"]][0], table["name"]
            if rows != table["rows"]:
                raise Defect(f"{name}: expected {table['rows']:,} generated rows, found {rows:,} by DuckDB")

    def remove(self) -> None:
        own_folders.remove(self.path)
