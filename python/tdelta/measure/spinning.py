"""Threads that burn CPU while they wait: samples that perf took at a PAUSE instruction.

A thread that finds a lock taken spins for a while before it sleeps: in a server whose threads wait for a page that
another one decrypts, that is CPU time of encryption's which no cipher takes. Loops that spin hold x86's PAUSE (Intel,
Software Developer's Manual, volume 2B: "improves the performance of spin-wait loops"), whatever a function is called
and whether its file names it or not. So the code around a sampled address is read from its file; one at a PAUSE or
right behind it, where a timer finds a thread that executes it, counts. The other instructions of a loop are missed, so
the count is rather too small. The same bytes may be part of other instructions; what most of these are is known, and
not counted. Other processors have other instructions, and nothing there is taken for spinning.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PAUSE = b"\xf3\x90"
BEHIND_BYTES = 8
"""How far behind a PAUSE a sample may lie: the loop's count and jump are no longer."""

_LOOK_BACK = 2
"""Bytes ahead of a PAUSE that tell whether it is one."""

_MOVES = tuple(bytes((opcode,)) for opcode in (0x88, 0x89, 0x8A, 0x8B, 0x84, 0x85))
_SUMS = tuple(bytes((opcode,)) for base in range(0, 0x40, 8) for opcode in range(base, base + 4))
_EXTENDED = tuple(bytes((opcode,)) for opcode in (0xAF, 0xB6, 0xB7, 0xBE, 0xBF))

_MAPPED = re.compile(
    r"PERF_RECORD_MMAP2? (-?\d+)/\d+: \[(0x[0-9a-f]+)\((0x[0-9a-f]+)\) @ (0x[0-9a-f]+|0)\b[^\]]*\]: \S+ (.+)$"
)
_SAMPLED = re.compile(r"\s*(-?\d+)\s+([0-9a-f]+) (.*)$")
_UNKNOWN = "[unknown]"

Code = Callable[[str, int, int], bytes]
"""Bytes of a file, by path, offset and length; empty where they cannot be read."""


@dataclass(frozen=True, slots=True, order=True)
class _Mapping:
    start: int
    length: int
    offset: int
    pid: int


def spinning_samples(
    printed: Iterable[str], code: Code, processes: Collection[int] | None = None
) -> Counter[tuple[str, str]]:
    """How many samples lie at a PAUSE, by the path of the file and the symbol, which is empty where there is none.

    Args:
        printed: lines of ``perf script -F pid,ip,sym,dso --show-mmap-events``.
        code: reads files.
        processes: whose mappings and samples count; everybody's, where there are none.
    """
    maps: defaultdict[str, dict[_Mapping, None]] = defaultdict(dict)
    seen: Counter[tuple[str, int, str]] = Counter()
    for line in printed:
        if mapped := _MAPPED.search(line):
            start, length, first = (int(mapped[at], 16) for at in (2, 3, 4))
            if processes is None or int(mapped[1]) in processes:
                maps[mapped[5]][_Mapping(start, length, first, int(mapped[1]))] = None
            continue
        sampled = _SAMPLED.match(line)
        if sampled is None or (processes is not None and int(sampled[1]) not in processes):
            continue
        if named := _symbol_and_file(sampled[3]):
            seen[named[1], int(sampled[2], 16), named[0]] += 1
    found: Counter[tuple[str, str]] = Counter()
    ordered = {path: sorted(mappings) for path, mappings in maps.items()}
    for (path, address, symbol), count in seen.items():
        at = _mapping(ordered.get(path, []), address)
        if at is not None and _is_at_pause(path, at, address, code):
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


def _mapping(mappings: list[_Mapping], address: int) -> _Mapping | None:
    """What is mapped at an address; None where nothing is.

    Processes are not told apart: a server's children have its mappings, though perf lists its parent's only.
    """
    at = bisect_right(mappings, address, key=lambda mapping: mapping.start) - 1
    return mappings[at] if at >= 0 and address - mappings[at].start < mappings[at].length else None


def _is_at_pause(path: str, mapping: _Mapping, address: int, code: Code) -> bool:
    offset = mapping.offset + address - mapping.start
    first = max(0, offset - BEHIND_BYTES - _LOOK_BACK)
    # To the instruction at the address itself: an address at a PAUSE is one that is about to execute it.
    length = offset - first + len(PAUSE)
    # The process's own root comes first: in a container its path is another file than here.
    found = code(f"/proc/{mapping.pid}/root{path}", first, length) or code(path, first, length)
    return any(_is_instruction(found, at) for at in _places(found, min(_LOOK_BACK, offset)))


def _places(code: bytes, first: int) -> Iterator[int]:
    at = code.find(PAUSE, first)
    while at >= 0:
        yield at
        at = code.find(PAUSE, at + 1)


def _is_instruction(code: bytes, at: int) -> bool:
    """Whether these bytes are no part of another instruction: ``mov %rsi, %rbx; nop`` is ``48 89 f3 90``.

    F3 would be the operands of the opcode ahead of it. Opcodes that may as well be the end of an instruction, such as a
    1 that is subtracted, count only behind a REX prefix or 0F, where they are none.
    """
    before, last = code[at - 2 : at - 1], code[at - 1 : at]
    if last in _MOVES:
        return False
    if before and 0x40 <= before[0] <= 0x4F and last in _SUMS:
        return False
    return not (before == b"\x0f" and last in _EXTENDED)
