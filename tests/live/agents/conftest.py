import importlib.util
import os

import pytest


@pytest.fixture(autouse=True)
def ray_is_there() -> None:
    """Without it they skip, but never where TDELTA_REQUIRE_ENGINES is set."""
    if importlib.util.find_spec("ray") is None:
        missing = pytest.fail if os.environ.get("TDELTA_REQUIRE_ENGINES") == "1" else pytest.skip
        missing("Ray is not installed: scripts/need-ray")
