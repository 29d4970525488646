"""Share of a run that is measured, width of its interval, time of an operation: this version and an earlier one.

From the root of the repository; the earlier version is a checkout that was set up (`make setup`)::

    git worktree add ../earlier f51e7142
    .venv/bin/python benches/server_runs.py --against ../earlier [--engines mariadb] [--repeats 3] [--json FILE]

Each repeat of an engine and a workload is a run of each version, in a drawn order, with the defaults of that version
and the same `--max-time`; further options go to both. The measured share is the sum of the stored trials over the wall
clock of the command. The time of an operation is that of the unencrypted copy. Wants an idle machine. Prints as it
goes; asserts nothing.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ENGINES = ("mariadb", "mysql", "postgres")
WORKLOADS = ("read-only", "order-entry")
SEED = 20_41


def tdelta(checkout: Path, *words: str) -> str:
    """The standard output of a command; 3 (undecided) and 4 (invalid) are answers, too."""
    done = subprocess.run([checkout / ".venv/bin/tdelta", *words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3, 4):
        sys.exit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def measured_run(checkout: Path, engine: str, workload: str, max_time: str, extra: list[str]) -> dict[str, Any]:
    """One run, and its figures."""
    with tempfile.TemporaryDirectory() as folder:
        store = ["--store", f"{folder}/runs.db"]
        asked = ["--engine", engine, "--workload", workload, "--max-time", max_time, *extra]
        began = time.time()
        answer = json.loads(tdelta(checkout, "run", *asked, *store, "--dir", folder, "--json"))
        seconds = time.time() - began
        rows = list(csv.DictReader(io.StringIO(tdelta(checkout, "export", "last", "--format", "csv", *store))))
    primary = next(verdict for verdict in answer["verdicts"] if verdict["primary"])
    low, high = primary["ratio_of_means"]["hdi95"]
    measured = sum(float(row["elapsed_ns"]) for row in rows) / 1e9
    plain = [row for row in rows if row["role"] == "baseline"]
    operations = sum(int(row["operations"]) for row in plain)
    return {
        "seconds": seconds,
        "measured": measured / seconds,
        "first_trial_seconds": min(float(row["started_unix_seconds"]) for row in rows) - began,
        "blocks": len({row["block"] for row in rows}),
        "rounds": len({row["round"] for row in rows}),
        "hdi95": [low, high],
        "width": 100.0 * (high - low),
        "decision": answer["decision"],
        "us_per_operation": sum(float(row["elapsed_ns"]) for row in plain) / operations / 1e3,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", required=True, help="the earlier version")
    parser.add_argument("--engines", nargs="+", default=ENGINES)
    parser.add_argument("--workloads", nargs="+", default=WORKLOADS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--max-time", default="6m")
    parser.add_argument("--json", type=Path)
    asked, extra = parser.parse_known_args()
    builds = {"now": Path(__file__).resolve().parents[1], "earlier": asked.against.resolve()}
    order, found = random.Random(SEED), []
    for repeat in range(asked.repeats):
        for engine in asked.engines:
            for workload in asked.workloads:
                for which in order.sample(list(builds), 2):
                    run = measured_run(builds[which], engine, workload, asked.max_time, extra)
                    found.append({"engine": engine, "workload": workload, "repeat": repeat, "build": which, **run})
                    print(json.dumps(found[-1]), flush=True)
                    if asked.json:
                        asked.json.write_text(json.dumps(found, indent=2) + "\n")
    for engine in asked.engines:
        for workload in asked.workloads:
            of = [one for one in found if (one["engine"], one["workload"]) == (engine, workload)]
            share = statistics.mean(one["measured"] for one in of if one["build"] == "now")
            ratios = {name: _ratios(of, name, asked.repeats) for name in ("width", "us_per_operation")}
            listed = "; ".join(f"{name} x {_geometric(each):.3f}, each {each}" for name, each in ratios.items())
            print(f"{engine} {workload}: measured {share:.0%}; {listed}")


def _ratios(runs: list[dict[str, Any]], name: str, repeats: int) -> list[float]:
    """A figure of this version over the earlier one's, by repeat."""
    figures = {(run["build"], run["repeat"]): float(run[name]) for run in runs}
    return [round(figures["now", repeat] / figures["earlier", repeat], 3) for repeat in range(repeats)]


def _geometric(ratios: list[float]) -> float:
    return math.exp(statistics.mean(math.log(ratio) for ratio in ratios))


if __name__ == "__main__":
    main()
