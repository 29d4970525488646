"""Which pages zlib compressed, what was in them, and what a catalog says of tables that have them."""

import os
import zlib
from pathlib import Path

import pytest

from tdelta.engines.server.base import ServerSettings
from tdelta.engines.server.mysql_family import compression_facts, compression_fault, inflated, recompress
from tdelta.evidence import FileClass, TwinFile, search
from tdelta.evidence.search import PAGE_BYTES

NEEDLE = b"a planted marker"
CONTENT = (b"x" * 5_000 + NEEDLE + b"y" * 11_000)[: PAGE_BYTES - 100]


def page(kind: int, at: int, algorithm: int = 0) -> bytes:
    head = bytearray(max(at, 28))
    head[24:26] = kind.to_bytes(2, "big")
    head[27] = algorithm
    return (bytes(head[:at]) + zlib.compress(CONTENT)).ljust(PAGE_BYTES, b"\0")


COMPRESSED = {"MariaDB, full_crc32": (0x8005, 26, 0), "MariaDB, earlier": (34354, 40, 0), "MySQL": (14, 38, 1)}


@pytest.mark.parametrize(("kind", "at", "algorithm"), COMPRESSED.values(), ids=COMPRESSED)
def test_what_was_in_a_page_is_found_again(kind: int, at: int, algorithm: int) -> None:
    made = page(kind, at, algorithm)
    assert NEEDLE not in made
    assert inflated(made) == CONTENT


@pytest.mark.parametrize(
    "other",
    [
        bytes(PAGE_BYTES),
        page(17855, 38),  # an index's, as it is
        page(14, 38, 2),  # LZ4
        bytes(24) + (0x8005).to_bytes(2, "big") + os.urandom(PAGE_BYTES - 26),  # encrypted
        b"",
    ],
)
def test_a_page_that_zlib_did_not_compress_or_that_is_encrypted_has_nothing(other: bytes) -> None:
    assert inflated(other) == b""


def test_markers_in_compressed_pages_are_found_and_counted_once_a_page(tmp_path: Path) -> None:
    path = tmp_path / "t.ibd"
    path.write_bytes(bytes(PAGE_BYTES) + 3 * page(0x8005, 26))
    found = path.stat()

    def of(file_class: FileClass) -> TwinFile:
        return TwinFile("t.ibd", str(path), file_class, (found.st_dev, found.st_ino))

    assert search([of(FileClass.TABLES)], [NEEDLE])[0].markers_found == 0
    (one,) = search([of(FileClass.TABLES)], [NEEDLE], inflated)
    assert one.markers_found == 3
    assert one.scanned_bytes == 4 * PAGE_BYTES
    assert search([of(FileClass.REDO)], [NEEDLE], inflated)[0].markers_found == 0


@pytest.mark.parametrize(
    ("compression", "compressed", "uncompressed", "is_fine"),
    [("zlib", 4, 0, True), ("zlib", 3, 1, False), ("zlib", 0, 0, False), ("none", 0, 4, True), ("none", 1, 3, False)],
)
def test_a_table_that_is_not_as_asked_is_a_fault(
    compression: str, compressed: int, uncompressed: int, is_fine: bool
) -> None:
    settings = ServerSettings("none", compression=compression)
    names = compression_facts(settings, "%")
    found = dict(zip(names, (str(compressed), str(uncompressed)), strict=True))
    assert (compression_fault(settings, found) is None) == is_fine


def test_a_run_that_does_not_vary_compression_asks_and_changes_nothing() -> None:
    usual = ServerSettings("none")
    assert compression_facts(usual, "%") == {}
    assert compression_fault(usual, {}) is None
    assert recompress(usual, ["t"]) == ()
    assert len(recompress(ServerSettings("none", compression="none"), ["t"])) == 2
