"""What all tests share: nothing is timed, and who wants them beside each other has them in a good order."""

from __future__ import annotations

import sys

import pytest
from hypothesis import settings

pytest_plugins = ["tdelta_costs", "tdelta_sharing"]

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def _no_stop_is_left() -> None:
    """No trial of this test is ended by a stop that an earlier test asked for: the flag is the process's."""
    if native := sys.modules.get("tdelta._native"):
        native.clear_stop()
