"""tdelta's intervals hold the truth as often as they say, and the same test catches a model that is too sure."""

from __future__ import annotations

import pytest

from calibration.harness import (
    LEAST_COVERAGE,
    LOG_RATIOS,
    MACHINES,
    MOST_FALSE_ALARMS,
    called_unsound,
    fixed_rounds,
    stopped_on_precision,
    transaction_types,
)
from calibration.simulation import BASELINE, TREATMENT, Machine
from tdelta.inference import judging, verdicts
from tdelta.inference.posterior import Mixture, Posterior, as_posterior, posterior

EXPERIMENTS = 200


def _twice_as_sure(data: Mixture) -> Mixture:
    return Mixture(data.weights, data.mean + 0.5 * (data.means - data.mean), 0.5 * data.sds)


@pytest.mark.parametrize("log_ratio", LOG_RATIOS)
@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_the_95_percent_hdi_holds_the_truth_about_95_times_in_100(machine: Machine, log_ratio: float) -> None:
    assert fixed_rounds(machine, log_ratio, EXPERIMENTS).is_calibrated


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_identical_twins_raise_no_more_false_alarms_than_promised(machine: Machine) -> None:
    found = fixed_rounds(machine, 0.0, EXPERIMENTS)
    assert 1.0 - found.covered <= MOST_FALSE_ALARMS
    assert found.false_alarms <= 0.025


@pytest.mark.parametrize("log_ratio", [0.0, 0.05])
@pytest.mark.parametrize("luck_sd", [0.003, 0.01])
def test_stopping_on_precision_keeps_coverage_and_false_alarms(luck_sd: float, log_ratio: float) -> None:
    found, rounds = stopped_on_precision(Machine(trial_sd=0.03, luck_sd=luck_sd), log_ratio, EXPERIMENTS)
    assert 3.5 < rounds < 9.0, "the rule hardly had a choice, so little was tested"
    assert found.is_calibrated
    assert found.false_alarms <= 0.025
    assert abs(found.bias) <= 0.25


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_sound_twins_are_hardly_ever_called_unsound(machine: Machine) -> None:
    assert called_unsound(machine, EXPERIMENTS) <= 0.025


def test_two_conditions_without_an_aa_twin_are_covered_too() -> None:
    assert fixed_rounds(Machine(luck_sd=0.01), 0.05, EXPERIMENTS, conditions=(BASELINE, TREATMENT)).is_calibrated


def test_a_single_round_never_covers_less_than_promised() -> None:
    found = fixed_rounds(Machine(trial_sd=0.02, luck_sd=0.01), 0.0, EXPERIMENTS, rounds=[1])
    assert found.covered >= LEAST_COVERAGE


@pytest.mark.parametrize(("luck_sd", "spread"), [(0.003, 0.02), (0.01, 0.2)])
def test_pooled_transaction_types_are_covered(luck_sd: float, spread: float) -> None:
    assert transaction_types(Machine(luck_sd=luck_sd), spread, EXPERIMENTS).is_calibrated


@pytest.mark.parametrize("log_ratio", LOG_RATIOS)
def test_a_model_that_is_twice_too_sure_is_caught(log_ratio: float, monkeypatch: pytest.MonkeyPatch) -> None:
    def overconfident(data: Mixture) -> Posterior:
        return posterior(_twice_as_sure(data))

    monkeypatch.setattr(judging, "posterior", overconfident)
    for machine in MACHINES:
        found = fixed_rounds(machine, log_ratio, EXPERIMENTS)
        assert not found.is_calibrated
        assert found.covered < 0.85


def test_pooled_types_that_are_twice_too_sure_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def overconfident(data: Mixture) -> Posterior:
        return as_posterior(_twice_as_sure(data))

    monkeypatch.setattr(verdicts, "as_posterior", overconfident)
    assert not transaction_types(Machine(luck_sd=0.01), 0.2, EXPERIMENTS).is_calibrated


def test_the_same_seed_gives_the_same_figures() -> None:
    assert fixed_rounds(Machine(), 0.05, 5) == fixed_rounds(Machine(), 0.05, 5)
