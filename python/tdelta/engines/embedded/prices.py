"""The price of a page or block read and written by the library under test, timed in the worker that loaded it.

Files that are plain, encrypted, and encrypted without a MAC hold the same rows and are worked on alternately. In a
proof the least CPU time of a read counts, since whatever else there is only adds; in prices, which are laid to other
work, every pass counts: what one pass differs from the next is how sure a price is.
"""

from __future__ import annotations

import contextlib
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tdelta import _native
from tdelta.measure.aes import preload
from tdelta.processes.rpc import Reply, Request


class PricedFile(ABC):
    """One file; times are CPU time of a unit, µs."""

    proof_scans: int
    """How many scans of each file a proof takes."""

    units_in_a_page: float = 1.0
    """Units (pages or blocks) per 4096 bytes; a proof gives its price per 4096 bytes."""

    units: str
    count: float
    unit_bytes: int
    """The name of its units, in the plural, their number, and the bytes that one of them takes in the file."""

    clock_ns: Callable[[], int]
    """The CPU time so far, ns, of the thread or of the process, whichever does the work."""

    least, most = 0.9, math.inf
    """The share of the units that must be moved, and the share beyond which something else was moved, too."""

    @abstractmethod
    def found(self) -> str:
        """The result of a scan of its rows, the same for every file."""

    @abstractmethod
    def read_us(self) -> float:
        """Of a scan that reads all units from the file."""

    @abstractmethod
    def cached_us(self) -> float:
        """Of a scan of units that are in memory."""

    @abstractmethod
    def write_us(self) -> float:
        """Of writing all units into the file."""

    def in_memory_us(self) -> float:
        """Of the part of `write_us` that is no writing into a file."""
        return 0.0

    @abstractmethod
    def close(self) -> None: ...

    def us_each(self, work: Callable[[], object], moved: str | None) -> float:
        """The CPU time of each unit that was moved, µs, by the count ``moved`` of bytes; None: in memory."""
        before, began_ns = _native.process_usage(), self.clock_ns()
        work()
        took_us = (self.clock_ns() - began_ns) / 1000
        if moved is None or not before["syscall_read_bytes"]:  # where the system does not count bytes
            return took_us / self.count
        found: float = (_native.process_usage()[moved] - before[moved]) / self.unit_bytes
        if not self.least <= found / self.count <= self.most:
            raise ValueError(
                f"expected some {self.count:g} {self.units} of {moved.replace('_', ' ')}, found {found:.1f}"
            )
        return took_us / found


@contextlib.contextmanager
def opened(files: Mapping[str, object], make: Callable[[object], PricedFile]) -> Iterator[dict[str, PricedFile]]:
    with contextlib.ExitStack() as stack:
        made = {}
        for name, options in files.items():
            made[name] = make(options)
            stack.callback(made[name].close)
        if len({file.found() for file in made.values()}) != 1:
            raise ValueError("scans of the same rows, plain and encrypted, found different ones")
        yield made


def proof(files: Mapping[str, PricedFile]) -> dict[str, object]:
    """The cost of a plain page and what the cipher adds to it (µs of CPU), and what this process's preload did."""
    for file in files.values():
        file.read_us()  # what asks the CPU for its instructions
    answered, plain = preload().answered, files["plain"]
    scans = plain.proof_scans
    times_us = [{name: file.read_us() for name, file in files.items()} for _ in range(scans)]
    if (asked := preload().answered - answered) >= scans:
        raise ValueError(
            f"CPUID was asked {asked} times in {scans} scans, so the pages' cost would hold that of signals"
        )
    plain_us, encrypted_us = (
        min(one[name] for one in times_us) * plain.units_in_a_page for name in ("plain", "encrypted")
    )
    state = preload()
    return {
        "plain_us_per_page": plain_us,
        "cipher_us_per_page": encrypted_us - plain_us,
        "mode": state.mode,
        "patched": state.patched,
        "unpatched": state.unpatched,
        "answered": state.answered,
    }


def prices(
    files: Mapping[str, PricedFile], passes: int, repeats: int = 1, least_seconds: float = 0.0
) -> dict[str, list[float]]:
    """Time units of these files, alternately.

    Args:
        files: ``plain`` and ``encrypted``, and ``bare`` where there is the same cipher without its MAC.
        passes: how many at least; one more goes before them.
        repeats: writes and scans of each file, of which a pass is the mean.
        least_seconds: from here on no further pass begins.

    Returns:
        By name the µs of CPU a unit of each pass: ``plain_read`` and ``plain_write`` what a plain one takes beyond
        work in memory; ``read`` and ``write`` what an encrypted one takes beyond that, ``bare_read`` and ``bare_write``
        without its MAC.

    Raises:
        ValueError: a scan or a write did not move its units.
    """
    _repeat(files)  # what asks the CPU for its instructions, and fills the caches
    began, found = time.monotonic(), list[dict[str, float]]()
    while len(found) < passes or time.monotonic() - began < least_seconds:
        taken = [_repeat(files) for _ in range(repeats)]
        found.append({name: sum(one[name] for one in taken) / repeats for name in taken[0]})
    return {name: [one[name] for one in found] for name in found[0]}


def _repeat(files: Mapping[str, PricedFile]) -> dict[str, float]:
    write = {name: file.write_us() for name, file in files.items()}
    read = {name: file.read_us() for name, file in files.items()}
    plain = files["plain"]
    found = {"plain_read": read["plain"] - plain.cached_us(), "plain_write": write["plain"] - plain.in_memory_us()}
    for name in [name for name in files if name != "plain"]:
        prefix = "" if name == "encrypted" else f"{name}_"
        found[f"{prefix}read"] = read[name] - read["plain"]
        found[f"{prefix}write"] = write[name] - write["plain"]
    return found


class PricingHost:
    """The part of a worker that times pages or blocks of files."""

    def library(self) -> str:
        raise NotImplementedError

    def priced(self, options: Any) -> PricedFile:
        """A file, made as the engine's parent side says."""
        raise NotImplementedError

    def do_prove(self, request: Request) -> Reply:
        with opened(request["files"], self.priced) as files:
            return {**proof(files), "library": self.library()}

    def do_price(self, request: Request) -> Reply:
        with opened(request["files"], self.priced) as files:
            return {"passes": prices(files, **request["effort"])}
