"""Threads that burn CPU while they wait: samples that perf took at a PAUSE instruction.

A thread that finds a lock taken spins for a while before it sleeps: in a server whose threads wait for a page that
another one decrypts, that is CPU time of encryption's which no cipher takes. Loops that spin hold x86's PAUSE (Intel,
Software Developer's Manual, volume 2B: "improves the performance of spin-wait loops"), whatever a function is called
and whether its file names it or not. So the code around a sampled address is read from its file; one at a PAUSE or
right behind it, where a timer finds a thread that executes it, counts. The other instructions of a loop are missed, so
the count is rather too small. Other processors have other instructions, and no sample there is taken for spinning.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

PAUSE = b"\xf3\x90"
BEHIND_BYTES = 8
"""How far behind a PAUSE a sample may lie: the loop's count and jump are no longer."""

_MAPPED = re.compile(
    r"PERF_RECORD_MMAP2? -?\d+/\d+: \[(0x[0-9a-f]+)\((0x[0-9a-f]+)\) @ (0x[0-9a-f]+|0)\b[^\]]*\]: \S+ (.+)$"
)
_SAMPLED = re.compile(r"\s*\d+\s+([0-9a-f]+) (.*)$")
_UNKNOWN = "[unknown]"

Code = Callable[[str, int, int], bytes]
"""Bytes of a file, by path, offset and length; empty where they cannot be read."""


@dataclass(frozen=True, slots=True, order=True)
class _Mapping:
    start: int
    length: int
    offset: int


def spinning_samples(printed: Iterable[str], code: Code) -> Counter[tuple[str, str]]:
    """How many samples lie at a PAUSE, by the path of the file and the symbol, which is empty where there is none.

    Args:
        printed: lines of ``perf script -F pid,ip,sym,dso --show-mmap-events``.
        code: reads files.
    """
    maps: defaultdict[str, dict[_Mapping, None]] = defaultdict(dict)
    seen: Counter[tuple[str, int, str]] = Counter()
    for line in printed:
        if mapped := _MAPPED.search(line):
            start, length, first = (int(mapped[at], 16) for at in (1, 2, 3))
            maps[mapped[4]][_Mapping(start, length, first)] = None
        elif (sampled := _SAMPLED.match(line)) and (named := _symbol_and_file(sampled[2])):
            seen[named[1], int(sampled[1], 16), named[0]] += 1
    found: Counter[tuple[str, str]] = Counter()
    ordered = {path: sorted(mappings) for path, mappings in maps.items()}
    for (path, address, symbol), count in seen.items():
        offset = _offset(ordered.get(path, []), address)
        if offset is not None and _is_at_pause(path, offset, code):
            found[path, symbol] += count
    return found


def code_of(path: str, offset: int, length: int) -> bytes:
    """A `Code`: bytes of a file of this machine."""
    try:
        with Path(path).open("rb") as file:
            file.seek(offset)
            return file.read(length)
    except OSError:
        return b""


def _symbol_and_file(text: str) -> tuple[str, str] | None:
    """``symbol (file)`` in its parts; None for the kernel's, which are no files. Symbols may hold parentheses, too."""
    at = text.rfind(" (/")
    if at < 0 or not text.endswith(")"):
        return None
    symbol = text[:at].strip()
    return ("" if symbol == _UNKNOWN else symbol), text[at + 2 : -1]


def _offset(mappings: list[_Mapping], address: int) -> int | None:
    """Where in its file an address is; None where nothing is mapped there.

    Processes are not told apart: a server's children have its mappings, though perf lists its parent's only.
    """
    at = bisect_right(mappings, address, key=lambda mapping: mapping.start) - 1
    if at < 0:
        return None
    mapping = mappings[at]
    within = address - mapping.start
    return mapping.offset + within if within < mapping.length else None


def _is_at_pause(path: str, offset: int, code: Code) -> bool:
    first = max(0, offset - BEHIND_BYTES)
    # To the instruction at the address itself: an address at a PAUSE is one that is about to execute it.
    return PAUSE in code(path, first, offset - first + len(PAUSE))
