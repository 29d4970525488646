"""The load loop on a Python driver (PEP 249), against the same statements called from a bare Python loop.

    .venv/bin/python benches/dbapi.py [--drivers none sqlite3 duckdb] [--statements 500] [--pairs 400] [--json FILE]

Point selects by a drawn key, on one cursor of each driver: ``none`` does nothing, so that only calling it costs
anything; ``sqlite3`` is Python's own and the fastest there is; ``duckdb`` is the one that tdelta drives this way. The
bare loop has its keys ready, executes and fetches, and neither draws, times nor records. Both run in one process, in
pairs, in a drawn order; what tdelta's loop takes longer comes in µs per statement with the 95 % interval of the mean
difference. Prints; asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import sqlite3
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from tdelta import _native
from tdelta.engines.duckdb.worker import STYLE as DUCKDB_STYLE
from tdelta.processes.dbapi import NoDatabase, explained

ROWS = 100_000
SEED = 20_26
WARM_UP = 3
SELECT = "SELECT c FROM t WHERE id = "
TABLE = "CREATE TABLE t (id BIGINT PRIMARY KEY, c VARCHAR)"
QMARK = {"parameters": "qmark"}


@dataclass(frozen=True)
class Driver:
    """A driver: how parameters are written, for the loop and as text, and what makes its cursor."""

    style: dict[str, Any]
    mark: str
    cursor: Callable[[], Any]


def of_sqlite3() -> Any:
    """A cursor of Python's own driver, with a table in memory."""
    cursor = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False).cursor()
    cursor.execute(TABLE)
    cursor.executemany("INSERT INTO t VALUES (?, ?)", ((key, f"value {key}") for key in range(1, ROWS + 1)))
    return cursor


def of_duckdb() -> Any:
    """A cursor of DuckDB's, with a table in memory; one thread, as one connection's point selects need."""
    cursor = duckdb.connect(config={"threads": 1}).cursor()
    cursor.execute(TABLE)
    cursor.execute(f"INSERT INTO t SELECT i, 'value ' || i FROM range(1, {ROWS + 1}) AS r(i)")
    return cursor


DRIVERS = {
    "none": Driver(QMARK, "?", lambda: NoDatabase("sqlite")),
    "sqlite3": Driver(QMARK, "?", of_sqlite3),
    "duckdb": Driver(DUCKDB_STYLE, "$1", of_duckdb),
}


def bare_ns(cursor: Any, sql: str, keys: list[int]) -> int:
    """The time of the driver's own calls, from the plainest loop."""
    execute, fetchall = cursor.execute, cursor.fetchall
    began = time.perf_counter_ns()
    for key in keys:
        execute(sql, (key,))
        fetchall()
    return time.perf_counter_ns() - began


def trial_ns(twin: _native.DbApiTwin, stream: int, statements: int) -> int:
    """The time of tdelta's loop for as many."""
    orders = {"seed": SEED, "stream": stream, "operations": statements, "first_op": 1, "deadline_ns": 60 * 10**9}
    outcome = twin.trial(json.dumps(orders))["outcome"]
    if outcome["errors"] or outcome["rows"] != statements:
        raise SystemExit(f"expected a row from each of {statements} statements, found {outcome}")
    return int(outcome["elapsed_ns"])


def interval(values: list[float]) -> dict[str, Any]:
    """A mean with its 95 % interval."""
    middle, half = statistics.mean(values), 1.96 * statistics.stdev(values) / math.sqrt(len(values))
    return {"mean": middle, "ci95": [middle - half, middle + half]}


def compare(name: str, statements: int, pairs: int) -> dict[str, Any]:
    """Both loops on one cursor, in alternation; the first pairs warm up and are dropped."""
    driver = DRIVERS[name]
    cursor = driver.cursor()
    twin = _native.DbApiTwin(json.dumps(driver.style), lambda _old: cursor, 1, explained)
    script = f"\\set id random(1, :rows_t)\n{SELECT}:id;\n"
    twin.prepare(json.dumps([{"name": "select", "weight": 1, "text": script}]), json.dumps({"rows_t": ROWS}))
    order = random.Random(SEED)
    found = []
    for pair in range(pairs + WARM_UP):
        keys = [order.randint(1, ROWS) for _ in range(statements)]
        took = {}
        for which in order.sample(["tdelta", "bare"], 2):
            ns = bare_ns(cursor, SELECT + driver.mark, keys) if which == "bare" else trial_ns(twin, pair, statements)
            took[which] = ns / statements / 1e3
        found.append(took)
    twin.close()
    found = found[WARM_UP:]
    return {
        "driver": name,
        "added_us_per_statement": interval([took["tdelta"] - took["bare"] for took in found]),
        "us_per_statement": {which: statistics.median(took[which] for took in found) for which in ("tdelta", "bare")},
        "pairs": pairs,
        "statements": statements,
        "cpus": os.cpu_count(),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--drivers", nargs="+", choices=DRIVERS, default=list(DRIVERS))
    parser.add_argument("--statements", type=int, default=500)
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found = [compare(name, arguments.statements, arguments.pairs) for name in arguments.drivers]
    print(json.dumps(found, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
