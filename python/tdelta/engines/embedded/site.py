from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdelta.engines.embedded.sql import quoted
from tdelta.processes.actions import Halt
from tdelta.processes.files import TwinFolder
from tdelta.processes.jobs import PopulateJob
from tdelta.processes.workers import Worker

if TYPE_CHECKING:
    from tdelta.engines.embedded.engine import Embedded


@dataclass(frozen=True, slots=True)
class Site:
    """One embedded twin, as an action sees it.

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
        is_beside: whether it goes on beside a trial, which keeps the worker busy.
    """

    engine: Embedded
    settings: Any
    key: str | None
    path: Path
    plain: Path
    folder: TwinFolder
    worker: Worker
    job: PopulateJob
    environment: Mapping[str, str]
    halt: Halt
    is_beside: bool = False

    @property
    def table(self) -> str:
        """One of its tables, quoted."""
        return quoted(self.job.tables[0][0])

    def opening(self, path: Path, key: str | None, **changed: object) -> dict[str, Any]:
        """The request to open another file, plain or with a key; ``changed`` are settings."""
        settings = self.settings if key is not None else replace(self.settings, cipher="none")
        return self.engine.opening(path, replace(settings, **changed), key)
