"""Pages that InnoDB compressed, of MariaDB and of MySQL: which they are, and what was in them before.

A table whose pages are compressed keeps its logical layout: each page stands where it always did, is shorter, and the
rest of its place is a hole in the file. Planted rows are not found as bytes where zlib has shifted all by bits; LZ4
leaves bytes that do not repeat as they are.

Sources: MariaDB, storage/innobase/fil/fil0pagecompress.cc; MySQL, storage/innobase/include/fil0types.h and
storage/innobase/os/file.cc.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping

from tdelta.engines.servers import DATABASE, ServerSettings
from tdelta.engines.shared.mysql_external import IS_TABLE
from tdelta.messages import Detail

_TYPE_AT = 24
_MYSQL_TYPE, _MYSQL_DATA_AT, _MYSQL_ALGORITHM_AT, _MYSQL_ZLIB = 14, 38, 27, 1
_OLD_TYPE, _OLD_DATA_AT = 34354, 40
"""MariaDB's pages with a checksum of an earlier kind than ``full_crc32``."""

_FULL_CRC32, _FULL_CRC32_DATA_AT = 0x8000, 26
"""The bit of the type by which ``full_crc32``, the usual kind since MariaDB 10.5, marks them."""

_COMPRESSED, _UNCOMPRESSED = "compressed_tables", "uncompressed_tables"


def inflated(page: bytes) -> bytes:
    """What was in a page before zlib compressed it; nothing of one that it did not compress, or that is encrypted."""
    kind = int.from_bytes(page[_TYPE_AT : _TYPE_AT + 2], "big")
    if kind == _MYSQL_TYPE:
        at = _MYSQL_DATA_AT if page[_MYSQL_ALGORITHM_AT] == _MYSQL_ZLIB else 0
    elif kind == _OLD_TYPE:
        at = _OLD_DATA_AT
    else:
        at = _FULL_CRC32_DATA_AT if kind & _FULL_CRC32 else 0
    if not at:
        return b""
    try:
        return zlib.decompressobj().decompress(page[at:], len(page))
    except zlib.error:  # encrypted, or by another algorithm
        return b""


def compression_facts(settings: ServerSettings, options_like: str) -> Mapping[str, str]:
    """Queries for how many of the run's tables are compressed, and how many are not.

    Args:
        settings: the twin's; none are asked for in runs that do not vary compression.
        options_like: how the catalog's options of a table read that is compressed as it should, as a pattern of LIKE.
    """
    if not settings.compression:
        return {}
    count = (
        f"SELECT COUNT(*) FROM information_schema.TABLES WHERE {IS_TABLE}"
        f" AND TABLE_SCHEMA = '{DATABASE}' AND COALESCE(CREATE_OPTIONS, '') {{}} '{options_like}'"
    )
    return {_COMPRESSED: count.format("LIKE"), _UNCOMPRESSED: count.format("NOT LIKE")}


def compression_fault(settings: ServerSettings, found: Mapping[str, str]) -> Detail | None:
    """A table that is compressed and should not be, or that is not; None where compression is not varied."""
    if not settings.compression:
        return None
    compressed, uncompressed = found[_COMPRESSED], found[_UNCOMPRESSED]
    if not settings.is_compressed:
        return (
            None
            if compressed == "0"
            else Detail.of("wrong-count", count=compressed, what="tables have compressed pages", expected="none")
        )
    if uncompressed != "0" or compressed == "0":
        return Detail.of(
            "wrong-count",
            count=uncompressed,
            what=f"tables have pages without {settings.compression} compression",
            expected="none",
        )
    return None


def recompress(settings: ServerSettings, tables: Iterable[str]) -> tuple[str, ...]:
    """Statements by which a server without a default for new tables has those that are there as they should be.

    All twins of a run that varies compression rebuild their tables, so that all are as compact.
    """
    if not settings.compression:
        return ()
    return tuple(
        statement
        for table in tables
        for statement in (
            f"ALTER TABLE `{table}` COMPRESSION = '{settings.compression}'",
            f"OPTIMIZE TABLE `{table}`",
        )
    )
