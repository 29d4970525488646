"""What taking turns buys: the scatter of pairs of identical twins, by the length of a turn.

    .venv/bin/python benches/slices.py [--slice 0s --slice 25ms --slice 5ms --slice 2ms] [--repeats 3]

Each length runs `tdelta run --aa` for three rounds; lengths alternate in a drawn order. Printed for each: the standard
deviation, within rounds, of the log ratio of two plain twins in a block, by response time and by CPU, and the
baseline's response time, which would rise if turns were so short that caches are always cold. Asserts nothing.
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
from collections import defaultdict
from pathlib import Path

SEED = 2026


def trials(tdelta: str, length: str, seed: int, folder: str) -> list[dict[str, str]]:
    """The trials of one run, as `tdelta export --format csv` writes them."""
    store = str(Path(folder) / "runs.sqlite")
    options = ["--aa", "--slice", length, "--rounds", "3..3", "--max-time", "3m", "--seed", str(seed), "--store", store]
    ran = subprocess.run([tdelta, "run", *options, "--json"], capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 3, 4):
        sys.exit(ran.stderr)
    run_id = json.loads(ran.stdout)["run_id"]
    export = [tdelta, "export", run_id, "--format", "csv", "--store", store]
    return list(csv.DictReader(io.StringIO(subprocess.run(export, capture_output=True, text=True, check=True).stdout)))


def costs(trial: dict[str, str]) -> dict[str, float]:
    """Response time and CPU of one trial, µs an operation."""
    operations = float(trial["operations"])
    cpu = float(trial["cpu_user_seconds"]) + float(trial["cpu_system_seconds"])
    return {"response": float(trial["response_mean_ns"]) / 1000, "cpu": 1e6 * cpu / operations}


def scatter(rows: list[dict[str, str]], metric: str) -> list[float]:
    """The standard deviation of pairs' log ratios within each round."""
    blocks: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        blocks[(row["round"], row["block"])].append(math.log(costs(row)[metric]))
    rounds: dict[str, list[float]] = defaultdict(list)
    for (number, _), (first, second, *_) in blocks.items():
        rounds[number].append(second - first)
    return [statistics.stdev(pairs) for pairs in rounds.values()]


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slice", action="append", dest="lengths", default=None)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tdelta", default=str(Path(sys.executable).with_name("tdelta")))
    arguments = parser.parse_args()
    lengths = arguments.lengths or ["0s", "25ms", "5ms", "2ms"]
    runs = [(length, SEED + repeat) for length in lengths for repeat in range(arguments.repeats)]
    random.Random(SEED).shuffle(runs)
    found: dict[str, list[list[dict[str, str]]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for length, seed in runs:
            found[length].append(trials(arguments.tdelta, length, seed, folder))
    print(f"{'turn':>6}  {'pair sd, response':>18}  {'pair sd, CPU':>13}  {'response µs':>12}")
    for length in lengths:
        sds = {metric: [sd for rows in found[length] for sd in scatter(rows, metric)] for metric in ("response", "cpu")}
        plain = [costs(row)["response"] for rows in found[length] for row in rows]
        response, cpu = (100 * statistics.mean(sds[metric]) for metric in ("response", "cpu"))
        print(f"{length:>6}  {response:>16.1f} %  {cpu:>11.1f} %  {statistics.median(plain):>12.1f}")


if __name__ == "__main__":
    main()
