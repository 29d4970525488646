"""Replication by the binary log, as servers of MySQL's family do it. What each calls its parts is a `Words`.

A replica is connected by a port of 127.0.0.1, since none can connect by a Unix socket. While the port is open no
account but the replica's is of any use there: names are not resolved, so that 127.0.0.1 is not ``localhost``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tdelta.driver.servers.recipes import Recipe, ServerPaths
from tdelta.engines.shared.mysql_family import Options
from tdelta.engines.shared.private.replicas import Behind, Link, Session
from tdelta.errors import EnvironmentFault
from tdelta.messages import Refusal

USER = "tdelta_replica"
CONFIRM_MS = 86_400_000
"""Commits wait for a replica however long; whoever waits for the load sees to a replica that is lost."""

_CONNECT_SECONDS = 60
_LOOKS_A_SECOND = 100


@dataclass(frozen=True, slots=True)
class Words:
    """What a product calls things.

    Attributes:
        primary_options: of the primary, which learns to wait for confirmation by them.
        replica_options: of the replica, which starts with its replication stopped.
        status: the query for how the replica is.
        columns: of that query's answer: the file and the position that were read, and that were applied (both of the
            primary's log), whether it receives and applies, and what went wrong with either.
        position: the query for the primary's log: file and position are the first two columns.
        join: has the replica know its primary, with ``{port}``, ``{user}``, ``{password}``, ``{file}``, ``{position}``.
        account: the account of the replica, with ``{user}`` and ``{password}``; nothing of it goes to the log.
        start: and ``stop``, ``receive``, ``apply``: of replication, of what receives, of what applies.
        primary_confirms: a variable of the primary's, and ``replica_confirms`` of the replica's.
        confirmed: status counters: commits that waited, commits that did not, and replicas that confirm.
        status_table: where status counters are.
        wait: the query that ends once a file's position was applied, or a time is over: 0 or more where it was.
        plugins: files that the primary and the replica load, beside those that their recipes link to.
    """

    primary_options: Options
    replica_options: Options
    status: str
    columns: Mapping[str, str]
    position: str
    join: str
    account: tuple[str, ...]
    start: str
    stop: str
    receive: str
    apply: str
    primary_confirms: str
    replica_confirms: str
    confirmed: tuple[str, str, str]
    status_table: str
    wait: str
    plugins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MysqlReplication:
    """How servers of the family replicate; see `tdelta.engines.shared.private.replicas.Replication`."""

    words: Words
    kept_until_applied: Sequence[str] = ("PURGE BINARY LOGS BEFORE NOW()",)
    replica_files: Callable[[ServerPaths], Mapping[Path, str]] = lambda _place: {}
    """What a replica must have otherwise than the data that it is a copy of."""

    def recipes(self, primary: Recipe, replica: Recipe, link: Link) -> tuple[Recipe, Recipe]:
        """The primary listens on a port; the replica has another number, and starts with its replication stopped."""
        listening: Options = {
            "skip_networking": "OFF",
            "bind_address": "127.0.0.1",
            "port": link.port,
            "skip_name_resolve": "ON",
        }
        words, own = self.words, self.replica_files(replica.place)
        follower = dataclasses.replace(replica, files={**replica.files, **own})
        options: Options = {"server_id": 2, "relay_log": "relay", **words.replica_options}
        return (
            _with_options(_with_plugins(primary, words.plugins), {**listening, **words.primary_options}),
            _with_options(_with_plugins(follower, words.plugins), options),
        )

    def pair(self, primary: Session, replica: Session) -> MysqlPair:
        return MysqlPair(self.words, primary, replica)


class MysqlPair:
    """A primary and its replica; see `tdelta.engines.shared.private.replicas.Pair`."""

    def __init__(self, words: Words, primary: Session, replica: Session) -> None:
        self._words = words
        self._primary = primary
        self._replica = replica

    def join(self, link: Link) -> None:
        """Make the account, and have the replica begin where the primary's log is now: both hold the same rows."""
        named = {"user": USER, "password": link.password}
        for statement in self._words.account:
            self._primary.run(statement.format(**named))
        file, position = self._log_end()
        self._replica.run(self._words.join.format(port=link.port, file=file, position=position, **named))

    def connect(self, *, confirms: bool) -> None:
        """Switch confirmation, start both threads, and wait until the replica has connected."""
        for session, name in (
            (self._replica, self._words.replica_confirms),
            (self._primary, self._words.primary_confirms),
        ):
            session.run(f"SET GLOBAL {name} = {'ON' if confirms else 'OFF'}")
        self._replica.run(self._words.start)
        self._await_connection(confirms=confirms)

    def receive(self) -> None:
        self._replica.run(self._words.receive)

    def apply(self) -> None:
        self._replica.run(self._words.apply)

    def disconnect(self) -> None:
        self._primary.run(f"SET GLOBAL {self._words.primary_confirms} = OFF")
        self._replica.run(self._words.stop)

    def position(self) -> int:
        return self._bytes(*self._log_end())

    def behind(self) -> Behind:
        """By the files and positions that the replica tells."""
        end, status = self.position(), self._status()
        read, applied = (
            self._bytes(status[self._words.columns[f"{which}_file"]], status[self._words.columns[f"{which}_position"]])
            for which in ("read", "applied")
        )
        return Behind(end - read, end - applied)

    def await_applied(self, seconds: float) -> bool:
        file, position = self._log_end()
        _, rows = self._replica.rows(self._words.wait.format(file=file, position=position, seconds=seconds))
        return rows[0][0] is not None and int(rows[0][0]) >= 0

    def fault(self) -> str:
        status = self._status()
        return "; ".join(filter(None, (status[self._words.columns[name]] for name in ("read_fault", "apply_fault"))))

    def confirmations(self) -> tuple[int, int]:
        waited, did_not, _ = (self._counter(name) for name in self._words.confirmed)
        return waited, did_not

    def _await_connection(self, *, confirms: bool) -> None:
        """Wait until the replica receives, and has said that it confirms where it is to."""
        for _ in range(_CONNECT_SECONDS * _LOOKS_A_SECOND):
            is_there = self._status()[self._words.columns["receives"]] == "Yes"
            if is_there and (not confirms or self._counter(self._words.confirmed[-1]) > 0):
                return
            self._replica.rows(f"SELECT SLEEP({1 / _LOOKS_A_SECOND})")
        said = self.fault() or "nothing"
        raise EnvironmentFault(Refusal.of("replica-not-connected", seconds=_CONNECT_SECONDS, said=said))

    def _counter(self, name: str) -> int:
        _, rows = self._primary.rows(
            f"SELECT VARIABLE_VALUE FROM {self._words.status_table} WHERE VARIABLE_NAME = '{name}'"
        )
        return int(rows[0][0] or 0)

    def _status(self) -> dict[str, str]:
        columns, rows = self._replica.rows(self._words.status)
        return {name: value or "" for name, value in zip(columns, rows[0], strict=True)}

    def _log_end(self) -> tuple[str, str]:
        _, rows = self._primary.rows(self._words.position)
        return rows[0][0] or "", rows[0][1] or ""

    def _bytes(self, file: str, position: str) -> int:
        """A position in the primary's log, bytes from the beginning of its oldest file that is kept."""
        before = 0
        _, rows = self._primary.rows("SHOW BINARY LOGS")
        for row in rows:
            if row[0] == file:
                return before + int(position)
            before += int(row[1] or 0)
        return 0  # of a file that is gone, or of none yet


def _with_plugins(recipe: Recipe, plugins: Sequence[str]) -> Recipe:
    """The recipe with links to these beside the first that it has."""
    links = dict(recipe.links)
    for link, target in [*recipe.links.items()][: 1 if plugins else 0]:
        links |= {link.with_name(name): target.with_name(name) for name in plugins}
    return dataclasses.replace(recipe, links=links)


def _with_options(recipe: Recipe, options: Options) -> Recipe:
    """The recipe with more lines in its option file: what comes later counts."""
    lines = "".join(f"{name}\n" if value is None else f"{name}={value}\n" for name, value in options.items())
    files = {path: f"{text}{lines}" if text.startswith("[mysqld]") else text for path, text in recipe.files.items()}
    return dataclasses.replace(recipe, files=files)
