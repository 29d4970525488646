"""What Turso's twins need to be opened, without Turso."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from tdelta.engines.catalogue import catalogue
from tdelta.engines.turso.driver import driver
from tdelta.engines.turso.engine import CIPHERS, TursoEngine, TursoSettings, header
from tdelta.errors import EngineUnavailable, UnknownName
from tdelta.evidence import FileClass
from tdelta_refused import has, refused

KEY = "5e" * 32


def settings(cipher: str) -> TursoSettings:
    return TursoSettings(cipher, threads=4, cache_bytes=8 << 20)


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)


def test_what_is_missing_is_told_with_the_remedy(missing: None) -> None:
    with refused(EngineUnavailable, "not-installed", shows="tdelta[turso]"):
        driver({})
    (listed,) = (info for info in catalogue() if info.name == "turso")
    assert not listed.available
    assert "tdelta[turso]" in listed.install


def test_a_file_says_the_number_of_its_cipher_and_any_other_is_plain(tmp_path: Path) -> None:
    file = tmp_path / "twin.db"
    for head, said in (
        (b"Turso\x00\x03" + bytes(90), "cipher 3"),
        (b"SQLite format 3\x00", "plain"),
        (b"Turso\x00", "plain"),
        (b"", "plain"),
    ):
        file.write_bytes(head)
        assert header(file) == said


@pytest.mark.parametrize("cipher", [name for name in CIPHERS if name != "none"])
def test_the_cipher_in_force_is_what_library_and_header_agree_on(cipher: str) -> None:
    engine, wanted = TursoEngine(), CIPHERS[cipher]
    assert wanted is not None
    right = {"cipher": wanted.library_name, "header": f"cipher {wanted.number}"}
    assert engine.cipher_fault(settings(cipher), right) is None
    plain = engine.cipher_fault(settings(cipher), {**right, "header": "plain"})
    assert has([plain], "settings-not-in-force", settings="header")
    none = engine.cipher_fault(settings(cipher), {**right, "cipher": ""})
    assert has([none], "settings-not-in-force", settings="cipher")
    hidden = engine.cipher_fault(settings("none"), {**right, "cipher": ""})
    assert has([hidden], "settings-not-in-force", settings="header")


def test_a_plain_twin_has_no_cipher_and_no_key() -> None:
    engine = TursoEngine()
    assert engine.cipher_fault(settings("none"), {"cipher": "", "header": "plain"}) is None
    assert not engine.needs_key("none")
    options = engine.options(Path("/somewhere/twin.db"), settings("none"), None)
    assert (options["cipher"], options["key"]) == (None, None)
    assert engine.options(Path("/somewhere/twin.db"), settings("aegis-256"), KEY)["cipher"] == "aegis256"


def test_the_cache_is_shared_out_among_connections() -> None:
    assert TursoEngine().options(Path("twin.db"), settings("none"), None)["cache_kib"] == 2048


def test_keys_are_as_long_as_their_cipher_takes() -> None:
    engine = TursoEngine()
    lengths = {cipher: engine.key_bytes(cipher) for cipher in CIPHERS}
    assert lengths == {"none": 0, "aegis-256": 32, "aes-256-gcm": 32, "aes-128-gcm": 16}


def test_an_unknown_cipher_is_refused_and_temporary_files_are_not_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda _name: "0.8.3")
    turso = driver({})
    with refused(UnknownName, "unknown-name-near", near="aegis-256", found="aegis-25"):
        turso.check_cipher("aegis-25")
    assert turso.covered(settings("aegis-256")) == frozenset(FileClass) - {FileClass.TEMP}
    assert turso.cautions(settings("none")) == ()
    assert [caution.code for caution in turso.cautions(settings("aes-256-gcm"))] == ["experimental-encryption"]
    assert turso.differing(settings("none")) == ()
