"""Live tests drive a real database. They may skip where it is missing, but not where TDELTA_REQUIRE_ENGINES is set."""

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = os.path.dirname(__file__)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.live)
