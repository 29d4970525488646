"""Histories without a change show none, and an injected one is found, with Apache Otava's own detector."""

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
import pytest

from calibration.harness import MACHINES, TOLERANCE, answers
from calibration.simulation import Machine
from tdelta.inference.between import find_changes
from tdelta.records import Estimate

HISTORIES = 20
AIMED = Machine(trial_sd=0.02, instance_sd=0.003)
"""On which runs of this length are as precise as the default aims at: a 95 % HDI of two points."""
QUICK = 300
"""Histories whose runs are drawn as estimates, without trials: what is asked of them is rare."""

MOST_FALSE = 0.03


def runs(machine: Machine, log_ratio: float) -> Iterator[Estimate]:
    return (estimate for _, estimate in answers(machine, log_ratio, rounds=(5, 6, 4)))


@pytest.mark.parametrize(
    ("machine", "length"), [(AIMED, 3), (MACHINES[3], 3), (MACHINES[0], 12)], ids=["aimed-3", "odd-3", "noisy-12"]
)
def test_of_20_simulated_histories_without_a_change_at_most_one_shows_any(machine: Machine, length: int) -> None:
    made = runs(machine, float(np.log(1.1)))
    histories = [list(islice(made, length)) for _ in range(HISTORIES)]
    assert sum(bool(find_changes(one, TOLERANCE).found) for one in histories) <= 1


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2), (4, 3)])
def test_a_change_of_ten_points_is_found_at_its_place(before: int, after: int) -> None:
    earlier, later = (runs(AIMED, float(np.log(ratio))) for ratio in (1.1, 1.2))
    found = [find_changes([*islice(earlier, before), *islice(later, after)], TOLERANCE).found for _ in range(HISTORIES)]
    at_its_place = [changes[0] for changes in found if [one.at for one in changes] == [before]]
    assert len(at_its_place) >= HISTORIES - 1
    assert sum(low <= 0.1 <= high for low, high in (one.difference.hdi95 for one in at_its_place)) >= HISTORIES - 4


@pytest.mark.parametrize("length", [3, 5, 10, 20, 40])
@pytest.mark.parametrize("between_runs", [0.0, 0.005])
def test_false_changes_are_rare_whatever_the_length(length: int, between_runs: float) -> None:
    rng = np.random.default_rng([length, round(1e4 * between_runs)])
    false = sum(bool(find_changes(_drawn(rng, length, between_runs), TOLERANCE).found) for _ in range(QUICK))
    assert false <= MOST_FALSE * QUICK


def test_a_threshold_without_regard_to_the_number_of_places_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdelta.inference.between.most_probable", lambda runs: 0.01)
    rng = np.random.default_rng(1)
    false = sum(bool(find_changes(_drawn(rng, 40, 0.005), TOLERANCE).found) for _ in range(QUICK))
    assert false > MOST_FALSE * QUICK


def _drawn(rng: np.random.Generator, length: int, between_runs: float) -> Sequence[Estimate]:
    """Runs at +10 % whose error is a t with five degrees of freedom, as a run of five rounds has."""
    sd, wide95, wide99 = 0.006, 2.571, 4.032
    x = np.log(1.1) + sd * rng.standard_t(5, length) + between_runs * rng.standard_normal(length)
    ends = [[np.exp(value + sign * wide * sd) for sign in (-1, 1)] for value in x for wide in (wide95, wide99)]
    return [
        Estimate(float(np.exp(value)), tuple(ends[2 * at]), tuple(ends[2 * at + 1]), 0.0, 0.0, 0.0)
        for at, value in enumerate(x)
    ]
