"""The search of all files of an embedded twin while marker rows are on their way through them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tdelta.driver.file_scanner import FileScanner
from tdelta.evidence import FileClass, TwinFile, file_class, files_of

_LOOK_SECONDS = 600.0


class Exposure(FileScanner):
    """Without an engine's own: rows are searched where a trial of the workload leaves them."""

    has_folder = False
    class_of: Callable[..., FileClass] = staticmethod(file_class)

    def begin(self) -> None:
        """Search what can be seen without a load beside it."""

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Within the block, markers are in files beside the database, and the workload may run."""
        yield

    def scan_afterwards(self) -> None:
        """Search all files once more when the log is in the database."""
        self.scan()

    @contextmanager
    def exposed(self, **request: Any) -> Iterator[None]:
        """Within the block a worker keeps up what a request ``expose`` brings into files."""
        self._worker.ask("expose", seconds=_LOOK_SECONDS, **request)
        yield  # what fails in here ends the run and the worker with it, so nothing is put back then
        self._worker.ask("conceal", seconds=_LOOK_SECONDS)

    def _files(self) -> tuple[TwinFile, ...]:
        return files_of(self._worker.pid, self._database, self.class_of, has_folder=self.has_folder)
