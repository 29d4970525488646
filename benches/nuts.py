"""The models of tdelta's own runs: its two stages against NUTS on the whole model. Time, agreement, effective draws.

From the root of the repository::

    .venv/bin/python benches/nuts.py
    .venv/bin/python benches/nuts.py --rounds 4 --rounds 12

Simulated runs of six blocks per round: baseline, A/A twin and two treatments for the rounds' model; one treatment and
three transaction types for the pooled one. NUTS' time is that of two chains with warm-up and compilation; ours that of
a whole `interim_estimates` (rounds) or `analyze_run` (types: all metrics, contrasts and checks as well), the
median of 10 calls.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from calibration.chains import Chains
from calibration.nuts import experiment, sample
from calibration.simulation import AA, BASELINE, HEAVIER, TREATMENT, Machine, settings, simulate
from tdelta.inference.run_analysis import analyze_run, interim_estimates
from tdelta.records import Estimate, Role, Trial

CALLS = 10
HEAD = (
    "model | trials | what | tdelta ms | NUTS s | effective draws | effective a second | 95 % HDI of tdelta, %"
    " | 95 % HDI of NUTS, % | middles apart, sds | width, tdelta over NUTS | diverged"
)


def of_rounds(rounds: int, draws: int) -> list[str]:
    """Two treatments over both plain twins."""
    conditions = (BASELINE, AA, TREATMENT, HEAVIER)
    machine = Machine(trial_sd=0.03, instance_sd=0.005)
    trials = simulate(np.random.default_rng(rounds), machine, [0.05], rounds=rounds, conditions=conditions, heavier=0.6)
    took, found = _timed(lambda: {c: e for c, e, _ in interim_estimates(trials, settings(conditions))})
    sampled = sample("rounds", experiment(trials), draws=draws, warmup=draws)
    judged = sorted((c for c in conditions if c.role is Role.TREATMENT), key=lambda c: c.key)
    pairs = [
        (f"ratio {i + 1}", found[c], theirs) for i, (c, theirs) in enumerate(zip(judged, sampled.chains, strict=True))
    ]
    return _rows("rounds", trials, took, pairs, sampled.diverged)


def of_types(rounds: int, draws: int) -> list[str]:
    """Three transaction types of one treatment, pooled."""
    machine = Machine(trial_sd=0.03, noise="gamma", instance_sd=0.005)
    trials = simulate(np.random.default_rng(rounds), machine, [0.02, 0.06, 0.25], rounds=rounds, own_luck=0.0)
    took, found = _timed(lambda: {v.transaction: v.ratio for v in analyze_run(trials, settings()).verdicts})
    sampled = sample("types", experiment(trials), draws=draws, warmup=draws)
    names = sorted(trials[0].measurement.transactions)
    pairs = [(name, found[name], theirs) for name, theirs in zip(names, sampled.chains, strict=True)]
    return _rows("types", trials, took, pairs, sampled.diverged)


MODELS = {"rounds": of_rounds, "types": of_types}


def _timed(call: Callable[[], dict]) -> tuple[float, dict]:
    took = []
    for _ in range(CALLS):
        began = time.perf_counter()
        found = call()
        took.append(time.perf_counter() - began)
    return statistics.median(took), found


def _rows(
    model: str, trials: Sequence[Trial], took: float, pairs: Sequence[tuple[str, Estimate, Chains]], diverged: int
) -> list[str]:
    rows = []
    for name, ours, theirs in pairs:
        low, high = theirs.hdi(0.95)
        apart = (np.log(ours.median) - theirs.quantile(0.5)) / theirs.sd
        wide = np.log(ours.hdi95[1] / ours.hdi95[0]) / (high - low)
        rows.append(
            f"{model} | {len(trials)} | {name} | {1e3 * took:.1f} | {theirs.seconds:.1f} | {theirs.effective:.0f}"
            f" | {theirs.effective / theirs.seconds:.0f} | {_percent(*ours.hdi95)} | {_percent(*np.exp((low, high)))}"
            f" | {apart:+.2f} | {wide:.2f} | {diverged}"
        )
    return rows


def _percent(low: float, high: float) -> str:
    return f"{100 * (low - 1):+.2f} … {100 * (high - 1):+.2f}"


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, action="append", help="of a simulated run (repeatable; default 4 and 12)")
    parser.add_argument("--draws", type=int, default=2000, help="of each of NUTS' chains, and as many to warm up")
    parser.add_argument("--model", choices=MODELS, action="append", help="rounds, or types (repeatable; default both)")
    asked = parser.parse_args()
    print(f"| {HEAD} |\n|{'---|' * (HEAD.count('|') + 1)}")
    for rounds in asked.rounds or (4, 12):
        for model in asked.model or MODELS:
            for row in MODELS[model](rounds, asked.draws):
                print(f"| {row} |", flush=True)


if __name__ == "__main__":
    main()
