"""Backups of a DuckDB file: a copy of it while it is detached, its rows as text, and its rows in another file.

DuckDB has no backup of a file that is in use: to be copied it is detached, so that nobody can work meanwhile. Rows are
exported, copied and imported by the process that has the file open, beside a load, too: they are those of one snapshot.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tdelta.design.actions import AskedAction
from tdelta.engines.duckdb.database import CATALOG, attach_sql
from tdelta.engines.embedded.actions import NAME, FileMaker
from tdelta.engines.embedded.sql import literal
from tdelta.engines.embedded.twins import EmbeddedTwin
from tdelta.evidence import FileClass
from tdelta.measure.private import FOLDER_MODE
from tdelta.processes.actions import Act, difference
from tdelta.processes.backups import NONE, BackupTool, packed
from tdelta.processes.pipelines import Program, Programs
from tdelta.processes.process_tree import usage
from tdelta.processes.workers import failure
from tdelta.records import Usage

TOOLS: Mapping[str, BackupTool] = {
    "copy": BackupTool("the file, copied while it is detached", programs=(Program("cp", "install coreutils"),)),
    "dump": BackupTool("EXPORT DATABASE, as CSV", is_logical=True),
    "copy-rows": BackupTool("COPY FROM DATABASE into a new file, with the same key"),
}
"""By name, the default first."""

BESIDE: Mapping[str, BackupTool] = {name: tool for name, tool in TOOLS.items() if name != "copy"}
"""Those that go on beside a load."""

_OTHER = "backup"


def backup_act(site: EmbeddedTwin, asked: AskedAction) -> Act:
    return DuckdbMaker.act(site, asked, BESIDE if site.is_beside else TOOLS)


class DuckdbMaker(FileMaker):
    _is_detached = False

    def make(self, into: Path, compress: str, programs: Programs) -> Usage:
        """Copy or export; exported files are compressed one after another when all are there."""
        if self.tool == "copy":
            return self._copied(into, compress, programs)
        folder, used = into if compress == NONE else into.parent / "exported", Usage()
        if self.tool == "dump":
            self._run([f"EXPORT DATABASE {CATALOG} TO {literal(str(folder))} (FORMAT csv)"], "an export")
        else:
            folder.mkdir(FOLDER_MODE, exist_ok=True)
            options = self.site.opening(folder / NAME, self.site.key)["options"]
            copy = f"COPY FROM DATABASE {CATALOG} TO {_OTHER}"
            copying = [attach_sql(options, _OTHER), copy, f"CHECKPOINT {_OTHER}", f"DETACH {_OTHER}"]
            self._run(copying, "a copy of all rows")
        if compress != NONE:
            for file in sorted(folder.iterdir()):
                used += packed(programs, file, into)
        return used

    def _copied(self, into: Path, compress: str, programs: Programs) -> Usage:
        path = self.site.path
        self.site.worker.ask("shut")
        self._is_detached = True
        if compress == NONE:
            used = programs.run(("cp", str(path), str(into / NAME)))
        else:
            used = programs.run(("zstd", "-q", "-c"), source=path, target=into / f"{NAME}.zst")
        self._attach()
        return used

    def _run(self, statements: Sequence[str], what: str) -> None:
        """Have the worker run statements, on another connection where a trial goes on meanwhile."""
        worker, halt = self.site.worker, self.site.halt
        if not self.site.is_beside:
            worker.send("run", statements=statements)
            halt.wait_for(worker, what)
            return
        said = self.site.path.parent / "aside.json"
        said.unlink(missing_ok=True)
        worker.send("aside", statements=statements, said=str(said))
        halt.wait_until(said.exists, what)
        answer = json.loads(said.read_text(encoding="utf-8"))
        said.unlink()
        if "error" in answer:
            raise failure(*answer["error"])

    def class_of(self, _name: str) -> FileClass:
        return FileClass.DUMP if self.tool == "dump" else FileClass.DATABASE

    def restore_files(self, made: Path, target: Path, programs: Programs) -> Usage:
        site, other, used = self.site, self.helper, Usage()
        if self.tool != "dump":
            used += programs.run(("cp", str(made / NAME), str(target)))
        before = usage(other.pid)
        other.send("open", options=site.opening(target, site.key)["options"])
        site.halt.wait_for(other, "a restored file")
        if self.tool == "dump":
            other.send("run", statements=[f"IMPORT DATABASE {literal(str(made))}"])
            site.halt.wait_for(other, "an import")
        other.ask("facts", queries={"row": f"SELECT 1 FROM {site.table} LIMIT 1"})
        return used + difference(usage(other.pid), before)

    def let_go(self) -> None:
        super().let_go()
        if not self.site.halt.is_asked:
            self._attach()

    def _attach(self) -> None:
        if self._is_detached:
            self.site.worker.ask("resume")
            self._is_detached = False
