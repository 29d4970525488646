"""How much of a server run is measured, and how wide its interval is, against an earlier version, in alternation.

From the root of the repository; the earlier version is a checkout that was set up (`make setup`)::

    git worktree add ../earlier f51e7142
    .venv/bin/python benches/server_runs.py --against ../earlier [--engines mariadb] [--repeats 3] [--json FILE]

Each repeat of an engine and a workload is a run of each version, in a drawn order, with the defaults of that version
and the same `--max-time`. Measured is the sum of the trials that are stored, over the wall clock of the command. Wants
an idle machine. Prints as it goes; asserts nothing.
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
    return {
        "seconds": seconds,
        "measured": measured / seconds,
        "first_trial_seconds": min(float(row["started_unix_seconds"]) for row in rows) - began,
        "blocks": len({row["block"] for row in rows}),
        "rounds": len({row["round"] for row in rows}),
        "hdi95": [low, high],
        "width": 100.0 * (high - low),
        "decision": answer["decision"],
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
            logs = [
                math.log(_width(of, "now", repeat) / _width(of, "earlier", repeat)) for repeat in range(asked.repeats)
            ]
            share = statistics.mean(one["measured"] for one in of if one["build"] == "now")
            print(f"{engine} {workload}: width x {math.exp(statistics.mean(logs)):.2f}, measured {share:.0%}")


def _width(runs: list[dict[str, Any]], build: str, repeat: int) -> float:
    (one,) = [run for run in runs if (run["build"], run["repeat"]) == (build, repeat)]
    return float(one["width"])


if __name__ == "__main__":
    main()
