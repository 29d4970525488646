"""The study ``warehouse`` at a small scale: four queries, warm and cold."""

from __future__ import annotations

import pytest
from sqlite.running import Answered, Place
from sqlite.test_answers import checks, trials_of

from .conftest import ENGINE

QUERIES = {"sum_sales", "by_territory", "top_products", "quarter"}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Answered:
    # 50,000 rows: what a query reads is then a few of DuckDB's blocks.
    options = ("--size", "5MB", "--trial-seconds", "0.2", "--rounds", "1..1", "--no-aa-twin")
    return Place(tmp_path_factory.mktemp("warehouse")).answered("warehouse", *ENGINE, *options)


def test_every_query_runs_on_twins_with_the_same_rows(warehouse: Answered) -> None:
    assert all(ok for name, (ok, _) in checks(warehouse.document).items() if not name.startswith("a/a"))
    trials = trials_of(warehouse.place)
    assert {name for trial in trials for name in trial["transactions"]} == QUERIES
    assert {(trial["cipher"], trial["caches"]) for trial in trials} == {
        (cipher, caches) for cipher in ("none", "aes-256-gcm") for caches in ("warm", "cold")
    }


def test_a_cold_operation_reads_the_disk_each_time_and_a_warm_one_does_not(warehouse: Answered) -> None:
    for trial in trials_of(warehouse.place):
        read = trial["asked_read_bytes"] / trial["executed_operations"]
        assert (read > 200_000) is (trial["caches"] == "cold"), trial["condition"]
        assert trial["operations"] == 4 or trial["caches"] == "warm"


def test_what_was_published_stands_beside_it(warehouse: Answered) -> None:
    page = warehouse.place.base / "report.html"
    assert warehouse.place.tdelta("report", "last", "--output", str(page)).code == 0
    assert "SUM from disk" in page.read_text()
