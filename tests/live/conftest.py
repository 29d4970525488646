"""Live tests drive a real database. They may skip where it is missing, but not where TDELTA_REQUIRE_ENGINES is set."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.live)
