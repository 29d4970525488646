"""The quadratures against JAGS: the published gamma model, and the rounds' model of tdelta's own runs."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from calibration.chains import Array
from calibration.simulation import AA, TREATMENT, Machine, settings, simulate
from tdelta.inference.costs import panels
from tdelta.inference.fits import fit_metrics
from tdelta.inference.noise import NU_GRID
from tdelta.inference.observed import AnalysisSettings, analyze
from tdelta.inference.observed.curves import log_ratio, plane
from tdelta.inference.observed.fitting import fit_run
from tdelta.inference.observed.gamma import PublishedMeans
from tdelta.records import Bins, Condition, Group, Origin, Role, Samples, Summary

from .running import BLOCK_MODEL, GAMMA_MODEL, run

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


def _is_encrypted(condition: Condition) -> bool:
    return condition.role in (Role.TREATMENT, Role.BB)


def test_the_rounds_model_agrees_with_jags(tmp_path: Path) -> None:
    """tdelta's two stages approximate: the interval may differ by a sixth, the middle by a fifth of its sd.

    NUTS is asked more (``tests/calibration/test_nuts.py``); this is a second sampler, by other people.
    """
    trials = simulate(np.random.default_rng(5), Machine(trial_sd=0.03, instance_sd=0.01), [0.3], rounds=4)
    asked = settings()
    fit = fit_metrics(panels(trials, asked), (asked.metric,))[asked.metric]
    (estimate,) = [a.typical_posterior.estimate(asked.rope) for a in fit.answers() if a.condition == TREATMENT]
    instances = sorted({(t.round, t.condition.key) for t in trials})
    weights = NU_GRID * np.exp(-0.1 * NU_GRID) * np.gradient(NU_GRID)
    logs = np.log([t.measurement.elapsed_ns for t in trials])
    found = run(
        tmp_path,
        BLOCK_MODEL,
        {
            "n": len(trials),
            "blocks": len({t.block for t in trials}),
            "instances": len(instances),
            "y": logs - logs.mean(),
            "block": [t.block + 1 for t in trials],
            "instance": [instances.index((t.round, t.condition.key)) + 1 for t in trials],
            "of": [2 if _is_encrypted(t.condition) else 1 for t in trials],
            "places": len({t.position for t in trials}),
            "place": [t.position + 1 for t in trials],
            "kind": [float("aes" in key) for _, key in instances],
            "nu_grid": NU_GRID,
            "nu_weight": weights / weights.sum(),
        },
        ["answer"],
        inits={"tau": 0.01},
        adapt=2000,
        draws=12000,
        thin=4,
    )["answer"]
    assert found.effective > 150
    assert any(t.condition == AA for t in trials)
    low, high = np.log(estimate.hdi95)
    theirs = found.hdi(0.95)
    error = found.quantile_error(0.025) + found.quantile_error(0.975)
    assert np.log(estimate.median) == pytest.approx(found.quantile(0.5), abs=0.2 * found.sd + ERRORS * found.error)
    wide = theirs[1] - theirs[0]
    assert high - low == pytest.approx(wide, abs=wide / 6 + ERRORS * error)
