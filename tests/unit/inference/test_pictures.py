import math
from dataclasses import astuple
from typing import Any

import numpy as np
import pytest

from tdelta.inference import analyze_run, complete_blocks, densities, paired_ratios
from tdelta.records import Estimate, Metric, Role

from . import builders as b


def figures(estimate: Estimate) -> Any:
    return np.concatenate([np.ravel(value) for value in astuple(estimate)])


def alike(estimate: Estimate) -> Any:
    """What equals these figures but for the order of additions, which is the CPU's."""
    return pytest.approx(figures(estimate), rel=1e-9, abs=1e-12)


def area(x: np.ndarray, y: np.ndarray) -> float:
    return float((0.5 * (y[1:] + y[:-1]) * np.diff(x)).sum())


@pytest.fixture(params=[0.0, 0.05, 1.9])
def effect(request: pytest.FixtureRequest) -> float:
    return float(request.param)


def test_a_density_is_that_of_the_estimate_that_the_analysis_gives(effect: float) -> None:
    trials = b.run(b.noisy(effect, instance_effect=0.004))
    (curve, twin) = densities(trials, b.settings())
    judgement = analyze_run(trials, b.settings())
    assert curve.condition == b.AES
    assert figures(curve.estimate) == alike(judgement.verdicts[0].ratio)
    assert twin.condition == b.AA
    assert figures(twin.estimate) == alike(judgement.noise_floor[0].ratio)


def test_a_density_has_its_median_and_the_mass_of_its_hdi_where_the_estimate_says(effect: float) -> None:
    for curve in densities(b.run(b.noisy(effect, instance_effect=0.004)), b.settings()):
        x, y = curve.ratio, curve.density
        assert area(x, y) == pytest.approx(0.9999, abs=2e-3)
        below = np.linspace(x[0], curve.estimate.median, 400)
        assert area(below, np.interp(below, x, y)) == pytest.approx(0.5, abs=4e-3)
        for ends, mass in ((curve.estimate.hdi95, 0.95), (curve.estimate.hdi99, 0.99)):
            fine = np.linspace(*ends, 400)
            assert area(fine, np.interp(fine, x, y)) == pytest.approx(mass, abs=4e-3)


def test_an_hdi_is_as_dense_at_one_end_as_at_the_other() -> None:
    """The property that makes it a highest-density interval of the ratio, and the curve a density of the ratio."""
    (curve, _) = densities(b.run(b.noisy(0.8, instance_effect=0.004), rounds=3), b.settings())
    low, high = np.interp(curve.estimate.hdi95, curve.ratio, curve.density)
    assert low == pytest.approx(high, rel=0.06)


def test_masses_about_the_tolerance_are_areas_of_the_curve() -> None:
    (curve, _) = densities(b.run(b.noisy(0.02, sd=0.03)), b.settings())
    above = np.linspace(1.02, curve.ratio[-1], 500)
    assert area(above, np.interp(above, curve.ratio, curve.density)) == pytest.approx(
        curve.estimate.mass_above_tolerance, abs=4e-3
    )


def test_without_a_complete_block_there_is_nothing_to_draw() -> None:
    alone = [t for t in b.run(b.noisy(0.05)) if t.condition != b.AES]
    for found in (alone, []):
        assert densities(found, b.settings()) == ()
        assert paired_ratios(found, b.settings()) == ()
        assert complete_blocks(found, b.settings()) == frozenset()


def test_a_paired_ratio_is_over_the_geometric_mean_of_both_plain_twins() -> None:
    costs = {b.BASELINE.key: 0.10, b.AA.key: 0.30, b.AES.key: 0.50}
    trials = b.run(lambda c, _r, block: costs[c.key] + 0.01 * block, rounds=2, blocks=3)
    aes, twin = paired_ratios(trials, b.settings())
    assert (aes.condition, twin.condition) == (b.AES, b.AA)
    assert np.log(aes.ratio) == pytest.approx([0.5 - 0.2] * 6, abs=1e-6)
    assert np.log(twin.ratio) == pytest.approx([0.3 - 0.1] * 6, abs=1e-6)
    assert aes.rounds.tolist() == [0, 0, 0, 1, 1, 1]
    assert aes.blocks.tolist() == [0, 1, 2, 3, 4, 5]


def test_judged_conditions_come_in_the_designs_order_before_the_twins() -> None:
    conditions = (b.AA, b.condition("aes-128", Role.TREATMENT), b.BASELINE, b.AES)
    trials = b.run(b.noisy(0.05), conditions)
    wanted = ["aes-128", "aes-256", "none"]
    for found in (densities, paired_ratios):
        assert [p.condition.level("cipher") for p in found(trials, b.settings(conditions))] == wanted


def test_a_condition_that_cost_nothing_has_no_paired_ratio() -> None:
    given = b.settings(metric=Metric.READ_BYTES_PER_OPERATION)
    assert paired_ratios(b.run(b.noisy(0.0)), given) == ()
    read = b.run(b.noisy(0.0), read=4096)
    assert [math.log(r) for p in paired_ratios(read, given) for r in p.ratio] == pytest.approx([0.0] * 48)


def test_a_trial_of_an_incomplete_block_is_not_among_the_used_ones() -> None:
    trials = b.run(b.noisy(0.05), rounds=1, blocks=3)[:-1]
    used = complete_blocks(trials, b.settings())
    assert used == {(block, c.key) for block in (0, 1) for c in b.TWINS}
