import dataclasses
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

import tdelta.engines.sqlite.libraries as libraries
from tdelta.engines.sqlite.libraries import KINDS, SQLCIPHER, SQLITE3MC, WHEELS, Library
from tdelta.measure.machine import DISTRIBUTIONS

PYPROJECT = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text())["project"]
BY_PATH = Library("/lib/libsqlite3.so.0", "sqlite", "none", version="SQLite 3.40.1", sha256="ab12")


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_every_kind_has_a_plain_level_first_and_takes_keys_if_it_has_others(kind: libraries.LibraryKind) -> None:
    assert next(iter(kind.ciphers)) == "none"
    assert bool(kind.key_kinds) == (len(kind.ciphers) > 1)
    assert [name for name, cipher in kind.ciphers.items() if cipher.library_name is None] == ["none"]


def test_every_wheel_is_a_dependency_of_the_project_or_of_an_extra_of_that_name() -> None:
    required = "\n".join(PYPROJECT["dependencies"])
    for name, library in WHEELS.items():
        extra = "\n".join(PYPROJECT["optional-dependencies"].get(name, ()))
        assert library.distribution in (extra or required)
    assert SQLITE3MC.distribution in DISTRIBUTIONS


def test_a_wheel_that_is_not_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    assert (SQLCIPHER.installed_version(), SQLCIPHER.versions()) == (None, {})


def test_the_version_of_a_wheel_goes_with_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _name: "0.6.4")
    assert (SQLCIPHER.versions(), SQLCIPHER.identity()) == ({"sqlcipher3": "0.6.4"}, "sqlcipher3 0.6.4")


@pytest.mark.parametrize("change", [{"version": "SQLite 3.40.2"}, {"sha256": "ab13"}, {"name": "/opt/libsqlite3.so.0"}])
def test_a_library_by_path_is_the_same_only_with_the_same_path_version_and_bytes(change: dict[str, str]) -> None:
    assert BY_PATH.identity() == "/lib/libsqlite3.so.0 SQLite 3.40.1, sha256 ab12"
    assert dataclasses.replace(BY_PATH, **change).identity() != BY_PATH.identity()
    assert BY_PATH.versions() == {}
