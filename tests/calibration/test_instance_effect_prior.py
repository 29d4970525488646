"""The effect of a calibration's prior of luck on coverage: right, wrong, and as the shipped code makes it.

Cells stop as soon as it is clear (`calibration.sequential`), as those of `test_coverage` do.
"""

import math

import pytest

from calibration.harness import LEAST_COVERAGE, MISSED
from calibration.known_luck import answers_with, called_slower, simulated_calibration, with_luck
from calibration.sequential import MOST_EXPERIMENTS, broken
from calibration.simulation import Machine
from tdelta.inference.instrument.calibration import ASSURANCE
from tdelta.records import InstanceEffectPrior

COMPARED = 80
DECIDED = 100
QUIET = Machine(trial_sd=0.02, instance_sd=0.003)
LUCKY = Machine(trial_sd=0.02, instance_sd=0.01)


def known(median: float, vague_share: float = 0.2) -> InstanceEffectPrior:
    return InstanceEffectPrior(median, 0.45, vague_share)


@pytest.mark.parametrize("machine", [QUIET, LUCKY], ids=lambda m: m.name)
def test_a_prior_that_is_right_keeps_coverage(machine: Machine) -> None:
    assert broken([MISSED], answers_with(machine, [known(machine.instance_sd)])) == []


def test_a_prior_that_is_right_narrows_what_a_quiet_machine_says() -> None:
    rounds = (3,)
    vague = with_luck(QUIET, [None], COMPARED, rounds=rounds)
    narrow = with_luck(QUIET, [known(0.003)], COMPARED, rounds=rounds)
    assert narrow.points < 0.95 * vague.points
    assert broken([MISSED], answers_with(QUIET, [known(0.003)], rounds=rounds)) == []


@pytest.mark.parametrize("machine", [QUIET, LUCKY], ids=lambda m: m.name)
def test_what_a_simulated_calibration_finds_keeps_coverage_in_the_runs_behind_it(machine: Machine) -> None:
    priors = [simulated_calibration(machine, index).prior for index in range(10)]
    assert all(0.3 < prior.median / machine.instance_sd < 2.0 for prior in priors)
    assert broken([MISSED], answers_with(machine, priors)) == []


def test_instance_effects_that_grew_since_costs_coverage_and_the_vague_share_pays_some_of_it_back() -> None:
    sure = with_luck(LUCKY, [known(0.003, vague_share=0.0)], DECIDED)
    robust = with_luck(LUCKY, [known(0.003)], DECIDED)
    assert robust.covered >= sure.covered
    assert robust.covered >= 0.85


def test_a_prior_that_is_far_too_sure_is_caught() -> None:
    luckier = Machine(trial_sd=0.02, instance_sd=0.02)
    found = with_luck(luckier, [InstanceEffectPrior(0.0005, 0.1, 0.0)], MOST_EXPERIMENTS)
    assert found.covered < LEAST_COVERAGE


@pytest.mark.parametrize("machine", [Machine(trial_sd=0.03), Machine(trial_sd=0.03, instance_sd=0.01, noise="gamma")])
def test_an_overhead_that_is_called_visible_is_found_nine_times_in_ten(machine: Machine) -> None:
    found, _ = called_slower(machine, DECIDED, rounds=12)
    assert abs(found - ASSURANCE) <= 3.3 * math.sqrt(ASSURANCE * (1.0 - ASSURANCE) / DECIDED)


def test_on_the_edge_of_the_tolerance_hardly_anything_is_called_slower() -> None:
    found, overhead = called_slower(Machine(trial_sd=0.03), DECIDED, rounds=12, at=0.0)
    assert overhead == pytest.approx(0.02)
    assert found <= 0.06
