"""The generated rows on their way into an analytic engine: files that every kind of twin is filled from, made once.

The native row generator writes each table as values separated by commas, which such an engine reads fast, in parallel
and in order. It streams: what is in memory does not grow with the table, and what is on disk are the files. They are
gone before anything is measured, unless loads are what is measured.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tdelta import own_folders

if TYPE_CHECKING:  # workers, which only write files, start several times as fast without
    from tdelta.driver.files import TwinFolder
    from tdelta.driver.jobs import PopulateJob
    from tdelta.driver.protocol import Checksums
    from tdelta.driver.workers import Worker

_SECONDS = 24 * 3600.0


class GeneratedRows:
    """The files of a run's rows, in a folder of their own within the run's; ``product`` is who reads them."""

    def __init__(self, folder: TwinFolder, job: PopulateJob, product: str) -> None:
        self._job = job
        self._product = product
        self.path = folder.path / "rows"

    def write(self, worker: Worker) -> dict[str, str]:
        """Have a worker write them. Returns where each table's rows are.

        Raises:
            StorageFault: the disk is full, or a file cannot be written.
        """
        self.path.mkdir()
        files = self.files()
        worker.ask("write_rows", seconds=_SECONDS, plan=self._job.plan, seed=self._job.seed, files=files)
        return files

    def files(self) -> dict[str, str]:
        """Where each table's rows are, once they are written."""
        return {table: str(self.path / f"{number}.csv") for number, (table, _) in enumerate(self._job.tables)}

    def check(self, found: Checksums) -> None:
        """See that the engine finds as many rows in the files as the generator was to make.

        Raises:
            TdeltaError: it does not.
        """
        from tdelta.errors import Defect

        planned: Any = self._job.plan["tables"]
        for table in planned:
            rows, name = found[table["name"]][0], table["name"]
            if rows != table["rows"]:
                raise Defect(f"{name}: expected {table['rows']:,} generated rows, found {rows:,} by {self._product}")

    def remove(self) -> None:
        own_folders.remove(self.path)


def write_files(plan: Mapping[str, object], seed: int, files: Mapping[str, str]) -> dict[str, int]:
    r"""Make the rows of each of the plan's tables and write them into its file, in order. Returns the files' sizes.

    NULL becomes ``\N``, bytes hexadecimal digits, and a double what reads back as the same.

    Raises:
        OSError: what the system says, with the file.
    """
    from tdelta import _native  # not earlier: only the worker that makes the rows needs it

    text, threads = json.dumps(plan), len(os.sched_getaffinity(0))
    return {table: _native.write_csv(text, table, seed, threads, path) for table, path in files.items()}
