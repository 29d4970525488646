"""The kind of a file by its first bytes: a database anyone can read, an encrypted one, or nothing.

Only headers that are sure are used: a magic number of at least three bytes, or several fields that must agree. A header
that the same program writes before plain and before encrypted content is ``neutral``. Sources beside each.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

Read: TypeAlias = Callable[[int, int], bytes]  # bytes of a file: from an offset, so many (fewer at its end)

HEAD_BYTES = 512


class Meaning(StrEnum):
    PLAIN = "plain"
    ENCRYPTED = "encrypted"
    NEUTRAL = "neutral"
    NO_ROWS = "no rows"


@dataclass(frozen=True, slots=True)
class Header:
    """A header that was recognised: what kind of file it begins, and what it says of the content."""

    name: str
    meaning: Meaning


_MAGICS = (
    (0, b"\x37\x7f\x06\x82", "SQLite write-ahead log", Meaning.NEUTRAL),
    (0, b"\x37\x7f\x06\x83", "SQLite write-ahead log", Meaning.NEUTRAL),
    (0, b"\x18\xe2\x2d\x00", "SQLite wal-index, which holds no rows", Meaning.NO_ROWS),  # version 3007000, wal.c
    (0, b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", "SQLite rollback journal", Meaning.NEUTRAL),
    (0, b"\xfe\xfe\x07\x01", "MyISAM index", Meaning.PLAIN),  # myisam_file_magic, storage/myisam/mi_static.c
    (0, b"\xfe\xfe\x08\x02", "packed MyISAM data", Meaning.PLAIN),
    (0, b"\xfe\xfe\x09\x03", "Aria index", Meaning.NEUTRAL),  # maria_file_magic, storage/maria/ma_static.c
    (0, b"\xfe\xfe\x0a\x01", "packed Aria data", Meaning.NEUTRAL),
    (0, b"\xfebin", "MySQL or MariaDB binary log", Meaning.NEUTRAL),  # MariaDB writes it before encrypted events, too
    (0, b"\xfdbin", "MySQL binary log, encrypted", Meaning.ENCRYPTED),
    (0, b"LUKS\xba\xbe", "LUKS volume", Meaning.ENCRYPTED),
    (0, b"Salted__", "OpenSSL enc file", Meaning.ENCRYPTED),
    (0, b"age-encryption.org/", "age file", Meaning.ENCRYPTED),
    (0, b"\x1f\x8b\x08", "gzip file, which anybody can unpack", Meaning.PLAIN),
    (0, b"\x28\xb5\x2f\xfd", "zstd file, which anybody can unpack", Meaning.PLAIN),
    (0, b"\xfd7zXZ\x00", "xz file, which anybody can unpack", Meaning.PLAIN),
    (0, b"\x04\x22\x4d\x18", "lz4 file, which anybody can unpack", Meaning.PLAIN),
    (4, b"1AY&SY", "bzip2 file, which anybody can unpack", Meaning.PLAIN),
    (0, b"\x89PNG\r\n\x1a\n", "PNG image", Meaning.PLAIN),
    (257, b"ustar", "tar archive", Meaning.PLAIN),
    (0, b"7z\xbc\xaf\x27\x1c", "7-Zip archive, plain or encrypted", Meaning.NEUTRAL),
    (0, b"%PDF-", "PDF document, plain or encrypted", Meaning.NEUTRAL),
)

_SQLITE_MAGIC = b"SQLite format 3\x00"
_SQLITE_HEADER_BYTES, _SQLITE_SAMPLE = 100, 64
_SQLITE_FEWEST, _SQLITE_CHANCE = 8, 0.1
"""Of pages that are sampled, and how many of random ones may pass for pages: 4 of 256 do."""
_SQLITE_TREES = frozenset((2, 5, 10, 13))
_RANDOM_DISTINCT = 180
"""Values that 512 random bytes have at the least, of 256: 221 on average, 201 once in ten thousand times."""
_PG_PAGE_BYTES = 8192
_PG_LAYOUT = 4
_PG_FLAGS = 0x0007
_INNODB_SAMPLE = 512
_INNODB_FSP_HEADER = 8
_INNODB_INDEX = (17855, 17854, 17853)
_INNODB_ENCRYPTED = (15, 16, 17, 37401)
"""fil0fil.h. MySQL: encrypted, compressed and encrypted, encrypted R-tree; MariaDB: page-compressed and encrypted."""


def header_of(read: Read, size_bytes: int) -> Header | None:
    """The header of a file, if it is one of those that are known."""
    head = read(0, HEAD_BYTES)
    for offset, magic, name, meaning in _MAGICS:
        if head[offset : offset + len(magic)] == magic:
            return Header(name, meaning)
    found = (
        _sqlite(head, read, size_bytes)
        or _zip(head)
        or _duckdb(head)
        or _sqlite_with_clear_bytes(head)
        or _postgres_log(head)
    )
    return found or _postgres_page(head, size_bytes) or _innodb(head, read, size_bytes)


def _sqlite(head: bytes, read: Read, size_bytes: int) -> Header | None:
    """The magic of SQLite (sqlite.org/fileformat2.html), and behind it pages of SQLite's, or random bytes.

    SQLCipher (``cipher_plaintext_header_size``) and SQLite3 Multiple Ciphers (``plaintext_header_size``) can leave the
    beginning of an encrypted file readable, as some systems want it: then no page is one.
    """
    if not head.startswith(_SQLITE_MAGIC):
        return None
    size = _u16(head, 16) if len(head) == HEAD_BYTES else 0
    page_bytes = 65_536 if size == 1 else size
    if page_bytes >= HEAD_BYTES and not page_bytes & (page_bytes - 1):
        pages = size_bytes // page_bytes
        step = max(1, pages // _SQLITE_SAMPLE)
        others = [page for at in range(step, pages, step) if any(page := read(at * page_bytes, HEAD_BYTES))]
        fitting = sum(page[0] in _SQLITE_TREES or _u32(page, 0) <= pages for page in others)
        is_first = head[_SQLITE_HEADER_BYTES] in _SQLITE_TREES
        is_none = not is_first or (len(others) >= _SQLITE_FEWEST and fitting < _SQLITE_CHANCE * len(others))
        if is_none and all(map(_is_random, (*others, *(() if is_first else (head[_SQLITE_HEADER_BYTES:],))))):
            return Header("SQLite database, encrypted behind a plain header", Meaning.ENCRYPTED)
    return Header("SQLite database", Meaning.PLAIN)


def _is_random(data: bytes) -> bool:
    """Whether bytes look random, as those of a damaged page hardly do."""
    return len(set(data)) > _RANDOM_DISTINCT * len(data) / HEAD_BYTES


def _zip(head: bytes) -> Header | None:
    """Bit 0 of the general purpose flags says that the first entry is encrypted (PKWARE's APPNOTE, 4.4.4)."""
    if not head.startswith(b"PK\x03\x04") or len(head) < 8:
        return None
    if head[6] & 1:
        return Header("zip archive, encrypted", Meaning.ENCRYPTED)
    return Header("zip archive, which anybody can unpack", Meaning.PLAIN)


def _duckdb(head: bytes) -> Header | None:
    """Behind the checksum of the main header: magic, version, flags; bit 0 of the flags is ENCRYPTED_DATABASE_FLAG."""
    if head[8:12] != b"DUCK" or len(head) < 28:
        return None
    (flags,) = struct.unpack_from("<Q", head, 20)
    if flags & 1:
        return Header("DuckDB database, encrypted", Meaning.ENCRYPTED)
    return Header("DuckDB database", Meaning.PLAIN)


def _sqlite_with_clear_bytes(head: bytes) -> Header | None:
    """The magic hidden, bytes 16 to 23 clear: as SQLite3 Multiple Ciphers and SQLite's own extension leave them."""
    if len(head) < 24:
        return None
    page, write, read_, _reserved = struct.unpack_from(">HBBB", head, 16)
    is_size = page == 1 or (512 <= page <= 32768 and page & (page - 1) == 0)
    if is_size and write in (1, 2) and read_ in (1, 2) and head[21:24] == b"\x40\x20\x20":
        return Header("SQLite database, encrypted", Meaning.ENCRYPTED)
    return None


def _postgres_log(head: bytes) -> Header | None:
    """A segment's first page (access/xlog_internal.h): magic 0xD0.. or 0xD1.., XLP_LONG_HEADER, sizes that agree."""
    if len(head) < 40:
        return None
    magic, info, _timeline, address = struct.unpack_from("<HHIQ", head, 0)
    segment, block = struct.unpack_from("<II", head, 32)
    is_segment = 1 << 20 <= segment <= 1 << 30 and segment & (segment - 1) == 0 and address % segment == 0
    if magic >> 8 in (0xD0, 0xD1) and info & 0x0002 and info <= 0x000F and is_segment and block == _PG_PAGE_BYTES:
        return Header("PostgreSQL write-ahead log", Meaning.NEUTRAL)
    return None


def _postgres_page(head: bytes, size_bytes: int) -> Header | None:
    """The header of a page (storage/bufpage.h): bounds in order, size and layout version in one field."""
    if len(head) < 24 or size_bytes % _PG_PAGE_BYTES:
        return None
    flags, lower, upper, special, size_version = struct.unpack_from("<HHHHH", head, 10)
    in_order = 24 <= lower <= upper <= special <= _PG_PAGE_BYTES
    if size_version == _PG_PAGE_BYTES | _PG_LAYOUT and flags <= _PG_FLAGS and in_order:
        return Header("PostgreSQL table or index", Meaning.PLAIN)
    return None


def _innodb(head: bytes, read: Read, size_bytes: int) -> Header | None:
    """Page 0 of a tablespace: number 0, type FSP_HDR, its space's number twice. It is never encrypted; others tell."""
    if len(head) < 58:
        return None
    number, page_type = _u32(head, 4), _u16(head, 24)
    if number != 0 or page_type != _INNODB_FSP_HEADER or _u32(head, 34) != _u32(head, 38):
        return None
    flags = _u32(head, 54)
    page_bytes = _innodb_page_bytes(flags)
    if page_bytes is None:
        return None
    kinds = [_innodb_kind(page, full_crc=bool(flags & 16)) for page in _sampled(read, size_bytes, page_bytes)]
    encrypted, plain = kinds.count(Meaning.ENCRYPTED), kinds.count(Meaning.PLAIN)
    if plain:
        return Header(f"InnoDB tablespace with {plain} plain of {len(kinds)} sampled pages", Meaning.PLAIN)
    if encrypted:
        sampled = f"{encrypted} of {len(kinds)} sampled pages encrypted"
        return Header(f"InnoDB tablespace, {sampled}; its first page is plain by design", Meaning.ENCRYPTED)
    return Header("InnoDB tablespace without rows", Meaning.NEUTRAL)


def _innodb_page_bytes(flags: int) -> int | None:
    """The size of a page in the file, from the flags of the space (fsp0types.h of either server)."""
    is_full_crc32 = flags & 16  # MariaDB's; the others have a compressed size, then a size, then the default
    shift = flags & 15 if is_full_crc32 else (flags >> 1) & 15 or (flags >> 6) & 15 or 5
    return 512 << shift if 1 <= shift <= 7 else None


def _sampled(read: Read, size_bytes: int, page_bytes: int) -> Iterator[bytes]:
    pages = size_bytes // page_bytes
    for number in range(0, pages, max(1, pages // _INNODB_SAMPLE)):
        page = read(number * page_bytes, 38)
        if len(page) == 38 and any(page):
            yield page


def _innodb_kind(page: bytes, *, full_crc: bool) -> Meaning:
    """MySQL changes the type of an encrypted page; MariaDB keeps it and puts the key's version in front, or at 26."""
    page_type = _u16(page, 24)
    has_key = _u32(page, 0) != 0 if full_crc else page_type in _INNODB_INDEX and _u32(page, 26) != 0
    if has_key or page_type in _INNODB_ENCRYPTED:
        return Meaning.ENCRYPTED
    return Meaning.PLAIN if page_type in _INNODB_INDEX else Meaning.NEUTRAL


def _u16(data: bytes, offset: int) -> int:
    return int.from_bytes(data[offset : offset + 2], "big")


def _u32(data: bytes, offset: int) -> int:
    return int.from_bytes(data[offset : offset + 4], "big")
