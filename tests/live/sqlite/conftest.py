"""These need the wheel apsw-sqlite3mc, and a folder of their own for every file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tdelta.engines import SqliteEngine

from .running import Place


@pytest.fixture(autouse=True, scope="session")
def library() -> None:
    if SqliteEngine().version() is None:
        message = "apsw-sqlite3mc is not installed: pip install apsw-sqlite3mc"
        if os.environ.get("TDELTA_REQUIRE_ENGINES") == "1":
            pytest.fail(message)
        pytest.skip(message)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)
