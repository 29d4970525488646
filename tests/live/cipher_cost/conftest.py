"""These need the machine's own libcrypto."""

import json
import os

import pytest

from tdelta import _native


@pytest.fixture(autouse=True, scope="session")
def library() -> None:
    plan = {"library": None, "tasks": [], "ring_bytes": 0, "batch_ns": 0, "seed": 0}
    try:
        _native.FloorMeter(json.dumps(plan))
    except _native.NativeError as error:
        if os.environ.get("TDELTA_REQUIRE_ENGINES") == "1":
            pytest.fail(str(error))
        pytest.skip(f"{error.args[1]}: apt-get install libssl3")
