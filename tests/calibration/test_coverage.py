"""tdelta's intervals hold the truth as often as they say, and the same test catches a model that is too sure."""

from __future__ import annotations

import numpy as np
import pytest

from calibration.harness import (
    LEAST_COVERAGE,
    LOG_RATIOS,
    MACHINES,
    MOST_POOLED_COVERAGE,
    Tally,
    contrasted,
    fixed_rounds,
    gated,
    plain_twins,
    stopped_on_precision,
    transaction_types,
)
from calibration.simulation import BASELINE, TREATMENT, Machine
from tdelta.inference import judging, verdicts
from tdelta.inference.posterior import Mixture, Posterior, as_posterior, posterior

EXPERIMENTS = 200
HALF_AS_MANY = EXPERIMENTS // 2
"""Of a model that is twice too sure, which covers some 67 times in 100, half of the experiments already tell."""

MOST_WRONG_GATES = 0.04
"""On each side. Five looks at 0.5 % a side are at most 2.5 %; 1000 experiments measured 1.6 % where luck is 1 %, and
then more than 8 of 200 come by chance once in 190 times."""


def _rescaled(data: Mixture, factor: float) -> Mixture:
    return Mixture(data.weights, data.mean + factor * (data.means - data.mean), factor * data.sds)


def _pooled(found: list[Tally]) -> float:
    return float(np.mean([tally.covered for tally in found]))


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_the_95_percent_hdi_holds_the_truth_about_95_times_in_100(machine: Machine) -> None:
    found = [fixed_rounds(machine, log_ratio, EXPERIMENTS) for log_ratio in LOG_RATIOS]
    assert all(tally.is_covered for tally in found)
    assert _pooled(found) <= MOST_POOLED_COVERAGE
    assert found[LOG_RATIOS.index(0.0)].false_alarms <= 0.025


@pytest.mark.parametrize("luck_sd", [0.003, 0.01])
def test_a_contrast_of_two_treatments_holds_the_truth_as_often(luck_sd: float) -> None:
    machine = Machine(luck_sd=luck_sd)
    found = [contrasted(machine, 0.5, heavier, EXPERIMENTS) for heavier in (0.0, 0.05, 0.3, 1.5)]
    assert all(tally.is_covered for tally in found)
    assert _pooled(found) <= MOST_POOLED_COVERAGE


@pytest.mark.parametrize("log_ratio", [0.0, 0.05])
@pytest.mark.parametrize("luck_sd", [0.003, 0.01])
def test_stopping_on_precision_keeps_coverage_and_false_alarms(luck_sd: float, log_ratio: float) -> None:
    machine = Machine(trial_sd=0.03, luck_sd=luck_sd)
    found, rounds = stopped_on_precision(machine, log_ratio, EXPERIMENTS, precision=0.03, most=10)
    assert 3.5 < rounds < 9.0, "the rule hardly had a choice, so little was tested"
    assert found.is_covered
    assert found.false_alarms <= 0.025
    assert abs(found.bias) <= 0.25


def test_stopping_at_a_tenth_of_a_large_overhead_keeps_coverage() -> None:
    found, rounds = stopped_on_precision(Machine(luck_sd=0.01), 0.8, EXPERIMENTS, most=16)
    assert 3.5 < rounds < 14.0, "the rule hardly had a choice, so little was tested"
    assert found.is_covered
    assert abs(found.bias) <= 1.0


@pytest.mark.parametrize("luck_sd", [0.003, 0.01])
def test_a_gate_at_its_edge_is_seldom_wrong_on_either_side(luck_sd: float) -> None:
    found = gated(Machine(trial_sd=0.03, luck_sd=luck_sd), 0.05, EXPERIMENTS, budget=0.05)
    assert found.over <= MOST_WRONG_GATES
    assert found.within <= MOST_WRONG_GATES


def test_a_gate_answers_where_the_truth_is_clear_of_the_budget() -> None:
    machine = Machine(trial_sd=0.03, luck_sd=0.003)
    assert gated(machine, 0.0, 40, budget=0.05).within > 0.8
    assert gated(machine, 0.10, 40, budget=0.05).over > 0.8


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_sound_twins_are_hardly_ever_called_unsound(machine: Machine) -> None:
    assert plain_twins(machine, 0.0, EXPERIMENTS).unsound <= 0.025


def test_twins_that_differ_by_far_more_than_the_rope_are_called_unsound() -> None:
    assert plain_twins(Machine(trial_sd=0.01), 0.05, 40).unsound > 0.8


def test_two_conditions_without_an_aa_twin_are_covered_too() -> None:
    assert fixed_rounds(Machine(luck_sd=0.01), 0.05, EXPERIMENTS, conditions=(BASELINE, TREATMENT)).is_covered


def test_a_single_round_never_covers_less_than_promised() -> None:
    found = fixed_rounds(Machine(trial_sd=0.02, luck_sd=0.01), 0.0, EXPERIMENTS, rounds=[1])
    assert found.covered >= LEAST_COVERAGE


@pytest.mark.parametrize(("luck_sd", "spread"), [(0.003, 0.02), (0.01, 0.2)])
def test_pooled_transaction_types_are_covered(luck_sd: float, spread: float) -> None:
    assert transaction_types(Machine(luck_sd=luck_sd), spread, EXPERIMENTS).is_covered


@pytest.mark.parametrize("log_ratio", LOG_RATIOS)
def test_a_model_that_is_twice_too_sure_is_caught(log_ratio: float, monkeypatch: pytest.MonkeyPatch) -> None:
    def overconfident(data: Mixture) -> Posterior:
        return posterior(_rescaled(data, 0.5))

    monkeypatch.setattr(judging, "posterior", overconfident)
    for machine in MACHINES:
        found = fixed_rounds(machine, log_ratio, HALF_AS_MANY)
        assert not found.is_covered
        assert found.covered < 0.85


def test_a_gate_that_is_twice_too_sure_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def overconfident(data: Mixture) -> Posterior:
        return posterior(_rescaled(data, 0.5))

    monkeypatch.setattr(judging, "posterior", overconfident)
    found = gated(Machine(trial_sd=0.03, luck_sd=0.01), 0.05, HALF_AS_MANY, budget=0.05)
    assert found.over > MOST_WRONG_GATES
    assert found.within > MOST_WRONG_GATES


def test_a_model_that_is_twice_too_unsure_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def timid(data: Mixture) -> Posterior:
        return posterior(_rescaled(data, 2.0))

    monkeypatch.setattr(judging, "posterior", timid)
    machine = Machine(luck_sd=0.01)
    assert _pooled([fixed_rounds(machine, log_ratio, EXPERIMENTS) for log_ratio in LOG_RATIOS]) > MOST_POOLED_COVERAGE


def test_pooled_types_that_are_twice_too_sure_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def overconfident(data: Mixture) -> Posterior:
        return as_posterior(_rescaled(data, 0.5))

    monkeypatch.setattr(verdicts, "as_posterior", overconfident)
    assert not transaction_types(Machine(luck_sd=0.01), 0.2, HALF_AS_MANY).is_covered


def test_the_same_seed_gives_the_same_figures() -> None:
    assert fixed_rounds(Machine(), 0.05, 5) == fixed_rounds(Machine(), 0.05, 5)


def test_every_cell_draws_experiments_of_its_own() -> None:
    widths = {fixed_rounds(m, ratio, 1).points / np.exp(ratio) for m in MACHINES for ratio in (0.0, 1e-9)}
    assert len(widths) == 2 * len(MACHINES)
