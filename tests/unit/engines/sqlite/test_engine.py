import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from support.refused import has, refused
from tdelta.engines.sqlite.engine import SqliteEngine, TwinSettings
from tdelta.engines.sqlite.libraries import PASSPHRASE, RAW, SQLCIPHER, Library
from tdelta.errors import UsageError

ENGINE = SqliteEngine()
SQLCIPHER_ENGINE = SqliteEngine(SQLCIPHER)
PLAIN_ENGINE = SqliteEngine(Library("/lib/libsqlite3.so.0", "sqlite", "none", version="SQLite 3.40.1"))
SETTINGS = TwinSettings("aes-256", 4, 4 * 1024 * 1024, page_size=8192, reserved_bytes=80)
KEY = "0123456789abcdef"
PATH = Path("t.db")


def opened(engine: SqliteEngine, settings: TwinSettings, key: str | None) -> dict[str, Any]:
    return dict(engine.opening(PATH, settings, key)["options"])


def made(engine: SqliteEngine, settings: TwinSettings, key: str | None) -> dict[str, Any]:
    return dict(engine.making(PATH, settings, key)["options"])


def test_a_library_that_encrypts_nothing_refuses_every_cipher_and_says_what_can_be_done() -> None:
    PLAIN_ENGINE.check_cipher("none")
    with refused(UsageError, "plain-library", engine="SQLite", cipher="aes-256", library="libsqlite3.so.0"):
        PLAIN_ENGINE.check_cipher("aes-256")


def test_a_setting_of_the_profile_is_applied_and_expected() -> None:
    asked = dataclasses.replace(SETTINGS, given=(("temp_store", "file"), ("synchronous", "full")))
    assert {"PRAGMA temp_store=file", "PRAGMA synchronous=full"} <= {*opened(ENGINE, asked, KEY)["pragmas"]}
    found = {"journal_mode": "wal", "cache_size": "-1024", "secure_delete": "1", "temp_store": "1", "synchronous": "2"}
    assert ENGINE.unapplied(asked, found) is None
    assert has([ENGINE.unapplied(asked, found | {"synchronous": "1"})], "settings-not-in-force", settings="synchronous")


@pytest.mark.parametrize(
    ("cipher", "found", "wrong"),
    [
        ("none", {"cipher": "chacha20", "header": "plain"}, ()),
        ("none", {"cipher": "chacha20", "header": "hidden"}, ("none", "not unencrypted")),
        ("aes-256", {"cipher": "aes256cbc", "header": "hidden"}, ()),
        ("aes-256", {"cipher": "AES256CBC", "header": "hidden"}, ()),
        ("aes-256", {"cipher": "aes128cbc", "header": "hidden"}, ("cipher", "aes128cbc", "aes256cbc")),
        ("aes-256", {"cipher": "", "header": "hidden"}, ("cipher", "aes256cbc")),
        ("aes-256", {"cipher": "aes256cbc", "header": "plain"}, ("aes-256", "unencrypted")),
    ],
)
def test_a_cipher_in_force_that_is_not_the_one_asked_for_is_told(
    cipher: str, found: dict[str, str], wrong: tuple[str, ...]
) -> None:
    fault = ENGINE.fault(dataclasses.replace(SETTINGS, cipher=cipher), found)
    assert (fault is None) is (not wrong)
    assert all(word in str(fault) for word in wrong)


SAID = {"cipher": "AES-256-CBC", "cipher_use_hmac": "1", "cipher_hmac_algorithm": "HMAC_SHA512"}


def test_a_sqlcipher_without_a_status_is_judged_by_what_else_it_says() -> None:
    """SQLCipher 4.5 has no such pragma: its runs ended without an answer."""
    old = SAID | {"cipher_status": "", "header": "hidden"}
    assert SQLCIPHER_ENGINE.fault(SETTINGS, old) is None
    for wrong in ({"header": "plain"}, {"cipher": ""}, {"cipher_status": "0"}):
        assert SQLCIPHER_ENGINE.fault(SETTINGS, old | wrong) is not None


def test_reserved_bytes_are_the_most_that_any_cipher_of_the_run_needs() -> None:
    assert ENGINE.reserved_bytes(["none", "aegis", "aes-256"]) == 64


def test_keys_are_raw_where_the_library_takes_them_and_connections_are_not_the_work() -> None:
    kinds = {
        (engine.library.kind, connects): engine.key_kind(None, connects=connects)
        for engine in (ENGINE, SQLCIPHER_ENGINE, PLAIN_ENGINE)
        for connects in (False, True)
    }
    assert {where for where, kind in kinds.items() if kind == RAW} == {("sqlcipher", False)}


@pytest.mark.parametrize("connects", [False, True])
def test_the_key_that_was_asked_for_is_the_one_that_is_given(connects: bool) -> None:
    assert [SQLCIPHER_ENGINE.key_kind(kind, connects=connects) for kind in (RAW, PASSPHRASE)] == [RAW, PASSPHRASE]


def test_a_raw_key_is_refused_where_the_library_takes_none() -> None:
    with refused(UsageError, "key-kind", product="SQLite3 Multiple Ciphers", kinds="passphrase"):
        ENGINE.key_kind(RAW, connects=False)
    with refused(UsageError, "key-without-cipher", engine="SQLite", key="passphrase", library="/lib/libsqlite3.so.0"):
        PLAIN_ENGINE.key_kind(PASSPHRASE, connects=False)


@pytest.mark.parametrize(("kind", "given"), [(RAW, f"x'{KEY}'"), (PASSPHRASE, KEY)])
def test_a_raw_key_is_written_as_the_library_reads_it(kind: str, given: str) -> None:
    settings = dataclasses.replace(SETTINGS, key_kind=kind)
    for options in (
        made(SQLCIPHER_ENGINE, settings, KEY),
        opened(SQLCIPHER_ENGINE, settings, KEY),
    ):
        assert options["key"] == given


def test_sqlcipher_is_told_page_size_and_hmac_ahead_of_the_key() -> None:
    settings = dataclasses.replace(SETTINGS, cipher="aes-256-hmac-sha1")
    assert opened(SQLCIPHER_ENGINE, settings, KEY)["cipher_pragmas"] == [
        "PRAGMA cipher_default_page_size=8192",
        "PRAGMA cipher_default_use_hmac=ON",
        "PRAGMA cipher_default_hmac_algorithm=HMAC_SHA1",
    ]


@pytest.mark.parametrize("engine", [ENGINE, SQLCIPHER_ENGINE])
def test_the_plain_twin_is_opened_without_a_word_about_ciphers(engine: SqliteEngine) -> None:
    options = opened(engine, dataclasses.replace(SETTINGS, cipher="none"), None)
    assert (options["cipher_pragmas"], options["key"]) == ([], None)


def test_deleted_content_is_overwritten_on_every_twin_since_sqlcipher_does_with_a_key() -> None:
    for cipher, key in (("none", None), ("aes-256", KEY)):
        settings = dataclasses.replace(SETTINGS, cipher=cipher)
        for options in (made(ENGINE, settings, key), opened(ENGINE, settings, key)):
            assert "PRAGMA secure_delete=1" in options["pragmas"]


def test_the_cache_is_shared_out_among_the_connections() -> None:
    assert "PRAGMA cache_size=-1024" in opened(ENGINE, SETTINGS, KEY)["pragmas"]
    tiny = dataclasses.replace(SETTINGS, cache_bytes=1)
    assert "PRAGMA cache_size=-1" in opened(ENGINE, tiny, KEY)["pragmas"]


def test_plain_and_encrypted_twins_are_opened_with_the_same_pragmas() -> None:
    plain = opened(ENGINE, dataclasses.replace(SETTINGS, cipher="none"), None)
    encrypted = opened(ENGINE, SETTINGS, KEY)
    assert plain["pragmas"] == encrypted["pragmas"]
    assert (plain["cipher_pragmas"], encrypted["cipher_pragmas"]) == ([], ["PRAGMA cipher='aes256cbc'"])


def test_the_key_is_in_no_pragma() -> None:
    for options in (made(ENGINE, SETTINGS, KEY), opened(ENGINE, SETTINGS, KEY)):
        assert options.pop("key") == KEY
        assert KEY not in json.dumps(options)


def test_a_file_is_made_with_its_page_size_and_reserved_bytes() -> None:
    options = made(ENGINE, SETTINGS, KEY)
    assert (options["create"], options["reserve"], options["pragmas"][0]) == (True, 80, "PRAGMA page_size=8192")


@pytest.mark.parametrize(("head", "is_plain"), [(b"SQLite format 3\x00", True), (b"\x8f\x02 anything else", False)])
def test_a_plain_file_is_told_by_its_header(tmp_path: Path, head: bytes, is_plain: bool) -> None:
    (tmp_path / "t.db").write_bytes(head)
    assert ENGINE.shows_itself(tmp_path / "t.db") is is_plain
