"""A file rewritten as an action: the disk that it takes on the way, and what is left in the clear."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tdelta.driver.jobs import PopulateJob
from tdelta.errors import EnvironmentFault
from tdelta.evidence import TABLE, FileClass, TwinFile, search
from tdelta.messages import Refusal

REWRITES = ("encrypt", "rekey", "decrypt")
"""The actions that rewrite a file, by the names of `tdelta.design.actions`."""

_LOOK_SECONDS = 0.01
_BLOCK_BYTES = 512
"""The unit of `st_blocks`."""

_NEEDLE_BYTES = 16
_NEEDLES_APART = 16


class PeakDisk:
    """The most bytes of disk that a folder takes beyond what was there.

    With it files without a name that a process has open. It looks every 10 ms: a file that comes and goes in between is
    missed.
    """

    def __init__(self, folder: Path, pid: int) -> None:
        self._folder = folder
        self._descriptors = Path(f"/proc/{pid}/fd")
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._before = self._peak = 0

    def __enter__(self) -> PeakDisk:
        self._before = self._now()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    @property
    def bytes(self) -> int:
        """The most that was seen, bytes."""
        return max(0, self._peak - self._before)

    def _look(self) -> None:
        while True:
            is_done = self._done.wait(_LOOK_SECONDS)
            self._peak = max(self._peak, self._now())
            if is_done:
                return

    def _now(self) -> int:
        return sum({(one.st_dev, one.st_ino): one.st_blocks * _BLOCK_BYTES for one in self._files()}.values())

    def _files(self) -> Iterator[os.stat_result]:
        for path in self._folder.iterdir():
            with suppress(OSError):
                yield path.stat()
        for link in _entries(self._descriptors):
            with suppress(OSError):
                found, is_memory = link.stat(), str(link.readlink()).startswith("/memfd:")
                if stat.S_ISREG(found.st_mode) and not found.st_nlink and not is_memory:
                    yield found


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def markers_of(job: PopulateJob) -> list[bytes]:
    """How planted rows begin, out of the plan that the rows are made by."""
    tables: Any = job.plan["tables"]
    marker = next(table for table in tables if table["name"] == TABLE)
    return [bytes.fromhex(row)[:_NEEDLE_BYTES] for row in marker["columns"][1]["hex"][::_NEEDLES_APART]]


def left_by(file: Path, needles: Sequence[bytes]) -> Mapping[str, int]:
    """What a rewrite left: the size of the file, and how many of all files beside it show planted rows.

    Args:
        file: the file that came of it; its log and journal begin as it does.
    """
    files = [
        TwinFile(path.name, str(path), FileClass.DATABASE, (found.st_dev, found.st_ino))
        for path in sorted(file.parent.glob(f"{file.name}*"))
        if stat.S_ISREG((found := path.stat()).st_mode)
    ]
    clear = sum(bool(one.markers_found) for one in search(files, needles))
    return {"file_bytes": file.stat().st_size, "files_in_the_clear": clear}


def require_rows(found: str, expected: str) -> None:
    """Raise ``EnvironmentFault`` where the file that came of a rewrite does not hold the rows of before."""
    if found != expected:
        raise EnvironmentFault(Refusal.of("unexpected", expected=expected, found=found or "none"))
