"""Which tests ``make test`` runs: all outside tests/live and tests/calibration, and of these the ones listed here.

``make test-all`` runs every test. One of the others that takes long is marked ``@pytest.mark.long`` where it is.
"""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]

BY_CHOICE = ("live", "calibration")
"""Folders of which ``make test`` runs only what `CHOSEN` names."""

EVERY = ("",)

CHOSEN: dict[str, tuple[str, ...]] = {
    # Simulated truth: one telling cell of each model, and a model that is too sure is caught.
    "calibration/test_grid.py": ("[normal, log ratio 0.05]", "half_as_wide"),
    "calibration/test_observed_coverage.py": ("[gamma: CV 0.6, 1000 values]", "[(3, 3) runs: differ by 0.03]"),
    "calibration/test_tails.py": ("test_runs_of_other_tools",),
    "calibration/test_changes.py": ("caught",),
    "calibration/test_layouts.py": ("test_the_places",),
    "calibration/test_assurance.py": ("what_is_simulated",),
    # One run of each engine, and its protocol client.
    "live/sqlite/test_answers.py": EVERY,
    "live/sqlite/test_evidence.py": EVERY,
    "live/sqlite/test_api.py": EVERY,
    "live/sqlite/test_documented.py": EVERY,
    "live/sqlcipher/test_runs.py": EVERY,
    "live/duckdb/test_runs.py": EVERY,
    "live/mariadb/test_runs.py": EVERY,
    "live/mariadb/test_client.py": EVERY,
    "live/mysql/test_runs.py": EVERY,
    "live/postgres/test_runs.py": EVERY,
    # Leaks, kills and Ctrl-C.
    "live/sqlite/test_secrecy.py": EVERY,
    "live/sqlite/test_kills.py": EVERY,
    "live/sqlite/test_interrupts.py": EVERY,
    "live/mariadb/test_leaks.py": EVERY,
    "live/mariadb/test_kills.py": EVERY,
    # The studies, on an embedded engine and on a server.
    "live/test_warehouse.py": ("[duckdb", "[mariadb"),
    "live/test_direct_load.py": ("[duckdb", "[mariadb"),
    "live/test_dml_trace.py": ("[mariadb",),
    # Servers of the user's.
    "live/mariadb/test_external_runs.py": EVERY,
    # The page in a browser.
    "live/browser/test_report_page.py": ("[sound]",),
}
"""By file: a test runs if its id contains one of these."""


def is_long(item: pytest.Item) -> bool:
    """Whether only ``make test-all`` runs a test."""
    path = item.path.relative_to(HERE).as_posix()
    if item.get_closest_marker("long") is not None:
        return True
    if not path.startswith(tuple(f"{folder}/" for folder in BY_CHOICE)):
        return False
    return not any(part in item.nodeid for part in CHOSEN.get(path, ()))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="run what `make test` runs (tests/support/tiers.py)")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--quick"):
        return
    long = [item for item in items if is_long(item)]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if not is_long(item)]
