"""The embedded engine: how its twins are made and opened. Opens nothing."""

from __future__ import annotations

import dataclasses
import json

import pytest

from tdelta.engines import SqliteEngine, TwinSettings
from tdelta.errors import UnknownName, UsageError

ENGINE = SqliteEngine()
SETTINGS = TwinSettings("aes-256", 8192, "wal", "normal", 80, 4, 4 * 1024 * 1024)
KEY = "0123456789abcdef"


def test_the_design_has_its_seven_ciphers() -> None:
    assert set(ENGINE.ciphers) == {"none", "aes-128", "aes-256", "chacha20", "aegis", "ascon128", "sqlcipher"}


def test_an_unknown_cipher_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'chacha20'"):
        ENGINE.check_ciphers(["none", "chacha"])


def test_an_unknown_synchronous_level_is_refused() -> None:
    ENGINE.check_synchronous("full")
    with pytest.raises(UnknownName, match="unknown synchronous level 'fulll'"):
        ENGINE.check_synchronous("fulll")


def test_an_unknown_temporary_store_is_refused() -> None:
    ENGINE.check_temp_store("memory")
    with pytest.raises(UnknownName, match="unknown temporary store 'ram'"):
        ENGINE.check_temp_store("ram")


def test_the_temporary_store_is_left_as_the_library_was_built_unless_it_was_asked_for() -> None:
    assert not any("temp_store" in pragma for pragma in ENGINE.open_options("t.db", SETTINGS, KEY)["pragmas"])
    asked = dataclasses.replace(SETTINGS, temp_store="file")
    assert "PRAGMA temp_store=file" in ENGINE.open_options("t.db", asked, KEY)["pragmas"]


@pytest.mark.parametrize(
    ("cipher", "found", "fault"),
    [
        ("none", {"cipher": "chacha20", "header": "plain"}, None),
        ("none", {"cipher": "chacha20", "header": "hidden"}, "its file does not begin as a plain database does"),
        ("aes-256", {"cipher": "aes256cbc", "header": "hidden"}, None),
        ("aes-256", {"cipher": "AES256CBC", "header": "hidden"}, None),
        ("aes-256", {"cipher": "aes128cbc", "header": "hidden"}, "the library says aes128cbc and not aes256cbc"),
        ("aes-256", {"cipher": "", "header": "hidden"}, "the library says nothing and not aes256cbc"),
        ("aes-256", {"cipher": "aes256cbc", "header": "plain"}, "the library says aes256cbc, and its file begins"),
    ],
)
def test_a_cipher_in_force_that_is_not_the_one_asked_for_is_told(
    cipher: str, found: dict[str, str], fault: str | None
) -> None:
    told = ENGINE.cipher_fault(cipher, found)
    assert told is None if fault is None else told is not None and told.startswith(fault)


def test_equal_reserve_is_the_most_that_any_cipher_of_the_run_needs() -> None:
    assert ENGINE.reserved_bytes(["none", "aegis", "aes-256"], "equal") == {"none": 64, "aegis": 64, "aes-256": 64}
    assert ENGINE.reserved_bytes(["none", "aegis", "aes-256"], "natural") == {"none": 0, "aegis": 64, "aes-256": 0}


def test_an_unknown_reserve_policy_is_refused() -> None:
    with pytest.raises(UsageError, match="expected equal or natural"):
        ENGINE.reserved_bytes(["none"], "most")


def test_every_cipher_but_none_needs_a_key() -> None:
    assert [cipher for cipher in ENGINE.ciphers if not ENGINE.needs_key(cipher)] == ["none"]


def test_the_cache_is_shared_out_among_the_connections() -> None:
    assert "PRAGMA cache_size=-1024" in ENGINE.open_options("t.db", SETTINGS, KEY)["pragmas"]
    tiny = dataclasses.replace(SETTINGS, cache_bytes=1)
    assert "PRAGMA cache_size=-1" in ENGINE.open_options("t.db", tiny, KEY)["pragmas"]


def test_plain_and_encrypted_twins_are_opened_with_the_same_pragmas() -> None:
    plain = ENGINE.open_options("t.db", dataclasses.replace(SETTINGS, cipher="none"), None)
    encrypted = ENGINE.open_options("t.db", SETTINGS, KEY)
    assert plain["pragmas"] == encrypted["pragmas"]
    assert (plain["cipher_pragmas"], encrypted["cipher_pragmas"]) == ([], ["PRAGMA cipher='aes256cbc'"])


def test_the_key_is_in_no_pragma() -> None:
    for options in (ENGINE.create_options("t.db", SETTINGS, KEY), ENGINE.open_options("t.db", SETTINGS, KEY)):
        assert options.pop("key") == KEY
        assert KEY not in json.dumps(options)


def test_a_file_is_made_with_its_page_size_and_reserved_bytes() -> None:
    options = ENGINE.create_options("t.db", SETTINGS, KEY)
    assert (options["create"], options["reserve"], options["pragmas"][0]) == (True, 80, "PRAGMA page_size=8192")


def test_a_plain_file_is_told_by_its_header() -> None:
    assert ENGINE.looks_plain(b"SQLite format 3\x00")
    assert not ENGINE.looks_plain(b"\x8f\x02 anything else")
