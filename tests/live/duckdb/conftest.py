"""These need the wheels duckdb and duckdb-extension-httpfs, and a folder of their own for every file."""

from pathlib import Path

import pytest

from support.running import Answered, Place, require
from tdelta.engines.duckdb.engine import DuckdbEngine

ENGINE = ("--engine", "duckdb")


@pytest.fixture(autouse=True, scope="session")
def library() -> None:
    engine = DuckdbEngine()
    require(engine.version() is not None and engine.module_version() is not None, engine.install)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(scope="session")
def default_run(tmp_path_factory: pytest.TempPathFactory, library: None) -> Answered:
    """A small run of what is the default in everything else; for tests that only read it and its store."""
    return Place(tmp_path_factory.mktemp("duckdb")).answered(*ENGINE, "--seed", "7")
