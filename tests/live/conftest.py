"""Live tests drive a real database. They may skip where it is missing, but not where TDELTA_REQUIRE_ENGINES is set."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.live)


@pytest.fixture(scope="module", autouse=True)
def no_client_is_left() -> Iterator[None]:
    """A native client may be dropped by the thread that made it only.

    An exception that a test caught keeps the test's frame, and the client in it, in a cycle, which is collected
    whenever and in whichever thread it comes to that: in a pool's, for one, of another module's test.
    """
    yield
    gc.collect()
