"""Backups of the file of an embedded twin: made by a tool of its engine's, restored by a process of their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

from tdelta.design.actions import AskedAction
from tdelta.driver.acting import Act
from tdelta.driver.answers import checksums
from tdelta.driver.backups import NONE, Backup, BackupRequest, BackupTool, Restore, tool_of, unpacked
from tdelta.driver.programs import Programs
from tdelta.driver.protocol import Checksums
from tdelta.driver.workers import Worker
from tdelta.engines.embedded.actions import markers_of
from tdelta.engines.embedded.site import Site
from tdelta.evidence import FileClass
from tdelta.measure.space import allocated
from tdelta.records import Usage

NAME = "backup.db"


class FileMaker(ABC):
    """Makes and restores backups of one twin; see `tdelta.driver.backups.Maker`."""

    def __init__(self, site: Site, tool: str) -> None:
        self.site = site
        self.tool = tool
        self._helper: Worker | None = None

    @classmethod
    def act(cls, site: Site, asked: AskedAction, tools: Mapping[str, BackupTool]) -> Act:
        tool, compress = tool_of(asked.choices, tools)
        folder = site.path.parent / f"{site.path.name}-backup"
        request = BackupRequest(tools[tool], compress, folder, tuple(markers_of(site.job)))
        return (Backup if asked.name == "backup" else Restore)(cls(site, tool), request, site.halt)

    @property
    def helper(self) -> Worker:
        assert self._helper is not None  # noqa: S101 - started
        return self._helper

    def start(self) -> None:
        """A process that restores; it is there before anything is measured."""
        self._helper = Worker(self.site.environment, self.site.engine.program)

    @abstractmethod
    def make(self, into: Path, compress: str, programs: Programs) -> Usage: ...

    @abstractmethod
    def class_of(self, name: str) -> FileClass: ...

    @abstractmethod
    def restore_files(self, made: Path, target: Path, programs: Programs) -> Usage:
        """Restore an unpacked backup into a file until it answers with a row."""

    def unpack(self, made: Path, compress: str, into: Path, programs: Programs) -> Path:
        if compress == NONE:
            return made
        unpacked(programs, made, into)
        return into

    def files(self) -> tuple[Path, ...]:
        """The files that hold the twin's rows."""
        return (self.site.path,)

    def data_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.files() if file.exists())

    def disk_bytes(self) -> int:
        return sum(map(allocated, self.files()))

    def checksums(self) -> Checksums:
        return checksums(self.site.worker, self.site.job.tables)

    def restore(self, made: Path, compress: str, into: Path, programs: Programs) -> Usage:
        used = Usage()
        if compress != NONE:
            used = unpacked(programs, made, into.parent / "unpacked")
            made = into.parent / "unpacked"
        return used + self.restore_files(made, into / NAME, programs)

    def restored(self) -> Checksums:
        return checksums(self.helper, self.site.job.tables)

    def let_go(self) -> None:
        if self._helper is not None:
            self._helper.kill()
            self._helper.end()
            self._helper = None
