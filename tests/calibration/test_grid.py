"""A dozen telling cells of the grid keep what is asked of them, and models that are wrong are caught there.

Every cell has at most 200 experiments and stops as soon as it is clear (`calibration.sequential`). A dozen cells ask
some thirty things: if every one of them lay exactly at its limit, at most one in 330 versions of the model would fail
here by chance. ``benches/calibration.py --grid`` has all cells, with 1000 experiments each.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from calibration.grid import Limit, Outcome, cells, gate_cells, gate_limits, gate_outcome, limits, outcome, rescaled
from calibration.sequential import MOST_EXPERIMENTS, broken, clearly_bad, outcome_rates
from tdelta.inference import fits, noise, rounds
from tdelta.inference.fits import Answer
from tdelta.inference.posterior import FloatArray
from tdelta.inference.stalls import NO_SHIFT, Events, Shift

CELLS = (
    "normal, log ratio 0",
    "normal, log ratio 0.05",
    "stalls × 10 of encrypted twins, 5 % of trials, 20 rounds",
    "stalls × 3 of all twins, 10 % of trials, 5 rounds",
    "stalls × 3 of encrypted twins, 10 % of trials in runs of three, 20 rounds",
    "stalls × 10 of encrypted twins, 5 % of trials, 5 rounds",
    "skewed, sd 6 %, encrypted × 3, 5 rounds",
    "cauchy, log ratio 0",
    "bursts of 3 trials, 20 % of the time, × 3",
    "one encrypted instance of 3 rounds × 1.5",
    "instance effects 5 %, 3 rounds",
    "encrypted noise × 3, 3 rounds",
    "5 % a place in the block, 3 rounds",
    "AR(1) 0.7",
    "encryption × round 5 %, 5 rounds",
    "encryption × round 2 %, 10 rounds",
    "noise 50 %, 20 rounds, log ratio 0",
    "every fifth trial × 2",
)
"""The sixth is too short for its stalls: what is asked there is about runs that met any, and about what they missed."""

GATES = ("gate: instance effects 3 %", "gate: one encrypted instance of 5 rounds × 1.2")


LUCKY = "instance effects 5 %, 1 rounds"
CARRIED = "an encrypted trial slows the next by 6 %, 10 rounds"


def _is_outside(seen: Outcome) -> bool:
    low, high = seen.ratio.hdi95
    return not low <= 1.0 <= high


INTERVAL = Limit("outside the interval", 0.10, _is_outside)
"""Asked where `undecided` would hide what an interval misses."""


def experiments(name: str) -> Iterator[Outcome]:
    return (outcome(cells()[name], name, index) for index in range(MOST_EXPERIMENTS))


def faults(name: str) -> Sequence[str]:
    return broken(limits(cells()[name]), experiments(name))


@pytest.mark.parametrize("name", CELLS)
def test_a_telling_cell_keeps_what_is_asked_of_it(name: str) -> None:
    assert faults(name) == []


@pytest.mark.parametrize("name", GATES)
def test_a_gate_at_its_edge_keeps_what_is_asked_of_it(name: str) -> None:
    process = gate_cells()[name]
    found = broken(gate_limits(process), (gate_outcome(process, name, index) for index in range(MOST_EXPERIMENTS)))
    assert found == []


def test_an_interval_of_one_round_holds_the_truth_where_instances_differ_by_far_more_than_most() -> None:
    assert broken([INTERVAL], experiments(LUCKY)) == []


def test_an_interval_holds_the_cost_of_a_trial_by_itself_where_encrypted_trials_slow_the_next() -> None:
    assert broken([INTERVAL], experiments(CARRIED)) == []


def test_a_model_without_carry_over_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "CARRIED_SD", 1e-6)
    assert broken([INTERVAL], experiments(CARRIED))


def test_a_model_that_ignores_stalls_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def ignored(groups: Sequence[Events]) -> list[Shift]:
        return [NO_SHIFT for _ in groups[1:]]

    monkeypatch.setattr(fits, "shifts", ignored)
    (fault,) = faults("stalls × 10 of encrypted twins, 5 % of trials, 20 rounds")
    assert "negligible" in fault or "outside" in fault


def test_a_prior_that_knows_no_odd_instance_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def half_normal(tau: FloatArray, _scale: float, _instance_effect: object = None) -> FloatArray:
        return np.asarray(np.log(tau) - 0.5 * (tau / 0.014) ** 2, dtype=np.float64)

    monkeypatch.setattr(rounds, "log_instance_sd_density", half_normal)
    assert broken([INTERVAL], experiments(LUCKY))


def test_intervals_half_as_wide_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Answer, "posterior", rescaled(0.5))
    (fault,) = faults("normal, log ratio 0.05")
    assert "outside the interval" in fault


@pytest.mark.parametrize("most", [0.01, 0.02, 0.025, 0.05, 0.07, 0.10])
def test_the_rule_errs_as_seldom_as_it_says(most: float) -> None:
    at_the_limit, _ = outcome_rates(most, most)
    well_inside, used = outcome_rates(most, 0.4 * most)
    caught, _ = outcome_rates(most, clearly_bad(most))
    assert well_inside <= at_the_limit <= 1e-4
    assert caught >= 0.98
    assert used < 0.6 * MOST_EXPERIMENTS
