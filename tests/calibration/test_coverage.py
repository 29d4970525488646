"""tdelta's intervals hold the truth as often as they say, and the same test catches a model that is too sure.

Cells stop as soon as it is clear (`calibration.sequential`): a model at the edge of what is asked fails a cell at most
once in 10,000 times, and intervals half as wide pass none of them but once in a thousand.
"""

from collections.abc import Iterator
from itertools import chain, islice

import numpy as np
import pytest

from calibration.grid import Limit, rescaled
from calibration.harness import (
    FALSE_ALARM,
    LOG_RATIOS,
    MACHINES,
    MISSED,
    MOST_POOLED_COVERAGE,
    Pair,
    answers,
    contrasts,
    gated,
    identical_types,
    is_missed,
    plain_twins,
    stopping_on_precision,
    tally,
    types,
)
from calibration.sequential import broken, settled
from calibration.simulation import BASELINE, TREATMENT, Machine
from tdelta.inference import pooling
from tdelta.inference.fits import Answer
from tdelta.inference.posterior import Mixture, Posterior, posterior

EXPERIMENTS = 200
HALF_AS_MANY = EXPERIMENTS // 2
GATES = 60
"""Of a gate that is twice too sure, which is wrong some 13 times in 100 on either side, as many already tell."""

MOST_WRONG_GATES = 0.067
"""Of `GATES` on each side: four. Of a gate that is wrong in 1.5 %, more come once in 600 times."""

POOLED = 30
"""Experiments of a cell where cells are added up: of 480 fewer than five misses come by chance once in 500 times, where
3 % are missed."""

LOOKING = 40
"""Experiments that look after each round, and so cost several."""


def _pooled_coverage(cells: Iterator[Iterator[Pair]]) -> float:
    return 1.0 - float(
        np.mean([is_missed(pair) for pair in chain.from_iterable(islice(cell, POOLED) for cell in cells)])
    )


@pytest.mark.parametrize("log_ratio", LOG_RATIOS)
@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_the_95_percent_hdi_holds_the_truth_about_95_times_in_100(machine: Machine, log_ratio: float) -> None:
    assert broken([MISSED, FALSE_ALARM], answers(machine, log_ratio)) == []


def test_intervals_are_not_much_wider_than_they_need_be() -> None:
    assert _pooled_coverage(answers(m, ratio) for m in MACHINES for ratio in LOG_RATIOS) <= MOST_POOLED_COVERAGE


@pytest.mark.parametrize("heavier", [0.0, 0.05, 0.3, 1.5])
@pytest.mark.parametrize("instance_sd", [0.003, 0.01])
def test_a_contrast_of_two_treatments_holds_the_truth_as_often(instance_sd: float, heavier: float) -> None:
    assert broken([MISSED], contrasts(Machine(instance_sd=instance_sd), 0.5, heavier)) == []


@pytest.mark.parametrize("log_ratio", [0.0, 0.05])
@pytest.mark.parametrize("instance_sd", [0.003, 0.01])
def test_stopping_on_precision_keeps_coverage_and_false_alarms(instance_sd: float, log_ratio: float) -> None:
    machine = Machine(trial_sd=0.03, instance_sd=instance_sd)
    found = list(islice(stopping_on_precision(machine, log_ratio, precision=0.03, most=10), LOOKING))
    assert 3.2 < np.mean([one.rounds for one in found]) < 9.0, "the rule hardly had a choice, so little was tested"
    assert broken([MISSED, FALSE_ALARM], [one.pair for one in found]) == []
    assert abs(tally(one.pair for one in found).bias) <= 0.35


def test_stopping_at_a_tenth_of_a_large_overhead_keeps_coverage() -> None:
    found = list(islice(stopping_on_precision(Machine(instance_sd=0.01), 0.8, most=16), LOOKING))
    assert 3.2 < np.mean([one.rounds for one in found]) < 14.0, "the rule hardly had a choice, so little was tested"
    assert broken([MISSED], [one.pair for one in found]) == []
    assert abs(tally(one.pair for one in found).bias) <= 1.4


def test_a_gate_at_its_edge_is_seldom_wrong_on_either_side() -> None:
    found = gated(Machine(trial_sd=0.03, instance_sd=0.01), 0.05, GATES, budget=0.05)
    assert found.over <= MOST_WRONG_GATES
    assert found.within <= MOST_WRONG_GATES


def test_a_gate_answers_where_the_truth_is_clear_of_the_budget() -> None:
    machine = Machine(trial_sd=0.03, instance_sd=0.003)
    assert gated(machine, 0.0, 40, budget=0.05).within > 0.8
    assert gated(machine, 0.10, 40, budget=0.05).over > 0.8


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_sound_twins_are_hardly_ever_called_invalid(machine: Machine) -> None:
    assert plain_twins(machine, 0.0, HALF_AS_MANY).invalid <= 0.03


def test_twins_that_differ_by_far_more_than_the_tolerance_are_called_invalid() -> None:
    assert plain_twins(Machine(trial_sd=0.01), 0.05, 40).invalid > 0.8


def test_two_conditions_without_twins_are_covered_too() -> None:
    assert broken([MISSED], answers(Machine(instance_sd=0.01), 0.05, conditions=(BASELINE, TREATMENT))) == []


def test_a_single_round_never_covers_less_than_promised() -> None:
    assert broken([MISSED], answers(Machine(trial_sd=0.02, instance_sd=0.01), 0.0, rounds=[1])) == []


@pytest.mark.parametrize(("instance_sd", "spread", "rounds"), [(0.003, 0.02, 3), (0.01, 0.2, 3), (0.02, 0.02, 1)])
def test_pooled_transaction_types_are_covered(instance_sd: float, spread: float, rounds: int) -> None:
    """Types of an experiment share its instances: what an experiment says counts as one, at its first type."""
    first = (pairs[0] for pairs in types(Machine(instance_sd=instance_sd), spread, fewest_rounds=rounds))
    assert broken([MISSED], first) == []


def test_of_identical_types_hardly_a_run_calls_any_where_three_rounds_differ_by_three_percent() -> None:
    """Six types of five conditions, each type with instance effects of its own: one of thirty is soon wrong."""
    wrong = Limit("a type called slower or faster", 0.05, bool)
    assert broken([wrong], identical_types(Machine(trial_sd=0.03, instance_sd=0.03), conditions=5)) == []


@pytest.mark.parametrize("log_ratio", LOG_RATIOS)
def test_a_model_that_is_twice_too_sure_is_caught(log_ratio: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Answer, "posterior", rescaled(0.5))
    for machine in MACHINES:
        faults, seen = settled([MISSED], answers(machine, log_ratio))
        assert faults
        assert len(seen) < EXPERIMENTS


def test_a_gate_that_is_twice_too_sure_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Answer, "posterior", rescaled(0.5))
    found = gated(Machine(trial_sd=0.03, instance_sd=0.01), 0.05, GATES, budget=0.05)
    assert found.over > MOST_WRONG_GATES
    assert found.within > MOST_WRONG_GATES


def test_a_model_that_is_twice_too_unsure_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Answer, "posterior", rescaled(2.0))
    assert _pooled_coverage(answers(m, 0.0) for m in MACHINES) > MOST_POOLED_COVERAGE


def test_pooled_types_that_are_twice_too_sure_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def overconfident(data: Mixture) -> Posterior:
        return posterior(Mixture(data.weights, data.mean + 0.5 * (data.means - data.mean), 0.5 * data.sds))

    monkeypatch.setattr(pooling, "posterior", overconfident)
    assert broken([MISSED], (pairs[0] for pairs in types(Machine(instance_sd=0.01), 0.2)))
