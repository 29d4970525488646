"""Actions on the file of an embedded twin: opened anew, or written anew with another key or none."""

from __future__ import annotations

import os
import stat
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdelta import own_folders
from tdelta.design.actions import AskedAction
from tdelta.engines.embedded.pricing import new_key
from tdelta.errors import EnvironmentFault
from tdelta.evidence import FileClass, TwinFile, search
from tdelta.measure.private import FOLDER_MODE
from tdelta.measure.space import allocated
from tdelta.messages import Refusal
from tdelta.processes.actions import ACTION_SECONDS, Act, Outcome, Peak
from tdelta.processes.answers import checksums
from tdelta.processes.backups import NONE, Backup, BackupRequest, BackupTool, Maker, Restore, tool_of, unpacked
from tdelta.processes.jobs import needles_of
from tdelta.processes.pipelines import Programs
from tdelta.processes.process_tree import entries
from tdelta.processes.protocol import Checksums
from tdelta.processes.workers import Worker
from tdelta.records import Usage

if TYPE_CHECKING:
    from tdelta.engines.embedded.twins import EmbeddedTwin


REWRITES = ("encrypt", "rekey", "decrypt")
"""The actions that rewrite a file, by the names of `tdelta.design.actions`."""

_LOOK_SECONDS = 0.01
_BLOCK_BYTES = 512
"""The unit of `st_blocks`."""


class Reopen(Act):
    """The file is closed, what the log held being moved into it, and opened again until it answers."""

    def __init__(self, site: EmbeddedTwin, _asked: AskedAction) -> None:
        self._site = site

    def prepare(self) -> None:
        self._site.worker.ask("shut", seconds=ACTION_SECONDS)

    def perform(self) -> Outcome:
        sql = f"SELECT 1 FROM {self._site.table} LIMIT 1"
        answer = self._site.worker.ask("reopen", seconds=ACTION_SECONDS, sql=sql)
        require_rows(answer["text"], "1")
        return Outcome({}, seconds=answer["elapsed_ns"] / 1e9)

    def undo(self) -> None:
        self._site.worker.ask("resume", seconds=ACTION_SECONDS)


class RewriteFile(Act):
    """A file is encrypted, gets another key, or is decrypted; of a plain twin it is rewritten likewise.

    What is encrypted is a plain file with the same rows, else the twin's own.
    """

    def __init__(self, site: EmbeddedTwin, asked: AskedAction) -> None:
        self.site = site
        self.change = asked.name
        self.place = site.path.with_suffix(".action")
        self.source, self.source_key = (site.plain, None) if self.change == "encrypt" else (site.path, site.key)
        self.key = None if site.key is None or self.change == "decrypt" else site.key
        if self.change == "rekey" and site.key is not None:
            self.key = new_key()
        self._rows = ""

    @abstractmethod
    def brought(self) -> str:
        """Have the worker open what is rewritten; returns how many rows it has in one of its tables."""

    @abstractmethod
    def rewritten(self) -> tuple[Path, Mapping[str, Any]]:
        """Have the worker rewrite it, as far as the disk; returns the file that came of it, and what that took."""

    @abstractmethod
    def rows_of(self, made: Path) -> str:
        """How many rows the file that came of it has in the same table."""

    def prepare(self) -> None:
        own_folders.remove(self.place)
        self.place.mkdir(FOLDER_MODE)
        self._rows = self.brought()

    def perform(self) -> Outcome:
        peak = Peak(partial(disk_bytes, self.place, self.site.worker.pid), _LOOK_SECONDS)
        with peak.watched():
            made, answer = self.rewritten()
        counted = {**left_by(made, needles_of(self.site.job)), "peak_disk_bytes": peak.rise}
        require_rows(self.rows_of(made), self._rows)
        return Outcome(counted, seconds=answer["elapsed_ns"] / 1e9)

    def undo(self) -> None:
        self.site.worker.ask("resume", seconds=ACTION_SECONDS)
        own_folders.remove(self.place)


def disk_bytes(folder: Path, pid: int) -> int:
    """The disk blocks of a folder's files and of files without a name that a process has open."""
    descriptors = Path(f"/proc/{pid}/fd")
    found = {(one.st_dev, one.st_ino): one.st_blocks * _BLOCK_BYTES for one in _on_disk(folder, descriptors)}
    return sum(found.values())


def _on_disk(folder: Path, descriptors: Path) -> Iterator[os.stat_result]:
    for path in folder.iterdir():
        with suppress(OSError):
            yield path.stat()
    for link in entries(descriptors):
        with suppress(OSError):
            found, is_memory = link.stat(), str(link.readlink()).startswith("/memfd:")
            if stat.S_ISREG(found.st_mode) and not found.st_nlink and not is_memory:
                yield found


def left_by(file: Path, needles: Sequence[bytes]) -> Mapping[str, int]:
    """The file's size after a rewrite, and how many files show planted rows, of it, its log and its journal."""
    files = [
        TwinFile(path.name, str(path), FileClass.DATABASE, (found.st_dev, found.st_ino))
        for path in sorted(file.parent.glob(f"{file.name}*"))
        if stat.S_ISREG((found := path.stat()).st_mode)
    ]
    clear = sum(bool(one.markers_found) for one in search(files, needles))
    return {"file_bytes": file.stat().st_size, "files_in_the_clear": clear}


def require_rows(found: str, expected: str) -> None:
    """Raise ``EnvironmentFault`` where the file that came of a rewrite does not hold the rows of before."""
    if found != expected:
        raise EnvironmentFault(Refusal.of("unexpected", expected=expected, found=found or "none"))


NAME = "backup.db"


class FileMaker(Maker):
    """Makes and restores backups of one twin."""

    def __init__(self, site: EmbeddedTwin, tool: str) -> None:
        self.site = site
        self.tool = tool
        self._helper: Worker | None = None

    @classmethod
    def act(cls, site: EmbeddedTwin, asked: AskedAction, tools: Mapping[str, BackupTool]) -> Act:
        tool, compress = tool_of(asked.choices, tools)
        folder = site.path.parent / f"{site.path.name}-backup"
        request = BackupRequest(tools[tool], compress, folder, needles_of(site.job))
        return (Backup if asked.name == "backup" else Restore)(cls(site, tool), request, site.halt)

    @property
    def helper(self) -> Worker:
        assert self._helper is not None  # noqa: S101 - started
        return self._helper

    def start(self) -> None:
        self._helper = Worker(self.site.environment, self.site.engine.program)

    @abstractmethod
    def restore_files(self, made: Path, target: Path, programs: Programs) -> Usage:
        """Restore an unpacked backup into a file until it answers with a row."""

    def unpack(self, made: Path, compress: str, into: Path, programs: Programs) -> Path:
        if compress == NONE:
            return made
        unpacked(programs, made, into)
        return into

    def files(self) -> tuple[Path, ...]:
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
