"""Actions on a DuckDB file beside its load: attached anew, or copied into a file with a key or without.

DuckDB does not change a file in place: all of its rows are copied (``COPY FROM DATABASE``) into a new file, which is
plain or has a cipher and a key of its own. The plain twin copies into a plain file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tdelta.engines.duckdb.backups import BESIDE, TOOLS, backup_act
from tdelta.engines.embedded.actions import REWRITES, Reopen, RewriteFile
from tdelta.processes.actions import ACTION_SECONDS
from tdelta.processes.backups import EngineAction


class CopyFile(RewriteFile):
    def brought(self) -> str:
        self.site.worker.ask("shut", seconds=ACTION_SECONDS)
        return self._attached(self.source, self.source_key)

    def rewritten(self) -> tuple[Path, Mapping[str, Any]]:
        target = self.place / "new.db"
        options = self.site.opening(target, self.key)["options"]
        return target, self.site.worker.ask("copy", seconds=ACTION_SECONDS, options=options)

    def rows_of(self, made: Path) -> str:
        return self._attached(made, self.key)

    def _attached(self, path: Path, key: str | None) -> str:
        """How many rows a file has in one of its tables; it stays attached as what is copied."""
        options = self.site.opening(path, key)["options"] | {"read_only": True}
        answer = self.site.worker.ask("take", seconds=ACTION_SECONDS, options=options, table=self.site.table)
        return str(answer["text"])


ACTIONS: Mapping[str, EngineAction] = {
    "restart": EngineAction(Reopen, is_work=True),
    "backup": EngineAction(backup_act, tools=TOOLS, tools_beside=BESIDE, is_work=True, is_during=True),
    "restore": EngineAction(backup_act, tools=TOOLS, is_work=True),
    **dict.fromkeys(REWRITES, EngineAction(CopyFile, is_work=True)),
}
