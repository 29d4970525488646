"""A replica of a private server: a second server on a copy of the same data, encrypted as the first is.

The replica rests between trials: it is connected, made to catch up and given its level of ``replication`` before
each, and disconnected after it, so that no connection has to outlive the freezing of both. What it does beside a load
is its own process tree's, apart from the primary's; how far it is, it says itself. How an engine replicates is a
`Replication`.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import secrets
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

from tdelta.engines.server.base import DATABASE, ServerEngine, ServerSettings
from tdelta.engines.server.evidence import ExposurePlan, ServerFiles, Settling
from tdelta.engines.server.sessions import Session, admin_session
from tdelta.errors import EnvironmentFault
from tdelta.messages import Refusal
from tdelta.processes.actions import Halt
from tdelta.processes.answers import checksums
from tdelta.processes.protocol import Checksums, Tables
from tdelta.processes.servers.recipes import Recipe, ServerPaths
from tdelta.processes.servers.server import Server
from tdelta.processes.workers import Worker
from tdelta.records import Measurement
from tdelta.records.trials import APPLY_NS, CONFIRMED, CPU_NS, LAG_BYTES, LAG_NS, LOG_BYTES, UNCONFIRMED

NONE, ASYNC, SEMISYNC = "none", "async", "semisync"

_PATIENCE_SECONDS = 600.0
_LOOK_AGAIN_SECONDS = 0.005
_WAIT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Link:
    """How a replica reaches its primary: by the socket of its place, or by a port of 127.0.0.1 and a drawn password."""

    primary: ServerPaths
    port: int
    password: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)


@contextlib.contextmanager
def held_port() -> Iterator[int]:
    """A free port of 127.0.0.1. Within the block no other program is given it; a server that is started takes it over.

    A socket that does not listen does not keep one with SO_REUSEADDR from it (socket(7)), which servers set.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@dataclass(frozen=True, slots=True)
class Behind:
    """How much of the primary's log a replica has not received, and not applied, bytes."""

    unreceived: int
    unapplied: int


class Replication:
    """How an engine's servers replicate, and a primary with its replica, once it is bound to both by `pair`."""

    kept_until_applied: Sequence[str] = ()
    """Which statements of the primary's settling remove log: they wait until the replica has applied it."""

    on_primary: Session
    on_replica: Session

    def recipes(self, primary: Recipe, replica: Recipe, link: Link) -> tuple[Recipe, Recipe]:
        raise NotImplementedError

    def pair(self, primary: Session, replica: Session) -> Self:
        """The same, bound to two servers."""
        bound = copy.copy(self)
        bound.on_primary, bound.on_replica = primary, replica
        return bound

    def join(self, link: Link) -> None:
        """Have the replica know its primary. It does not connect yet."""
        raise NotImplementedError

    def connect(self, *, confirms: bool) -> None:
        """Have the replica receive and apply; with ``confirms`` commits wait for it, once it is connected."""
        raise NotImplementedError

    def receive(self) -> None:
        """Have the replica connect and receive, and apply nothing."""
        raise NotImplementedError

    def apply(self) -> None:
        raise NotImplementedError

    def disconnect(self) -> None:
        """Have no commit wait for the replica, and it neither receive nor apply."""
        raise NotImplementedError

    def position(self) -> int:
        """How much log the primary has written, bytes from any fixed beginning on."""
        raise NotImplementedError

    def behind(self) -> Behind:
        """How far the replica is behind `position`, as both are now."""
        raise NotImplementedError

    def await_applied(self, seconds: float) -> bool:
        """Wait until the replica has applied all that the primary has written; False where it has not in time."""
        raise NotImplementedError

    def fault(self) -> str:
        """Why it does not receive, or does not apply, in the replica's words; empty where nothing is wrong."""
        raise NotImplementedError

    def confirmations(self) -> tuple[int, int] | None:
        """Commits so far that waited for the replica, and those that were to and did not; None where none ever does."""
        return None


class Replica:
    """The replica of one instance, and what is asked of both.

    Args:
        primary: the primary's recipe; it runs.
        link: how the one reaches the other.
    """

    def __init__(
        self, engine: ServerEngine, settings: ServerSettings, primary: Recipe, server: Server, link: Link
    ) -> None:
        assert engine.replication is not None  # noqa: S101 - refused before
        self.server = server
        self._engine = engine
        how = engine.replication
        self.kept_until_applied = how.kept_until_applied
        self._settling = _without(engine.settling, self.kept_until_applied)
        self._stack = contextlib.ExitStack()
        try:
            self._primary = self._session(primary)
            self._replica = self._session(server.recipe)
            self.pair = how.pair(self._primary, self._replica)
            self._check_cipher(settings)
            self.pair.join(link)
        except BaseException:
            self._stack.close()
            raise

    def _session(self, recipe: Recipe) -> Session:
        asking = admin_session({**recipe.connect, "database": DATABASE})
        self._stack.callback(asking.close)
        return asking

    def _check_cipher(self, settings: ServerSettings) -> None:
        queries = self._engine.cipher_facts(settings)
        found = {name: self._replica.text(sql) for name, sql in queries.items()}
        if fault := self._engine.cipher_fault(settings, found):
            raise EnvironmentFault(Refusal.of("replica-cipher", server=self._name, fault=fault))

    @property
    def _name(self) -> str:
        return self.server.recipe.place.folder.name

    def end(self) -> None:
        self._stack.close()
        self.server.end()

    def look(self) -> None:
        """See that it follows.

        Raises:
            EnvironmentFault: it has stopped to receive, or to apply.
            TdeltaError: it does not answer.
        """
        if said := self.pair.fault():
            raise EnvironmentFault(Refusal.of("replica-stopped-applying", server=self._name, said=said))

    def catch_up(self, halt: Halt) -> bool:
        """Wait until it has applied all that its primary has written; False where that was to end before.

        Raises:
            EnvironmentFault: it does not, or not in time.
        """
        give_up = time.monotonic() + _PATIENCE_SECONDS
        while not self.pair.await_applied(_WAIT_SECONDS):
            self.look()
            if halt.is_asked:
                return False
            if time.monotonic() > give_up:
                raise self.too_slow()
        return True

    def too_slow(self) -> EnvironmentFault:
        """The error for a replica that does not follow in time."""
        return EnvironmentFault(Refusal.of("replica-too-slow", server=self._name, seconds=_PATIENCE_SECONDS))

    @contextlib.contextmanager
    def following(self, halt: Halt) -> Iterator[None]:
        """Within the block the replica follows, and what came before was applied; after it, it rests."""
        self.synchronize(halt)
        self.pair.connect(confirms=False)
        yield
        self.catch_up(halt)
        self.rest()

    def synchronize(self, halt: Halt) -> None:
        """Have it apply what came before, and disconnect."""
        self.pair.connect(confirms=False)
        self.catch_up(halt)
        self.pair.disconnect()

    def rest(self) -> None:
        """Disconnect, write its pages, and have its primary forget what was applied."""
        self.pair.disconnect()
        self._settling.settle(self._replica)
        for statement in self.kept_until_applied:
            self._primary.run(statement)

    def flush(self, plan: ExposurePlan) -> None:
        """Have all its pages written, as those of a server are whose files are searched."""
        plan.settling.settle(self._replica)
        for statement in plan.settled:
            self._replica.run(statement)

    def course(self, level: str, halt: Halt) -> Course:
        return Course(self, level, halt)

    def checksums(self, tables: Tables, halt: Halt) -> Checksums:
        with self.following(halt):
            pass
        with Worker() as worker:
            worker.ask("connect", options={**self.server.recipe.connect, "database": DATABASE}, connections=1)
            return checksums(worker, tables)

    def files(self) -> ServerFiles:
        recipe, rules = self.server.recipe, self._engine.evidence.files
        return ServerFiles(rules, recipe.place, self.server.pids, recipe.mount, "replica/")


class Course:
    def __init__(self, replica: Replica, level: str, halt: Halt) -> None:
        self._of = replica
        self._level = level
        self._halt = halt
        self._counters: dict[str, int] = {}
        self._is_cut = False

    @contextlib.contextmanager
    def going_on(self) -> Iterator[None]:
        """Within the block the load runs, beside what the level says; after it, the replica applies what is left.

        Raises:
            EnvironmentFault: it does not follow.
        """
        of = self._of
        of.synchronize(self._halt)
        self._began = of.pair.position()
        confirmed = of.pair.confirmations()
        before = of.server.usage()
        if self._level != NONE:
            of.pair.connect(confirms=self._level == SEMISYNC)
        yield
        if self._level == NONE:
            self._apply_all()
        confirmed_now = of.pair.confirmations()
        of.rest()
        after = of.server.usage()
        cpu_seconds = sum(getattr(after, n) - getattr(before, n) for n in ("cpu_user_seconds", "cpu_system_seconds"))
        self._counters[CPU_NS] = round(1e9 * cpu_seconds)
        if self._level == SEMISYNC and confirmed is not None and confirmed_now is not None:
            names = (CONFIRMED, UNCONFIRMED)
            self._counters |= {n: now - then for n, now, then in zip(names, confirmed_now, confirmed, strict=True)}

    def load_ended(self) -> None:
        """How far the replica is now, and where it follows, how long until it has applied all."""
        of, ended_ns = self._of, time.monotonic_ns()
        self._counters[LOG_BYTES] = of.pair.position() - self._began
        if self._level == NONE:
            return
        self._counters[LAG_BYTES] = of.pair.behind().unapplied
        self._is_cut = not of.catch_up(self._halt)
        self._counters[LAG_NS] = time.monotonic_ns() - ended_ns

    def _apply_all(self) -> None:
        """Have all received, then all applied: only the latter is timed."""
        of = self._of
        of.pair.receive()
        give_up = time.monotonic() + _PATIENCE_SECONDS
        while of.pair.behind().unreceived > 0 and not self._halt.is_asked:
            of.look()
            if time.monotonic() > give_up:
                raise of.too_slow()
            time.sleep(_LOOK_AGAIN_SECONDS)
        began_ns = time.monotonic_ns()
        of.pair.apply()
        self._is_cut = not of.catch_up(self._halt)
        self._counters[APPLY_NS] = time.monotonic_ns() - began_ns

    def added(self, measured: Measurement) -> Measurement:
        """The load's measurement with what the replica did; one that was cut off where it did not come to its end."""
        counted = {**measured.engine_counters, **self._counters}
        stopped_by = "signal" if self._is_cut else measured.stopped_by
        return dataclasses.replace(measured, engine_counters=counted, stopped_by=stopped_by)


def _without(settling: Settling, statements: Sequence[str]) -> Settling:
    kept = tuple(statement for statement in settling.statements if statement not in statements)
    return dataclasses.replace(settling, statements=kept)
