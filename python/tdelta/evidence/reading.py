"""A user's own files: is there plaintext in them, as far as bytes can tell?

Files are only read, by no database library, and their access times stay as they were where the owner may ask for that.
What bytes cannot tell: that a key is safe, which cipher made them, or whether they are encrypted or compressed. Only a
marker that is known to be in the rows can show that they are absent, and only if nothing compresses or encodes them.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from tdelta import _native
from tdelta.errors import EnvironmentFault, UsageError
from tdelta.evidence.headers import Header, Meaning, Read, header_of
from tdelta.inputs import open_quietly, out_of_range, unexpected
from tdelta.messages import Refusal

BLOCK_BYTES = 4096
LEAST_MARKER_BYTES = 6
"""Shorter ones stand in large files by chance: one of 4 bytes is expected 12 times in 50 GB of random bytes."""

_HEX = "hex:"
_TEXT_SHARE = 0.05  # printable runs of 8 bytes and more make up 0.2% of random bytes

Tick = Callable[[str, int], object]
"""Told what is being done (``search`` or ``bytes``) and how many bytes of it are done."""


class ReadState(StrEnum):
    """The verdict on a file: see docs/evidence.md."""

    PLAIN = "plain"
    ENCRYPTED = "encrypted"
    LOOKS_RANDOM = "looks random"
    MIXED = "mixed"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Marker:
    """A value that the user knows to be in the rows, with the byte strings that it may be stored as, by encoding."""

    text: str
    needles: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class MarkerFound:
    marker: str
    encoding: str
    count: int
    first_offset: int


@dataclass(frozen=True, slots=True)
class BlockKinds:
    """How many blocks of one size look like what; see crates/tdelta-core/src/scan/statistics.rs."""

    block_bytes: int
    blocks: int
    random: int
    zero: int
    low: int
    between: int
    short: int
    entropy_least_bits: float | None
    entropy_mean_bits: float | None

    @property
    def judged(self) -> int:
        """Blocks that are long enough and not all zeros."""
        return self.random + self.low + self.between


@dataclass(frozen=True, slots=True)
class ByteStatistics:
    """Statistics of a file's bytes. ``by_block`` is for blocks of 4 KiB and of 64 KiB."""

    zero_bytes: int
    entropy_bits: float | None
    chi_square: float | None
    printable_strings: int
    printable_bytes: int
    longest_printable_bytes: int
    by_block: tuple[BlockKinds, ...]


@dataclass(frozen=True, slots=True)
class FileReading:
    """One file: what was found in it, and what that comes to."""

    path: Path
    size_bytes: int
    state: ReadState
    reasons: tuple[str, ...]
    header: Header | None
    markers: tuple[MarkerFound, ...]
    statistics: ByteStatistics

    @property
    def says_something(self) -> bool:
        return self.state in (ReadState.PLAIN, ReadState.ENCRYPTED, ReadState.LOOKS_RANDOM)


def parse_markers(texts: Sequence[str]) -> tuple[Marker, ...]:
    """Markers as typed: text or ``hex:`` and digits. Raises `UsageError`: some are no markers; all those are named."""
    read = [(text, _marker(text)) for text in texts]
    faults = [said.at(f"--marker {text!r}") for text, said in read if isinstance(said, Refusal)]
    if faults:
        raise UsageError(*faults)
    return tuple(marker for _, marker in read if isinstance(marker, Marker))


def _marker(text: str) -> Marker | Refusal:
    if text.startswith(_HEX):
        try:
            needles: tuple[tuple[str, bytes], ...] = (("bytes", bytes.fromhex(text.removeprefix(_HEX))),)
        except ValueError:
            return unexpected("hexadecimal digits after hex:", "another character")
    else:
        needles = (
            ("utf-8", text.encode("utf-8", "surrogateescape")),
            ("utf-16le", text.encode("utf-16le", "surrogatepass")),
        )
    length = len(needles[0][1])
    if length < LEAST_MARKER_BYTES:
        return out_of_range(
            "a marker", f"at least {LEAST_MARKER_BYTES} bytes, since shorter ones occur by chance", length
        )
    return Marker(text, needles)


def regular_files(target: Path) -> tuple[Path, ...]:
    """A file itself, or every regular file below a folder; links and special files in it are left alone.

    Raises `UsageError`: it is neither a file nor a folder; `EnvironmentFault`: some cannot be read; all are named.
    """
    kind = target.stat().st_mode
    if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
        raise UsageError(Refusal.of("path-unusable", path=target, fault="not a file or folder"))
    faults: list[OSError] = []
    paths = [target] if stat.S_ISREG(kind) else sorted(_below(target, faults))
    for path in paths:
        try:
            os.close(open_quietly(path))
        except OSError as error:
            faults.append(error)
    unreadable = [error for error in faults if error.errno != errno.ENOENT]  # gone since it was listed
    if unreadable:
        raise _unreadable([f"{error.filename}: {error.strerror}" for error in unreadable])
    return tuple(paths)


def _below(folder: Path, faults: list[OSError]) -> Iterator[Path]:
    for parent, _, names in os.walk(folder, onerror=faults.append):
        for name in names:
            path = Path(parent, name)
            if stat.S_ISREG(path.lstat().st_mode):
                yield path


def read_files(paths: Sequence[Path], markers: Sequence[Marker], tick: Tick | None = None) -> tuple[FileReading, ...]:
    """Read files: search them for markers, look at their headers, count their bytes; one that is gone is left out.

    `tick`: told about ten times a second how far it is. Raises `EnvironmentFault`: some cannot be read; all are named.
    """
    if not paths:
        return ()
    threads = os.cpu_count() or 1
    needles = [needle for marker in markers for needle in marker.needles]
    counted = _native.byte_statistics(paths, BLOCK_BYTES, threads, _tick_of(tick, "bytes"))
    searched: list[dict[str, Any]] = [{"fault": None}] * len(paths)
    if needles:
        on_bytes = _tick_of(tick, "search")
        searched = _native.search_files(paths, [data for _, data in needles], threads, on_bytes)
    _require_read(paths, counted, searched)
    return tuple(
        _reading(path, bytes_of, matches, markers)
        for path, bytes_of, matches in zip(paths, counted, searched, strict=True)
        if bytes_of["fault"] is None and matches["fault"] is None
    )


def _tick_of(tick: Tick | None, stage: str) -> Callable[[int], object] | None:
    return None if tick is None else partial(tick, stage)


def _require_read(paths: Sequence[Path], *answers: Sequence[Mapping[str, Any]]) -> None:
    faults = {
        path: answer["fault"]["message"]
        for found in answers
        for path, answer in zip(paths, found, strict=True)
        if answer["fault"] is not None and answer["fault"]["errno"] != errno.ENOENT
    }
    if faults:
        raise _unreadable([f"{path}: {message}" for path, message in faults.items()])


def _unreadable(faults: Sequence[str]) -> EnvironmentFault:
    listed = "\n".join(f"  {fault}" for fault in faults)
    return EnvironmentFault(Refusal.of("files-not-readable", files=len(faults), listed=listed))


def _reading(
    path: Path, counted: Mapping[str, Any], matches: Mapping[str, Any], markers: Sequence[Marker]
) -> FileReading:
    statistics = ByteStatistics(
        zero_bytes=counted["zero_bytes"],
        entropy_bits=counted["entropy_bits"],
        chi_square=counted["chi_square"],
        printable_strings=counted["printable_strings"],
        printable_bytes=counted["printable_bytes"],
        longest_printable_bytes=counted["longest_printable_bytes"],
        by_block=tuple(BlockKinds(**kinds) for kinds in counted["by_block"]),
    )
    size_bytes = int(counted["scanned_bytes"])
    found = tuple(_found(markers, matches)) if markers else ()
    with _reader(path) as read:
        header = header_of(read, size_bytes)
    state, reasons = _judge(size_bytes, header, found, statistics)
    return FileReading(path, size_bytes, state, reasons, header, found, statistics)


def _found(markers: Sequence[Marker], matches: Mapping[str, Any]) -> Iterator[MarkerFound]:
    searched = [(marker.text, encoding) for marker in markers for encoding, _ in marker.needles]
    for (text, encoding), count, first in zip(searched, matches["matches"], matches["first_offsets"], strict=True):
        if count:
            yield MarkerFound(text, encoding, count, first)


def _judge(
    size_bytes: int, header: Header | None, found: Sequence[MarkerFound], statistics: ByteStatistics
) -> tuple[ReadState, tuple[str, ...]]:
    plain = tuple(_plain_reasons(size_bytes, header, found, statistics))
    kinds = statistics.by_block[0]
    if plain:
        return ReadState.PLAIN, plain
    if statistics.zero_bytes == size_bytes:
        return ReadState.EMPTY, ("zeros only" if size_bytes else "no bytes",)
    on_bytes = (f"header: {header.name}",) if header else ()
    if header is not None and header.meaning is Meaning.ENCRYPTED:
        return ReadState.ENCRYPTED, on_bytes
    if not kinds.judged:
        return ReadState.MIXED, (*on_bytes, f"{size_bytes:,} bytes are too few to judge")
    spread = f"{kinds.random:,} of {kinds.judged:,} blocks look random"
    return ReadState.LOOKS_RANDOM if kinds.random == kinds.judged else ReadState.MIXED, (*on_bytes, spread)


def _plain_reasons(
    size_bytes: int, header: Header | None, found: Sequence[MarkerFound], statistics: ByteStatistics
) -> Iterator[str]:
    for one in found:
        times = "once" if one.count == 1 else f"{one.count:,} times"
        yield f"marker {one.marker!r} ({one.encoding}) {times}, first at byte {one.first_offset:,}"
    if header is not None and header.meaning is Meaning.PLAIN:
        yield header.name
    kinds = statistics.by_block[0]
    if header is not None and header.meaning is Meaning.NO_ROWS:
        return
    is_marked = header is not None and header.meaning is Meaning.ENCRYPTED  # such files have clear pages in front
    if kinds.low > kinds.judged / 2 and not is_marked:
        yield f"{kinds.low:,} of {kinds.judged:,} blocks hold little information a byte"
    if statistics.printable_bytes > _TEXT_SHARE * size_bytes:
        yield f"{100 * statistics.printable_bytes / size_bytes:.0f}% of it is printable text"


@contextmanager
def _reader(path: Path) -> Iterator[Read]:
    try:
        descriptor = open_quietly(path)
    except FileNotFoundError:  # gone since its bytes were counted
        yield lambda _offset, _count: b""
        return

    def read(offset: int, count: int) -> bytes:
        try:
            return os.pread(descriptor, count, offset)
        except OSError:  # a file of the kernel's that has nothing there, as /proc/self/mem; all else was read before
            return b""

    try:
        yield read
    finally:
        os.close(descriptor)
