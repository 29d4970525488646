"""The cost of the load loop: against nothing (a no-op client), and against a bare Rust loop on the same library.

    .venv/bin/python benches/loop.py [--operations 2000] [--pairs 1500] [--json FILE]

Point selects on a plain table of 100,000 rows that fits the cache, so that the database's own share is as small as it
gets. The two loops run in one process, in pairs, in a drawn order; the ratio of their throughputs comes with the 95 %
interval of the mean log ratio. Prints; asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import tempfile
from pathlib import Path

from tdelta import _native
from tdelta.engines.registry import dialects
from tdelta.engines.sqlite.engine import SqliteEngine, TwinSettings
from tdelta.engines.sqlite.loading import load_library
from tdelta.workloads import load

ROWS = 100_000
SEED = 20_26


def prepared_twin(folder: str) -> tuple[_native.SqliteTwin, _native.BarePointSelects]:
    """A loaded table under both loops, each with a connection of its own and a cache that holds it all."""
    engine, workload = SqliteEngine(), load("point-select", dialects())
    settings = TwinSettings("none", cache_bytes=256_000_000)
    path = Path(folder) / "bench.db"
    scale = workload.scale_for(20_000_000)
    dialect = dialects()["sqlite"]
    schema = workload.tables_sql(dialect), workload.indexes_sql(dialect)
    maker = _native.SqliteTwin(json.dumps(engine.making(path, settings, None)["options"]), 1)
    maker.load(json.dumps(workload.plan(scale)), SEED, 2, *schema)
    maker.close()
    options = json.dumps(engine.opening(path, settings, None)["options"])
    twin = _native.SqliteTwin(options, 1)
    twin.prepare(*mix(workload.rows(scale)))
    table = workload.tables[0]
    statement = f"SELECT c FROM {table.name} WHERE id = ?1"
    return twin, _native.BarePointSelects(options, statement)


def mix(rows: dict[str, int]) -> tuple[str, str]:
    """The point-select script and its constants, as the load loop takes them."""
    scripts = load("point-select", dialects()).scripts()
    transactions = [{"name": name, "weight": s["weight"], "text": s["text"]} for name, s in scripts.items()]
    return json.dumps(transactions), json.dumps({f"rows_{table}": count for table, count in rows.items()})


def trial(stream: int, operations: int) -> str:
    """A trial's orders."""
    return json.dumps(
        {"seed": SEED, "stream": stream, "operations": operations, "first_op": 1, "deadline_ns": 60_000_000_000}
    )


def noop_ns(rows: dict[str, int], operations: int, runs: int) -> list[float]:
    """Ns an operation of the loop on a client that does nothing, one figure a run."""
    costs = []
    for run in range(runs):
        report = _native.loop_cost(*mix(rows), trial(run, operations))
        costs.append(report["outcome"]["elapsed_ns"] / operations)
    return costs


def paired(twin: _native.SqliteTwin, bare: _native.BarePointSelects, rows: int, operations: int, pairs: int) -> list:
    """Log ratios of throughput, tdelta over bare, one a pair; the first three pairs warm up and are dropped."""
    order = random.Random(SEED)
    ratios = []
    for pair in range(pairs + 3):
        elapsed = {}
        for which in order.sample(["tdelta", "bare"], 2):
            if which == "bare":
                elapsed[which] = bare.run(pair, rows, operations)
            else:
                elapsed[which] = twin.trial(trial(pair, operations))["outcome"]["elapsed_ns"]
        ratios.append((math.log(elapsed["bare"] / elapsed["tdelta"]), elapsed["bare"] / operations))
    return ratios[3:]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operations", type=int, default=2_000)
    parser.add_argument("--pairs", type=int, default=1_500)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    load_library()
    workload = load("point-select", dialects())
    rows = workload.rows(workload.scale_for(20_000_000))
    costs = noop_ns(rows, 1_000_000, 15)
    with tempfile.TemporaryDirectory() as folder:
        twin, bare = prepared_twin(folder)
        pairs = paired(twin, bare, next(iter(rows.values())), arguments.operations, arguments.pairs)
        twin.close()
    logs = [log for log, _ in pairs]
    half = 1.96 * statistics.stdev(logs) / math.sqrt(len(logs))
    middle = statistics.mean(logs)
    found = {
        "noop_ns_per_operation": {"median": statistics.median(costs), "min": min(costs), "max": max(costs)},
        "throughput_ratio_tdelta_over_bare": {
            "mean": math.exp(middle),
            "ci95": [math.exp(middle - half), math.exp(middle + half)],
        },
        "bare_ns_per_operation": statistics.median(ns for _, ns in pairs),
        "pairs": len(pairs),
        "operations": arguments.operations,
        "cpus": os.cpu_count(),
    }
    print(json.dumps(found, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
