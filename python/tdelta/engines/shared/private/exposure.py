"""Marker rows on their way through every kind of file a server has, and the search of all its files meanwhile.

What is done is data (`tdelta.engines.shared.evidence`); this carries it out: each connection that a plan names is
opened at its first statement, a statement that is to be held runs in a thread, and everything the server has is
searched.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol

from tdelta.engines.shared.evidence import ExposurePlan, ExposureStep
from tdelta.engines.shared.server_files import condensed
from tdelta.errors import TdeltaError, WorkerFault
from tdelta.evidence import MarkerHit, merged, search
from tdelta.evidence.inflated import Inflate
from tdelta.evidence.search import TwinFile
from tdelta.messages import Refusal

_HOLD_SECONDS = 120.0
_POLL_SECONDS = 0.05
_PAGES_HELD = 2
"""Pages that a held statement is at are latched, and stay dirty (MySQL 9.7: two for two statements)."""

CONTROL = "control"
"""The connection that asks and releases; no plan holds a statement on it."""


class Connection(Protocol):
    def run(self, sql: str) -> object:
        """Run a statement and drop what it answers."""

    def rows(self, sql: str) -> tuple[Sequence[str], Sequence[Sequence[str | None]]]:
        """The names of the columns, and the rows."""

    def close(self) -> object:
        """End it."""


class Files(Protocol):
    def files(self) -> tuple[TwinFile, ...]:
        """Every regular file that it has now."""


class ServerExposure:
    """The markers of one server on their way, and what every look at its files found.

    Args:
        inflate: what undoes the compression of pages; they are searched once, when all is written.
    """

    def __init__(
        self,
        plan: ExposurePlan,
        connect: Callable[[], Connection],
        files: Sequence[Files],
        needles: Sequence[bytes],
        inflate: Inflate | None = None,
    ) -> None:
        self._plan = plan
        self._connect = connect
        self._files = files
        self._needles = needles
        self._inflate = inflate
        self._hits: list[MarkerHit] = []
        self._open: dict[str, Connection] = {}
        self._held: list[_Held] = []

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Within the block markers are in logs and temporary files, and the workload may run.

        Raises:
            TdeltaError: a statement failed, or did not hold what it is to hold.
        """
        try:
            self._begin(self._plan.steps)
            self._settle()
            yield
            self._release()
            self._begin(self._plan.after)
        finally:
            self._close()

    def scan(self, inflate: Inflate | None = None) -> None:
        """Search every file that the server has now.

        Raises:
            EnvironmentFault: a file cannot be read, or open files cannot be listed.
        """
        self._hits += search([file for place in self._files for file in place.files()], self._needles, inflate)

    def scan_while(self, is_running: Callable[[], bool], seconds: float) -> None:
        """Search all files over and over, at least once, while something runs; not beyond so many seconds."""
        until = time.monotonic() + seconds
        self.scan()
        while is_running() and time.monotonic() < until:
            self.scan()

    def scan_afterwards(self) -> None:
        """Search all files once what is left to write was written."""
        try:
            self._settle()
            self.scan(self._inflate)
        finally:
            self._close()

    def found(self) -> tuple[MarkerHit, ...]:
        """What all scans found, file by file; clean files of a folder as one."""
        return condensed(merged(self._hits))

    def _begin(self, steps: Iterable[ExposureStep]) -> None:
        for step in steps:
            connection = self._connection(step.connection)
            if step.is_held:
                self._held.append(_Held(connection, step.sql))
            else:
                connection.run(step.sql)
        if self._held:
            self._wait_until_held()

    def _wait_until_held(self) -> None:
        assert self._plan.held is not None  # noqa: S101 - a plan that holds says how to ask
        until = time.monotonic() + _HOLD_SECONDS
        while (count := self._number(self._plan.held)) < len(self._held):
            for held in self._held:
                held.require_running()
            if time.monotonic() > until:
                raise WorkerFault(
                    Refusal.of("statements-held", count=count, statements=len(self._held), seconds=_HOLD_SECONDS)
                )
            time.sleep(_POLL_SECONDS)

    def _settle(self) -> None:
        """Not all may get written under a load: then the last look has less to find, and its class says so."""
        settling, control = self._plan.settling, self._connection(CONTROL)
        for sql in settling.statements:
            control.run(sql)
        until = time.monotonic() + settling.seconds
        at_most = settling.at_most + _PAGES_HELD * len(self._held)
        while settling.query and self._number(settling.query) > at_most and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)
        for sql in self._plan.settled:
            control.run(sql)

    def _number(self, sql: str) -> int:
        _, rows = self._connection(CONTROL).rows(sql)
        return int(rows[0][0] or 0)

    def _connection(self, name: str) -> Connection:
        if name not in self._open:
            self._open[name] = self._connect()
        return self._open[name]

    def _release(self) -> None:
        held, self._held = self._held, []
        for step in self._plan.release if held else ():
            self._connection(step.connection).run(step.sql)
        for one in held:
            one.end()

    def _close(self) -> None:
        with suppress(TdeltaError):  # what went wrong before is what matters
            self._release()
        while self._open:
            _, connection = self._open.popitem()
            connection.close()


class _Held:
    """A statement that runs in a thread of its own until it is released."""

    def __init__(self, connection: Connection, sql: str) -> None:
        self._fault: Exception | None = None
        self._thread = threading.Thread(target=self._run, args=(connection, sql), daemon=True)
        self._thread.start()

    def _run(self, connection: Connection, sql: str) -> None:
        try:
            connection.run(sql)
        except Exception as error:  # whatever it is belongs to the thread that waits for this one
            self._fault = error

    def require_running(self) -> None:
        """Raise what ended it, if it has ended."""
        if not self._thread.is_alive():
            raise self._fault or WorkerFault(Refusal.of("statement-ended"))

    def end(self) -> None:
        self._thread.join(_HOLD_SECONDS)
        if self._fault is not None:
            raise self._fault
