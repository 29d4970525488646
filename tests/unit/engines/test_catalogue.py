from __future__ import annotations

import pytest

from tdelta.engines import SqliteEngine, catalogue, engine
from tdelta.errors import EngineUnavailable, UnknownName, UsageError


def test_every_engine_of_the_design_is_listed_once_the_one_that_runs_first() -> None:
    names = [info.name for info in catalogue()]
    assert names == ["sqlite", "duckdb", "mariadb", "mysql", "postgres", "oracle", "sqlserver"]


def test_an_engine_that_is_not_available_says_what_to_install_or_that_it_is_planned() -> None:
    assert all(info.available or info.install or "planned" in info.notes for info in catalogue())


def test_an_unknown_engine_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'postgres'"):
        engine("postgresql")


def test_a_planned_engine_is_refused_with_what_can_be_used() -> None:
    with pytest.raises(UsageError, match="use --engine sqlite"):
        engine("mysql")


def test_an_engine_without_its_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqliteEngine, "version", lambda _self: None)
    with pytest.raises(EngineUnavailable, match="pip install apsw-sqlite3mc"):
        engine("sqlite")
