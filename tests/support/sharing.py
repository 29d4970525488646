"""How ``make test`` shares tests out among its processes: what is long first, what shares a fixture together.

A class, or a module outside classes, goes to one process as a whole, as ``--dist loadscope`` has it, for its tests
share a server or a run. Three studies run once for each engine, which takes minutes: there the engine is the scope.
Benches and simulated experiments share nothing.
"""

import functools
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

HERE = Path(__file__).parents[1]

BY_ENGINE = ("live/test_warehouse.py", "live/test_direct_load.py", "live/test_dml_trace.py")
"""Files whose only parameter is the engine of the run that their tests read."""

BY_TEST = ("live/benches/test_benches.py", "calibration/test_coverage.py")

LONGEST_FIRST = (
    *BY_ENGINE,
    "live/benches",
    "live/mysql",
    "live/sqlite/test_own_database.py",
    "live/mariadb",
    "live/duckdb",
    "live/postgres",
    "live",
    "calibration",
)
"""A long scope that begins late keeps one process when the others have nothing left; short ones fill the gaps."""


@functools.cache  # a file has many tests
def rank(path: Path) -> int:
    return next((at for at, name in enumerate(LONGEST_FIRST) if path.is_relative_to(HERE / name)), len(LONGEST_FIRST))


def scope(nodeid: str) -> str:
    name, bracket, parameter = nodeid.partition("[")
    file, _, _ = name.partition("::")
    if file.endswith(BY_TEST):
        return nodeid
    return name.rpartition("::")[0] + (bracket + parameter if file.endswith(BY_ENGINE) else "")


class Sharing(LoadScopeScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling | None:
    return Sharing(config, log) if config.getvalue("dist") == "loadscope" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: rank(item.path))
