"""Gain and cost of interleaved slices: scatter of identical twins, and the overhead found, by length of a slice.

    .venv/bin/python benches/slices.py [--slice 0s --slice 50ms --slice 20ms --slice 5ms] [--repeats 4]

Each run is `tdelta run` with a plain twin, its A/A twin and one cipher for four rounds; lengths alternate in a drawn
order. Printed for each length: the standard deviation, within rounds, of the log ratio of the two plain twins in a
block; the baseline's response time, which rises if slices are so short that caches are always cold; and the cipher's
overhead, which that would pull towards none, as the mean over runs with its standard error. Asserts nothing.
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
from dataclasses import dataclass
from pathlib import Path

SEED = 2026
Trials = list[dict[str, str]]


@dataclass(frozen=True)
class Run:
    """One run: its trials, and the overhead it found by metric, points."""

    trials: Trials
    overhead: dict[str, float]


def conduct(tdelta: str, length: str, cipher: str, seed: int, folder: str, extra: list[str]) -> Run:
    """Run once, and read the answer and the trials."""
    store = ["--store", str(Path(folder) / "runs.sqlite")]
    options = ["--vary", f"cipher={cipher}", "--slice", length, "--rounds", "4..4", "--max-time", "5m"]
    ran = subprocess.run(
        [tdelta, "run", *options, "--seed", str(seed), *store, "--json", *extra],
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode not in (0, 3, 4):
        sys.exit(ran.stderr)
    document = json.loads(ran.stdout)
    export = [tdelta, "export", document["run_id"], "--format", "csv", *store]
    table = subprocess.run(export, capture_output=True, text=True, check=True).stdout
    found = {
        v["metric"]: 100 * (v["ratio_of_means"]["median"] - 1)
        for v in document["verdicts"]
        if v["transaction"] == "all"
    }
    return Run(list(csv.DictReader(io.StringIO(table))), found)


def cost(trial: dict[str, str], metric: str) -> float:
    """Response time or CPU of one trial, µs per operation."""
    if metric == "response":
        return float(trial["response_mean_ns"]) / 1000
    return 1e6 * (float(trial["cpu_user_seconds"]) + float(trial["cpu_system_seconds"])) / float(trial["operations"])


def scatter(trials: Trials, metric: str) -> list[float]:
    """The standard deviation of the log ratio A/A twin over baseline, within each round."""
    blocks: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for trial in trials:
        blocks[(trial["round"], trial["block"])][trial["role"]] = math.log(cost(trial, metric))
    rounds: dict[str, list[float]] = defaultdict(list)
    for (number, _), by_role in blocks.items():
        rounds[number].append(by_role["aa"] - by_role["baseline"])
    return [statistics.stdev(pairs) for pairs in rounds.values()]


def line(length: str, runs: list[Run]) -> str:
    """One row of the table."""
    sd = {m: 100 * statistics.mean(x for run in runs for x in scatter(run.trials, m)) for m in ("response", "cpu")}
    plain = [cost(t, "response") for run in runs for t in run.trials if t["role"] == "baseline"]
    text = f"{length:>6}  {sd['response']:>6.1f} %  {sd['cpu']:>6.1f} %  {statistics.median(plain):>11.1f}"
    for metric in ("response_time", "cpu_per_operation"):
        overheads = [run.overhead[metric] for run in runs]
        error = statistics.stdev(overheads) / math.sqrt(len(overheads)) if len(overheads) > 1 else math.nan
        text += f"  {statistics.mean(overheads):>+8.1f} ± {error:.1f}"
    return text


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slice", action="append", dest="lengths", default=None)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--cipher", default="aes-256")
    parser.add_argument("--tdelta", default=str(Path(sys.executable).with_name("tdelta")))
    parser.add_argument("extra", nargs="*", help="more options of tdelta run, after --")
    arguments = parser.parse_args()
    lengths = arguments.lengths or ["0s", "50ms", "20ms", "5ms"]
    runs = [(length, SEED + repeat) for repeat in range(arguments.repeats) for length in lengths]
    random.Random(SEED).shuffle(runs)
    found: dict[str, list[Run]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for number, (length, seed) in enumerate(runs):
            found[length].append(conduct(arguments.tdelta, length, arguments.cipher, seed, folder, arguments.extra))
            print(f"{number + 1}/{len(runs)}", file=sys.stderr, flush=True)
    print("  slice A/A pair sd: response, CPU  baseline µs  overhead, points: response, CPU")
    for length in lengths:
        print(line(length, found[length]))


if __name__ == "__main__":
    main()
