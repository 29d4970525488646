"""Backups of a SQLite file: by a process of their own, with the library under test, beside the one that has it open."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tdelta.engines.embedded.actions import NAME, FileMaker
from tdelta.engines.sqlite.libraries import Library
from tdelta.evidence import FileClass, file_class
from tdelta.processes.backups import NONE, BackupTool, packed
from tdelta.processes.pipelines import Programs
from tdelta.processes.workers import Worker
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

_SQL_NAME = "backup.sql"


def tools_of(library: Library) -> Mapping[str, BackupTool]:
    has = [name for name in TOOLS if library.distribution or name in _BY_STATEMENTS]
    return {name: TOOLS[name] for name in has if name != _NOT_OF.get(library.kind)}


class SqliteMaker(FileMaker):
    def start(self) -> None:
        super().start()
        self.helper.ask("library", library=self._opening(self.site.path)["library"])

    def make(self, into: Path, compress: str, programs: Programs) -> Usage:
        """By a worker; a dump is compressed as it is written, a file when it is there."""
        is_dump = self.tool == "dump"
        target = into / (_SQL_NAME if is_dump else NAME)
        if compress == NONE:
            return self._made(target)
        if is_dump:
            pipe = into.parent / "pipe"
            os.mkfifo(pipe, 0o600)
            self.helper.send("back_up", **self._request(pipe))
            programs.begin(("zstd", "-q", "-c"), source=pipe, target=into / f"{_SQL_NAME}.zst")
            return self._answer(self.helper) + programs.answer()
        used = self._made(into.parent / NAME)
        for suffix in ("", "-wal"):
            if (file := into.parent / f"{NAME}{suffix}").exists():
                used = used + packed(programs, file, into)
        return used

    def class_of(self, name: str) -> FileClass:
        return FileClass.DUMP if name == _SQL_NAME else file_class(name, NAME)

    def files(self) -> tuple[Path, ...]:
        return self.site.path, Path(f"{self.site.path}-wal")

    def restore_files(self, made: Path, target: Path, programs: Programs) -> Usage:  # noqa: ARG002 - no program's work
        site = self.site
        request = {**self._opening(target), "connections": 1, "sql": f"SELECT * FROM {site.table} LIMIT 1"}
        if self.tool == "dump":
            source, options = str(made / _SQL_NAME), self._making(target)
            self.helper.send("restore_rows", **request, made=options, source=source)
        else:
            files = [(str(file), str(target.parent / file.name)) for file in sorted(made.iterdir())]
            self.helper.send("restore_files", **request, files=files)
        return self._answer(self.helper)

    def _made(self, target: Path) -> Usage:
        self.helper.send("back_up", **self._request(target))
        return self._answer(self.helper)

    def _request(self, target: Path) -> dict[str, Any]:
        more = {"tool": self.tool, "made": self._making(target), "target": str(target)}
        return {**self._opening(self.site.path), **more}

    def _opening(self, path: Path) -> dict[str, Any]:
        return self.site.opening(path, self.site.key)

    def _making(self, path: Path) -> Any:
        return self.site.engine.making(path, self.site.settings, self.site.key)["options"]

    def _answer(self, worker: Worker) -> Usage:
        return Usage.of(self.site.halt.wait_for(worker, f"a backup by {self.tool}")["usage"])
