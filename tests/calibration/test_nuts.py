"""tdelta's two stages against NUTS on the whole model of typical costs: rounds, conditions, types pooled."""

import numpy as np
import pytest

from tdelta.inference.fits import fit_metrics, panels
from tdelta.inference.run_analysis import analyze_run
from tdelta.records import Estimate, Role

from .chains import Chains
from .nuts import experiment, sample
from .simulation import AA, BASELINE, HEAVIER, THREE, TREATMENT, Machine, settings, simulate

ERRORS = 4.0
"""Monte-Carlo errors that two right answers may be apart: one comparison in 16,000 fails by chance."""


def assert_agree(ours: Estimate, theirs: Chains, *, middle: float, width: float, what: str) -> None:
    """Two stages approximate: by how many sds the middle may differ, by which share the width."""
    assert theirs.effective > 150, what  # log rho and tau are nearly confounded: chains move slowly
    apart = abs(np.log(ours.median) - theirs.quantile(0.5))
    assert apart < middle * theirs.sd + ERRORS * theirs.error, what
    low, high = theirs.hdi(0.95)
    found, expected = np.log(ours.hdi95[1] / ours.hdi95[0]), high - low
    error = theirs.quantile_error(0.025) + theirs.quantile_error(0.975)
    assert found == pytest.approx(expected, abs=width * expected + ERRORS * error), what


def test_the_rounds_model_agrees_with_nuts() -> None:
    conditions = (BASELINE, AA, TREATMENT, HEAVIER)
    machine = Machine(trial_sd=0.03, instance_sd=0.01)
    trials = simulate(np.random.default_rng(5), machine, [0.05], rounds=4, conditions=conditions, heavier=0.6)
    found = sample("rounds", experiment(trials))
    assert found.diverged == 0
    asked = settings(conditions)
    fit = fit_metrics(panels(trials, asked), (asked.metric,))[asked.metric]
    ours = {answer.condition: answer.typical_posterior.estimate(asked.tolerance) for answer in fit.answers()}
    judged = sorted((c for c in conditions if c.role is Role.TREATMENT), key=lambda c: c.key)
    for condition, theirs in zip(judged, found.chains, strict=True):
        assert_agree(ours[condition], theirs, middle=0.2, width=1 / 6, what=condition.key)


def test_pooled_transaction_types_agree_with_nuts() -> None:
    truths = [0.02, 0.06, 0.25]
    machine = Machine(trial_sd=0.03, noise="gamma", instance_sd=0.005)
    trials = simulate(np.random.default_rng(7), machine, truths, rounds=4, own_luck=0.0, conditions=THREE)
    found = sample("types", experiment(trials))
    verdicts = {v.transaction: v.ratio for v in analyze_run(trials, settings(THREE)).verdicts}
    names = sorted(trials[0].measurement.transactions)
    assert len(names) == len(found.chains) == len(truths)
    for name, theirs in zip(names, found.chains, strict=True):
        assert_agree(verdicts[name], theirs, middle=0.25, width=0.25, what=name)
