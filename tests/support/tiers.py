"""Which tests ``make test`` runs: all outside tests/live and tests/calibration, and of these the ones listed here.

``make test-all`` runs every test. One of the others that takes long is marked ``@pytest.mark.long`` where it is.
"""

from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]

BY_CHOICE = ("live", "calibration")
"""Folders of which ``make test`` runs only what `CHOSEN` names."""

EVERY = ("",)

SWEPT = ("sweep_has_a_verdict", "trials_say", "what_servers_did", "search_says", "shown_reported_and_exported")
"""The tests that read the one run of a server engine (`support.runs`)."""

CHOSEN: dict[str, tuple[str, ...]] = {
    # Simulated truth: one telling cell of each model, and a model that is too sure is caught.
    "calibration/test_grid.py": ("[normal, log ratio 0.05]", "half_as_wide"),
    "calibration/test_observed_coverage.py": ("[gamma: CV 0.6, 1000 values]", "[(3, 3) runs: differ by 0.03]"),
    "calibration/test_tails.py": ("test_short_runs_of_other_tools",),
    "calibration/test_changes.py": ("caught",),
    "calibration/test_layouts.py": ("test_the_places",),
    "calibration/test_assurance.py": ("what_is_simulated",),
    # One run of each engine, with the tests that only read it.
    "live/sqlite/test_answers.py": (
        "every_field_that_is_promised",
        "every_cipher",
        "budget_ends_in_an_exit_code",
        "checkpoints",
        "same_rows_on_every_twin",
        "terminal_shows_a_sentence",
    ),
    "live/sqlite/test_evidence.py": EVERY,
    "live/sqlite/test_api.py": EVERY,
    "live/sqlcipher/test_runs.py": ("repeats_a_run",),
    "live/duckdb/test_runs.py": ("default_run_is_sound", "every_class_of_file", "trials_hold", "every_cipher"),
    "live/mariadb/test_runs.py": (*SWEPT, "only_the_client_sees", "misses_follow_the_cache"),
    "live/mariadb/test_client.py": EVERY,
    "live/mysql/test_runs.py": SWEPT,
    "live/postgres/test_runs.py": SWEPT,
    # Leaks, kills and Ctrl-C.
    "live/sqlite/test_secrecy.py": ("[sqlite3mc", "statement_that_fails", "two_ciphers"),
    "live/sqlite/test_kills.py": EVERY,
    "live/sqlite/test_interrupts.py": ("during_rounds", "completed_by_resume", "during_set_up"),
    "live/mariadb/test_leaks.py": EVERY,
    "live/mariadb/test_kills.py": EVERY,
    # Studies, on an embedded engine and on a server.
    "live/test_warehouse.py": ("[duckdb", "[mariadb"),
    "live/test_direct_load.py": ("[duckdb", "[mariadb"),
    "live/test_dml_trace.py": ("[mariadb",),
    # Two servers of the user's.
    "live/mariadb/test_external_runs.py": ("leaves_them_as_they_were", "differ_is_told", "no_password", "ctrl_c"),
    # One page in the browser.
    "live/browser/test_report_page.py": ("[valid",),
}
"""By file: a test runs if its id contains one of these."""


def is_long(item: pytest.Item) -> bool:
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
