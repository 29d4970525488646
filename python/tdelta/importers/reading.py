"""Files as importers see them: uncompressed, in pieces, and bounded whatever a stranger put into them.

Plain text and gzip are told apart by their first bytes, never by the name. Nothing is held but one block and one line:
ten million rows take the memory of ten. What cannot be results is refused in words: folders, devices, empty and binary
files, lines without end, gzip that is cut off, and gzip that inflates like a bomb. Honest logs shrink to a tenth or a
twentieth, at the utmost to a hundredth; deflate's limit, which only a bomb comes near, is a 1032nd.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

from tdelta.errors import ImportFault
from tdelta.inputs import missing, opened, too_large, too_many, unexpected
from tdelta.messages import Refusal

HEAD_BYTES = 64 << 10
LONGEST_LINE_BYTES = 1 << 20
MOST_FILES = 10_000
HIGHEST_RATIO = 200  # inflated bytes for one byte of gzip, once `RATIO_MATTERS_FROM_BYTES` have been inflated
RATIO_MATTERS_FROM_BYTES = 64 << 20
_BLOCK_BYTES = 256 << 10
_GZIP = b"\x1f\x8b"
_OTHER_PACKERS = {
    b"PK\x03\x04": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"7z\xbc\xaf\x27\x1c": "7z",
}
_OF_OFFICE = (b"[Content_Types].xml", b"xl/workbook.xml", b"opendocument.spreadsheet")
_WIDE_TEXT = (b"\xff\xfe", b"\xfe\xff")
_MARK = b"\xef\xbb\xbf"  # of UTF-8
_SQLITE = b"SQLite format 3\x00"

Progress = Callable[[int], None]  # told how many more bytes of the files, as they lie on the disk, have been read


def _no_progress(_: int) -> None:
    return


class Source:
    """One file as an importer sees it: uncompressed already, bounded in every direction.

    `text_lines` and `content` raise `ImportFault` where a line is longer than `reading.LONGEST_LINE_BYTES`, where
    what is inflated outgrows its limits (a bomb), where bytes are no UTF-8 text, or where the file ends within gzip.
    """

    path: Path
    name: str  # as the user named it: what messages and origins say
    first_line = 1  # the number of the first line; 0 for a CSV's header that the file itself does not have

    @property
    def head(self) -> bytes:
        """Its first bytes, at most 64 KiB, uncompressed."""
        raise NotImplementedError

    @property
    def head_text(self) -> str:
        return self.head.decode("utf-8", errors="replace").removeprefix("\ufeff").lstrip()

    def text_lines(self) -> Iterator[tuple[int, str]]:
        """Its lines from the first, without their ends."""
        raise NotImplementedError

    def content(self, limit_bytes: int) -> bytes:
        """All of it, where a format cannot be read in pieces (XML, JSON); refused above the limit."""
        raise NotImplementedError


class View(Source):
    """A file as another text: what its lines have without a prefix, or its rows as a CSV."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.path = source.path
        self.name = source.name

    def content(self, limit_bytes: int) -> bytes:
        return self._source.content(limit_bytes)


class FileSource(Source):
    """Each pass over the file opens it again.

    `progress`: told what has been read, by passes over lines or content, not by the look at the head. Raises
    `ImportFault`: no such file, not readable, a folder, a device, empty.
    """

    def __init__(self, path: Path, name: str | None = None, progress: Progress = _no_progress) -> None:
        self.path = path
        self.name = printable(str(path) if name is None else name)
        self._progress = progress
        _must_be_file(path, self.name)
        head = b""
        for block in self._blocks(_no_progress, HEAD_BYTES):
            head += block
            if len(head) >= HEAD_BYTES:
                break
        self._head = head[:HEAD_BYTES]
        if not head:
            raise ImportFault(Refusal.of("file-empty").at(self.name))

    @property
    def head(self) -> bytes:
        return self._head

    def text_lines(self) -> Iterator[tuple[int, str]]:
        number = 0
        for block in self._whole_lines():
            for line in self._decoded(block, number + 1).split("\n"):
                number += 1
                yield number, line[:-1] if line.endswith("\r") else line

    def content(self, limit_bytes: int) -> bytes:
        pieces: list[bytes] = []
        size = 0
        for block in self._blocks(self._progress):
            size += len(block)
            if size > limit_bytes:
                raise ImportFault(too_large("the file, read as a whole in this format,", _size(limit_bytes), self.name))
            pieces.append(block)
        return b"".join(pieces)

    def _whole_lines(self) -> Iterator[bytes]:
        """Blocks that end where a line ends, without that line's end."""
        rest = b""
        for block in self._blocks(self._progress):
            rest += block
            end = rest.rfind(b"\n")
            if end >= 0:
                yield rest[:end]
                rest = rest[end + 1 :]
            if len(rest) > LONGEST_LINE_BYTES:
                raise ImportFault(
                    too_large(f"the line that begins {excerpt(rest)}", _size(LONGEST_LINE_BYTES), self.name)
                )
        if rest:
            yield rest

    def _decoded(self, block: bytes, first_line: int) -> str:
        """The text of whole lines. The bytes that are none are named by their line."""
        if first_line == 1 and block.startswith(_MARK):
            block = block[len(_MARK) :]
        if len(block) > LONGEST_LINE_BYTES:
            self._must_have_short_lines(block, first_line)
        try:
            text = block.decode("utf-8")
        except UnicodeDecodeError as error:
            line = first_line + block.count(b"\n", 0, error.start)
            raise ImportFault(Refusal.of("not-utf-8", byte=block[error.start]).at(f"{self.name}:{line}")) from None
        if "\0" in text:
            line = first_line + text.count("\n", 0, text.index("\0"))
            raise ImportFault(unexpected("text", "a zero byte: the file is binary or damaged", f"{self.name}:{line}"))
        return text

    def _must_have_short_lines(self, block: bytes, first_line: int) -> None:
        for number, line in enumerate(block.split(b"\n"), first_line):
            if len(line) > LONGEST_LINE_BYTES:
                raise ImportFault(
                    too_large(
                        f"the line that begins {excerpt(line)} ({_size(len(line))})",
                        _size(LONGEST_LINE_BYTES),
                        f"{self.name}:{number}",
                    )
                )

    def _blocks(self, progress: Progress, size: int = _BLOCK_BYTES) -> Iterator[bytes]:
        """The file's bytes, uncompressed, none of them empty."""
        try:
            with opened(self.path) as file:
                start = file.read(2)
                file.seek(0)
                if start == _GZIP:
                    yield from self._inflated(file, progress, size)
                else:
                    while block := file.read(size):  # None of a system's file that would have one wait
                        progress(len(block))
                        yield block
        except OSError as error:
            raise ImportFault(Refusal.of("unreadable", fault=error.strerror or error).at(self.name)) from None

    def _inflated(self, file: IO[bytes], progress: Progress, size: int) -> Iterator[bytes]:
        """Gzip, member after member (RFC 1952), zeros behind the last one being padding."""
        read = inflated = 0
        inflater = zlib.decompressobj(wbits=31)
        is_fresh = True
        packed = b""
        while True:
            if not packed:
                packed = file.read(_BLOCK_BYTES)
                read += len(packed)
                progress(len(packed))
                if not packed:
                    break
            if is_fresh and read > len(packed):
                packed = packed.lstrip(b"\0")  # padding between or behind members
                if not packed:
                    continue
            try:
                block = inflater.decompress(packed, size)
            except zlib.error as error:
                raise ImportFault(
                    unexpected("complete gzip", f"damage after {_size(inflated)} of text ({error})", self.name)
                ) from None
            is_fresh = False
            packed = inflater.unconsumed_tail
            inflated += len(block)
            consumed = read - len(packed)
            if inflated > RATIO_MATTERS_FROM_BYTES and inflated > HIGHEST_RATIO * consumed:
                raise ImportFault(
                    Refusal.of("gzip-bomb", times=HIGHEST_RATIO, inflated=_size(inflated), size=_size(consumed)).at(
                        self.name
                    )
                )
            if block:
                yield block
            if inflater.eof:
                packed = inflater.unused_data
                inflater = zlib.decompressobj(wbits=31)
                is_fresh = True
        if not is_fresh:
            if rest := inflater.flush():  # what one last call of limited length left inside
                inflated += len(rest)
                yield rest
            if inflater.eof:
                return
            raise ImportFault(unexpected("complete gzip", f"its end after {_size(inflated)} of text", self.name))


def head_lines(source: Source, *, only_whole: bool = False) -> list[str]:
    """The lines of a file's beginning; the last one may be cut off, and is left out where only whole ones are meant."""
    lines = source.head.decode("utf-8", "ignore").lstrip("\ufeff").split("\n")
    return lines[:-1] if only_whole and len(source.head) >= HEAD_BYTES else lines


def looks_binary(head: bytes) -> str | None:
    """The name of a content that is not text: ``a zip archive``, ``UTF-16 text``; None if nothing."""
    if head.startswith(b"PK\x03\x04") and any(part in head for part in _OF_OFFICE):
        return "a spreadsheet (xlsx, ods): save its sheet as CSV"
    for magic, name in _OTHER_PACKERS.items():
        if head.startswith(magic):
            return f"a {name} archive: unpack it first (gzip is the one that is read)"
    if head.startswith(_GZIP):
        return "gzip within gzip: unpack it once"
    if head.startswith(_WIDE_TEXT):
        return "UTF-16 text: convert it first (iconv -f UTF-16 -t UTF-8)"
    if head.startswith(_SQLITE):
        return "a SQLite database: measure it by tdelta run --database; of HammerDB's, give jobs ID result"
    if b"\0" in head:
        return "a binary file"
    return None


def expand(paths: Iterable[Path]) -> tuple[tuple[Path, bool], ...]:
    """The files that paths stand for, each with whether the user named it himself.

    A folder stands for its files, those of its folders as well, sorted; hidden ones are skipped, links followed, and a
    folder that is met again (a loop of links) is not entered again. A file that is met again is taken once. Raises
    `ImportFault`: nothing there, a folder without files, more than `MOST_FILES`; all such paths at once.
    """
    found: dict[tuple[int, int], tuple[Path, bool]] = {}
    faults: list[Refusal] = []
    for path in paths:
        try:
            is_folder = path.is_dir()
            files = _files_of(path) if is_folder else iter((path,))
            count = 0
            for file in files:
                count += 1
                status = file.stat()
                found.setdefault((status.st_dev, status.st_ino), (file, not is_folder))
                if len(found) > MOST_FILES:
                    raise ImportFault(too_many("files", MOST_FILES, path))
            if not count:
                faults.append(missing("a file of results in this folder").at(path))
        except OSError as error:
            faults.append(Refusal.of("unreadable", fault=error.strerror or error).at(path))
    if faults:
        raise ImportFault(*faults)
    return tuple(found.values())


def total_bytes(paths: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path, _ in expand(paths))


def excerpt(found: bytes | str, longest: int = 80) -> str:
    """The beginning of what was found, safe to print: escaped, cut, in quotes."""
    text = found[: 4 * longest].decode("utf-8", "backslashreplace") if isinstance(found, bytes) else found
    text = text[: longest + 1].encode("unicode_escape").decode("ascii")
    return f"'{text}'" if len(text) <= longest else f"'{text[:longest]}…'"


def printable(name: str) -> str:
    """A name from a file without what would move a terminal's cursor or colour its text."""
    return (
        name
        if name.isprintable()
        else "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in name)
    )


def _files_of(folder: Path) -> Iterator[Path]:
    """Depth first, sorted, each folder once."""
    seen: set[tuple[int, int]] = set()
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        status = current.stat()
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        entries = sorted(entry for entry in current.iterdir() if not entry.name.startswith("."))
        yield from (entry for entry in entries if entry.is_file())
        waiting.extend(entry for entry in reversed(entries) if entry.is_dir())


def _must_be_file(path: Path, name: str) -> None:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise ImportFault(Refusal.of("unreadable", fault=error.strerror or error).at(name)) from None
    except ValueError:  # a zero byte in the path
        raise ImportFault(Refusal.of("unreadable", fault="no such file").at(excerpt(name))) from None
    if stat.S_ISDIR(mode):
        raise ImportFault(Refusal.of("unreadable", fault="it is a folder").at(name))
    if not stat.S_ISREG(mode):
        raise ImportFault(Refusal.of("file-is-pipe").at(name))
    if not os.access(path, os.R_OK):
        raise ImportFault(Refusal.of("unreadable", fault="permission denied").at(name))


def _size(count: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} bytes"
