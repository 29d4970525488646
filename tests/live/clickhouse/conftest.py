"""These need the wheels chdb and chdb-core (`scripts/need-clickhouse`)."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlite.running import Answered, Place, require

from tdelta.engines.clickhouse.engine import DISTRIBUTIONS, ClickhouseEngine

ENGINE = ("--engine", "clickhouse")


@pytest.fixture(autouse=True, scope="session")
def library() -> None:
    engine = ClickhouseEngine()
    require(len(engine.versions()) == len(DISTRIBUTIONS), engine.install)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory, library: None) -> Answered:
    """The study ``warehouse``, small, without warm caches; for tests that only read it and its store."""
    brief = (
        "--seed",
        "7",
        "--no-aa-twin",
        "--rounds",
        "1..1",
        "--size",
        "1MB",
        "--blocks",
        "1",
        "--vary",
        "work=load,rebuild,cold",
    )
    return Place(tmp_path_factory.mktemp("clickhouse")).answered("warehouse", *ENGINE, *brief)
