"""These need JAGS (`scripts/need-jags`); without it they skip, but never where TDELTA_REQUIRE_ENGINES is set."""

import os

import pytest

from .running import is_here


@pytest.fixture(autouse=True, scope="session")
def jags() -> None:
    if not is_here():
        missing = pytest.fail if os.environ.get("TDELTA_REQUIRE_ENGINES") == "1" else pytest.skip
        missing("no jags: scripts/need-jags, or apt-get install jags")
