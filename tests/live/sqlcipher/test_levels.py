from pathlib import Path
from typing import Any

import pytest

from tdelta.engines.sqlite.engine import SqliteEngine
from tdelta.engines.sqlite.libraries import PASSPHRASE, RAW, SQLCIPHER
from tdelta.errors import TdeltaError

from .opening import KEY, made, opened, settings

ENGINE = SqliteEngine(SQLCIPHER)
LEVELS = [name for name in ENGINE.ciphers if name != "none"]
IN_FORCE = {
    "aes-256": ("1", "HMAC_SHA512"),
    "aes-256-no-hmac": ("0", None),
    "aes-256-hmac-sha1": ("1", "HMAC_SHA1"),
    "aes-256-hmac-sha256": ("1", "HMAC_SHA256"),
}
MARKER = "d41d8cd98f00b204e9800998ecf8427e"
FILL = (
    "CREATE TABLE filler (id INTEGER PRIMARY KEY, text TEXT)",
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
    f" INSERT INTO filler SELECT i, '{MARKER}' || i FROM n",
)


@pytest.mark.parametrize("page_size", [1024, 4096, 16384])
@pytest.mark.parametrize("kind", [RAW, PASSPHRASE])
@pytest.mark.parametrize("level", LEVELS)
def test_every_level_encrypts_as_it_says_and_reads_back(tmp_path: Path, level: str, kind: str, page_size: int) -> None:
    path = tmp_path / "t.db"
    wanted = settings(level, key_kind=kind, page_size=page_size, reserved_bytes=80)
    with made(ENGINE, path, wanted) as file:
        for statement in FILL:
            file.text(statement)
    content = path.read_bytes()
    assert not ENGINE.shows_itself(path)
    assert MARKER.encode() not in content
    with opened(ENGINE, path, wanted) as file:
        use_hmac, algorithm = IN_FORCE[level]
        assert file.text("PRAGMA cipher_use_hmac") == use_hmac
        assert algorithm in (None, file.text("PRAGMA cipher_hmac_algorithm"))
        assert file.text("PRAGMA page_size") == str(page_size)
        assert file.text("SELECT count(*) || min(text) FROM filler") == f"500{MARKER}1"
        assert file.text("PRAGMA integrity_check") == "ok"


def test_the_plain_twin_of_the_same_library_shows_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with made(ENGINE, path, settings("none", reserved_bytes=80)) as file:
        for statement in FILL:
            file.text(statement)
    content = path.read_bytes()
    assert ENGINE.shows_itself(path)
    assert MARKER.encode() in content
    with opened(ENGINE, path, settings("none")) as file:
        assert file.text("SELECT count(*) FROM filler") == "500"


@pytest.mark.parametrize("kind", [RAW, PASSPHRASE])
@pytest.mark.parametrize("level", LEVELS)
def test_a_wrong_key_is_refused_and_not_told(tmp_path: Path, level: str, kind: str) -> None:
    path, wrong = tmp_path / "t.db", "0f" * 32
    wanted = settings(level, key_kind=kind)
    with made(ENGINE, path, wanted) as file:
        file.text(FILL[0])
    with pytest.raises(TdeltaError, match="not a database") as raised, opened(ENGINE, path, wanted, key=wrong):
        pass
    assert wrong not in str(raised.value)
    assert KEY not in str(raised.value)


@pytest.mark.parametrize("level", LEVELS)
def test_changed_bytes_are_noticed_with_an_hmac_and_not_without(tmp_path: Path, level: str) -> None:
    path = tmp_path / "t.db"
    with made(ENGINE, path, settings(level)) as file:
        file.text("CREATE TABLE one (text TEXT)")
        file.text(f"INSERT INTO one VALUES ('{'x' * 3000}')")
    with path.open("r+b") as raw:
        raw.seek(4096 + 2500)  # the middle of the text, on the second page
        raw.write(bytes(16))
    with opened(ENGINE, path, settings(level)) as file:
        if level == "aes-256-no-hmac":
            assert file.text("SELECT text = replace(hex(zeroblob(1500)), '0', 'x') FROM one") == "0"
        else:
            with pytest.raises(TdeltaError):
                file.text("SELECT text FROM one")


# A page holds two rows of this size if it has so many bytes for them, and only one if it has 8 fewer.

_USABLE = [4096 - reserved for reserved in range(0, 256, 16)]
_SIZES = [(usable - 8) // 2 - 11 for usable in _USABLE]


def pages_by_size(level: str, path: Path, *, reserved_bytes: int, reserve: bool, **changes: Any) -> list[str]:
    """Pages of tables whose rows just fit, each into pages with another number of reserved bytes."""
    counts = []
    with made(ENGINE, path, settings(level, reserved_bytes=reserved_bytes), reserve=reserve, **changes) as file:
        for size in _SIZES:
            file.text(f"CREATE TABLE t{size} (id INTEGER PRIMARY KEY, bytes BLOB)")
            file.text(
                f"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)"
                f" INSERT INTO t{size} SELECT i, zeroblob({size}) FROM n"
            )
            counts.append(file.text("PRAGMA page_count"))
    return counts


def test_pages_by_size_distinguishes_reserves(tmp_path: Path) -> None:
    counts = [
        tuple(pages_by_size("none", tmp_path / f"{reserved}.db", reserved_bytes=reserved, reserve=True))
        for reserved in (0, 16, 32, 48, 64, 80, 96)
    ]
    assert len(set(counts)) == len(counts)


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_reserves_by_itself_what_it_is_said_to_reserve(tmp_path: Path, level: str) -> None:
    said = ENGINE.ciphers[level].reserved_bytes
    by_itself = pages_by_size(level, tmp_path / "encrypted.db", reserved_bytes=0, reserve=False)
    assert by_itself == pages_by_size("none", tmp_path / "plain.db", reserved_bytes=said, reserve=True)


@pytest.mark.parametrize("level", LEVELS)
def test_the_twins_of_a_run_have_equal_pages(tmp_path: Path, level: str) -> None:
    most = max(cipher.reserved_bytes for cipher in ENGINE.ciphers.values())
    encrypted = pages_by_size(level, tmp_path / "encrypted.db", reserved_bytes=most, reserve=True)
    assert encrypted == pages_by_size("none", tmp_path / "plain.db", reserved_bytes=most, reserve=True)
