"""Intervals of tails contain the truth about as often as in ``benches/results/tails.md``; leaving luck out is caught.

Bands are binomial, as in `harness`: of 200 experiments an interval of 95 % misses more than 18 once in 170 times.
"""

from dataclasses import replace

import numpy as np
import pytest

from calibration import tails
from calibration.harness import LEAST_COVERAGE
from calibration.tails import Slow, Stalling, exceeded, observed, percentiles, slow_shares, slow_trials
from tdelta.inference import bad_trials
from tdelta.inference import tails as shipped
from tdelta.records import Percentile99

EXPERIMENTS = 200
FEWER_COVERED = 0.88
"""Of 100 experiments an interval of 95 % misses more than 12 once in 700 times."""

CLUMPS = Slow(0.002, clump=60)
QUIET = Stalling()
LUCKY = Stalling(instance_sd=0.01, stall_luck_sd=0.3)


@pytest.mark.parametrize("machine", [QUIET, LUCKY], ids=lambda m: m.name)
@pytest.mark.parametrize("effect", [0.0, 0.2])
def test_the_interval_of_an_exceedance_holds_the_truth(machine: Stalling, effect: float) -> None:
    found = exceeded(machine, effect, 0.01, EXPERIMENTS, rounds=range(3, 9))
    assert found.given == 1.0
    assert found.covered >= LEAST_COVERAGE


def test_a_rare_threshold_is_covered_where_there_is_an_interval_at_all() -> None:
    found = exceeded(QUIET, 0.2, 0.001, EXPERIMENTS, rounds=range(3, 9))
    assert found.given > 0.2
    assert found.covered >= LEAST_COVERAGE


def test_a_single_round_has_no_interval_and_two_rounds_have_one_that_covers() -> None:
    slow_path = Slow(0.02, trial_sd=0.2)
    assert slow_shares(slow_path, 4.0, 20, rounds=1, blocks=60).given == 0.0
    for slow in (slow_path, CLUMPS):
        found = slow_shares(slow, 4.0, EXPERIMENTS, rounds=2, blocks=30)
        assert found.given > 0.3
        assert found.covered >= LEAST_COVERAGE


@pytest.mark.parametrize(("rounds", "blocks", "seen"), [(1, 60, 0.15), (3, 20, 0.5)])
def test_stalls_in_clumps_are_bounded_by_trials_that_have_any(rounds: int, blocks: int, seen: float) -> None:
    """Some 15 bad trials on the encrypted twin; intervals are exact and have room for luck, so they cover more."""
    found = slow_trials(CLUMPS, 4.0, EXPERIMENTS // 2, rounds=rounds, blocks=blocks)
    assert found.covered >= 0.95
    assert found.more > seen
    alike = slow_trials(CLUMPS, 1.0, EXPERIMENTS // 2, rounds=rounds, blocks=blocks)
    assert alike.more + alike.less <= 0.05


def test_bad_trials_without_instance_effects_are_caught_where_instances_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    lucky = replace(CLUMPS, share=0.0076, instance_sd=1.0)
    assert slow_trials(lucky, 1.0, EXPERIMENTS // 2, rounds=5, blocks=24).covered >= FEWER_COVERED
    monkeypatch.setattr(bad_trials, "_INSTANCE_SDS", np.full(12, 1e-6))
    assert slow_trials(lucky, 1.0, EXPERIMENTS // 2, rounds=5, blocks=24).covered < 0.85


def test_pairs_in_the_place_of_rounds_are_caught_where_instances_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Stalling(instance_sd=0.03, stall_luck_sd=0.5, transactions=2000)
    assert exceeded(machine, 0.0, 0.01, EXPERIMENTS, rounds=[8], blocks=12).covered >= LEAST_COVERAGE
    monkeypatch.setattr(shipped, "in_rounds", lambda values, _rounds: values)
    assert exceeded(machine, 0.0, 0.01, EXPERIMENTS, rounds=[8], blocks=12).covered < 0.85


def test_the_approximate_interval_of_the_99th_percentile_holds_the_truth() -> None:
    assert percentiles(LUCKY, 0.2, EXPERIMENTS, rounds=[14]).covered >= LEAST_COVERAGE


def test_percentiles_over_pairs_are_caught_where_instance_effects_outweighs_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Few rounds of many blocks; with 12 blocks in each of 8 rounds pairs still held the truth 93 times in 100."""
    machine = Stalling(instance_sd=0.03, stall_luck_sd=0.5)
    assert percentiles(machine, 0.0, EXPERIMENTS // 2, rounds=[4], blocks=40).covered >= FEWER_COVERED

    def over_pairs(
        condition: shipped.Side, baseline: shipped.Side, rounds: object, rng: np.random.Generator
    ) -> Percentile99:
        return shipped.percentile_ratio(condition, baseline, np.arange(condition.surplus.shape[1]), rng)

    monkeypatch.setattr(tails, "percentile_ratio", over_pairs)
    assert percentiles(machine, 0.0, EXPERIMENTS // 2, rounds=[4], blocks=40).covered < 0.85


def test_runs_of_other_tools_are_covered_from_three_a_side_on() -> None:
    longer, percentile = observed(LUCKY, 0.2, 0.01, EXPERIMENTS, runs=4)
    assert longer.covered >= LEAST_COVERAGE
    assert percentile.covered >= LEAST_COVERAGE


def test_short_runs_of_other_tools_are_covered_too() -> None:
    longer, percentile = observed(replace(LUCKY, transactions=25), 0.2, 0.01, EXPERIMENTS, runs=3)
    assert longer.covered >= LEAST_COVERAGE
    assert percentile.covered >= LEAST_COVERAGE
