"""What all tests share: nothing is timed, and of two processes none is left with a long file at the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

HERE = Path(__file__).parent
LONG = (HERE / "live", HERE / "calibration")

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first: `make test` shares files out among processes, and short ones fill the gaps at the end."""
    items.sort(key=lambda item: not any(item.path.is_relative_to(folder) for folder in LONG))
