"""How PostgreSQL replicates: physical streaming over the primary's Unix socket, by a slot that keeps unsent log.

The replica is a standby that is connected by setting ``primary_conninfo``, and disconnected by emptying it. Commits
wait for it where ``synchronous_standby_names`` names it: until it has flushed their log (``synchronous_commit = on``),
without ever giving up, so there is nothing to count.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

from tdelta.engines.server.replicas import Behind, Link, Replication
from tdelta.engines.server.sessions import Session
from tdelta.errors import EnvironmentFault
from tdelta.messages import Refusal
from tdelta.processes.servers.recipes import Recipe

_SLOT = "tdelta_replica"
_CONNECT_SECONDS = 60
_LOOK_AGAIN_SECONDS = 0.002
_HELD = "1d"
"""How long a commit is not applied while the replica is to receive only (recovery_min_apply_delay)."""

_PRIMARY = {"max_wal_senders": "4", "max_replication_slots": "4", "wal_sender_timeout": "0"}
_REPLICA = {**_PRIMARY, "hot_standby": "on", "wal_receiver_timeout": "0", "wal_retrieve_retry_interval": "100ms"}
_AS_STANDBY = ("/bin/sh", "-c", 'touch "$0" && exec "$@"')
"""The file that makes a standby lies in the data directory, which may be a mount that is there at the start only."""


class PostgresReplication(Replication):
    _conninfo = ""

    def recipes(self, primary: Recipe, replica: Recipe, _link: Link) -> tuple[Recipe, Recipe]:
        """The primary lets replicas in by its socket; the replica starts as a standby that knows no primary."""
        standby = dataclasses.replace(
            replica.serve, argv=(*_AS_STANDBY, str(replica.place.data / "standby.signal"), *replica.serve.argv)
        )
        return (
            _with_lines(primary, _PRIMARY, "local replication all trust\n"),
            dataclasses.replace(_with_lines(replica, _REPLICA), serve=standby),
        )

    def join(self, link: Link) -> None:
        """Make the slot, which keeps the primary's log from here on: both hold the same rows."""
        socket = link.primary.socket
        host = str(socket.parent).replace("\\", "\\\\").replace("'", "\\'")
        port = socket.name.rpartition(".")[2]
        self._conninfo = f"host='{host}' port={port} user=postgres application_name={_SLOT}"
        self.on_primary.rows(f"SELECT pg_create_physical_replication_slot('{_SLOT}', true)")
        _set(self.on_replica, primary_slot_name=_SLOT)

    def connect(self, *, confirms: bool) -> None:
        _set(self.on_replica, recovery_min_apply_delay="0", primary_conninfo=self._conninfo)
        self._await(self._is_streaming)
        if confirms:
            _set(self.on_primary, synchronous_standby_names="*")
            self._await(lambda: self.on_primary.text("SHOW synchronous_standby_names") == "*")
            self._await(lambda: self.on_primary.text("SELECT sync_state FROM pg_stat_replication") == "sync")

    def receive(self) -> None:
        """Have it stream, and stop at the first commit."""
        _set(self.on_replica, recovery_min_apply_delay=_HELD, primary_conninfo=self._conninfo)
        self._await(self._is_streaming)

    def apply(self) -> None:
        _set(self.on_replica, recovery_min_apply_delay="0")

    def disconnect(self) -> None:
        _set(self.on_primary, synchronous_standby_names="")
        _set(self.on_replica, primary_conninfo="")
        self._await(lambda: not self._is_streaming())

    def position(self) -> int:
        return int(self.on_primary.text("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"))

    def behind(self) -> Behind:
        end = self.position()
        received, applied = (
            self.on_replica.number(f"SELECT pg_wal_lsn_diff(pg_last_wal_{which}_lsn(), '0/0')")
            for which in ("receive", "replay")
        )
        return Behind(end - max(received, applied), end - applied)

    def await_applied(self, seconds: float) -> bool:
        """Ask again and again: no function waits for a position in all versions."""
        end, give_up = self.position(), time.monotonic() + seconds
        query = f"SELECT pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') >= {end}"
        while self.on_replica.text(query) != "t":
            if time.monotonic() > give_up:
                return False
            time.sleep(_LOOK_AGAIN_SECONDS)
        return True

    def fault(self) -> str:
        """A standby says nothing of why it does not stream but in its log."""
        paused = self.on_replica.text("SELECT pg_is_wal_replay_paused()") == "t"
        return "its recovery is paused" if paused else ""

    def confirmations(self) -> None:
        """Nothing is counted: a commit that is to wait does so without end."""
        return

    def _is_streaming(self) -> bool:
        return self.on_replica.text("SELECT status FROM pg_stat_wal_receiver") == "streaming"

    def _await(self, is_so: Callable[[], bool]) -> None:
        give_up = time.monotonic() + _CONNECT_SECONDS
        while not is_so():
            if time.monotonic() > give_up:
                said = self.fault() or "nothing but in its log"
                raise EnvironmentFault(Refusal.of("replica-not-connected", seconds=_CONNECT_SECONDS, said=said))
            time.sleep(_LOOK_AGAIN_SECONDS)


def _set(session: Session, **settings: str) -> None:
    """Settings of a running server, in force within a moment."""
    for name, value in settings.items():
        session.run(f"ALTER SYSTEM SET {name} = {_literal(value)}")
    session.rows("SELECT pg_reload_conf()")


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f"E'{escaped}'" if "\\" in text else f"'{escaped}'"


def _with_lines(recipe: Recipe, options: dict[str, str], access: str = "") -> Recipe:
    """The recipe with more lines in its configuration, of which later ones count, and in its list of who is let in."""
    more = {"postgresql.conf": "".join(f"{name} = {value}\n" for name, value in options.items()), "pg_hba.conf": access}
    files = {path: text + more.get(path.name, "") for path, text in recipe.files.items()}
    return dataclasses.replace(recipe, files=files)


REPLICATION = PostgresReplication()
