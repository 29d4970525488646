"""Which tests go to one process together, and which files come first."""

from __future__ import annotations

import pytest

from support.sharing import BY_ENGINE, BY_TEST, HERE, LONGEST_FIRST, rank, scope


@pytest.mark.parametrize(
    ("nodeid", "together"),
    [
        ("tests/unit/test_a.py::test_x[1-a::b]", "tests/unit/test_a.py"),
        ("tests/live/mysql/test_runs.py::TestMysqlRuns::test_x", "tests/live/mysql/test_runs.py::TestMysqlRuns"),
        ("tests/live/test_warehouse.py::test_x[mysql]", "tests/live/test_warehouse.py[mysql]"),
        ("tests/live/benches/test_benches.py::test_a_bench_runs[nuts]",) * 2,
    ],
    ids=["a module", "a class", "a study", "a bench"],
)
def test_what_shares_a_fixture_goes_together(nodeid: str, together: str) -> None:
    assert scope(nodeid) == together


def test_what_is_named_is_there() -> None:
    assert [name for name in (*BY_ENGINE, *BY_TEST, *LONGEST_FIRST) if not (HERE / name).exists()] == []


def test_studies_come_first_and_what_is_short_last() -> None:
    files = ("unit/test_entry.py", "live/sqlite/test_kills.py", "calibration/test_tails.py", "live/mysql/test_runs.py")
    paths = [HERE / name for name in (*files, *BY_ENGINE)]
    assert [path.name for path in sorted(paths, key=rank)] == [
        *("test_warehouse.py", "test_direct_load.py", "test_dml_trace.py"),
        *("test_runs.py", "test_kills.py", "test_tails.py", "test_entry.py"),
    ]
