"""The quadratures against JAGS: the published gamma model; runs' own model is held against NUTS (tests/calibration)."""

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from calibration.chains import Array
from tdelta.inference.observed.compare import analyze
from tdelta.inference.observed.curves import log_ratio, plane
from tdelta.inference.observed.models import PublishedMeans, fit_run
from tdelta.inference.observed.settings import AnalysisSettings
from tdelta.records import Bins, Group, Origin, Samples, Summary

from .running import GAMMA_MODEL, run

TABLE = Path(__file__).parents[3] / "python" / "tdelta" / "studies" / "response-times.csv"
ERRORS = 4.0
"""Monte-Carlo errors that two right answers may be apart: one comparison in 16,000 fails by chance."""


def sums(condition: str, values: Array) -> Samples:
    return Samples(
        Group(condition),
        Origin("drawn", "drawn"),
        len(values),
        float(values.sum()),
        float(np.log(values).sum()),
        float((values**2).sum()),
        float(values.min()),
        float(values.max()),
        Bins((0.0, 1e9), (len(values),)),
    )


def test_the_gamma_model_agrees_with_jags(tmp_path: Path) -> None:
    rng = np.random.default_rng(2015)
    first, second = rng.gamma(2.5, 4.0, 1000), rng.gamma(2.5, 4.2, 1000)
    pooled = float(np.concatenate([first, second]).mean())
    found = run(
        tmp_path,
        GAMMA_MODEL,
        {"n1": 1000, "n2": 1000, "y1": first, "y2": second, "pooled": pooled},
        ["m1", "m2", "difference"],
        inits={"m1": pooled, "m2": pooled, "s1": 6.0, "s2": 6.0},
        adapt=300,
        draws=2000,
    )
    curves = [fit_run(sums("x", y), PublishedMeans(pooled, 100.0)).curve for y in (first, second)]
    assert curves[0] is not None
    assert curves[1] is not None
    both = plane(curves[0], curves[1], None, is_inverse=False)
    ours = dict(zip(("m1", "m2", "difference"), (*both.means(), both.difference()), strict=True))
    for name, chains in found.items():
        assert chains.effective > 300, name
        for p in (0.05, 0.5, 0.95):
            apart = abs(ours[name].quantile(p) - chains.quantile(p))
            assert apart < ERRORS * chains.quantile_error(p), f"{name} at {p}"
    ratio = log_ratio(curves[0], curves[1], is_inverse=False).posterior()
    draws = np.log(found["m2"].draws / found["m1"].draws)
    error = draws.std() / np.sqrt(found["difference"].effective)
    assert ratio.quantile(0.5) == pytest.approx(np.median(draws), abs=1.25 * ERRORS * error)


def gamma_of(count: int, mean: float, sd: float) -> Array:
    """Values of exactly this mean and sd, their shape a gamma's: its quantiles, moved and scaled."""
    quantiles = stats.gamma.ppf((np.arange(count) + 0.5) / count, (mean / sd) ** 2)
    values = mean + sd * (quantiles - quantiles.mean()) / quantiles.std(ddof=1)
    assert values.min() > 0.0
    return np.asarray(values, dtype=np.float64)


def reconstruction() -> list[Summary]:
    rows = csv.DictReader(line for line in TABLE.read_text().splitlines() if not line.startswith("#"))
    return [
        Summary(
            Group(row["condition"], row["transaction"]),
            Origin(TABLE.name, "CSV"),
            int(row["n"]),
            float(row["mean_ms"]),
            float(row["sd_ms"]),
        )
        for row in rows
    ]


def test_jags_gives_the_published_interval_for_the_reconstruction(tmp_path: Path) -> None:
    none, tde = reconstruction()
    assert none.sd is not None
    assert tde.sd is not None
    pooled = (none.count * none.mean + tde.count * tde.mean) / (none.count + tde.count)
    found = run(
        tmp_path,
        GAMMA_MODEL,
        {
            "n1": none.count,
            "n2": tde.count,
            "y1": gamma_of(none.count, none.mean, none.sd),
            "y2": gamma_of(tde.count, tde.mean, tde.sd),
            "pooled": pooled,
        },
        ["difference"],
        inits={"m1": pooled, "m2": pooled, "s1": 16.0, "s2": 16.0},
        adapt=300,
        draws=900,
    )["difference"]
    assert found.quantile(0.025) == pytest.approx(-0.69, abs=0.05 + ERRORS * found.quantile_error(0.025))
    assert found.quantile(0.975) == pytest.approx(1.89, abs=0.05 + ERRORS * found.quantile_error(0.975))
    (ours,) = analyze(reconstruction(), AnalysisSettings("none")).comparisons
    assert ours.difference is not None
    assert ours.difference.median == pytest.approx(found.mean, abs=0.02 + ERRORS * found.error)
