"""Costs in steps: what they leave open is in the interval, and what is only alike by chance is not."""

import numpy as np
import pytest

from tdelta.inference.costs import panels
from tdelta.inference.fits import fit_metrics, step_sd
from tdelta.inference.verdicts import primary_verdicts
from tdelta.records import Condition, Decision, Metric, Verdict

from .builders import AES, BB, TWINS, LogCost, noisy, run, settings

ALL = (*TWINS, BB)


def stepped(cost: LogCost, step: float) -> LogCost:
    """The same read off a clock with steps; without the machine's drift, which would spread costs over them."""

    def of(condition: Condition, round_: int, block: int) -> float:
        without_drift = cost(condition, round_, block) - 0.1 * np.sin(block)
        return float(np.round(without_drift / step) * step)

    return of


def verdict(cost: LogCost) -> Verdict:
    found = panels(run(cost, ALL, rounds=5), settings(ALL))
    fit = fit_metrics(found, (Metric.RESPONSE_TIME,))[Metric.RESPONSE_TIME]
    return next(v for v in primary_verdicts(found, fit, settings(ALL)) if v.condition == AES)


@pytest.mark.parametrize("truth", [0.01, 0.03])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_times_in_steps_of_five_per_cent_decide_nothing_about_a_smaller_effect(truth: float, seed: int) -> None:
    """All trials alike, the interval was 0.01 points wide, a point away from the truth: negligible."""
    found = verdict(stepped(noisy(truth, 0.003, seed=seed), 0.05))
    assert found.decision is Decision.UNDECIDED
    assert found.ratio.hdi95[0] <= np.exp(truth) <= found.ratio.hdi95[1]
    assert "costs-in-steps" in [reason.code for reason in found.reasons]


def test_an_effect_of_many_steps_is_found() -> None:
    assert verdict(stepped(noisy(0.5, 0.03), 0.02)).decision is Decision.SLOWER


def test_times_without_steps_are_judged_as_they_are() -> None:
    found = verdict(noisy(0.05, 0.003))
    assert found.decision is Decision.SLOWER
    assert "costs-in-steps" not in [reason.code for reason in found.reasons]


def test_what_steps_leave_open_is_half_of_one_where_it_holds_all_and_vanishes_over_many() -> None:
    rng = np.random.default_rng(1)
    coarse, fine = (np.exp(np.round(rng.normal(0.0, 0.03, (60, 4)) / step) * step) for step in (0.5, 0.02))
    coarse[:, 1] = np.exp(0.5)
    assert step_sd(coarse) == pytest.approx(0.25 / np.sqrt(3.0))
    assert 0.0 < step_sd(fine) < 0.002
    assert step_sd(np.exp(rng.normal(0.0, 0.03, (60, 4)))) == 0.0
    assert step_sd(np.full((10, 2), 7.0)) > 0.2
