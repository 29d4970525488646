import numpy as np
import pytest
from scipy import stats

from tdelta.inference.instrument.lengths import LengthCurve, allan, fit_curve


def blocks(rng: np.random.Generator, rounds: int, blocks: int, noise: float, wander: float = 0.0) -> np.ndarray:
    shape = (rounds, blocks, 3)
    walk = np.cumsum(rng.normal(0.0, wander, shape), axis=1) if wander else np.zeros(shape)
    instance_effect = rng.normal(0.0, 0.05, (rounds, 1, 3))
    drift = rng.normal(0.0, 0.5, (rounds, blocks, 1))
    return (instance_effect + drift + walk + rng.normal(0.0, noise, shape)).reshape(-1, 3)


def test_independent_noise_falls_with_the_root_of_the_blocks_whatever_luck_and_drift_do() -> None:
    found = allan(blocks(np.random.default_rng(1), 150, 12, 0.02), np.repeat(np.arange(150), 12))
    assert [scale.trials for scale in found] == [1, 2, 3, 4, 5, 6]
    assert found[0].sd == pytest.approx(0.02, rel=0.05)
    assert found[3].sd == pytest.approx(0.01, rel=0.1)
    assert all(scale.excess95[0] <= 1.0 <= scale.excess95[1] for scale in found)


def test_twins_that_wander_apart_are_seen_at_longer_scales() -> None:
    found = allan(blocks(np.random.default_rng(2), 40, 12, 0.02, wander=0.02), np.repeat(np.arange(40), 12))
    assert found[-1].excess95[0] > 2.0
    assert found[0].excess == 1.0


def test_the_interval_of_the_excess_holds_1_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    rounds = np.repeat(np.arange(8), 6)
    held = [
        low <= 1.0 <= high for _ in range(300) for low, high in [allan(blocks(rng, 8, 6, 0.02), rounds)[2].excess95]
    ]
    assert np.mean(held) > 0.9


def test_a_round_of_one_block_has_no_scale() -> None:
    assert allan(np.zeros((3, 3)), np.arange(3)) == ()


LENGTHS = np.array([0.25, 0.5, 1.0])
DFS = np.array([400.0, 400.0, 400.0])


def fitted(truth: np.ndarray) -> LengthCurve:
    return fit_curve(LENGTHS, truth, DFS)


@pytest.mark.parametrize(
    "truth",
    [4e-4 * np.ones(3), 1e-4 / LENGTHS, 4e-4 * LENGTHS, 1e-4 + 2e-5 / LENGTHS],
    ids=["flat", "shot", "drift", "two"],
)
def test_the_curve_goes_through_what_was_seen(truth: np.ndarray) -> None:
    assert fitted(truth).mean(LENGTHS) == pytest.approx(truth, rel=0.12)


def test_draws_have_the_curves_mean_and_the_scatter_of_what_is_known() -> None:
    curve = fitted(1e-4 / LENGTHS)
    drawn = curve.draws(0.5, 4000, np.random.default_rng(1))
    assert drawn.mean() == pytest.approx(curve.mean(np.array([0.5]))[0], rel=0.01)
    few = fit_curve(LENGTHS, 1e-4 / LENGTHS, DFS / 20.0).draws(0.5, 4000, np.random.default_rng(1))
    assert np.std(np.log(few)) > 3.0 * np.std(np.log(drawn))


def test_a_single_length_is_known_as_well_as_its_degrees_of_freedom_say() -> None:
    curve = fit_curve(np.array([0.25]), np.array([4e-4]), np.array([50.0]))
    drawn = curve.draws(0.25, 2000, np.random.default_rng(1))
    exact = 50.0 * 4e-4 / stats.chi2.ppf([0.9, 0.1], 50.0)
    assert np.quantile(drawn, [0.1, 0.9]) == pytest.approx(exact, rel=0.02)
