import bz2
import gzip
import io
import lzma
import sqlite3
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdelta.design import stream
from tdelta.evidence.headers import Header, Meaning, header_of

NOISE = stream(7, "noise").bytes(1 << 20)


def meaning_of(content: bytes) -> Meaning | None:
    header = found(content)
    return header.meaning if header else None


def found(content: bytes) -> Header | None:
    return header_of(lambda offset, count: content[offset : offset + count], len(content))


def behind(head: bytes, length: int = 65_536) -> bytes:
    return head + NOISE[: length - len(head)]


def zipped(name: str = "a") -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(name, b"text " * 100)
    return target.getvalue()


def tarred() -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a"), io.BytesIO(b""))
    return target.getvalue()


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (gzip.compress(NOISE[:999]), "gzip"),
        (bz2.compress(NOISE[:999]), "bzip2"),
        (lzma.compress(NOISE[:999]), "xz"),
        (zipped(), "zip"),
        (tarred(), "tar"),
        (behind(b"\x89PNG\r\n\x1a\n"), "PNG"),
        (behind(b"\x28\xb5\x2f\xfd"), "zstd"),
        (behind(b"\xfe\xfe\x07\x01"), "MyISAM"),
    ],
)
def test_what_anybody_can_unpack_or_read_is_plain(content: bytes, name: str) -> None:
    header = found(content)
    assert (header.meaning, name in header.name) == (Meaning.PLAIN, True)


def test_a_sqlite_database_and_what_lies_beside_it_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE t (a)")
        db.commit()
        kinds = {name: found((tmp_path / name).read_bytes()) for name in ("a.db", "a.db-wal", "a.db-shm")}
    db.close()
    meanings = {name: header.meaning if header else None for name, header in kinds.items()}
    assert meanings == {"a.db": Meaning.PLAIN, "a.db-wal": Meaning.NEUTRAL, "a.db-shm": Meaning.NO_ROWS}


def test_a_rollback_journal_says_nothing_of_its_pages() -> None:
    assert meaning_of(behind(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")) is Meaning.NEUTRAL


def test_sqlite_without_its_magic_but_with_its_page_size_is_encrypted() -> None:
    clear = struct.pack(">HBBBBBB", 4096, 2, 2, 80, 64, 32, 32)
    header = found(NOISE[:16] + clear + NOISE[24:65_536])
    assert header == Header("SQLite database, encrypted", Meaning.ENCRYPTED)
    wrong = struct.pack(">HBBBBBB", 4097, 2, 2, 80, 64, 32, 32)
    assert found(NOISE[:16] + wrong + NOISE[24:65_536]) is None


def sqlite_file(folder: Path, rows: int, blob_bytes: int = 0) -> bytes:
    path = folder / f"{rows}-{blob_bytes}.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, text, data)")
        db.execute("CREATE INDEX i ON t (text)")
        blobs = ((n, f"customer {n}", NOISE[n : n + blob_bytes]) for n in range(rows))
        db.executemany("INSERT INTO t VALUES (?, ?, ?)", blobs)
    db.close()
    return path.read_bytes()


@pytest.mark.parametrize(("rows", "blob_bytes"), [(0, 0), (3, 0), (5000, 0), (3, 900_000), (300, 3500)])
@pytest.mark.parametrize("clear", [32, 96, 112])
def test_a_sqlite_database_behind_a_plain_header_is_encrypted(
    rows: int, blob_bytes: int, clear: int, tmp_path: Path
) -> None:
    """SQLCipher and SQLite3 Multiple Ciphers leave so many bytes readable; "plain, exit code 4", it said."""
    content = sqlite_file(tmp_path, rows, blob_bytes)
    assert meaning_of(content) is Meaning.PLAIN
    noise = stream(8, "pages").bytes(len(content))
    is_seen = clear <= 100 or len(content) >= 9 * 4096
    wanted = Meaning.ENCRYPTED if is_seen else Meaning.PLAIN
    assert meaning_of(content[:clear] + noise[clear:]) is wanted


def test_a_damaged_sqlite_database_is_not_called_encrypted(tmp_path: Path) -> None:
    content = bytearray(sqlite_file(tmp_path, 5000))
    content[100] = 0x77
    assert meaning_of(bytes(content)) is Meaning.PLAIN


@pytest.mark.parametrize(("flags", "meaning"), [(0, Meaning.PLAIN), (1, Meaning.ENCRYPTED)])
def test_duckdb_says_in_its_flags_whether_it_is_encrypted(flags: int, meaning: Meaning) -> None:
    assert meaning_of(behind(NOISE[:8] + b"DUCK" + struct.pack("<QQ", 64, flags))) is meaning


@pytest.mark.parametrize(("bit", "meaning"), [(0, Meaning.PLAIN), (1, Meaning.ENCRYPTED)])
def test_a_zip_archive_says_whether_its_first_entry_is_encrypted(bit: int, meaning: Meaning) -> None:
    archive = bytearray(zipped())
    archive[6] |= bit
    assert meaning_of(bytes(archive)) is meaning


def innodb(flags: int, page_bytes: int, *pages: tuple[int, int, int]) -> bytes:
    """A tablespace: page 0, then pages of (word in front, type, word at 26), the rest noise."""
    first = bytearray(page_bytes)
    first[24:26] = (8).to_bytes(2, "big")
    first[34:38] = first[38:42] = (77).to_bytes(4, "big")
    first[54:58] = flags.to_bytes(4, "big")
    made = [bytes(first)]
    for front, kind, key in pages:
        page = bytearray(NOISE[:page_bytes])
        page[0:4], page[24:26], page[26:30] = front.to_bytes(4, "big"), kind.to_bytes(2, "big"), key.to_bytes(4, "big")
        made.append(bytes(page))
    return b"".join(made)


MYSQL, MARIADB_OLD, MARIADB_NEW = 0x4021, 0x21, 0x15


@pytest.mark.parametrize(
    ("content", "meaning"),
    [
        (innodb(MYSQL, 16_384, (0xC0FFEE, 17855, 0), (0xC0FFEE, 17855, 0)), Meaning.PLAIN),
        (innodb(MYSQL, 16_384, (0xC0FFEE, 15, 0), (0xC0FFEE, 17, 0)), Meaning.ENCRYPTED),
        (innodb(MYSQL, 16_384, (0xC0FFEE, 15, 0), (0xC0FFEE, 17855, 0)), Meaning.PLAIN),  # a conversion under way
        (innodb(MARIADB_OLD, 16_384, (0xC0FFEE, 17855, 1)), Meaning.ENCRYPTED),
        (innodb(MARIADB_NEW, 16_384, (1, 17855, 0)), Meaning.ENCRYPTED),
        (innodb(MARIADB_NEW, 16_384, (0, 17855, 0)), Meaning.PLAIN),
        (innodb(MYSQL, 16_384), Meaning.NEUTRAL),
        (innodb(MYSQL | 4 << 6, 8192, (0xC0FFEE, 17855, 0)), Meaning.PLAIN),
    ],
)
def test_an_innodb_tablespace_is_told_by_its_index_pages(content: bytes, meaning: Meaning) -> None:
    assert meaning_of(content) is meaning


def postgres_page(**changes: int) -> bytes:
    fields = {"flags": 0, "lower": 32, "upper": 8000, "special": 8192, "size_version": 8192 | 4} | changes
    head = struct.pack("<QHHHHHHI", 1, 0, *fields.values(), 0)
    return head + NOISE[: 8192 - len(head)]


def test_a_postgres_page_has_bounds_in_order() -> None:
    assert meaning_of(postgres_page()) is Meaning.PLAIN
    assert meaning_of(postgres_page(lower=8001)) is None
    assert meaning_of(postgres_page(size_version=8192 | 3)) is None
    assert meaning_of(postgres_page()[:-1]) is None


def test_a_postgres_log_segment_says_nothing_of_its_records() -> None:
    head = struct.pack("<HHIQI4xQII", 0xD118, 2, 1, 3 << 24, 0, 99, 16 << 20, 8192)
    assert meaning_of(behind(head)) is Meaning.NEUTRAL


@pytest.mark.parametrize("head", [b"LUKS\xba\xbe\x00\x02", b"Salted__", b"\xfdbin", b"age-encryption.org/v1"])
def test_what_says_that_it_is_encrypted_is_believed_to_say_so(head: bytes) -> None:
    assert meaning_of(behind(head)) is Meaning.ENCRYPTED


@given(st.binary(max_size=600), st.integers(0, 2**63))
def test_no_bytes_whatever_break_it(content: bytes, seed: int) -> None:
    found(content)
    found(content + stream(seed, "tail").bytes(8192))
