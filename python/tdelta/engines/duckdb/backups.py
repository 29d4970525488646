"""Backups of a DuckDB file: a copy of it while it is detached, its rows as text, and its rows in another file.

DuckDB has no backup of a file that is in use: to be copied it is detached, so that nobody can work meanwhile. Rows are
exported, copied and imported by the process that has the file open, beside a load, too: they are those of one snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tdelta.design.actions import AskedAction
from tdelta.driver.acting import Act, difference
from tdelta.driver.answers import checksums
from tdelta.driver.backups import NONE, Backup, BackupRequest, BackupTool, Restore, packed, tool_of, unpacked
from tdelta.driver.programs import Program, Programs
from tdelta.driver.protocol import Checksums
from tdelta.driver.tree import usage
from tdelta.driver.workers import Worker
from tdelta.engines.duckdb.site import PROGRAM, DuckdbSite
from tdelta.engines.duckdb.statements import CATALOG, attach_sql, literal
from tdelta.engines.shared.rewriting import markers_of
from tdelta.evidence import FileClass
from tdelta.measure.private import FOLDER_MODE
from tdelta.measure.space import allocated
from tdelta.records import Usage

TOOLS: Mapping[str, BackupTool] = {
    "copy": BackupTool("the file, copied while it is detached", programs=(Program("cp", "install coreutils"),)),
    "dump": BackupTool("EXPORT DATABASE, as CSV", is_logical=True),
    "copy-rows": BackupTool("COPY FROM DATABASE into a new file, with the same key"),
}
"""By name, the default first."""

BESIDE: Mapping[str, BackupTool] = {name: tool for name, tool in TOOLS.items() if name != "copy"}
"""Those that go on beside a load."""

_NAME, _OTHER = "backup.db", "backup"


def backup_act(site: DuckdbSite, asked: AskedAction) -> Act:
    tool, compress = tool_of(asked.choices, BESIDE if site.is_beside else TOOLS)
    request = BackupRequest(TOOLS[tool], compress, site.path.parent / "backup", tuple(markers_of(site.job)))
    is_backup = asked.name == "backup"
    return (Backup if is_backup else Restore)(_DuckdbMaker(site, tool), request, site.halt)


class _DuckdbMaker:
    def __init__(self, site: DuckdbSite, tool: str) -> None:
        self._site = site
        self._is_detached_copy = tool == "copy"
        self._is_dump = tool == "dump"
        self._other: Worker | None = None
        self._is_detached = False

    def start(self) -> None:
        """A process that restores; it is there before anything is measured."""
        self._other = Worker(self._site.environment, PROGRAM)

    def make(self, into: Path, compress: str, programs: Programs) -> Usage:
        """Copy or export; exported files are compressed one after another when all are there."""
        if self._is_detached_copy:
            return self._copied(into, compress, programs)
        folder, used = into if compress == NONE else into.parent / "exported", Usage()
        if self._is_dump:
            self._site.run([f"EXPORT DATABASE {CATALOG} TO {literal(str(folder))} (FORMAT csv)"], "an export")
        else:
            folder.mkdir(FOLDER_MODE, exist_ok=True)
            self._site.run(self._copying(folder / _NAME), "a copy of all rows")
        if compress != NONE:
            for file in sorted(folder.iterdir()):
                used += packed(programs, file, into)
        return used

    def _copying(self, target: Path) -> list[str]:
        options = self._site.options(target, self._site.key)
        return [
            attach_sql(options, _OTHER),
            f"COPY FROM DATABASE {CATALOG} TO {_OTHER}",
            f"CHECKPOINT {_OTHER}",
            f"DETACH {_OTHER}",
        ]

    def _copied(self, into: Path, compress: str, programs: Programs) -> Usage:
        site = self._site
        site.worker.ask("detach")
        self._is_detached = True
        if compress == NONE:
            used = programs.run(("cp", str(site.path), str(into / _NAME)))
        else:
            used = programs.run(("zstd", "-q", "-c"), source=site.path, target=into / f"{_NAME}.zst")
        self._attach()
        return used

    def unpack(self, made: Path, compress: str, into: Path, programs: Programs) -> Path:
        if compress == NONE:
            return made
        unpacked(programs, made, into)
        return into

    def class_of(self, _name: str) -> FileClass:
        return FileClass.DUMP if self._is_dump else FileClass.DATABASE

    def data_bytes(self) -> int:
        return self._site.path.stat().st_size

    def disk_bytes(self) -> int:
        return allocated(self._site.path)

    def checksums(self) -> Checksums:
        return checksums(self._site.worker, self._site.job.tables)

    def restore(self, made: Path, compress: str, into: Path, programs: Programs) -> Usage:
        site, other, target, used = self._site, self._restoring(), into / _NAME, Usage()
        if compress != NONE:
            used = unpacked(programs, made, into.parent / "unpacked")
            made = into.parent / "unpacked"
        if not self._is_dump:
            used += programs.run(("cp", str(made / _NAME), str(target)))
        before = usage(other.pid)
        other.send("open", options=site.options(target, site.key))
        site.halt.wait_for(other, "a restored file")
        if self._is_dump:
            other.send("run", statements=[f"IMPORT DATABASE {literal(str(made))}"])
            site.halt.wait_for(other, "an import")
        other.ask("facts", queries={"row": f"SELECT 1 FROM {site.table} LIMIT 1"})
        return used + difference(usage(other.pid), before)

    def restored(self) -> Checksums:
        return checksums(self._restoring(), self._site.job.tables)

    def let_go(self) -> None:
        """End that process; a file that is detached still is attached again."""
        if self._other is not None:
            self._other.kill()
            self._other.end()
        if not self._site.halt.is_asked:
            self._attach()

    def _attach(self) -> None:
        if self._is_detached:
            self._site.worker.ask("rejoin")
            self._is_detached = False

    def _restoring(self) -> Worker:
        assert self._other is not None  # noqa: S101 - started
        return self._other
