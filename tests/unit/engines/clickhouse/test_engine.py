"""What ClickHouse's twins need to be opened, without ClickHouse."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tdelta.engines.catalogue import catalogue
from tdelta.engines.clickhouse.driver import driver
from tdelta.engines.clickhouse.engine import (
    CIPHERS,
    FILES,
    HEADER_BYTES,
    ClickhouseEngine,
    ClickhouseSettings,
    configuration,
    header,
    literal,
    quoted,
)
from tdelta.errors import EngineUnavailable, UnknownName
from tdelta.evidence import FileClass
from tdelta_refused import Part, has, refused

KEY = "5e" * 32
HOME = Path("/somewhere/a & b")


def settings(cipher: str, *, is_cold: bool = False) -> ClickhouseSettings:
    return ClickhouseSettings(cipher, threads=1, engine_threads=2, is_cold=is_cold)


def written(home: Path, name: str, number: int | None, more: bytes = b"") -> None:
    """A file on a twin's disk, with the header of a cipher or without one."""
    path = home / FILES / "store" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    head = b"" if number is None else b"ENC\x02\x00" + number.to_bytes(2, "little")
    path.write_bytes(head.ljust(HEADER_BYTES, b"\x07") + more)


def installed(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    def version(name: str) -> str:
        if name.replace("-", "_") not in versions:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name.replace("-", "_")]

    monkeypatch.setattr(importlib.metadata, "version", version)


@pytest.mark.parametrize(
    ("versions", "told"),
    [({}, "chdb, chdb-core not installed"), ({"chdb": "4.4.0"}, "'clickhouse': chdb-core not installed")],
)
def test_what_is_missing_is_told_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], told: str
) -> None:
    installed(monkeypatch, **versions)
    with refused(EngineUnavailable, "not-installed", missing=Part("chdb-core")):
        driver({})
    (listed,) = (info for info in catalogue() if info.name == "clickhouse")
    assert not listed.available
    assert "tdelta[clickhouse]" in listed.install


def test_the_configuration_has_the_same_disk_on_every_twin_encrypted_or_not() -> None:
    engine = ClickhouseEngine()
    plain = ET.fromstring(configuration(engine.options(HOME, settings("none"), None)))
    of_plain = plain.find("storage_configuration/disks/twin")
    assert of_plain is not None
    assert [one.text for one in of_plain] == ["local", f"{HOME}/files/"]
    key = KEY[:32]
    encrypted = ET.fromstring(configuration(engine.options(HOME, settings("aes-128-ctr"), key)))
    disks = encrypted.find("storage_configuration/disks")
    assert disks is not None
    assert [[one.text for one in disk] for disk in disks] == [
        ["local", f"{HOME}/files/"],
        ["encrypted", "files", "AES_128_CTR", key],
    ]
    assert plain.findtext("merge_tree/disk") == encrypted.findtext("merge_tree/disk") == "twin"
    for one in (plain, encrypted):
        disks = one.find("storage_configuration")
        assert disks is not None
        one.remove(disks)
    assert ET.tostring(plain) == ET.tostring(encrypted), "in nothing else do they differ"


def test_a_key_and_an_algorithm_are_given_together_or_not_at_all() -> None:
    options = ClickhouseEngine().options(HOME, settings("aes-256-ctr"), KEY)
    for wrong in ({"key": None}, {"algorithm": None}):
        with pytest.raises(ValueError, match="key"):
            configuration({**options, **wrong})


def test_the_header_is_that_of_every_file(tmp_path: Path) -> None:
    assert header(tmp_path) == "nothing"
    written(tmp_path, "a.bin", 2, b"rows")
    written(tmp_path, "b.bin", 2)
    assert header(tmp_path) == "cipher 2"
    written(tmp_path, "c.bin", 0)
    assert header(tmp_path) == "cipher 0 and cipher 2"
    written(tmp_path, "d.bin", None, b"rows")
    assert header(tmp_path).split(" and ") == ["cipher 0", "cipher 2", "plain"]


def test_a_file_too_short_for_a_header_is_plain(tmp_path: Path) -> None:
    written(tmp_path, "a.bin", 2)
    (tmp_path / FILES / "store" / "a.bin").write_bytes(b"ENC\x02\x00\x02\x00")
    assert header(tmp_path) == "plain"


@pytest.mark.parametrize("cipher", [name for name in CIPHERS if name != "none"])
def test_the_cipher_in_force_is_what_the_disk_and_every_header_say(cipher: str) -> None:
    engine, wanted = ClickhouseEngine(), CIPHERS[cipher]
    assert wanted is not None
    right = {"is_encrypted": "1", "disks": "twin", "header": f"cipher {wanted.number}"}
    assert engine.cipher_fault(settings(cipher), right) is None
    for name, wrong in (("is_encrypted", "0"), ("disks", "default, twin"), ("header", "cipher 1 and plain")):
        fault = engine.cipher_fault(settings(cipher), {**right, name: wrong})
        assert has([fault], "settings-not-in-force", settings=name, differences=Part(wrong))
    plain = {"is_encrypted": "0", "disks": "twin", "header": "plain"}
    assert engine.cipher_fault(settings("none"), plain) is None
    fault = engine.cipher_fault(settings("none"), {**plain, "header": right["header"]})
    assert has([fault], "settings-not-in-force", settings="header")


def test_keys_are_as_long_as_their_cipher_takes() -> None:
    lengths = {cipher: ClickhouseEngine().key_bytes(cipher) for cipher in CIPHERS}
    assert lengths == {"none": 0, "aes-256-ctr": 32, "aes-192-ctr": 24, "aes-128-ctr": 16}


@pytest.mark.parametrize(
    ("value", "sql"),
    [(None, "NULL"), (7, "7"), (-0.5, "-0.5"), ("it's \\", "'it\\'s \\\\'"), (b"\x00\xff", "unhex('00ff')")],
)
def test_a_value_is_written_as_sql(value: object, sql: str) -> None:
    assert literal(value) == sql
    assert quoted("a`b") == "`a\\`b`"


def test_what_is_said_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, chdb="4.4.0", chdb_core="26.9.0")
    clickhouse = driver({})
    assert clickhouse.identity() == "chdb 4.4.0, chdb-core 26.9.0"
    with refused(UnknownName, "unknown-name-near", near="aes-256-ctr", found="aes-256"):
        clickhouse.check_cipher("aes-256")
    assert clickhouse.covered(settings("none")) == frozenset(FileClass) - {FileClass.TEMP}
    assert [caution.code for caution in clickhouse.cautions(settings("none"))] == ["cache-of-system"]
    assert clickhouse.cautions(settings("none", is_cold=True)) == ()
    assert clickhouse.differing(settings("none")) == ()
    assert "AES_192_CTR" in clickhouse.differing(settings("aes-192-ctr"))[1]
