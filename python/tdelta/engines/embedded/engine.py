"""An engine within the process: every twin is a file, and a process that drives it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tdelta.engines.base import Engine, Template
from tdelta.engines.embedded.actions import FileAction
from tdelta.engines.embedded.exposure import Exposure
from tdelta.engines.embedded.pricing import Pricing
from tdelta.engines.embedded.twins import EmbeddedTwins
from tdelta.engines.estimates import of_files
from tdelta.engines.layout import ResourceEstimate, RunLayout
from tdelta.processes import AnyJob, TwinFolder, Worker, WorkloadSpec
from tdelta.processes.backups import BackupTool, backup_checks
from tdelta.records import Level


class Embedded(Engine):
    """One embedded engine. Its settings have at least ``cipher``, ``threads``, ``aes_instructions`` and ``is_cold``."""

    program: str
    """The module that its workers run; a host of it answers the requests of `tdelta.engines.embedded.twins`."""

    facts: Mapping[str, str] = {}
    """Queries for the settings that all twins share, by name."""

    checkpoint = ""
    """The statement that moves what is in the log into the file; empty where there is no log."""

    has_folders = False
    """Whether each twin needs its own folder, since not all of its files are named after the database."""

    cools_each_operation = False
    """Whether a cold trial opens the file anew before each operation, not once before the first."""

    acts_in_worker = False
    """Whether an action beside a load is done by the worker that runs the load."""

    cipher_queries: Mapping[str, str] = {}
    """Queries for what a connection says of its cipher, by name."""

    proof_cipher = ""
    """The cipher that shows whether a process has the AES instructions; empty where none does."""

    tools: Mapping[str, BackupTool] = {}
    """The tools that make backups, by name, the default first."""

    times_calls = False
    """Whether calls of its cipher can be timed."""

    def opening(self, path: Path, settings: Any, key: str | None) -> dict[str, Any]:
        """The request ``open`` to a worker: a loaded file, for trials.

        Args:
            key: 64 hexadecimal digits; None for a plain file.
        """
        raise NotImplementedError

    def making(self, path: Path, settings: Any, key: str | None) -> dict[str, Any]:
        """The request ``open`` to a worker: a file that is made and loaded."""
        return self.opening(path, settings, key)

    def shows_itself(self, path: Path) -> bool:
        """Whether a file's beginning is that of a plain database."""
        raise NotImplementedError

    def of(self, _settings: Any) -> Embedded:
        """The version that a twin is of, where a run compares several."""
        return self

    def needs_key(self, cipher: str) -> bool:
        return cipher != "none"

    def template(self, settings: Any) -> Template:
        return Template((settings.cipher,), settings.cipher)

    def file_facts(self, _path: Path) -> dict[str, str]:
        """Further properties that twins share, read from the file."""
        return {}

    def database_threads(self, settings: Any) -> int:
        """How many threads work for a load's connections, those of the load included."""
        threads: int = settings.threads
        return threads

    def exposure(self, worker: Worker, path: Path, needles: Sequence[bytes]) -> Exposure:
        """How marker rows are brought into all of a twin's files, and searched there."""
        return Exposure(worker, path, needles)

    def proved_by(self, _settings: Any) -> str:
        """The cipher that shows whether a twin's process has the AES instructions; empty where none does."""
        return self.proof_cipher

    def proof_files(self, home: Path, cipher: str, settings: Any) -> Mapping[str, object]:
        """How a worker makes a ``plain`` and an ``encrypted`` file in a folder to time pages of both."""
        raise NotImplementedError

    def pricing(self, _home: Path, _settings: Any) -> Pricing | None:
        """How the unit costs of a twin's cipher are measured with files in a folder; None where they are not."""
        return None

    def file_actions(self) -> Mapping[str, FileAction]:
        """Actions on its files, by the names of `tdelta.design.actions`."""
        return {}

    def actions(self, factor: str) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        actions = self.file_actions()
        if factor == "work":
            return {name: {**dict.fromkeys(one.knobs, ()), **one.choices} for name, one in actions.items()}
        return {name: one.beside for name, one in actions.items() if one.beside is not None}

    def option_checks(
        self, _options: Mapping[str, Any], levels: Mapping[str, Sequence[Level]]
    ) -> Iterable[Callable[[], object]]:
        acts = (*levels.get("work", ()), *levels.get("during", ()))
        yield from backup_checks(self.tools, acts) if self.tools else ()

    def estimate(self, layout: RunLayout) -> ResourceEstimate:
        return of_files(self, layout, times_calls=self.times_calls)

    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> EmbeddedTwins:
        return EmbeddedTwins(self, folder, job, mix)
