"""Actions on a private server beside its load: the part that all engines share.

An engine's `EngineAction` makes an `Act` for one instance, out of its `Site`.
A clean restart, a start after a crash and a storm of connections are the same for all.
"""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, TypeAlias

from tdelta.design.actions import AskedAction
from tdelta.engines.server.base import DATABASE, ServerEngine, ServerSettings
from tdelta.engines.server.evidence import ServerFiles, Settling
from tdelta.engines.server.sessions import Session, admin_session
from tdelta.evidence import TABLE, TwinFile, search
from tdelta.measure.space import allocated
from tdelta.processes.actions import DELETED, THERE, Act, Halt, Outcome, left
from tdelta.processes.backups import EngineAction
from tdelta.processes.protocol import Tables
from tdelta.processes.servers.recipes import Recipe
from tdelta.processes.servers.server import Server
from tdelta.processes.workers import Worker

MakeRecipe: TypeAlias = Callable[[ServerSettings], Recipe]


@dataclass(frozen=True, slots=True)
class TwinRows:
    tables: Tables
    needles: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """One instance, as an action sees it.

    Attributes:
        server: the server, which runs.
        recipe: how it is made and run.
        settings: what it was made with.
        halt: says whether the action is to end.
        restarted: to be called by an action that started the server anew.
        beside: makes the recipe of another server of the run's beside it, with other settings.
        asked: the action as it was asked for.
        engine: how its servers are asked.
        rows: what the run's tables hold.
    """

    server: Server
    recipe: Recipe
    settings: ServerSettings
    halt: Halt
    restarted: Callable[[], None]
    beside: MakeRecipe
    asked: AskedAction
    engine: ServerEngine
    rows: TwinRows

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.rows.tables)

    def files(self) -> ServerFiles:
        recipe = self.recipe
        return ServerFiles(self.engine.evidence.files, recipe.place, self.server.pids, recipe.mount)

    def connect(self) -> Session:
        """A connection, in another process; the caller closes it."""
        return admin_session({**self.recipe.connect, "database": DATABASE})

    def other(self, recipe: Recipe) -> Started:
        """Another server beside this one, which is not started yet; whoever asks ends it."""
        server = Server(recipe)
        try:
            return Started(dataclasses.replace(self, recipe=recipe, server=server, restarted=lambda: None))
        except BaseException:
            server.end()
            raise

    def run(self, *statements: str) -> None:
        with contextlib.closing(self.connect()) as asking:
            for statement in statements:
                asking.run(statement)


class SiteAct(Act):
    """An action on one instance, with a connection of its own from its first use to its undoing."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._session: Session | None = None

    @property
    def session(self) -> Session:
        """To be used as the action is prepared first: opening it takes time."""
        if self._session is None:
            self._session = self.site.connect()
        return self._session

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.session.run(statement)

    def number(self, query: str) -> int:
        return self.session.number(query)

    def undo(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None


def allocated_bytes(folder: Path) -> int:
    """Bytes that the files below a folder take on the disk: compressed pages leave holes."""
    return sum(allocated(path) for path in folder.rglob("*"))


def kept(recipe: Recipe) -> Path:
    """The folder in which the data of a stopped server lies: encrypted files where a file system encrypts."""
    return recipe.place.data if recipe.mount is None else recipe.mount.ciphertext


DELETED_TABLE = "tdelta_deleted"
"""Where those are that were deleted; a few stay."""

_ROWS, _FILLER, _STAY, _APART = 512, 900, 8, 16
_NEEDLE_BYTES = 16


@dataclass(frozen=True, slots=True)
class RemainsSql:
    """How a server is asked for them.

    Attributes:
        hexadecimal: a column of bytes as hexadecimal digits, ``{}`` being its name.
        literal: bytes, ``{}`` being hexadecimal digits.
        bytes_type: the type of a column of so many bytes, ``{}``.
        settle: has what was deleted purged, and everything written to the files, one after another.
        settled: statements that undo what that changed.
    """

    hexadecimal: str
    literal: str
    bytes_type: str
    settle: tuple[Settling, ...]
    settled: tuple[str, ...] = ()


class LeavesRows(SiteAct):
    """A conversion, after which every file of the server is searched for rows that it left in the clear.

    The rows that are there are the run's markers (`tdelta.evidence.markers`). Those that were deleted before it are of
    a table of tdelta's own: they are written to its file, and then deleted, so that whole pages of it are free.
    """

    remains: ClassVar[RemainsSql]
    leaves = True
    """Whether it is searched at all."""

    _needles: Mapping[str, Sequence[bytes]] = MappingProxyType({})

    def prepare(self) -> None:
        """Note the rows that are there; make others, have them written, and delete all but a few."""
        if not self.leaves:
            return
        sql = self.remains
        self._remove()
        markers = [secrets.token_bytes(_NEEDLE_BYTES) for _ in range(_ROWS)]
        of_bytes = sql.bytes_type.format(_NEEDLE_BYTES)
        rows = ", ".join(
            f"({n}, {sql.literal.format(row.hex())}, REPEAT('x', {_FILLER}))" for n, row in enumerate(markers)
        )
        self.run(
            f"CREATE TABLE {DELETED_TABLE} (id INT PRIMARY KEY, marker {of_bytes} NOT NULL, filler VARCHAR({_FILLER}))",
            f"INSERT INTO {DELETED_TABLE} VALUES {rows}",
        )
        self._settle()
        self.run(f"DELETE FROM {DELETED_TABLE} WHERE id >= {_STAY}")
        self._settle()
        marker = sql.hexadecimal.format("marker")
        there = self.session.rows(f"SELECT {marker} FROM {TABLE} WHERE id % {_APART} = 0")[1]
        self._needles = {
            THERE: [bytes.fromhex(str(row[0]))[:_NEEDLE_BYTES] for row in there],
            DELETED: markers[_STAY::_APART],
        }

    def _settle(self) -> None:
        """As far as the server comes to rest; a page that is still in memory is one that a search does not find."""
        for one in self.remains.settle:
            one.settle(self.session, is_over=lambda: self.site.halt.is_asked)
        self.run(*self.remains.settled)

    def inspect(self) -> Mapping[str, int]:
        return self.search() if self._needles else {}

    def search(self, copy: Sequence[TwinFile] = ()) -> dict[str, int]:
        """The markers found in each class of files, by kind of row; each class that the server has is named.

        Args:
            copy: files of a copy of the database, which are searched as well.
        """
        evidence, site, found = self.site.engine.evidence, self.site, dict[str, int]()
        inflate = evidence.inflating(is_compressed=site.settings.is_compressed)
        files = [*site.files().files(), *copy]
        for which, needles in self._needles.items():
            counts: Counter[str] = Counter()
            for one in search(files, needles, inflate):
                counts[one.file_class.value] += one.markers_found
            found |= {left(which, name): count for name, count in counts.items()}
        return found

    def _remove(self) -> None:
        self.run(f"DROP TABLE IF EXISTS {DELETED_TABLE}")

    def undo(self) -> None:
        """Have the twin as it was, unless it is to end anyway."""
        try:
            if self._session is not None and not self.site.halt.is_asked:
                self._put_back()
        finally:
            super().undo()

    def _put_back(self) -> None:
        self._remove()


_START_SECONDS = 600.0
_CONNECT_SECONDS = 120.0
_MOST_CHANGES = 1000
_LOG_MB = 16
_STORM = 64
_TABLE = "tdelta_action"
_MAKE = f"CREATE TABLE {_TABLE} (a INT NOT NULL, b VARCHAR(200) NOT NULL)"
_REMOVE = f"DROP TABLE IF EXISTS {_TABLE}"
_CHECKPOINT_SECONDS = 120.0
_NEXT_TO_NOTHING_BYTES = 1 << 16
"""Bytes that a server may log without any load after a checkpoint."""
_THROTTLED_SECONDS = 2
_PERIOD_SECONDS = 0.1
_MOST_STOPPED = 0.9


@dataclass(frozen=True, slots=True)
class LogSql:
    """How a server's log is filled and read.

    Attributes:
        numbers: a query for some thousand rows of one number, ``n``: as many rows are inserted at a time.
        checkpoint: has every change written to the data files, or nothing where the server does so when it is idle.
        hold: has the server write as little as it may to its data files until it is started anew.
        written: a query for how much of the log was ever written, bytes.
        behind: a query for how much of it a start after a crash has to read, bytes.
    """

    numbers: str
    written: str
    behind: str
    checkpoint: tuple[str, ...] = ()
    hold: tuple[str, ...] = ()


class Started:
    """The first answer of a server that is started anew, from a process that waits for it beforehand."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.asking = Worker()

    def start(self) -> int:
        """Start the server and have it answer from a table of the run's; ns until then."""
        began_ns = time.monotonic_ns()
        self.site.server.start(seconds=_START_SECONDS)
        self.site.restarted()
        self.answer()
        return time.monotonic_ns() - began_ns

    def answer(self) -> None:
        options = {**self.site.recipe.connect, "database": DATABASE}
        self.asking.ask("connect", seconds=_CONNECT_SECONDS, options=options, connections=1)
        self.asking.ask("rows", sql=f"SELECT * FROM {self.site.tables[0]} LIMIT 1")

    def end(self) -> None:
        self.asking.kill()
        self.asking.end()


class StartedAct(SiteAct):
    started: Started

    def prepare(self) -> None:
        self.started = Started(self.site)

    def undo(self) -> None:
        if hasattr(self, "started"):
            self.started.end()
        super().undo()


class Restart(StartedAct):
    def perform(self) -> Outcome:
        began_ns = time.monotonic_ns()
        self.site.server.stop()
        stop_ns = time.monotonic_ns() - began_ns
        start_ns = self.started.start()
        return Outcome({"stop_ns": stop_ns, "start_ns": start_ns}, seconds=(stop_ns + start_ns) / 1e9)


class Recovery(StartedAct):
    """A start after a crash, with so much of the log to be read (knob ``mb``, 16 at least by default)."""

    def __init__(self, site: Site, log: LogSql) -> None:
        super().__init__(site)
        self._log = log
        self._behind = 0

    def prepare(self) -> None:
        super().prepare()
        log, halt = self._log, self.site.halt
        wanted_bytes = self.site.asked.knobs.get("mb", _LOG_MB) * 1_000_000
        self.run(_REMOVE, _MAKE, *log.checkpoint)
        is_done = lambda: self.number(log.behind) <= _NEXT_TO_NOTHING_BYTES  # noqa: E731
        halt.wait_until(is_done, "a checkpoint", _CHECKPOINT_SECONDS)
        self.run(*log.hold)
        start = self.number(log.written)
        for _ in range(_MOST_CHANGES):
            self.run(f"INSERT INTO {_TABLE} SELECT n, REPEAT('x', 200) FROM ({log.numbers}) AS numbers")
            if self.number(log.written) - start >= wanted_bytes or halt.is_asked:
                break
        self._behind = self.number(log.behind)
        SiteAct.undo(self)  # the server is to be killed
        self.site.server.kill()

    def perform(self) -> Outcome:
        start_ns = self.started.start()
        return Outcome({"log_behind_bytes": self._behind}, seconds=start_ns / 1e9)

    def undo(self) -> None:
        super().undo()
        self.site.run(_REMOVE)


class Storm(SiteAct):
    """So many connections opened at once (knob ``connections``)."""

    _worker: Worker | None = None

    def prepare(self) -> None:
        self._worker = Worker()

    def perform(self) -> Outcome:
        assert self._worker is not None  # noqa: S101 - prepared
        connections = storm_connections(self.site.asked.knobs)
        options = {**self.site.recipe.connect, "database": DATABASE}
        seconds = _CONNECT_SECONDS + connections
        self._worker.ask("connect", seconds=seconds, options=options, connections=connections)
        return Outcome({"connections": connections + 1})

    def undo(self) -> None:
        if self._worker is not None:
            self._worker.ask("close", seconds=_CONNECT_SECONDS)
            self._worker.end()


class Throttle(SiteAct):
    """An injected harm: for ``seconds`` the server is stopped for so many ``percent`` of each tenth of a second.

    In a closed loop a load beside it takes 1 / (1 - share) times as long meanwhile. Without ``percent`` nothing is done
    to it: an injected harm of none.
    """

    def perform(self) -> Outcome:
        knobs, halt = self.site.asked.knobs, self.site.halt
        share = min(_MOST_STOPPED, knobs.get("percent", 0) / 100.0)
        end = time.monotonic() + knobs.get("seconds", _THROTTLED_SECONDS)
        stopped_ns = 0
        while time.monotonic() < end and not halt.is_asked:
            if share:
                stopped_ns += self._stopped(share * _PERIOD_SECONDS)
            halt.pause((1.0 - share) * _PERIOD_SECONDS)
        return Outcome({"stopped_ns": stopped_ns}, stops=True)

    def _stopped(self, seconds: float) -> int:
        """Stop the server for so long; ns that it stood, counted from the middle of each order to do so."""
        before, server = time.monotonic_ns(), self.site.server
        server.freeze()
        frozen = time.monotonic_ns()
        time.sleep(seconds)
        thawing = time.monotonic_ns()
        server.thaw()
        return (thawing + time.monotonic_ns() - before - frozen) // 2


def storm_connections(knobs: Mapping[str, int]) -> int:
    return max(1, knobs.get("connections", _STORM))


def restarts(log: LogSql) -> dict[str, EngineAction]:
    """The actions of this module, for a server whose log is filled and read like this."""
    return {
        "restart": EngineAction(Restart, is_work=True),
        "recovery": EngineAction(lambda site: Recovery(site, log), ("mb",), is_work=True),
        "storm": EngineAction(Storm, ("connections",), is_work=True),
        "throttle": EngineAction(Throttle, ("percent", "seconds"), is_during=True),
    }
