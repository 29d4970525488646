import importlib.util
from pathlib import Path

import pytest
from sqlite.test_answers import checks

from support.running import Place, require
from tdelta.engines.sqlite.driver import find_library


@pytest.fixture(scope="session")
def system_sqlite() -> str:
    """The system's SQLite, which encrypts nothing."""
    folders = (Path("/usr/lib"), Path("/usr/lib64"), Path("/lib"), *Path("/usr/lib").glob("*-linux-*"))
    found = [folder / "libsqlite3.so.0" for folder in folders if (folder / "libsqlite3.so.0").exists()]
    require(found, "apt-get install libsqlite3-0")
    return str(found[0])


@pytest.fixture(scope="session")
def sqlcipher_file() -> str:
    """The wheel's module has the whole of SQLCipher in it, and shows its functions as a shared library does."""
    spec = importlib.util.find_spec("sqlcipher3._sqlite3")
    assert spec is not None
    assert spec.origin is not None
    return spec.origin


def test_a_plain_library_by_path_says_what_it_is(system_sqlite: str) -> None:
    found = find_library(system_sqlite)
    assert (found.name, found.kind, found.crypto) == (system_sqlite, "sqlite", "none")
    assert found.version is not None
    assert found.version.startswith("SQLite 3.")
    assert list(found.ciphers) == ["none"]


def test_identical_twins_of_the_systems_sqlite_can_be_compared(place: Place, system_sqlite: str) -> None:
    document = place.answer("--library", system_sqlite, "--self-test", "--no-aa")
    assert "failed" not in {state for state, _ in checks(document).values()}
    assert document["settings"]["options"]["library"] == system_sqlite
    assert document["versions"]["library under test"] == find_library(system_sqlite).version
    assert {c["levels"]["cipher"] for c in document["settings"]["conditions"]} == {"none"}


def test_sqlcipher_by_path_is_known_as_what_it_is_and_encrypts(place: Place, sqlcipher_file: str) -> None:
    found = find_library(sqlcipher_file)
    assert (found.kind, found.crypto) == ("sqlcipher", "openssl")
    document = place.answer("--library", sqlcipher_file, "--workload", "read-only", "--no-aa")
    told = checks(document)
    assert "failed" not in {state for state, _ in told.values()}
    assert told["files-encrypted"][1] == "none shows its header, aes-256 hides its header"
    assert document["settings"]["options"]["key"] == "raw"
