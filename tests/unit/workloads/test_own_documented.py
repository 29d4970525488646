"""``docs/your-database.md`` describes the proposal as the code makes it."""

from pathlib import Path

import pytest

from tdelta.engines.sqlite.staging import SUFFIXES
from tdelta.workloads.database import DENSE_SHARE
from tdelta.workloads.keys import MOST_KEYS, PREFIX
from tdelta.workloads.proposal import MOST_TABLES, RANGE_ROWS, SMALLEST_SHARE, WEIGHTS, TransactionKind

PAGE = (Path(__file__).parents[3] / "docs/your-database.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())


@pytest.mark.parametrize("kind", TransactionKind)
def test_the_share_of_each_kind_is_documented(kind: TransactionKind) -> None:
    assert f"| {kind} | {WEIGHTS[kind]:.0f}% |" in PAGE


def test_the_limits_of_a_proposal_are_documented() -> None:
    words = {5: "five"}[MOST_TABLES]
    assert f"the biggest tables, up to {words} (none under a hundredth of the biggest)" in TEXT
    assert SMALLEST_SHARE == 0.01
    assert f"{RANGE_ROWS} rows in the order of the key" in TEXT
    assert DENSE_SHARE == 0.99
    assert "at most 1 in 100" in TEXT
    assert f"up to {MOST_KEYS:,} keys" in TEXT
    assert f"`{PREFIX}NAME(n, k1, k2, …)`" in TEXT


def test_every_file_that_is_read_is_documented() -> None:
    assert all(f"`{suffix}`" in PAGE for suffix in SUFFIXES if suffix)
