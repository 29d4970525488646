"""Scans all files of a twin while markers are on their way through them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from tdelta.driver.workers import Worker
from tdelta.errors import EnvironmentFault
from tdelta.evidence import MarkerHit, TwinFile, merged, search
from tdelta.measure.children import ready


class FileScanner(ABC):
    """What every scan of the files of one twin found; how markers get into them is the engine's own."""

    def __init__(self, worker: Worker, database: Path, needles: Sequence[bytes]) -> None:
        self._worker = worker
        self._database = database
        self._needles = needles
        self._hits: list[MarkerHit] = []

    @abstractmethod
    def _files(self) -> tuple[TwinFile, ...]:
        """Every file that the twin has now, those without a name included."""

    def scan_until_answered(self, seconds: float) -> None:
        """Search all files over and over, at least once, until the worker answers; not beyond so many seconds."""
        until = time.monotonic() + seconds
        self.scan()
        while not ready([self._worker], 0.0) and time.monotonic() < until:
            self.scan()

    def scan(self) -> None:
        """Search every file that the twin has now.

        Raises:
            EnvironmentFault: a file cannot be read, or the worker's open files cannot be listed.
            WorkerFault: the worker has died.
        """
        try:
            self._hits += search(self._files(), self._needles)
        except EnvironmentFault:
            self._worker.require_running()  # one that is gone has no files, and that is not what is wrong
            raise

    def found(self) -> tuple[MarkerHit, ...]:
        return merged(self._hits)
