"""Actions that any private server has: started anew, started after a crash, connected to by many at once, throttled."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from tdelta.driver.acting import Outcome
from tdelta.driver.workers import Worker
from tdelta.engines.servers import DATABASE
from tdelta.engines.shared.private.actions import ServerAction, Site

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
"""What a server may log of its own accord after a checkpoint."""
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
    """What a server that is started anew answers first. The process that asks is there before."""

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


class Restart:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._started: Started | None = None

    def prepare(self) -> None:
        self._started = Started(self._site)

    def perform(self) -> Outcome:
        assert self._started is not None  # noqa: S101 - prepared
        began_ns = time.monotonic_ns()
        self._site.server.stop()
        stop_ns = time.monotonic_ns() - began_ns
        start_ns = self._started.start()
        return Outcome({"stop_ns": stop_ns, "start_ns": start_ns}, seconds=(stop_ns + start_ns) / 1e9)

    def undo(self) -> None:
        if self._started is not None:
            self._started.end()


class Recovery:
    """A start after a crash, with so much of the log to be read (knob ``mb``, 16 at least by default)."""

    def __init__(self, site: Site, log: LogSql) -> None:
        self._site = site
        self._log = log
        self._started: Started | None = None
        self._behind = 0
        self._wanted_bytes = site.knobs.get("mb", _LOG_MB) * 1_000_000

    def prepare(self) -> None:
        self._started = Started(self._site)
        with self._site.session() as session:

            def number(query: str) -> int:
                return int(float(session.rows(query)[1][0][0] or 0))

            def run(*statements: str) -> None:
                for statement in statements:
                    session.run(statement)

            run(_REMOVE, _MAKE, *self._log.checkpoint)
            is_done = lambda: number(self._log.behind) <= _NEXT_TO_NOTHING_BYTES  # noqa: E731
            self._site.halt.wait_until(is_done, "a checkpoint", _CHECKPOINT_SECONDS)
            run(*self._log.hold)
            start = number(self._log.written)
            for _ in range(_MOST_CHANGES):
                run(f"INSERT INTO {_TABLE} SELECT n, REPEAT('x', 200) FROM ({self._log.numbers}) AS numbers")
                if number(self._log.written) - start >= self._wanted_bytes or self._site.halt.is_asked:
                    break
            self._behind = number(self._log.behind)
        self._site.server.kill()

    def perform(self) -> Outcome:
        assert self._started is not None  # noqa: S101 - prepared
        start_ns = self._started.start()
        return Outcome({"log_behind_bytes": self._behind}, seconds=start_ns / 1e9)

    def undo(self) -> None:
        if self._started is not None:
            self._started.end()
        self._site.run(_REMOVE)


class Storm:
    """So many connections opened at once (knob ``connections``)."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._worker: Worker | None = None

    def prepare(self) -> None:
        self._worker = Worker()

    def perform(self) -> Outcome:
        assert self._worker is not None  # noqa: S101 - prepared
        connections = storm_connections(self._site.knobs)
        options = {**self._site.recipe.connect, "database": DATABASE}
        seconds = _CONNECT_SECONDS + connections
        self._worker.ask("connect", seconds=seconds, options=options, connections=connections)
        return Outcome({"connections": connections + 1})

    def undo(self) -> None:
        if self._worker is not None:
            self._worker.ask("close", seconds=_CONNECT_SECONDS)
            self._worker.end()


class Throttle:
    """An injected harm: for ``seconds`` the server is stopped for so many ``percent`` of each tenth of a second.

    In a closed loop a load beside it takes 1 / (1 - share) times as long meanwhile. Without ``percent`` nothing is done
    to it: an injected harm of none.
    """

    def __init__(self, site: Site) -> None:
        self._site = site

    def prepare(self) -> None:
        """Nothing."""

    def perform(self) -> Outcome:
        share = min(_MOST_STOPPED, self._site.knobs.get("percent", 0) / 100.0)
        end = time.monotonic() + self._site.knobs.get("seconds", _THROTTLED_SECONDS)
        stopped_ns = 0
        while time.monotonic() < end and not self._site.halt.is_asked:
            if share:
                stopped_ns += self._stopped(share * _PERIOD_SECONDS)
            self._site.halt.pause((1.0 - share) * _PERIOD_SECONDS)
        return Outcome({"stopped_ns": stopped_ns}, stops=True)

    def _stopped(self, seconds: float) -> int:
        """Stop the server for so long; ns that it stood, counted from the middle of each order to do so."""
        before, server = time.monotonic_ns(), self._site.server
        server.freeze()
        frozen = time.monotonic_ns()
        time.sleep(seconds)
        thawing = time.monotonic_ns()
        server.thaw()
        return (thawing + time.monotonic_ns() - before - frozen) // 2

    def undo(self) -> None:
        """Nothing."""


def storm_connections(knobs: Mapping[str, int]) -> int:
    return max(1, knobs.get("connections", _STORM))


def restarts(log: LogSql) -> dict[str, ServerAction]:
    """The actions of this module, for a server whose log is filled and read like this."""
    return {
        "restart": ServerAction(Restart, "stopped by a signal, started, asked for a row", is_work=True),
        "recovery": ServerAction(
            lambda site: Recovery(site, log),
            "killed with its log full, started, asked for a row",
            ("mb",),
            is_work=True,
        ),
        "storm": ServerAction(Storm, "connections opened, a few at a time", ("connections",), is_work=True),
        "throttle": ServerAction(Throttle, "stopped and let go on by signals", ("percent", "seconds"), is_during=True),
    }
