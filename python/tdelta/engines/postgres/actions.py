"""What can be done to a PostgreSQL server beside its load."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tdelta.driver.acting import ACTION_SECONDS, Outcome, difference
from tdelta.driver.servers.recipes import Command, Recipe
from tdelta.driver.servers.server import Server
from tdelta.engines.postgres.backups import reach
from tdelta.engines.shared.private.actions import ServerAction, Site
from tdelta.engines.shared.private.disk import allocated_bytes, kept
from tdelta.engines.shared.private.restarts import LogSql, Started, restarts
from tdelta.errors import EnvironmentFault

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


class Encrypt:
    """A base backup into encrypted storage, and a server started on it, beside the one that it is taken from.

    PostgreSQL encrypts nothing itself, so this is how its owner comes to encrypted files. The load stays with the plain
    server. Knob ``rate``: how many MB a second the backup may take.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._started: Started | None = None

    def prepare(self) -> None:
        """Make the folder of the other server, and start the process that will ask it."""
        plain = self._site.settings
        recipe = self._site.beside(dataclasses.replace(plain, cipher=plain.becomes, scope="all", becomes=""))
        recipe = dataclasses.replace(recipe, initialize=(self._backup(recipe),))
        server = Server(recipe)
        try:
            self._started = Started(dataclasses.replace(self._site, recipe=recipe, server=server, restarted=_nobody))
        except BaseException:
            server.end()
            raise

    def perform(self) -> Outcome:
        """Copy, start, have it answer."""
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
                "encrypted_bytes": allocated_bytes(kept(server.recipe)),
            },
            seconds=(backup_ns + start_ns) / 1e9,
            programs=difference(server.usage(), before),
        )

    def undo(self) -> None:
        """End the other server and remove its folder."""
        if self._started is not None:
            self._started.end()
            self._started.site.server.end()

    def _copy(self, server: Server) -> None:
        """Make the encrypted storage and the backup in it."""
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(server.initialize, seconds=ACTION_SECONDS)
            try:
                self._site.halt.wait_until(done.done, "a base backup is made")
            except EnvironmentFault:
                with self._site.session() as session:
                    while not done.done():  # it may not have begun yet
                        session.run(_END_BACKUPS)
                        time.sleep(_LOOK_AGAIN_SECONDS)
                raise
            done.result()

    def _backup(self, recipe: Recipe) -> Command:
        program = Path(self._site.recipe.serve.argv[0]).with_name("pg_basebackup")
        rate = self._site.knobs.get("rate")
        limit = () if rate is None else (f"--max-rate={min(rate, _MOST_MB_A_SECOND)}M",)
        how = ("--checkpoint=fast", "--wal-method=stream", *limit)
        return Command((str(program), f"--pgdata={recipe.place.data}", *reach(self._site), *how), as_user=True)


def _nobody() -> None:
    """No connection depends on the other server."""


RESTARTS: Mapping[str, ServerAction] = restarts(_LOG)
CONVERSIONS: Mapping[str, ServerAction] = {
    "encrypt": ServerAction(
        Encrypt, "pg_basebackup into encrypted storage, a server started on it", ("rate",), is_during=True
    )
}
"""Where a file system encrypts."""
