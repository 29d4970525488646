"""The published gamma model: tdelta's quadrature against JAGS, which the study used. Time, agreement, effective draws.

From the root of the repository, with JAGS installed (``scripts/need-jags``)::

    OMP_NUM_THREADS=1 python benches/jags.py                  # n = 1000 and 10000 a group
    OMP_NUM_THREADS=1 python benches/jags.py --count 1000

JAGS' time is that of its process, start-up, 500 updates of adaption and all. Ours is that of `analyze` on sums, both
means, difference, ratio and priors and all, the median of 30 calls; the counts beyond JAGS' are the same sums, scaled.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "live"))

from jags.running import GAMMA_MODEL, Array, run

from calibration.observed import as_samples
from tdelta.inference.observed.compare import analyze
from tdelta.inference.observed.curves import plane
from tdelta.inference.observed.models import PublishedMeans, fit_run
from tdelta.inference.observed.settings import AnalysisSettings
from tdelta.records import Group, Samples

SETTINGS = AnalysisSettings("none")
CALLS = 30


def drawn(count: int) -> tuple[Array, Array]:
    """Two groups of gamma values, 5 % apart."""
    rng = np.random.default_rng(2015)
    return rng.gamma(2.5, 4.0, count), rng.gamma(2.5, 4.2, count)


def scaled(samples: Samples, factor: float) -> Samples:
    """The sums of so many times as many values."""
    sums = {name: getattr(samples, name) * factor for name in ("total", "total_log", "total_squares")}
    return replace(samples, count=round(samples.count * factor), **sums)


def seconds_of_ours(first: Samples, second: Samples) -> float:
    """Median of many calls, milliseconds each."""
    took = []
    for _ in range(CALLS):
        began = time.perf_counter()
        analyze([first, second], SETTINGS)
        took.append(time.perf_counter() - began)
    return float(np.median(took))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, action="append", help="values a group (repeatable)")
    parser.add_argument("--draws", type=int, default=3000, help="of each of two chains")
    parser.add_argument("--timeout", type=float, default=3600.0, metavar="SECONDS")
    asked = parser.parse_args()
    print("| values a group | tdelta ms |\n|---|---|")
    before, after = (as_samples(Group(c), v) for c, v in zip(("none", "tde"), drawn(1000), strict=True))
    for factor in (1.0, 1e1, 1e3, 1e5, 1e7):
        took = seconds_of_ours(scaled(before, factor), scaled(after, factor))
        print(f"| {1000 * factor:.0e} | {1e3 * took:.1f} |", flush=True)
    print(
        "\n| values a group | JAGS s | effective draws | effective a second | difference, 95 % HDI, JAGS "
        "| quadrature | means apart, Monte-Carlo errors | times faster |\n|---|---|---|---|---|---|---|---|"
    )
    for count in asked.count or (1000, 10_000):
        print(f"| {' | '.join(_against(count, asked.draws, asked.timeout))} |", flush=True)


def _against(count: int, draws: int, timeout: float) -> tuple[str, ...]:
    first, second = drawn(count)
    pooled = float(np.concatenate([first, second]).mean())
    with tempfile.TemporaryDirectory() as folder:
        data = {"n1": count, "n2": count, "y1": first, "y2": second, "pooled": pooled}
        inits = {"m1": pooled, "m2": pooled, "s1": 6.0, "s2": 6.0}
        found = run(
            Path(folder),
            GAMMA_MODEL,
            data,
            ["difference"],
            inits=inits,
            adapt=500,
            draws=draws,
            timeout_seconds=timeout,
        )["difference"]
    samples = [as_samples(Group(c), v) for c, v in (("none", first), ("tde", second))]
    curves = [fit_run(one, PublishedMeans(pooled, 100.0)).curve for one in samples]
    assert curves[0] is not None
    assert curves[1] is not None
    ours = plane(curves[0], curves[1], None, is_inverse=False).difference()
    apart = abs(ours.quantile(0.5) - found.quantile(0.5)) / found.quantile_error(0.5)
    took = seconds_of_ours(samples[0], samples[1])
    theirs, hdi = found.hdi(0.95), ours.hdi(0.95)
    return (
        f"{count}",
        f"{found.seconds:.1f}",
        f"{found.effective:.0f}",
        f"{found.effective / found.seconds:.1f}",
        f"{theirs[0]:+.3f} … {theirs[1]:+.3f}",
        f"{hdi[0]:+.3f} … {hdi[1]:+.3f}",
        f"{apart:.1f}",
        f"{found.seconds / took:.0f}",
    )


if __name__ == "__main__":
    main()
