import numpy as np
import pytest

from tdelta.inference.decisions import Grounds, decide_means
from tdelta.inference.instrument.simulation import (
    BalancedRuns,
    Draws,
    Prediction,
    RoundsDesign,
    first_ratios,
    predict,
    right_decision,
)
from tdelta.inference.posterior import Mixture, posterior
from tdelta.inference.rounds import COARSE, Nodes, fit_rounds
from tdelta.records import Decision, Estimate, InstanceEffectPrior

from ..builders import stage_1

DESIGN = RoundsDesign(conditions=3, plain=2, blocks=6)
ROUNDS = (3, 6, 12)


def known(variance: float = 4e-4, instance_effect: float = 0.005, count: int = 60) -> Draws:
    return Draws.known(variance, instance_effect, count)


def test_the_same_seed_gives_the_same_runs_and_another_gives_others() -> None:
    one, same, other = (predict(known(), DESIGN, ROUNDS, seed) for seed in (1, 1, 2))
    assert (one.hdi95 == same.hdi95).all()
    assert (one.hdi95 != other.hdi95).any()


def test_runs_that_begin_with_a_calibration_of_a_lucky_machine_say_more_at_once() -> None:
    """Three rounds say little about luck, so what is said beforehand counts; twenty-seven say it themselves."""
    sure = InstanceEffectPrior(0.002, 0.1, 0.0)

    def narrower(rounds: int) -> float:
        vague, told = (predict(known(instance_effect=0.002), DESIGN, (rounds,), prior=prior) for prior in (None, sure))
        return float(np.median(told.widths) / np.median(vague.widths))

    assert narrower(3) < 0.9
    assert narrower(3) < narrower(27) < 1.05


def test_the_chance_grows_with_the_rounds_and_with_the_distance_from_the_tolerance() -> None:
    found = predict(known(count=120), DESIGN, (3, 8, 27))
    slower = {effect: found.decided(effect, 0.01, Decision.SLOWER) for effect in (0.02, 0.03, 0.10)}
    assert (np.diff(slower[0.02]) >= 0).all()
    assert (slower[0.03] >= slower[0.02]).all()
    assert slower[0.10][0] > 0.95
    assert found.decided(0.0, 0.02, Decision.NEGLIGIBLE)[-1] > 0.9


def test_wrong_decisions_are_few_and_on_the_edge_every_decision_is_wrong() -> None:
    found = predict(known(count=200), DESIGN, (6, 27))
    assert (found.wrong(0.03, 0.01) == 0.0).all()
    edge = found.decided(0.01, 0.01, Decision.SLOWER) + found.decided(0.01, 0.01, Decision.NEGLIGIBLE)
    assert found.wrong(0.01, 0.01) == pytest.approx(edge)
    assert (edge < 0.12).all()


@pytest.mark.parametrize(
    ("effect", "tolerance", "decision"),
    [
        (0.0, 0.02, Decision.NEGLIGIBLE),
        (0.019, 0.02, Decision.NEGLIGIBLE),
        (0.021, 0.02, Decision.SLOWER),
        (0.02, 0.02, None),
    ],
)
def test_what_is_right(effect: float, tolerance: float, decision: Decision | None) -> None:
    assert right_decision(effect, tolerance) is decision


@pytest.mark.parametrize("effect", [0.02, 0.10])
def test_scaling_the_interval_is_as_good_as_shifting_the_data(effect: float) -> None:
    """The prior, which is not shifted, moves an HDI 4 points wide by no more than 0.02 points."""
    data = Mixture(np.array([0.6, 0.4]), np.array([0.001, -0.002]), np.array([0.009, 0.013]))
    shifted = Mixture(data.weights, data.means + np.log1p(effect), data.sds)
    scaled = (1.0 + effect) * np.array(posterior(data).ratio_hdi(0.95))
    assert np.array(posterior(shifted).ratio_hdi(0.95)) == pytest.approx(scaled, abs=2e-4)


def test_a_round_of_one_block_leaves_the_noise_to_its_prior() -> None:
    found = predict(known(count=3), RoundsDesign(3, 2, 1), (3,))
    assert np.isfinite(found.hdi95).all()


def said(found: Prediction, effect: float, tolerance: float, *, is_odd: bool) -> list[list[Decision]]:
    """The decision of a run on each simulated interval."""

    def decision(hdi95: tuple[float, float], hdi99: tuple[float, float], rounds: int) -> Decision:
        estimate = Estimate(1.0 + effect, hdi95, hdi99, 0.0, 0.0, 0.0)
        return decide_means(estimate, Grounds(estimate, 0.0, 0.0, rounds, has_odd_trials=is_odd), tolerance)

    both = zip(((1.0 + effect) * found.hdi95).tolist(), ((1.0 + effect) * found.hdi99).tolist(), strict=True)
    return [[decision(*three) for three in zip(*run, found.rounds, strict=True)] for run in both]


@pytest.mark.parametrize("is_odd", [False, True])
@pytest.mark.parametrize("effect", [-0.03, -0.01, 0.0, 0.01, 0.02, 0.03])
def test_chances_are_shares_of_what_a_run_would_say(effect: float, is_odd: bool) -> None:
    draws = Draws(np.full(60, 4e-4), np.full(60, 0.005), odd_share=1.0 if is_odd else 0.0)
    found = predict(draws, DESIGN, (1, 3, 4, 12))
    for decision in (Decision.SLOWER, Decision.NEGLIGIBLE, Decision.FASTER):
        shares = np.mean([[d is decision for d in run] for run in said(found, effect, 0.01, is_odd=is_odd)], axis=0)
        assert found.decided(effect, 0.01, decision) == pytest.approx(shares)


def test_few_rounds_and_odd_trials_need_the_wider_interval() -> None:
    found = predict(known(), DESIGN, (4, 5))
    assert (found.decisive[:, 0] == found.hdi99[:, 0]).all()
    assert (found.decisive[:, 1] == found.hdi95[:, 1]).all()
    odd = predict(Draws(np.full(400, 4e-4), np.full(400, 0.005), odd_share=1e-3), DESIGN, (5, 8, 60))
    has_one = 1.0 - 0.999 ** (np.array([5, 8, 60]) * 6 * 3)
    assert odd.is_hard.mean(axis=0) == pytest.approx(has_one, abs=0.06)
    assert (odd.is_hard[:, 0] <= odd.is_hard[:, 2]).all()


def test_a_second_encrypted_twin_makes_the_interval_narrower() -> None:
    one, two = (float(np.median(predict(known(), RoundsDesign(3, 2, 6, twins), (8,)).widths)) for twins in (0, 1))
    assert two == pytest.approx(one * (1.0 / 1.5) ** 0.5, rel=0.12)


LAYOUTS = {
    "one condition": [0, 0, 1],
    "its B/B twin, too": [0, 0, 1, 1],
    "several conditions": [0, 0, 1, 2, 3, 1],
    "no A/A twin": [0, 1],
}


@pytest.mark.parametrize("thetas", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("rounds", [1, 2, 9])
@pytest.mark.parametrize("blocks", [1, 5])
@pytest.mark.parametrize("instance_effect", [None, InstanceEffectPrior(0.004, 0.3, 0.2)])
def test_the_closed_form_is_the_grid_of_stage_2(
    thetas: list[int], rounds: int, blocks: int, instance_effect: InstanceEffectPrior | None
) -> None:
    rng = np.random.default_rng(rounds)
    which = np.array(thetas)
    kinds = np.minimum(which, 1)
    means = rng.normal(0.0, 0.02, (3, rounds, len(which))) + 0.05 * which
    variance = rng.uniform(1e-5, 1e-3, (3, 2)) if blocks > 1 else np.zeros((3, 2))
    df = 14.0 * rounds if blocks > 1 else 0.0
    runs = BalancedRuns(means, which, blocks, variance, (df / 2.0, df / 2.0))
    for run, found in enumerate(first_ratios(runs, instance_effect, COARSE)):
        seen = stage_1(means[run], np.full(rounds, float(blocks)), 0.0, df, kinds)
        seen.variance[:] = variance[run]
        expected = fit_rounds([seen], [which], instance_effect, nodes=COARSE).strata[0].mixture(0)
        for name in ("weights", "means", "sds"):
            assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9, abs=1e-12)


def test_the_nodes_of_plans_are_fine_enough() -> None:
    """A coarser grid than a verdict's moves the spread of the data's answer by under 3 %."""
    rng = np.random.default_rng(5)
    which = np.array([0, 0, 1])
    runs = BalancedRuns(rng.normal(0.0, 0.01, (20, 6, 3)), which, 6, rng.uniform(1e-4, 4e-4, (20, 2)), (40.0, 20.0))
    for coarse, fine in zip(first_ratios(runs, None, COARSE), first_ratios(runs, None, Nodes(80, 9, 7)), strict=True):
        assert coarse.mean == pytest.approx(fine.mean, abs=1e-12)
        assert coarse.variance**0.5 == pytest.approx(fine.variance**0.5, rel=0.03)
