"""These need the wheel apsw-sqlite3mc, and a folder of their own for every file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdelta.engines import SQLITE3MC

from .running import Place, require


@pytest.fixture(autouse=True, scope="session")
def library() -> None:
    require(SQLITE3MC.installed_version() is not None, SQLITE3MC.install)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)
