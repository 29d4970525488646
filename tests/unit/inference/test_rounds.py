from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tdelta.inference.noise import InstanceMeans
from tdelta.inference.posterior import posterior
from tdelta.inference.rounds import INSTANCE_SD_SCALE, fit_rounds, scale_for

from .builders import stage_1

PLAIN_AND_AA = np.array([0, 0, 1])
PLAIN = np.array([0, 1, 2])


def least_squares(y: np.ndarray) -> InstanceMeans:
    """Stage 1 for normal noise, from y of shape (rounds, blocks, conditions)."""
    rounds, blocks, conditions = y.shape
    centred = y - y.mean(axis=2, keepdims=True)
    means = centred.mean(axis=1)
    df = (rounds * blocks - rounds) * (conditions - 1)
    variance = ((centred - means[:, None]) ** 2).sum() / df
    return stage_1(means, np.full(rounds, float(blocks)), float(variance), float(df))


_TAUS = np.geomspace(1e-4, 3.0, 160)


def brute_force(y: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """The posterior of the third condition on a grid of theta, from the raw observations.

    Independent of the package: contrasts with the baseline remove the blocks; their normal likelihood is evaluated
    whole, with its full covariance, on a dense grid of (theta, tau, log sigma), under the documented priors.
    """
    rounds, blocks, _ = y.shape
    contrasts = (y[..., 1:] - y[..., :1]).reshape(rounds, -1)
    effect = np.tile([0.0, 1.0], blocks)
    shared = np.eye(2) + 1.0
    noise_shape = np.kron(np.eye(blocks), shared)
    luck_shape = np.kron(np.ones((blocks, blocks)), shared)
    logs = []
    widths = np.gradient(_TAUS)
    for log_sigma in np.linspace(np.log(0.004), np.log(0.08), 50):
        for tau in _TAUS:
            inverse = np.linalg.inv(np.exp(2 * log_sigma) * noise_shape + tau**2 * luck_shape)
            log_det = np.linalg.slogdet(inverse)[1]
            a = effect @ inverse @ effect * rounds
            b = sum(effect @ inverse @ c for c in contrasts)
            c = sum(c @ inverse @ c for c in contrasts)
            prior = (
                np.log(widths[np.searchsorted(_TAUS, tau)])
                + stats.cauchy.logpdf(tau, 0, scale_for(rounds))
                + stats.norm.logpdf(log_sigma, np.log(0.03), 1.5)
            )
            logs.append(0.5 * rounds * log_det - 0.5 * (a * theta**2 - 2 * b * theta + c) + prior)
    stacked = np.array(logs)
    total = np.exp(stacked - stacked.max()).sum(axis=0)
    return np.asarray(total * stats.t.pdf(theta / 0.5, 3))


@pytest.mark.parametrize(
    ("rounds", "blocks", "instance_effect"), [(1, 4, 0.01), (2, 3, 0.01), (4, 3, 0.003), (4, 2, 0.03)]
)
def test_the_grid_agrees_with_brute_force_over_the_raw_observations(
    rounds: int, blocks: int, instance_effect: float
) -> None:
    rng = np.random.default_rng([rounds, blocks])
    y = rng.normal(0.0, 0.02, (rounds, blocks, 3)) + rng.normal(0.0, instance_effect, (rounds, 1, 3)) + [0.0, 0.0, 0.05]
    y = y + rng.normal(0.0, 0.5, (rounds, blocks, 1))
    fit = fit_rounds([least_squares(y)], [PLAIN_AND_AA])
    found = posterior(fit.strata[0].mixture(0))
    theta = np.linspace(-1.45, 1.55, 8001)
    density = brute_force(y, theta)
    cumulative = np.cumsum(density) / density.sum()
    spread = found.quantile(0.975) - found.quantile(0.025)
    for p in (0.025, 0.25, 0.5, 0.75, 0.975):
        expected = np.interp(p, cumulative, theta)
        assert found.quantile(p) == pytest.approx(expected, abs=0.015 * spread)


def instances(means: np.ndarray, *, variance: float = 1e-6, df: float = 60.0, blocks: float = 6.0) -> InstanceMeans:
    centred = means - means.mean(axis=1, keepdims=True)
    return stage_1(centred, np.full(len(means), blocks), variance, df)


def test_the_aa_twin_is_half_of_the_baseline() -> None:
    means = np.tile([0.0, 0.02, 0.11], (5, 1))
    together = fit_rounds([instances(means)], [PLAIN_AND_AA]).strata[0]
    assert together.mixture(0).mean == pytest.approx(0.10)


def test_twins_that_differ_widen_the_answer() -> None:
    alike = np.tile([0.0, 0.0, 0.1], (4, 1))
    unlike = alike + 0.02 * np.array([[1, -1, 0], [-1, 1, 0], [1, -1, 0], [-1, 1, 0]])
    narrow, wide = (
        posterior(fit_rounds([instances(m)], [PLAIN_AND_AA]).strata[0].mixture(0)).ratio_hdi(0.95)
        for m in (alike, unlike)
    )
    assert wide[1] - wide[0] > 3.0 * (narrow[1] - narrow[0])


def test_scatter_between_rounds_widens_the_answer_without_an_aa_twin() -> None:
    steady = np.tile([0.0, 0.1], (5, 1))
    swaying = steady + np.array([[0, 0.03], [0, -0.03], [0, 0.02], [0, -0.02], [0, 0.0]])
    fits = [fit_rounds([instances(m)], [np.array([0, 1])]) for m in (steady, swaying)]
    assert fits[1].instance_sd > 3.0 * fits[0].instance_sd
    assert fits[1].strata[0].mixture(0).variance > 4.0 * fits[0].strata[0].mixture(0).variance


def test_one_round_is_never_narrower_than_the_prior_of_instance_effects_allows() -> None:
    one = fit_rounds([instances(np.array([[0.0, 0.0, 0.1]]), blocks=1000.0, df=4000.0)], [PLAIN])
    assert one.instance_sd == pytest.approx(3.0 * INSTANCE_SD_SCALE, rel=0.1)
    low, high = posterior(one.strata[0].mixture(1)).ratio_hdi(0.95)
    assert high - low > 0.05


def test_strata_share_their_instance_effects() -> None:
    steady = np.tile([0.0, 0.0, 0.1], (3, 1))
    swaying = steady + 0.03 * np.random.default_rng(2).normal(size=(3, 3))
    alone = fit_rounds([instances(steady)], [PLAIN_AND_AA])
    beside = fit_rounds([instances(steady), instances(swaying)], [PLAIN_AND_AA] * 2)
    assert beside.instance_sd > 2.0 * alone.instance_sd
    assert beside.strata[0].mixture(0).variance > 2.0 * alone.strata[0].mixture(0).variance


def test_the_order_of_conditions_does_not_matter() -> None:
    means = 0.01 * np.random.default_rng(3).normal(size=(4, 4))
    swapped = fit_rounds([instances(means[:, [3, 0, 2, 1]])], [np.array([2, 0, 1, 0])]).strata[0]
    straight = fit_rounds([instances(means)], [np.array([0, 0, 1, 2])]).strata[0]
    for condition in (0, 1):
        assert swapped.mixture(condition).mean == pytest.approx(straight.mixture(condition).mean)
        assert swapped.mixture(condition).variance == pytest.approx(straight.mixture(condition).variance)
    assert swapped.between(1, 0).mean == pytest.approx(straight.between(1, 0).mean)


def test_one_odd_instance_of_three_leaves_the_question_open() -> None:
    means = np.zeros((3, 4))
    means[1, 2] = np.log(1.5)
    kinds = np.array([0, 0, 1, 1])
    centred = means - means.mean(axis=1, keepdims=True)
    found = fit_rounds([stage_1(centred, np.full(3, 6.0), 1e-4, 45.0, kinds)], [np.array([0, 0, 1, 1])]).strata[0]
    low, high = posterior(found.mixture(0)).ratio_hdi(0.95)
    assert low < 1.0 < np.exp(np.log(1.5) / 6) < high


def test_a_treatment_whose_instances_differ_more_is_known_less_well_than_a_quiet_one() -> None:
    rng = np.random.default_rng(4)
    kinds = np.array([0, 0, 1, 2])
    means = rng.normal(0.0, 0.002, (8, 4))
    means[:, 3] += rng.normal(0.0, 0.05, 8)
    centred = means - means.mean(axis=1, keepdims=True)
    found = fit_rounds([stage_1(centred, np.full(8, 6.0), 1e-6, 100.0, kinds)], [np.array([0, 0, 1, 2])]).strata[0]
    assert found.mixture(1).variance > 1.3 * found.mixture(0).variance


def test_a_bb_twin_that_took_part_in_some_rounds_informs_those() -> None:
    means = np.tile([0.0, 0.0, 0.1, 0.1], (4, 1))
    seen = stage_1(means - means.mean(axis=1, keepdims=True), np.full(4, 6.0), 1e-3, 60.0, np.array([0, 0, 1, 1]))
    absent = replace(seen, blocks=seen.blocks * np.array([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 0]]))
    labels = np.array([0, 0, 1, 1])
    some, always = (fit_rounds([s], [labels]).strata[0].mixture(0) for s in (absent, seen))
    without = fit_rounds([replace(seen, blocks=seen.blocks * [1, 1, 1, 0])], [labels]).strata[0].mixture(0)
    assert some.mean == pytest.approx(0.1)
    assert always.variance < some.variance < without.variance


def test_plain_twins_alone_still_say_how_instances_differ() -> None:
    means = 0.01 * np.random.default_rng(6).normal(size=(12, 3))
    found = fit_rounds([instances(means)], [np.zeros(3, dtype=np.intp)])
    assert 0.005 < found.instance_sd < 0.02
