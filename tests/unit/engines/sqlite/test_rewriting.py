import pytest

from tdelta.engines.embedded.actions import REWRITES
from tdelta.engines.sqlite.conversion import Conversion, ConversionStep, Target, rewrite


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


def test_every_rewrite_is_an_action() -> None:
    assert set(REWRITES) == {"encrypt", "rekey", "decrypt"}
