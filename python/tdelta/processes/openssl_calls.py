"""Calls of a process in OpenSSL, as a preload counts and times them (``crates/evp-count``).

A server's ciphers are observed in a run of its own, never while anything is measured: how InnoDB is configured and what
it does can differ. MariaDB derives a key of 128 bits for its pages, whatever the key it is given.

Limits: only OpenSSL as a shared library is seen. A program that carries its own, or encrypts by code of its own, shows
no calls, which is reported as "not observed", not as "not encrypted".
"""

from __future__ import annotations

import os
import struct
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tdelta.errors import EngineUnavailable
from tdelta.messages import Refusal
from tdelta.records import TimedCalls

COUNTS_VARIABLE = "TDELTA_EVP_COUNTS"
_PRELOAD_VARIABLE = "LD_PRELOAD"
_UNWRITABLE = " :$"
"""Signs of a path that ``LD_PRELOAD`` has no way to write."""

KINDS = ("cipher", "mac", "random", "context")
DIRECTIONS = ("encrypt", "decrypt")
PHASES = 3

HEAD = struct.Struct("=Q56x")
_TALLY = "QQ" + PHASES * "QQQ"
SLOT = struct.Struct(f"=iI{2 * _TALLY}40s")
"""As in ``crates/evp-count/src/counts.rs``."""

_FIGURES = 2 + 3 * PHASES


_NOTHING = (0,) * _FIGURES


@dataclass(frozen=True, slots=True)
class Counts:
    """All that a preload has counted; what it takes itself for a call, ns.

    By name, kind and direction: starts, bytes, and of each phase (init, update, final) calls, ns, interrupted calls.
    """

    own_ns: float
    tallies: Mapping[tuple[str, str, str], tuple[int, ...]]

    def since(self, before: Counts) -> list[TimedCalls]:
        found = []
        for key, figures in self.tallies.items():
            earlier = before.tallies.get(key, _NOTHING)
            starts, volume, *times = (now - then for now, then in zip(figures, earlier, strict=True))
            phases = list(zip(times[0::3], times[1::3], times[2::3], strict=True))
            if calls := sum(times[0::3]):
                us = sum(_undisturbed_us(*phase, self.own_ns) for phase in phases)
                found.append(TimedCalls(*key, starts, calls, volume, us))
        return found


def _undisturbed_us(calls: int, ns: int, interrupted: int, own_ns: float) -> float:
    """The time of calls, less the clock's own; one that was interrupted counts as the others of its phase."""
    whole = calls - interrupted
    return max(0.0, ns / whole - own_ns) * calls / 1e3 if whole else 0.0


def environment(counts: Path, inherited: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables to add to an environment, by default this process's, so that a process counts in a file."""
    library = preload_path()
    if not library.is_file():
        raise EngineUnavailable(Refusal.of("preload-missing", library=library))
    if any(sign in str(library) for sign in _UNWRITABLE):
        raise EngineUnavailable(Refusal.of("preload-unnamable", library=library))
    others = (os.environ if inherited is None else inherited).get(_PRELOAD_VARIABLE, "")
    return {_PRELOAD_VARIABLE: ":".join(filter(None, (str(library), others))), COUNTS_VARIABLE: str(counts)}


def together(own: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    preloads = ":".join(of[_PRELOAD_VARIABLE] for of in (added, own) if _PRELOAD_VARIABLE in of)
    return {**own, **added, **({_PRELOAD_VARIABLE: preloads} if preloads else {})}


def preload_path() -> Path:
    return Path(__file__).resolve().parents[1] / "libevp_count.so"


def read(path: Path) -> Counts:
    """The counts of a file so far; none where there is no file, since no OpenSSL was ever loaded with the preload."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return Counts(0.0, {})
    if len(content) < HEAD.size:
        return Counts(0.0, {})
    (own_ps,) = HEAD.unpack_from(content)
    return Counts(own_ps / 1e3, dict(_tallies(content)))


def _tallies(content: bytes) -> Iterator[tuple[tuple[str, str, str], tuple[int, ...]]]:
    for at in range(HEAD.size, len(content) - SLOT.size + 1, SLOT.size):
        number, kind, *figures, name = SLOT.unpack_from(content, at)
        if number and kind < len(KINDS):
            text = name.split(b"\0", 1)[0].decode(errors="replace")
            for direction, first in zip(DIRECTIONS, (0, _FIGURES), strict=True):
                yield (text, KINDS[kind], direction), tuple(figures[first : first + _FIGURES])


class Watched(Protocol):
    def work(self) -> None:
        """Have it decrypt and encrypt pages: read a table from the disk, change some of it, write that."""


Start = Callable[[Mapping[str, str]], AbstractContextManager[Watched]]
"""Starts a server with these variables added to its environment, and ends it behind the block."""


def observe(start: Start, folder: Path) -> dict[str, int]:
    """How often a server starts each cipher in OpenSSL while it works, most often first; empty if nothing was observed.

    Starts before its work, as it opens its log and its tables, are left out. Counts are kept in ``folder`` meanwhile.
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix="counts-") as inside:
        counts = Path(inside, "evp")
        with start(environment(counts)) as server:
            before = started(counts)
            server.work()
            after = started(counts)  # while it runs: what it does to stop is of no interest
    return dict((after - before).most_common())


def started(path: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for (name, kind, _direction), (starts, *_) in read(path).tallies.items():
        if kind == "cipher":
            found[name] += starts
    return found


def describe_calls(calls: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,} times" for name, count in calls.items()) or "not observed"
