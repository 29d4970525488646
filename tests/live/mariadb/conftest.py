from collections.abc import Iterator
from pathlib import Path

import pytest

from support.runs import ServerPlace, occupied


@pytest.fixture
def place(tmp_path: Path) -> Iterator[ServerPlace]:
    yield from occupied("mariadb", tmp_path)
