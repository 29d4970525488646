"""The cost or gain in width of each part of the model, in cells where nothing is odd, against an earlier version.

From the root of the repository; the earlier version is a checkout with its native module built, and without one the
first column is this version without any of the parts::

    git worktree add ../earlier 0ea5703
    OMP_NUM_THREADS=1 python benches/widths.py --against ../earlier

At equal minutes: three twins have 8 blocks in a round, four have 6, which is 24 trials either way. Parts are taken up
one after the other, each column being the change it makes to the median width of the 95 % HDI. The experiments of a
cell are the same in every column with three twins, so that their changes are known better than the widths are.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing import Pool
from pathlib import Path
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from tdelta.inference import fits, noise, rounds, stalls
from tdelta.records import Condition, Measurement, Metric, Role, RunSettings, SpanTotals, Trial

PLAIN, ENCRYPTED = (("cipher", "none"),), (("cipher", "aes-256"),)
THREE = (Condition(PLAIN, Role.BASELINE), Condition(PLAIN, Role.AA), Condition(ENCRYPTED, Role.TREATMENT))
TOLERANCE = 0.02
LAWS = ("normal, sd 1 %", "normal, sd 3 %", "normal, sd 10 %", "gamma, sd 6 %", "t4, sd 6 %")
CELLS = [
    (law, rounds, instance_effect) for law in LAWS for rounds in (3, 5, 20) for instance_effect in (0.003, 0.005, 0.01)
]
PARTS = (
    "the same model",
    "heavy-tailed instance effects",
    "noise of each kind",
    "instance effects of each kind",
    "places",
    "ratio of means",
    "B/B twin",
    "effect of the round",
    "mean over instances",
)
"""Taken up one after the other. The first has none of the others, and shows what else became different."""

Cell = tuple[str, int, float]


def trials_of(cell: Cell, index: int, twins: Sequence[Condition], blocks: int) -> list[Trial]:
    """One experiment; blocks drift by 3 %."""
    law, round_count, instance_sd = cell
    rng = np.random.default_rng([CELLS.index(cell), index])
    sd = float(law.split()[-2]) / 100.0
    found = []
    for round_ in range(round_count):
        instance_effect = instance_sd * rng.normal(size=len(twins))
        for block in range(round_ * blocks, (round_ + 1) * blocks):
            costs = np.exp(instance_effect + _noise(rng, law, sd, len(twins)) + 0.03 * rng.normal())
            for position, k in enumerate(rng.permutation(len(twins)).tolist()):
                elapsed = round(1e9 * float(costs[k]))
                measured = Measurement(1_000_000, elapsed, {"all": SpanTotals(1_000_000, elapsed)}, {})
                found.append(Trial(round_, block, position, twins[k], f"{round_}-{k}", 0.0, measured))
    return found


def _noise(rng: np.random.Generator, law: str, sd: float, count: int) -> NDArray[np.float64]:
    if law.startswith("gamma"):
        return np.asarray(np.log(rng.gamma(1.0 / sd**2, sd**2, count)), dtype=np.float64)
    drawn = rng.standard_t(4.0, count) / np.sqrt(2.0) if law.startswith("t4") else rng.normal(size=count)
    return np.asarray(sd * drawn, dtype=np.float64)


def settings_of(twins: Sequence[Condition]) -> RunSettings:
    """Settings of a simulated run."""
    return RunSettings(
        run_id="simulated",
        seed=0,
        study="simulated",
        engine="none",
        workload="none",
        conditions=tuple(twins),
        tolerance=TOLERANCE,
        budget=None,
        metric=Metric.RESPONSE_TIME,
    )


def shipped_widths(cell: Cell, experiments: int) -> list[float]:
    """Widths of whatever version of tdelta is imported, with three twins."""
    from tdelta.inference.decisions import width
    from tdelta.inference.run_analysis import interim_estimates

    found = []
    for index in range(experiments):
        ((_, estimate, _),) = interim_estimates(trials_of(cell, index, THREE, 8), settings_of(THREE))
        found.append(width(estimate))
    return found


def _half_normal(tau: NDArray[np.float64], _scale: float, _instance_effect: object = None) -> NDArray[np.float64]:
    return np.asarray(np.log(tau) - 0.5 * (tau / 0.014) ** 2, dtype=np.float64)


def _no_residuals(means: noise.InstanceMeans, _thetas: NDArray[np.intp]) -> NDArray[np.float64]:
    return np.zeros_like(means.means)


def _one_kind(columns: Sequence[Condition]) -> NDArray[np.intp]:
    return np.zeros(len(columns), dtype=np.intp)


@contextmanager
def only(parts: Sequence[str]) -> Iterator[None]:
    """The model with these parts alone."""
    without = {
        "heavy-tailed instance effects": patch.object(rounds, "log_instance_sd_density", _half_normal),
        "noise of each kind": patch.object(fits, "_kinds", _one_kind),
        "instance effects of each kind": patch.object(rounds, "RHO_SD", 1e-9),
        "places": patch.object(noise, "PLACE_SD", 1e-9),
        "effect of the round": patch.object(rounds, "ROUND_EFFECT_SCALE", 1e-9),
        "mean over instances": patch.object(stalls, "instance_residuals", _no_residuals),
    }
    with ExitStack() as stack:
        for part, patched in without.items():
            if part not in parts:
                stack.enter_context(patched)
        yield


def widths(cell: Cell, parts: Sequence[str], experiments: int) -> list[float]:
    """Widths of this version's answer with these parts."""
    from tdelta.inference.fits import panels

    with_bb = "B/B twin" in parts
    twins = (*THREE, Condition(ENCRYPTED, Role.BB)) if with_bb else THREE
    asked, found = settings_of(twins), []
    with only(parts):
        for index in range(experiments):
            trials = trials_of(cell, index, twins, 6 if with_bb else 8)
            fit = fits.fit_metrics(panels(trials, asked), (asked.metric,))[asked.metric]
            answer = next(a for a in fit.answers() if a.condition.role is Role.TREATMENT)
            posterior = answer.posterior if "ratio of means" in parts else answer.typical_posterior
            low, high = posterior.ratio_hdi(0.95)
            found.append(high - low)
    return found


def earlier_widths(against: Path, experiments: int) -> dict[str, float]:
    """Median widths of an earlier version, by cell, found by this program in a process that imports that one."""
    done = subprocess.run(
        [sys.executable, __file__, "--shipped", "--experiments", str(experiments)],
        env={**os.environ, "PYTHONPATH": str(against.resolve() / "python")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def _medians(task: tuple[Cell, int]) -> tuple[Cell, list[float]]:
    cell, experiments = task
    steps = [PARTS[1 : count + 1] for count in range(len(PARTS))]
    return cell, [100.0 * float(np.median(widths(cell, parts, experiments))) for parts in steps]


def main() -> None:
    """Print the table, or the widths of the version that is imported."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="of an earlier version")
    parser.add_argument("--shipped", action="store_true", help="this version's widths with three twins, as JSON")
    asked = parser.parse_args()
    if asked.shipped:
        medians = {repr(c): 100.0 * float(np.median(shipped_widths(c, asked.experiments))) for c in CELLS}
        print(json.dumps(medians))
        return
    began = time.monotonic()
    earlier = earlier_widths(asked.against, asked.experiments) if asked.against else {}
    print("| trials | rounds | instance effects | earlier, points | " + " | ".join(PARTS) + " | now, points | in all |")
    print("|---" * (len(PARTS) + 6) + "|")
    logs = []
    with Pool(asked.processes) as pool:
        for cell, found in pool.imap(_medians, [(cell, asked.experiments) for cell in CELLS]):
            chain = [earlier.get(repr(cell), found[0]), *found]
            changes = np.diff(np.log(chain))
            logs.append([*changes, changes.sum()])
            law, round_count, instance_effect = cell
            row = [law, f"{round_count}", f"{100 * instance_effect:g} %", f"{chain[0]:.2f}", *map(_change, changes)]
            print("| " + " | ".join([*row, f"{chain[-1]:.2f}", _change(float(changes.sum()))]) + " |", flush=True)
    mean = np.mean(logs, axis=0)
    row = ["all (geometric mean)", "", "", "", *map(_change, mean[:-1]), "", _change(mean[-1])]
    print("| " + " | ".join(row) + " |")
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)


def _change(log: float) -> str:
    return f"{round(100 * float(np.expm1(log)), 1) + 0.0:+.1f} %"


if __name__ == "__main__":
    main()
