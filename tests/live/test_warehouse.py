import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from support.running import private_servers, require
from support.runs import failed_checks, studied
from tdelta.engines.duckdb.engine import DuckdbEngine
from tdelta.messages.checks import AA_CHECK

QUERIES = {"sum_sales", "by_territory", "top_products", "quarter"}
# 50,000 rows: what a query reads is then a few of DuckDB's blocks. Few trials may not meet every query.
SMALL = ("--size", "5MB", "--trial-time", "0.2s", "--warmup", "0s", "--blocks", "2", "--rounds", "1..1")
ROOM = "400%"
"""A server's own tables are in its cache, too, and beside so few rows they are much of it."""

STEPS_ONLY = {"mysql", "postgres"}
"""Loads and rebuilds are each engine's own. Caches are a server's, whichever it is: MariaDB's stand for the others'."""


@dataclass(frozen=True)
class Asked:
    engine: str
    document: Any
    trials: list[dict[str, Any]]

    def read(self, caches: str) -> list[float]:
        """Reads per operation beyond the engine's cache, by trial: bytes, or a server's pages."""
        return [
            _read(self.engine, trial) / trial["total_operations"] for trial in self.trials if trial["work"] == caches
        ]


def _read(engine: str, trial: dict[str, Any]) -> float:
    if engine in private_servers():
        return float(trial["engine_counters"]["buffer_reads"])
    return float(trial["syscall_read_bytes" if engine == "duckdb" else "device_read_bytes"])


@pytest.fixture(scope="module", params=["duckdb", "sqlite", *private_servers()])
def warehouse(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    engine = request.param
    if engine == "duckdb":
        library = DuckdbEngine()
        require(library.version() is not None and library.module_version() is not None, library.install)
    cache = ROOM if engine in private_servers() else ""
    fewer = ("--vary", "work=load,rebuild") if engine in STEPS_ONLY else ()
    for place, document in studied("warehouse", engine, tmp_path_factory.mktemp(engine), *SMALL, *fewer, cache=cache):
        yield Asked(engine, document, place.trials())


def test_every_twin_has_the_same_rows_and_answers_the_same_queries(warehouse: Asked) -> None:
    assert [check for check in failed_checks(warehouse.document) if check != AA_CHECK] == []
    assert warehouse.document["errors"] == {}
    for work in ("load", "rebuild") if warehouse.engine in STEPS_ONLY else ("warm", "cold", "load", "rebuild"):
        trials = [trial for trial in warehouse.trials if trial["work"] == work]
        asked = {name for trial in trials for name, spans in trial["transactions"].items() if spans["count"]}
        assert asked
        assert asked <= QUERIES if work in ("warm", "cold") else asked == {work}
    ciphers = 3 if warehouse.engine == "duckdb" else 2  # software AES beside
    assert len({trial["cipher"] for trial in warehouse.trials}) == ciphers


def test_a_cold_operation_reads_from_beyond_the_cache_and_a_warm_one_does_not(warehouse: Asked) -> None:
    if warehouse.engine in STEPS_ONLY:
        pytest.skip("this run had loads and rebuilds only")
    cold, warm = warehouse.read("cold"), warehouse.read("warm")
    assert min(cold) > 10 * max(1.0, statistics.median(warm)), (cold, warm)


def test_a_load_writes_the_rows_and_costs_more_than_nothing(warehouse: Asked) -> None:
    for trial in warehouse.trials:
        if trial["work"] in ("load", "rebuild"):
            assert trial["operations"] == 1
            assert trial["elapsed_ns"] > 0
            assert trial["cpu_user_seconds"] + trial["cpu_system_seconds"] > 0.0
            assert trial["syscall_written_bytes"] > 500_000, trial["work"]
