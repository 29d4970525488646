"""These need the wheel pyturso."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlite.running import Answered, Place, require

from tdelta.engines.turso.engine import TursoEngine

ENGINE = ("--engine", "turso")


@pytest.fixture(autouse=True, scope="session")
def library() -> None:
    engine = TursoEngine()
    require(engine.version() is not None, engine.install)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory, library: None) -> Answered:
    """The study ``order-entry``, small: every cipher, four writers; for tests that only read it and its store."""
    return Place(tmp_path_factory.mktemp("turso")).answered("order-entry", *ENGINE, "--seed", "7", "--no-aa-twin")
