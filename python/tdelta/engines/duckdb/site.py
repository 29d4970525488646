"""One DuckDB twin, as an action sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tdelta.driver.acting import Halt
from tdelta.driver.jobs import LoadJob
from tdelta.driver.workers import Worker
from tdelta.engines.duckdb.engine import DuckdbEngine, DuckdbSettings, quoted

PROGRAM = "tdelta.engines.duckdb.worker"
"""What a worker runs."""


@dataclass(frozen=True, slots=True)
class DuckdbSite:
    """One twin, as an action sees it.

    Attributes:
        engine: how it is attached.
        settings: what it was made with.
        key: its key; None for a plain one.
        path: its file, which its worker has attached.
        plain: a plain file with the same rows.
        worker: its worker.
        job: how the rows were made.
        environment: what is added to that of a worker of the twin's.
        halt: says whether an action is to end.
    """

    engine: DuckdbEngine
    settings: DuckdbSettings
    key: str | None
    path: Path
    plain: Path
    worker: Worker
    job: LoadJob
    environment: Mapping[str, str]
    halt: Halt

    @property
    def table(self) -> str:
        """A table of the run's, quoted."""
        return quoted(self.job.tables[0][0])

    def options(self, path: Path, key: str | None, *, read_only: bool = False) -> dict[str, object]:
        """How a file is attached, with a key or plain."""
        settings = self.settings if key is not None else replace(self.settings, cipher="none")
        return self.engine.options(path, settings, key, read_only=read_only)
