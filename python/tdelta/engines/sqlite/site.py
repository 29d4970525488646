from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tdelta.driver.acting import Halt
from tdelta.driver.files import TwinFolder
from tdelta.driver.jobs import PopulateJob
from tdelta.driver.workers import Worker
from tdelta.engines.sqlite.engine import SqliteEngine, TwinSettings


@dataclass(frozen=True, slots=True)
class FileSite:
    """One twin, as an action sees it.

    Attributes:
        engine: how it is opened.
        settings: what it was made with.
        key: its key; None for a plain one.
        path: its file, which its worker has open.
        plain: a plain file with the same rows.
        folder: where files go.
        worker: its worker.
        job: how the rows were made.
        environment: what is added to that of a worker of the twin's.
        halt: says whether the action is to end.
    """

    engine: SqliteEngine
    settings: TwinSettings
    key: str | None
    path: Path
    plain: Path
    folder: TwinFolder
    worker: Worker
    job: PopulateJob
    environment: Mapping[str, str]
    halt: Halt

    def options(self, path: Path, settings: TwinSettings, key: str | None) -> dict[str, object]:
        """Options by which a worker opens a file; an attached one may be made beside it."""
        return {**self.engine.open_options(str(path), settings, key), "create": True}

    @property
    def table(self) -> str:
        return self.job.tables[0][0]
