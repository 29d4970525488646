import dataclasses
from pathlib import Path

import pytest

from support.refused import Part, refused
from tdelta.engines.sqlite.conversion import Conversion, ConversionStep, Layout, Target, conversion, rewrite
from tdelta.engines.sqlite.engine import SqliteEngine, TwinSettings
from tdelta.errors import UsageError

FOUND = Layout(page_size=4096, reserved_bytes=0, auto_vacuum=2, user_version=7, application_id=-5)
PLAIN = Target("/twins/it's.db", 4096, 0)
ENCRYPTED = dataclasses.replace(PLAIN, is_encrypted=True, cipher_pragmas=("PRAGMA cipher='aes256cbc'",))


def texts(made: Conversion) -> list[str]:
    return [step.sql or f"reserve {step.reserved_bytes} in {step.schema}" for step in made.steps]


def test_a_plain_copy_of_the_same_layout_needs_no_step() -> None:
    assert conversion("sqlite3mc", FOUND, PLAIN) == Conversion(True, ())


@pytest.mark.parametrize("changes", [{"page_size": 8192}, {"reserved_bytes": 80}])
def test_another_page_size_or_reserve_is_a_rebuild_with_the_page_size_first(changes: dict[str, int]) -> None:
    """``PRAGMA page_size`` forgets a reserve that was asked for before it."""
    wanted = dataclasses.replace(PLAIN, **changes)
    assert texts(conversion("sqlite3mc", FOUND, wanted)) == [
        f"PRAGMA page_size={wanted.page_size}",
        f"reserve {wanted.reserved_bytes} in main",
        "VACUUM",
    ]


def test_multiple_ciphers_encrypts_in_place() -> None:
    made = conversion("sqlite3mc", FOUND, ENCRYPTED)
    assert (made.is_in_place, texts(made)) == (True, ["PRAGMA cipher='aes256cbc'", "PRAGMA rekey = :key"])


def test_the_page_size_changes_before_the_encryption_and_a_shared_reserve_after_it() -> None:
    wanted = dataclasses.replace(ENCRYPTED, page_size=8192, own_reserved_bytes=32, reserved_bytes=80)
    assert texts(conversion("sqlite3mc", FOUND, wanted)) == [
        "PRAGMA page_size=8192",
        "VACUUM",
        "PRAGMA cipher='aes256cbc'",
        "PRAGMA rekey = :key",
        "reserve 80 in main",
        "VACUUM",
    ]


def test_sqlcipher_exports_plain_and_encrypted_twins_alike_and_sets_what_the_export_leaves_out() -> None:
    pragmas = ("PRAGMA cipher_default_page_size=4096", "PRAGMA cipher_default_use_hmac=OFF")
    without_hmac = dataclasses.replace(ENCRYPTED, cipher_pragmas=pragmas, own_reserved_bytes=16, reserved_bytes=80)
    encrypted = conversion("sqlcipher", FOUND, without_hmac)
    plain = conversion("sqlcipher", FOUND, dataclasses.replace(PLAIN, reserved_bytes=80))
    assert not encrypted.is_in_place
    assert not plain.is_in_place
    assert texts(encrypted)[:3] == [
        "PRAGMA cipher_default_page_size=4096",
        "PRAGMA cipher_default_use_hmac=OFF",
        "ATTACH DATABASE '/twins/it''s.db' AS twin KEY :key",
    ]
    assert texts(plain)[:2] == ["ATTACH DATABASE '/twins/it''s.db' AS twin KEY ''", "PRAGMA twin.page_size = 4096"]
    assert texts(encrypted)[3:] == texts(plain)[2:]
    assert texts(plain)[2].split()[:2] == ["reserve", "80"]
    for told in ("auto_vacuum = 2", "sqlcipher_export('twin')", "user_version = 7", "application_id = -5", "DETACH"):
        assert any(told in text for text in texts(plain)), told


def test_only_the_step_with_the_key_is_told_so() -> None:
    for kind in ("sqlite3mc", "sqlcipher"):
        keyed = [step for step in conversion(kind, FOUND, ENCRYPTED).steps if step.is_keyed]
        assert [step.sql.count(":key") for step in keyed] == [1]
        assert keyed[0].sql.endswith(":key")


def test_a_library_that_cannot_encrypt_makes_plain_twins_and_refuses_others() -> None:
    assert conversion("sqlite", FOUND, PLAIN) == Conversion(True, ())
    with refused(UsageError, "unsupported", by=Part("sqlite"), what="encrypting --database"):
        conversion("sqlite", FOUND, ENCRYPTED)


def test_the_engine_names_cipher_and_reserve_of_a_twin() -> None:
    settings = TwinSettings("chacha20", reserved_bytes=80)
    made = SqliteEngine().conversion("/t.db", settings, FOUND)
    assert texts(made) == ["PRAGMA cipher='chacha20'", "PRAGMA rekey = :key", "reserve 80 in main", "VACUUM"]
    plain = SqliteEngine().conversion("/t.db", dataclasses.replace(settings, cipher="none"), FOUND)
    assert "rekey" not in " ".join(texts(plain))


def test_a_copy_is_worked_on_without_a_key_and_with_temporary_files_on_disk() -> None:
    options = SqliteEngine().converting(Path("/o.db"))["options"]
    assert (options["key"], options["cipher_pragmas"]) == (None, [])
    assert "PRAGMA temp_store=FILE" in options["pragmas"]


def target(reserved_bytes: int = 0, *, is_encrypted: bool = False) -> Target:
    pragmas = ("PRAGMA cipher='aes256cbc'",)
    return Target("/new.db", 4096, reserved_bytes, is_encrypted=is_encrypted, cipher_pragmas=pragmas)


@pytest.mark.parametrize("change", ["encrypt", "rekey"])
def test_multiple_ciphers_rekeys_in_place_and_the_plain_twin_writes_every_page(change: str) -> None:
    steps = (ConversionStep("PRAGMA cipher='aes256cbc'"), ConversionStep("PRAGMA rekey = :key", is_keyed=True))
    assert rewrite("sqlite3mc", change, target(is_encrypted=True), is_encrypted=True) == Conversion(True, steps)
    of_plain = rewrite("sqlite3mc", change, target(32), is_encrypted=False)
    assert not of_plain.steps
    assert of_plain.is_in_place


def test_a_file_that_keeps_fewer_bytes_of_its_pages_once_it_is_plain_is_rebuilt_on_both_twins() -> None:
    assert rewrite("sqlite3mc", "decrypt", target(32), is_encrypted=True).steps == (
        ConversionStep("PRAGMA rekey = ''"),
    )
    rebuilt = (ConversionStep(schema="main", reserved_bytes=0), ConversionStep("VACUUM"))
    assert rewrite("sqlite3mc", "decrypt", target(32), is_encrypted=False).steps == rebuilt
    assert not rewrite("sqlite3mc", "decrypt", target(), is_encrypted=False).steps


@pytest.mark.parametrize("change", ["encrypt", "decrypt"])
def test_sqlcipher_exports_into_a_new_file_with_a_key_or_without(change: str) -> None:
    keyed = rewrite("sqlcipher", change, target(80, is_encrypted=change == "encrypt"), is_encrypted=True)
    plain = rewrite("sqlcipher", change, target(80), is_encrypted=False)
    export = ConversionStep("SELECT sqlcipher_export('twin')")
    assert export in keyed.steps
    assert export in plain.steps
    assert any(step.is_keyed for step in keyed.steps) == (change == "encrypt")
    assert not any(step.is_keyed for step in plain.steps)
    assert not keyed.is_in_place
    assert not plain.is_in_place


def test_sqlcipher_changes_a_key_in_place() -> None:
    assert rewrite("sqlcipher", "rekey", target(80, is_encrypted=True), is_encrypted=True).is_in_place
    assert rewrite("sqlcipher", "rekey", target(80), is_encrypted=False) == Conversion(True, ())
