from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tdelta.engines.server.actions import (
    DELETED_TABLE,
    LeavesRows,
    LogSql,
    RemainsSql,
    Site,
    Started,
    allocated_bytes,
    kept,
    restarts,
)
from tdelta.engines.server.backups import ServerTool, Tools, Words
from tdelta.engines.server.base import DATABASE, ServerSettings
from tdelta.engines.server.evidence import Settling
from tdelta.errors import EnvironmentFault
from tdelta.evidence import FileClass
from tdelta.processes.actions import ACTION_SECONDS, Outcome, difference
from tdelta.processes.backups import BackupTool, EngineAction
from tdelta.processes.pipelines import Program
from tdelta.processes.servers.recipes import Command, Recipe
from tdelta.processes.servers.server import Server

# Backups of a PostgreSQL server: pg_basebackup, which copies the files that the server sees, and pg_dump.
#
# Where a file system encrypts, what the server sees is plain, and so is a base backup. pg_tde's pages are in
# it as they lie, but since version 2.1 only its own pg_tde_basebackup reads clusters that it encrypts; of tar
# files, it takes an encrypted WAL with --wal-method=fetch alone (docs.percona.com/pg-tde/how-to).

_BASE_BACKUPS = ("pg_tde_basebackup", "pg_basebackup")
_REMEDY = "it comes with PostgreSQL's server or client packages (Debian, Ubuntu: postgresql-client)"


def tools(server: Path) -> Tools:
    """The tools beside a server's program, by name, the default first."""
    copy = next((name for name in _BASE_BACKUPS if server.with_name(name).exists()), _BASE_BACKUPS[-1])
    base, dump, restore, client = (
        Program(str(server.with_name(name)), _REMEDY) for name in (copy, "pg_dump", "pg_restore", "psql")
    )
    tar = Program("tar", "install tar")

    def back_up(site: Site, _folder: Path, compresses: bool) -> Words:
        how = ("--pgdata=-", "--format=tar", "--wal-method=fetch", "--checkpoint=fast")
        return (base.name, *how, *(("--gzip",) if compresses else ()), *reach(site))

    def extract(_site: Site, folder: Path) -> Words:
        return (tar.name, "--extract", "--no-same-owner", f"--directory={folder}")

    def write(site: Site, _folder: Path, compresses: bool) -> Words:
        return (dump.name, f"--format={'custom' if compresses else 'plain'}", *reach(site), DATABASE)

    def run(site: Site, _folder: Path) -> Words:
        how = ("--no-psqlrc", "--quiet", "--output=/dev/null", "--set=ON_ERROR_STOP=1")
        return (client.name, *how, *reach(site), DATABASE)

    physical = BackupTool(f"{copy}: files as the server sees them", compresses=True, programs=(base, tar))
    logical = BackupTool("pg_dump: rows as COPY", True, compresses=True, programs=(dump, restore, client))
    return {
        "basebackup": ServerTool(physical, back_up, extract, plain=("gzip", "-d", "-c")),
        "dump": ServerTool(logical, write, run, plain=(restore.name, "--file=-")),
    }


def reach(site: Site) -> Words:
    socket = site.recipe.place.socket
    port = socket.suffix.removeprefix(".")
    return (f"--host={socket.parent}", f"--port={port}", f"--username={site.recipe.connect['user']}", "--no-password")


_WRITTEN = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), {since})::bigint"
_LOG = LogSql(
    numbers="SELECT n FROM generate_series(1, 2000) AS n",
    checkpoint=("CHECKPOINT",),
    written=_WRITTEN.format(since="'0/0'"),
    behind=_WRITTEN.format(since="redo_lsn") + " FROM pg_control_checkpoint()",
)

_END_BACKUPS = "SELECT pg_terminate_backend(pid) FROM pg_stat_replication"
_LOOK_AGAIN_SECONDS = 0.05
_MOST_MB_A_SECOND = 1024
"""pg_basebackup takes no more."""

_REMAINS = RemainsSql(
    hexadecimal="encode({}, 'hex')",
    literal="'\\x{}'::bytea",
    bytes_type="bytea",
    settle=(Settling((f"VACUUM (TRUNCATE false) {DELETED_TABLE}", "CHECKPOINT")),),
)
"""Pages that are empty at the end of a file would else be cut off, as they are not in the middle of a table."""


class Encrypt(LeavesRows):
    """A base backup into encrypted storage, and a server started on it, beside the one that it is taken from.

    PostgreSQL encrypts nothing itself, so this is how its owner comes to encrypted files. The load stays with the plain
    server. Knob ``rate``: how many MB a second the backup may take. Afterwards the plain server's files are searched,
    and those of the encrypted storage, as they lie on the disk.
    """

    remains = _REMAINS
    _started: Started | None = None

    def prepare(self) -> None:
        super().prepare()
        recipe = self.site.beside(self._encrypted)
        recipe = dataclasses.replace(recipe, initialize=(self._backup(recipe),))
        self._started = self.site.other(recipe)

    @property
    def _encrypted(self) -> ServerSettings:
        plain = self.site.settings
        return dataclasses.replace(plain, cipher=plain.becomes, scope="all", becomes="")

    def perform(self) -> Outcome:
        assert self._started is not None  # noqa: S101 - prepared
        server = self._started.site.server
        before, began_ns = server.usage(), time.monotonic_ns()
        self._copy(server)
        backup_ns = time.monotonic_ns() - began_ns
        start_ns = self._started.start()
        return Outcome(
            {
                "backup_ns": backup_ns,
                "start_ns": start_ns,
                "converted_bytes": allocated_bytes(kept(server.recipe)),
            },
            seconds=(backup_ns + start_ns) / 1e9,
            programs=difference(server.usage(), before),
        )

    def inspect(self) -> Mapping[str, int]:
        """Readable rows: where the rows were, and in the files that hold the copy."""
        assert self._started is not None  # noqa: S101 - prepared
        copy, engine = self._started.site, self.site.engine
        if not engine.can_be_searched(self._encrypted):
            return self.search()
        files = copy.files().files()
        return self.search([dataclasses.replace(file, file_class=FileClass.STORAGE) for file in files])

    def undo(self) -> None:
        """End the other server and remove its folder, and the rows."""
        try:
            super().undo()
        finally:
            if self._started is not None:
                self._started.end()
                self._started.site.server.end()

    def _copy(self, server: Server) -> None:
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(server.initialize, seconds=ACTION_SECONDS)
            try:
                self.site.halt.wait_until(done.done, "a base backup is made")
            except EnvironmentFault:
                while not done.done():  # it may not have begun yet
                    self.site.run(_END_BACKUPS)
                    time.sleep(_LOOK_AGAIN_SECONDS)
                raise
            done.result()

    def _backup(self, recipe: Recipe) -> Command:
        program = Path(self.site.recipe.serve.argv[0]).with_name("pg_basebackup")
        rate = self.site.asked.knobs.get("rate")
        limit = () if rate is None else (f"--max-rate={min(rate, _MOST_MB_A_SECOND)}M",)
        how = ("--checkpoint=fast", "--wal-method=stream", *limit)
        return Command((str(program), f"--pgdata={recipe.place.data}", *reach(self.site), *how), as_user=True)


RESTARTS: Mapping[str, EngineAction] = restarts(_LOG)
CONVERSIONS: Mapping[str, EngineAction] = {"encrypt": EngineAction(Encrypt, ("rate",), is_during=True)}
"""Where a file system encrypts."""
