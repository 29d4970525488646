from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tdelta.driver.acting import Halt
from tdelta.driver.jobs import PopulateJob
from tdelta.driver.workers import Worker, failure
from tdelta.engines.duckdb.engine import DuckdbEngine, DuckdbSettings
from tdelta.engines.duckdb.statements import quoted

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
        is_beside: whether it goes on beside a trial, which keeps the worker busy.
    """

    engine: DuckdbEngine
    settings: DuckdbSettings
    key: str | None
    path: Path
    plain: Path
    worker: Worker
    job: PopulateJob
    environment: Mapping[str, str]
    halt: Halt
    is_beside: bool = False

    def run(self, statements: Sequence[str], what: str) -> None:
        """Have the worker run statements, on another connection where a trial goes on meanwhile.

        Raises:
            EnvironmentFault: it takes too long, or is to end.
            TdeltaError: a statement failed; the message is DuckDB's.
        """
        if not self.is_beside:
            self.worker.send("run", statements=statements)
            self.halt.wait_for(self.worker, what)
            return
        said = self.path.parent / "aside.json"
        said.unlink(missing_ok=True)
        self.worker.send("aside", statements=statements, said=str(said))
        self.halt.wait_until(said.exists, what)
        answer = json.loads(said.read_text(encoding="utf-8"))
        said.unlink()
        if "error" in answer:
            raise failure(*answer["error"])

    @property
    def table(self) -> str:
        return quoted(self.job.tables[0][0])

    def options(self, path: Path, key: str | None, *, read_only: bool = False) -> dict[str, object]:
        settings = self.settings if key is not None else replace(self.settings, cipher="none")
        return self.engine.options(path, settings, key, read_only=read_only)
