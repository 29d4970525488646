"""No neighbour of the layout that `tdelta plan` advises decides sooner, and a planned run decides as often as is said.

Efforts are in logs. That of one run scatters with the width of its interval, so a mean of several is known to the root
of their variance over their number, and two differ by more than three standard errors by chance once in 370 times.
"""

from dataclasses import replace

import numpy as np
import pytest

from calibration.layouts import (
    ASSURANCE,
    LENGTHS,
    MOST_BLOCKS,
    PASS,
    Place,
    advised,
    decides_in,
    effort,
    neighbours,
    planned,
    predicted,
    said_slower,
)
from calibration.simulation import Array
from tdelta.inference.instrument.prospects import PlanQuery

EACH = 40

ERRORS = 3.0

INNER = Place("inner", falling=2.4e-3, growing=2e-4, instance_sd=0.004, round_seconds=60.0, switch_seconds=2.0)
"""Noise falls with a trial's length and then grows, switches and fresh twins are dear: both optima lie inside."""

LUCKY = Place("lucky", falling=4e-4, instance_sd=0.015, switch_seconds=0.5)
"""Longer trials are quieter by more than they take, and yet not worth it, since luck is most of what there is."""

NOISY = Place("noisy", flat=1e-2, instance_sd=0.002, round_seconds=20.0)

PILOTS, RUNS = 10, 15
EFFECT, TOLERANCE = 0.02, 0.01

SIMULATED = 150
WITHIN = 1.43
"""Chances of 80 % from 150 runs each differ by 4.6 points (one standard error). They grow by 0.39 for each unit of the
rounds' logarithm where normal theory holds, so rounds differ by 12 %, and by more than 43 % once in 370 times."""


def longer(one: Array, other: Array) -> float:
    error = np.sqrt(one.var(ddof=1) / len(one) + other.var(ddof=1) / len(other))
    return float((one.mean() - other.mean()) / error)


def test_the_places_want_different_layouts() -> None:
    inner, lucky, noisy = map(advised, (INNER, LUCKY, NOISY))
    assert LENGTHS[0] < inner.trial_seconds < LENGTHS[-1]
    assert PASS < inner.blocks < MOST_BLOCKS
    assert len(list(neighbours(inner))) == 4
    assert (lucky, noisy) == ((LENGTHS[0], PASS), (LENGTHS[0], MOST_BLOCKS))


@pytest.mark.parametrize("aim", [(0.03, 0.01), (0.10, 0.02)])
@pytest.mark.parametrize("place", [INNER, LUCKY, NOISY], ids=lambda place: place.name)
def test_no_neighbour_of_the_advised_layout_decides_an_aim_much_sooner(place: Place, aim: tuple[float, float]) -> None:
    """Of an aim that three rounds reach as of one that takes ten."""
    best = advised(place, aim)
    soonest = min(decides_in(place, of, predicted(place, of, SIMULATED), aim) for of in neighbours(best))
    assert decides_in(place, best, predicted(place, best, SIMULATED), aim) <= WITHIN * soonest


@pytest.mark.parametrize("place", [INNER, LUCKY, NOISY], ids=lambda place: place.name)
def test_no_neighbour_of_the_advised_layout_takes_less_time_for_the_same_precision(place: Place) -> None:
    best = advised(place)
    wall_seconds = 12.0 * place.whole_round_seconds(best)
    takes = effort(place, best, wall_seconds, EACH)
    for other in neighbours(best):
        assert longer(takes, effort(place, other, wall_seconds, EACH)) < ERRORS, other


def test_an_advice_that_knows_of_no_instance_effects_is_beaten() -> None:
    blind, seeing = advised(LUCKY, instance_sd=1e-6), advised(LUCKY)
    wall_seconds = 8.0 * LUCKY.whole_round_seconds(blind)
    assert longer(*(effort(LUCKY, of, wall_seconds, EACH) for of in (blind, seeing))) > ERRORS


def decided(pilot: Place, pilots: int) -> tuple[float, float]:
    """The share of planned runs that say slower, their plans being made at ``pilot``; and its standard error.

    Runs of one plan share what it got wrong, so it is plans that are counted.
    """
    asked = PlanQuery(
        effects=(EFFECT,), tolerances=(TOLERANCE,), assurance=ASSURANCE, max_seconds=14400.0, simulated=40
    )
    shares = []
    for index in range(pilots):
        layout, aim = planned(pilot, index, asked)
        assert aim.rounds is not None
        said = [said_slower(INNER, layout, aim.rounds, EFFECT, TOLERANCE, (index, run)) for run in range(RUNS)]
        shares.append(float(np.mean(said)))
    least = ASSURANCE * (1.0 - ASSURANCE) / (pilots * RUNS)
    return float(np.mean(shares)), float(np.sqrt(max(np.var(shares, ddof=1) / pilots, least)))


def test_a_planned_run_decides_as_often_as_its_plan_says() -> None:
    share, error = decided(INNER, PILOTS)
    assert share > ASSURANCE - ERRORS * error


def test_a_plan_from_a_pilot_that_was_half_as_noisy_is_caught() -> None:
    quiet = replace(
        INNER, falling=INNER.falling / 4.0, growing=INNER.growing / 4.0, instance_sd=INNER.instance_sd / 2.0
    )
    share, error = decided(quiet, 4)
    assert share < ASSURANCE - ERRORS * error
