"""The CPU's AES instructions in a server's cold scan: excess time without them over excess time with them.

    .venv/bin/python benches/cold_scans.py --engine mariadb [--size 60MB] [--blocks 8] [--rounds 2] [--json FILE]
    .venv/bin/python benches/cold_scans.py --engine mysql --store FILE --run RUN    # of a run that is there

One run of tdelta: workload `scan`, `--cold` (each trial is one scan by a server that was just started, all caches
empty), tables encrypted only, with and without the instructions. In each block the excess is an encrypted twin's time
less that of the plain twins with the instructions; the ratio is that of the mean excesses. Its 95 % HDI is from the
Bayesian bootstrap over blocks (Rubin 1981, "The Bayesian Bootstrap", Annals of Statistics 9, 130-134), since a ratio of
differences has no simpler posterior. Prints; asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tdelta.records import Metric, Trial
from tdelta.store import Store

DRAWS = 20_000
SEED = 1981


def measured(arguments: argparse.Namespace, store: Path) -> None:
    """Run it, into a store of its own."""
    words = [sys.executable, "-m", "tdelta", "run", "--engine", arguments.engine, "--workload", "scan", "--cold"]
    words += ["--vary", f"cipher={arguments.cipher}", "--vary", "aes_instructions=on,off", "--scope", "data"]
    words += ["--size", arguments.size, "--blocks", str(arguments.blocks), "--max-time", arguments.max_time]
    words += ["--rounds", f"{arguments.rounds}..{arguments.rounds}", "--store", str(store), *arguments.extra]
    ended = subprocess.run(words, check=False).returncode
    if ended not in (0, 3):  # whether it is decided is not what is asked here
        sys.exit(f"tdelta run ended with exit code {ended}")


def excesses(trials: Sequence[Trial], cost: Metric) -> dict[str, NDArray[np.float64]]:
    """By level of the instructions: each block's time (or CPU) of the encrypted twin less the plain twins', s."""
    blocks: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for trial in trials:
        cipher, level = (str(trial.condition.level(name)) for name in ("cipher", "aes_instructions"))
        if cipher != "none":
            blocks[trial.block][level].append(value(trial, cost))
        elif level == "on":
            blocks[trial.block]["plain"].append(value(trial, cost))
    whole = [found for found in blocks.values() if {"plain", "on", "off"} <= set(found)]
    return {
        level: np.array([np.mean(found[level]) - np.mean(found["plain"]) for found in whole]) for level in ("on", "off")
    }


def value(trial: Trial, cost: Metric) -> float:
    """Seconds an operation."""
    if cost is Metric.RESPONSE_TIME:
        return trial.measurement.response_ns / 1e9
    return trial.measurement.cpu_seconds / trial.measurement.operations


def ratio(found: Mapping[str, NDArray[np.float64]]) -> tuple[float, tuple[float, float]]:
    """The ratio of mean excesses, off over on, and its 95 % HDI."""
    on, off = found["on"], found["off"]
    weights = np.random.default_rng(SEED).dirichlet(np.ones(len(on)), DRAWS)
    draws = np.sort((weights @ off) / (weights @ on))
    inside = int(0.95 * DRAWS)
    start = int(np.argmin(draws[inside:] - draws[:-inside]))
    return float(off.mean() / on.mean()), (float(draws[start]), float(draws[start + inside]))


def main() -> None:
    """Measure, or read what was measured, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", default="mariadb")
    parser.add_argument("--cipher", default="aes-256")
    parser.add_argument("--size", default="60MB")
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--max-time", default="20m")
    parser.add_argument("--store", type=Path)
    parser.add_argument("--run", default="last")
    parser.add_argument("--json", type=Path)
    parser.add_argument("extra", nargs="*", help="more options of tdelta run, after --")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = arguments.store or Path(folder) / "runs.sqlite"
        if arguments.store is None:
            measured(arguments, store)
        with Store.open(store, must_exist=True) as opened:
            trials = opened.trials(opened.resolve(arguments.run), histograms=False)
    told = {}
    for cost in (Metric.RESPONSE_TIME, Metric.CPU_PER_OPERATION):
        found = excesses(trials, cost)
        middle, (low, high) = ratio(found)
        told[cost.value] = {"ratio": middle, "hdi95": [low, high], "blocks": len(found["on"])}
        means = ", ".join(f"{level} {1e3 * values.mean():.1f} ms" for level, values in found.items())
        print(f"{cost.value}: excess a scan {means}; off over on {middle:.2f} (95 % HDI {low:.2f} … {high:.2f})")
    if arguments.json:
        arguments.json.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
