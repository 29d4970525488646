"""Backups of private servers, as actions: written by a program to its output, restored into another server beside it.

An engine says by which programs (`ServerTool`); the rest is the same for all. The server that a backup is restored into
is made, as encrypted as the twin, before anything is measured: for a logical backup it runs and has an empty database,
for a physical one it has its folders, the file system that encrypts them, and the twin's keys, but no data.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

from tdelta import own_folders
from tdelta.engines.server.actions import Site, Started
from tdelta.engines.server.base import DATABASE
from tdelta.engines.server.evidence import ServerFiles, server_file_class
from tdelta.engines.server.restore import make_database
from tdelta.engines.server.sessions import Session
from tdelta.evidence import FileClass
from tdelta.measure.private import FOLDER_MODE
from tdelta.measure.space import allocated
from tdelta.processes.actions import Act, difference
from tdelta.processes.answers import checksums
from tdelta.processes.backups import NONE, OWN, Backup, BackupRequest, BackupTool, EngineAction, Maker, Restore, tool_of
from tdelta.processes.pipelines import Programs
from tdelta.processes.protocol import Checksums
from tdelta.processes.workers import Worker
from tdelta.records import Usage

Words: TypeAlias = tuple[str, ...]

_START_SECONDS = 120.0
_ZSTD, _UNZSTD = ("zstd", "-q", "-c"), ("zstd", "-q", "-d", "-c")
_SQL = "backup.sql"


@dataclass(frozen=True, slots=True)
class ServerTool:
    """One way to make backups of a server and to restore them, as programs.

    Attributes:
        tool: what it is.
        write: the program that writes a backup of a server to its standard output; the folder is for what it needs on
            the way, and the last argument is whether it is to compress.
        read: the program that reads one from its standard input, as `write` writes it: if it is logical, into a server
            that runs, else into the folder that is given.
        finish: a program after which a server can start on such a folder.
        plain: the program that undoes its own compression, from its standard input to its standard output.
        first: statements that are run before backups are made, and in no figure; ``last``: when all is done.
        at_once: statements that begin a backup, with the folder for what they leave as ``{folder}``.
    """

    tool: BackupTool
    write: Callable[[Site, Path, bool], Words]
    read: Callable[[Site, Path], Words]
    finish: Callable[[Path], Words] | None = None
    plain: Words = ()
    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    at_once: tuple[str, ...] = ()


Tools: TypeAlias = Mapping[str, ServerTool]


def backups(tools: Tools) -> dict[str, EngineAction]:
    """The actions ``backup`` and ``restore`` by these tools, the first of which is the default."""
    known = {name: one.tool for name, one in tools.items()}
    return {
        "backup": EngineAction(partial(_act, tools, Backup), is_work=True, is_during=True, tools=known),
        "restore": EngineAction(partial(_act, tools, Restore), is_work=True, tools=known),
    }


def _act(tools: Tools, kind: type[Backup | Restore], site: Site) -> Act:
    name, compress = tool_of(site.asked.choices, {name: one.tool for name, one in tools.items()})
    folder = site.recipe.place.folder.with_name(f"{site.recipe.place.folder.name}-backup")
    inflate = site.engine.evidence.inflating(is_compressed=site.settings.is_compressed)
    request = BackupRequest(tools[name].tool, compress, folder, site.rows.needles, inflate)
    return kind(_ServerMaker(site, tools[name], restores=kind is Restore), request, site.halt)


class _ServerMaker(Maker):
    def __init__(self, site: Site, by: ServerTool, *, restores: bool) -> None:
        self._site = site
        self._by = by
        self._restores = restores
        self._session: Session | None = None
        self._other: Started | None = None

    def start(self) -> None:
        """Connect, and make the server that a backup is restored into."""
        self._session = self._site.connect()
        for statement in self._by.first:
            self._session.run(statement)
        if self._restores:
            self._prepare_other()

    def _prepare_other(self) -> None:
        site, is_logical = self._site, self._by.tool.is_logical
        recipe = site.beside(site.settings)
        self._other = site.other(recipe if is_logical else dataclasses.replace(recipe, initialize=()))
        server = self._other.site.server
        if is_logical:
            server.start(initialize=True, seconds=_START_SECONDS)
            make_database(self._other.asking, site.engine, recipe, site.settings)
            return
        server.initialize()
        recipe.place.data.mkdir(mode=FOLDER_MODE, exist_ok=True)
        shutil.copytree(site.recipe.place.keys, recipe.place.keys, dirs_exist_ok=True)

    def make(self, into: Path, compress: str, programs: Programs) -> Usage:
        """One file: what the tool writes, compressed as it is written."""
        folder = into.parent / "on-the-way"
        for statement in self._by.at_once:
            self._connected().run_while(statement.format(folder=folder), self._site.halt, "a backup is made")
        write = self._by.write(self._site, folder, compress == OWN)
        stages = (write, _ZSTD) if compress not in (NONE, OWN) else (write,)
        used = programs.run(*stages, target=into / _name(compress))
        own_folders.remove(folder)
        return used

    def unpack(self, made: Path, _compress: str, into: Path, programs: Programs) -> Path:
        source, stages = self._decompressed(made)
        if not self._by.tool.is_logical:
            programs.run(*stages, self._by.read(self._site, into), source=source)
        elif stages:
            programs.run(*stages, source=source, target=into / _SQL)
        else:
            shutil.copyfile(source, into / _SQL)
        return into

    def class_of(self, name: str) -> FileClass:
        """A dump, or what the same file is in a server's folder."""
        if self._by.tool.is_logical:
            return FileClass.DUMP
        return server_file_class(self._site.engine.evidence.files, name, is_unlinked=False)

    def data_bytes(self) -> int:
        return int(
            float(self._connected().rows(self._site.engine.data_bytes_sql(self._site.engine.schema))[1][0][0] or 0)
        )

    def disk_bytes(self) -> int:
        site = self._site
        files = ServerFiles(site.engine.evidence.files, site.recipe.place, site.server.pids, site.recipe.mount)
        return sum(allocated(file.path) for file in files.files() if file.file_class is FileClass.TABLES)

    def checksums(self) -> Checksums:
        with Worker() as worker:
            worker.ask("connect", options={**self._site.recipe.connect, "database": DATABASE}, connections=1)
            return checksums(worker, self._site.rows.tables)

    def restore(self, made: Path, _compress: str, _into: Path, programs: Programs) -> Usage:
        """Into the other server, which is started where its files were restored."""
        other = self._restored_into()
        server, data = other.site.server, other.site.recipe.place.data
        before = server.usage()
        source, stages = self._decompressed(made)
        used = programs.run(*stages, self._by.read(other.site, data), source=source)
        if self._by.finish is not None:
            used += programs.run(self._by.finish(data))
        if self._by.tool.is_logical:
            other.answer()
        else:
            other.start()
        return used + difference(server.usage(), before)

    def restored(self) -> Checksums:
        return checksums(self._restored_into().asking, self._site.rows.tables)

    def let_go(self) -> None:
        if self._other is not None:
            self._other.end()
            self._other.site.server.end()
        if self._session is not None:
            for statement in () if self._site.halt.is_asked else self._by.last:
                self._session.run(statement)
            self._session.close()

    def _connected(self) -> Session:
        assert self._session is not None  # noqa: S101 - started
        return self._session

    def _restored_into(self) -> Started:
        assert self._other is not None  # noqa: S101 - started
        return self._other

    def _decompressed(self, made: Path) -> tuple[Path, Sequence[Words]]:
        """The file that was made, and the programs that undo its compression."""
        (file,) = made.iterdir()
        return file, {_name(NONE): (), _name(OWN): (self._by.plain,)}.get(file.name, (_UNZSTD,))


def _name(compress: str) -> str:
    return f"backup-{compress}"
