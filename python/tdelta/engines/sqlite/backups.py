"""Backups of a SQLite file: by a process of their own, with the library under test, beside the one that has it open."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tdelta.design.actions import AskedAction
from tdelta.driver.acting import Act
from tdelta.driver.answers import checksums
from tdelta.driver.backups import NONE, Backup, BackupRequest, BackupTool, Restore, packed, tool_of, unpacked
from tdelta.driver.programs import Programs
from tdelta.driver.protocol import Checksums
from tdelta.driver.workers import Worker
from tdelta.engines.shared.rewriting import markers_of
from tdelta.engines.sqlite.engine import WORKER
from tdelta.engines.sqlite.libraries import Library
from tdelta.engines.sqlite.site import FileSite
from tdelta.evidence import FileClass, file_class
from tdelta.measure.space import allocated
from tdelta.records import Usage

TOOLS: Mapping[str, BackupTool] = {
    "copy": BackupTool("the file and its log, copied while a transaction keeps writers out"),
    "vacuum-into": BackupTool("VACUUM INTO"),
    "online": BackupTool("the online backup of the library (sqlite3_backup_step)"),
    "dump": BackupTool("rows written as SQL, as .dump does", is_logical=True),
}
_BY_STATEMENTS = ("copy", "vacuum-into")
"""Those that a library does which comes without a Python module."""

_NOT_OF = {"sqlcipher": "vacuum-into"}
"""SQLCipher takes a plain file whose pages keep bytes back, as plain twins do, for an encrypted one without its key."""

_NAME = "backup.db"
_SQL_NAME = "backup.sql"


def tools_of(library: Library) -> Mapping[str, BackupTool]:
    has = [name for name in TOOLS if library.distribution or name in _BY_STATEMENTS]
    return {name: TOOLS[name] for name in has if name != _NOT_OF.get(library.kind)}


def backup_act(site: FileSite, asked: AskedAction) -> Act:
    tool, compress = tool_of(asked.choices, TOOLS)
    folder = site.path.parent / f"{site.path.name}-backup"
    request = BackupRequest(TOOLS[tool], compress, folder, tuple(markers_of(site.job)))
    maker = _SqliteMaker(site, tool)
    return (Backup if asked.name == "backup" else Restore)(maker, request, site.halt)


class _SqliteMaker:
    def __init__(self, site: FileSite, tool: str) -> None:
        self._site = site
        self._tool = tool
        self._worker: Worker | None = None

    def start(self) -> None:
        self._worker = Worker(self._site.environment, WORKER)
        self._worker.ask("library", library=self._site.engine.library.name)

    def make(self, into: Path, compress: str, programs: Programs) -> Usage:
        """By a worker; a dump is compressed as it is written, a file when it is there."""
        worker, is_dump = self._helper(), self._tool == "dump"
        target = into / (_SQL_NAME if is_dump else _NAME)
        if compress == NONE:
            return self._made(worker, target)
        if is_dump:
            pipe = into.parent / "pipe"
            os.mkfifo(pipe, 0o600)
            worker.send("back_up", **self._request(pipe))
            programs.begin(("zstd", "-q", "-c"), source=pipe, target=into / f"{_SQL_NAME}.zst")
            return self._answer(worker) + programs.answer()
        used = self._made(worker, into.parent / _NAME)
        for suffix in ("", "-wal"):
            if (file := into.parent / f"{_NAME}{suffix}").exists():
                used = used + packed(programs, file, into)
        return used

    def unpack(self, made: Path, compress: str, into: Path, programs: Programs) -> Path:
        if compress == NONE:
            return made
        unpacked(programs, made, into)
        return into

    def class_of(self, name: str) -> FileClass:
        return FileClass.DUMP if name == _SQL_NAME else file_class(name, _NAME)

    def data_bytes(self) -> int:
        return sum(file.stat().st_size for file in self._files() if file.exists())

    def disk_bytes(self) -> int:
        return sum(map(allocated, self._files()))

    def _files(self) -> tuple[Path, Path]:
        return self._site.path, Path(f"{self._site.path}-wal")

    def checksums(self) -> Checksums:
        return checksums(self._site.worker, self._site.job.tables)

    def restore(self, made: Path, compress: str, into: Path, programs: Programs) -> Usage:
        used = Usage()
        if compress != NONE:
            used = unpacked(programs, made, into.parent / "unpacked")
            made = into.parent / "unpacked"
        target, worker, site = into / _NAME, self._helper(), self._site
        request: dict[str, Any] = {
            "library": site.engine.library.name,
            "options": site.engine.open_options(str(target), site.settings, site.key),
            "connections": 1,
            "sql": f'SELECT * FROM "{site.table}" LIMIT 1',
        }
        if self._tool == "dump":
            options = site.engine.create_options(str(target), site.settings, site.key)
            worker.send("restore_rows", **request, made=options, source=str(made / _SQL_NAME))
        else:
            files = [(str(file), str(into / file.name)) for file in sorted(made.iterdir())]
            worker.send("restore_files", **request, files=files)
        return used + self._answer(worker)

    def restored(self) -> Checksums:
        return checksums(self._helper(), self._site.job.tables)

    def let_go(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker.end()
            self._worker = None

    def _helper(self) -> Worker:
        assert self._worker is not None  # noqa: S101 - started
        return self._worker

    def _made(self, worker: Worker, target: Path) -> Usage:
        worker.send("back_up", **self._request(target))
        return self._answer(worker)

    def _request(self, target: Path) -> dict[str, Any]:
        site = self._site
        return {
            "library": site.engine.library.name,
            "tool": self._tool,
            "options": site.engine.open_options(str(site.path), site.settings, site.key),
            "made": site.engine.create_options(str(target), site.settings, site.key),
            "target": str(target),
        }

    def _answer(self, worker: Worker) -> Usage:
        return Usage.of(self._site.halt.wait_for(worker, f"a backup by {self._tool}")["usage"])
