"""Actions on a SQLite file: opened anew, opened by many at once, backed up, rewritten."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tdelta.design.actions import AskedAction
from tdelta.engines.embedded.actions import REWRITES, Reopen, RewriteFile
from tdelta.engines.embedded.twins import EmbeddedTwin
from tdelta.engines.sqlite.backups import SqliteMaker, tools_of
from tdelta.engines.sqlite.libraries import Library
from tdelta.processes.actions import ACTION_SECONDS, Act, Outcome
from tdelta.processes.backups import EngineAction

_STORM = 64


class Storm(Act):
    """So many connections opened, one after another (knob ``connections``): each derives its key."""

    def __init__(self, site: EmbeddedTwin, asked: AskedAction) -> None:
        self._site = site
        self._connections = asked.knobs.get("connections", _STORM)

    def perform(self) -> Outcome:
        site, connections = self._site, self._connections
        request = site.opening(site.path, site.key, threads=connections)  # which share the cache
        answer = site.worker.ask("open_another", seconds=ACTION_SECONDS, **request, sql="SELECT 1")
        return Outcome({"connections": connections}, seconds=answer["elapsed_ns"] / 1e9)

    def undo(self) -> None:
        self._site.worker.ask("resume", seconds=ACTION_SECONDS)


class RewriteCopy(RewriteFile):
    """A copy of the file is rewritten by the statements of `tdelta.engines.sqlite.conversion`.

    The journal is a rollback journal: encryption is refused with a write-ahead log.
    """

    def __init__(self, site: EmbeddedTwin, asked: AskedAction) -> None:
        super().__init__(site, asked)
        self._file = self.place / "database.db"
        path = self.place / "new.db"
        engine: Any = site.engine
        is_encrypted = site.key is not None
        self._rewrite = engine.rewrite(self.change, str(path), site.settings, is_encrypted=is_encrypted)
        self._given = engine.given_key(site.settings, self.key)
        self._made = self._file if self._rewrite.is_in_place else path

    def brought(self) -> str:
        site = self.site
        site.worker.ask("facts", seconds=ACTION_SECONDS, queries={"checkpoint": site.engine.checkpoint})
        self._copied("database")
        rows = self._opened(self._file, self.source_key)
        if not self._rewrite.steps:
            site.worker.ask("close_others")
            opened = self._opening(self._file, None)
            order = {"library": opened["library"], "pragmas": opened["options"]["pragmas"]}
            site.worker.ask("take_pages", source=str(self._copied("pages")), target=str(self._file), **order)
        return rows

    def rewritten(self) -> tuple[Path, Mapping[str, Any]]:
        worker = self.site.worker
        if self._rewrite.steps:
            steps = self._rewrite.as_json()
            answer = worker.ask("rewrite", seconds=ACTION_SECONDS, steps=steps, key=self._given)
        else:
            answer = worker.ask("write_pages", seconds=ACTION_SECONDS)
        worker.ask("close_others", seconds=ACTION_SECONDS)
        return self._made, answer

    def rows_of(self, made: Path) -> str:
        return self._opened(made, self.key)

    def _copied(self, name: str) -> Path:
        return self.site.folder.copy(self.source, str(self.place / name))

    def _opening(self, path: Path, key: str | None) -> dict[str, Any]:
        return self.site.opening(path, key, threads=1, journal_mode="delete")

    def _opened(self, path: Path, key: str | None) -> str:
        """How many rows a file has in one of its tables; it stays open. An attached one may be made beside it."""
        request = self._opening(path, key)
        request["options"] |= {"create": True}
        sql = f"SELECT count(*) FROM {self.site.table}"
        return str(self.site.worker.ask("open_another", seconds=ACTION_SECONDS, **request, sql=sql)["text"])


def actions_of(library: Library) -> Mapping[str, EngineAction]:
    """The actions of a library, by the names of `tdelta.design.actions`.

    Files are rewritten with libraries that come in wheels: their Python modules have what the plain twin needs.
    """
    tools = tools_of(library)

    def backup(site: EmbeddedTwin, asked: AskedAction) -> Any:
        return SqliteMaker.act(site, asked, tools)

    return {
        "restart": EngineAction(Reopen, is_work=True),
        "storm": EngineAction(Storm, ("connections",), is_work=True),
        "backup": EngineAction(backup, tools=tools, is_work=True, is_during=True),
        "restore": EngineAction(backup, tools=tools, is_work=True),
        **(dict.fromkeys(REWRITES, EngineAction(RewriteCopy, is_work=True)) if library.distribution else {}),
    }
