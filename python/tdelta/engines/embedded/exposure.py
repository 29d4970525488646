"""The search of all files of an embedded twin while marker rows are on their way through them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tdelta.errors import EnvironmentFault
from tdelta.evidence import FileClass, MarkerHit, file_class, files_of, merged, search
from tdelta.measure.children import ready
from tdelta.processes.workers import Worker

_LOOK_SECONDS = 600.0


class Exposure:
    """Findings of every scan of one twin's files; how markers get into them is the engine's own.

    Without an engine's own, rows are searched where a trial of the workload leaves them.
    """

    has_folder = False
    class_of: Callable[..., FileClass] = staticmethod(file_class)

    def __init__(self, worker: Worker, database: Path, needles: Sequence[bytes]) -> None:
        self._worker = worker
        self._database = database
        self._needles = needles
        self._hits: list[MarkerHit] = []

    def begin(self) -> None:
        """Search what can be seen without a load beside it."""

    @contextmanager
    def under_way(self) -> Iterator[None]:
        yield

    @contextmanager
    def exposed(self, **request: Any) -> Iterator[None]:
        """Within the block a worker keeps up what a request ``expose`` brings into files."""
        self._worker.ask("expose", seconds=_LOOK_SECONDS, **request)
        yield  # what fails in here ends the run and the worker with it, so nothing is put back then
        self._worker.ask("conceal", seconds=_LOOK_SECONDS)

    def scan_until_answered(self, seconds: float) -> None:
        """Search all files over and over, at least once, until the worker answers; not beyond so many seconds."""
        until = time.monotonic() + seconds
        self.scan()
        while not ready([self._worker], 0.0) and time.monotonic() < until:
            self.scan()

    def scan_afterwards(self) -> None:
        self.scan()

    def scan(self) -> None:
        """Search every file that the twin has now, those without a name included."""
        try:
            files = files_of(self._worker.pid, self._database, self.class_of, has_folder=self.has_folder)
            self._hits += search(files, self._needles)
        except EnvironmentFault:
            self._worker.require_running()  # one that is gone has no files, and that is not what is wrong
            raise

    def found(self) -> tuple[MarkerHit, ...]:
        return merged(self._hits)
