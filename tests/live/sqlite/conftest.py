"""These need the wheel apsw-sqlite3mc, and a folder of their own for every file."""

from pathlib import Path

import pytest

from support.running import ONCE, Answered, Place, recorded, require
from tdelta.engines.sqlite.engine import SqliteEngine
from tdelta.engines.sqlite.libraries import SQLITE3MC
from tdelta.measure import effort


@pytest.fixture(autouse=True, scope="session")
def library() -> None:
    require(SQLITE3MC.installed_version() is not None, SQLITE3MC.install)


@pytest.fixture(autouse=True)
def brief_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    """For runs within this process, as for those in another."""
    monkeypatch.setattr(effort, "PASSES", 3)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(scope="session")
def default_run(tmp_path_factory: pytest.TempPathFactory) -> Answered:
    """A small run of what is the default in everything else; for tests that only read it and its store."""
    return recorded(tmp_path_factory, "sqlite-default", "--seed", "7")


@pytest.fixture(scope="session")
def every_cipher(tmp_path_factory: pytest.TempPathFactory) -> Answered:
    ciphers = ",".join(cipher for cipher in SqliteEngine().ciphers if cipher != "none")
    options = ("--vary", f"cipher={ciphers}", "--size", "1MB", "--no-aa", "--temp-store", "file", *ONCE)
    return recorded(tmp_path_factory, "sqlite-ciphers", *options)
