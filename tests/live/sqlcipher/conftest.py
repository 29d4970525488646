"""These need the wheel sqlcipher3, and a folder of their own for every file."""

from pathlib import Path

import pytest

from support.running import Place, require
from tdelta.engines.sqlite.libraries import SQLCIPHER


@pytest.fixture(autouse=True, scope="session")
def library() -> None:
    require(SQLCIPHER.installed_version(), SQLCIPHER.install)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)
