import math
from collections.abc import Sequence

import numpy as np
import pytest

from tdelta.inference.noise import Design, InstanceMeans, fit_instances
from tdelta.inference.stalls import (
    EVENT_SDS,
    LEAST_EVENT,
    MISSED,
    NO_SHIFT,
    Events,
    Shift,
    _strength_posterior,
    events_of,
    shifts,
)

KINDS = np.array([0, 0, 1])
PLAIN, TREATED = 0, 1


def fitted(
    longer: dict[tuple[int, int], float] | None = None,
    *,
    rounds: int = 4,
    blocks: int = 6,
    sd: float = 0.005,
    absent: Sequence[tuple[int, int]] = (),
    seed: int = 1,
) -> InstanceMeans:
    """Two plain twins and a treated one; some trials, by block and column, take so many times as long."""
    count = rounds * blocks
    costs = np.random.default_rng(seed).normal(0.0, sd, (count, 3))
    for at, factor in (longer or {}).items():
        costs[at] += math.log(factor)
    for at in absent:
        costs[at] = np.nan
    places = (np.arange(3) + np.arange(count)[:, None]) % 3
    return fit_instances(costs, Design(np.repeat(np.arange(rounds), blocks), places, KINDS, np.zeros(costs.shape)))


def events(*above: float, trials: int = 200, below: Sequence[float] = ()) -> Events:
    return Events(trials, np.array(above), np.array(below), np.zeros(0), len(above))


def shift(plain: Events, treated: Events) -> Shift:
    (found,) = shifts([plain, treated])
    return found


def quantile(found: Shift, probability: float) -> float:
    return float(np.interp(probability, np.cumsum(found.weights) - 0.5 * found.weights, found.points))


def test_a_stall_is_an_event_of_its_own_side_with_its_excess() -> None:
    means = fitted({(3, 2): 3.0})
    treated, plain = events_of(means, KINDS, TREATED), events_of(means, KINDS, PLAIN)
    assert treated.above == pytest.approx([2.0], rel=0.03)
    assert (treated.stalled, treated.trials, plain.trials) == (1, 24, 48)
    assert len(treated.below) == len(plain.above) == len(plain.below) == 0
    assert treated.cost == pytest.approx(2.0 / 24, rel=0.03)


def test_a_stall_over_neighbouring_blocks_is_one_event_whichever_twins_it_met() -> None:
    found = events_of(fitted({(7, 0): 3.0, (8, 1): 2.0, (10, 1): 2.0}), KINDS, PLAIN)
    assert found.above == pytest.approx([2.0 + 1.0, 1.0], rel=0.06)
    assert found.stalled == 3


def test_a_stall_that_met_all_twins_of_a_block_is_the_blocks_and_no_event() -> None:
    means = fitted({(7, column): 3.0 for column in range(3)})
    assert not any(len(events_of(means, KINDS, theta).above) for theta in (PLAIN, TREATED))


def test_a_new_round_begins_a_new_event() -> None:
    assert len(events_of(fitted({(5, 2): 3.0, (6, 2): 3.0}), KINDS, TREATED).above) == 2
    assert len(events_of(fitted({(6, 2): 3.0, (7, 2): 3.0}), KINDS, TREATED).above) == 1


def test_a_trial_that_was_far_too_short_is_an_event_below() -> None:
    found = events_of(fitted({(3, 2): 0.5}), KINDS, TREATED)
    assert found.below == pytest.approx([0.5], rel=0.1)
    assert len(found.above) == 0
    assert (found.cost, found.effective) == (0.0, 0.0)


def test_what_is_no_longer_than_noise_or_five_percent_is_no_event() -> None:
    quiet, noisy = fitted({(3, 2): 1.04}, sd=0.001), fitted({(3, 2): 1.1}, sd=0.06)
    assert EVENT_SDS * 0.06 > 1.1 - 1.0
    assert LEAST_EVENT > 1.04 - 1.0
    assert len(events_of(quiet, KINDS, TREATED).above) == 0
    assert len(events_of(noisy, KINDS, TREATED).above) == 0
    assert len(events_of(fitted({(3, 2): 1.07}, sd=0.001), KINDS, TREATED).above) == 1


def test_trials_that_there_were_not_are_no_events_and_are_not_counted() -> None:
    means = fitted({(9, 2): 3.0}, absent=[(block, 2) for block in range(6)])
    found = events_of(means, KINDS, TREATED)
    assert (found.trials, found.stalled) == (18, 1)
    assert len(found.small) == 17


def test_an_instance_that_is_slow_for_its_whole_round_is_in_the_mean_and_not_only_its_logarithm() -> None:
    """One of four encrypted instances takes three times as long: their mean is 1.5 times as long, their logs' 1.32."""
    means = fitted({(block, 2): 3.0 for block in range(6)})
    plain, treated = (events_of(means, KINDS, theta) for theta in (PLAIN, TREATED))
    typical = math.log(3.0) / 4.0
    added = (treated.above.sum() - treated.below.sum() + treated.small.sum()) / treated.trials
    assert math.exp(typical) * (1.0 + added) == pytest.approx(1.5, rel=0.02)
    assert treated.shared_variance > 0.01 > plain.shared_variance


@pytest.mark.parametrize("factor", [1e30, 1e300])
def test_a_trial_that_hardly_ended_is_still_a_figure(factor: float) -> None:
    means = fitted({(3, 2): factor})
    found = shift(events_of(means, KINDS, PLAIN), events_of(means, KINDS, TREATED))
    assert np.isfinite(found.points).all()
    assert found.mean > 1.0


def test_effective_events_are_those_that_scatter_alike() -> None:
    assert events(1.0, 1.0, 1.0).effective == pytest.approx(3.0)
    assert events(100.0, 0.01, 0.01).effective == pytest.approx(1.0, abs=0.01)


def test_stalls_rarer_than_what_is_missed_do_not_show_in_five_percent_of_runs() -> None:
    assert (1.0 - events(trials=120).missed_share) ** 120 == pytest.approx(MISSED)


def test_without_events_there_is_no_shift() -> None:
    assert shifts([events(), events(), events()]) == [NO_SHIFT, NO_SHIFT]
    assert (NO_SHIFT.mean, NO_SHIFT.variance) == (0.0, 0.0)


def test_small_excesses_alone_shift_hardly_and_symmetrically() -> None:
    means = fitted(rounds=10)
    found = shift(events_of(means, KINDS, PLAIN), events_of(means, KINDS, TREATED))
    assert abs(found.mean) < 1e-4
    assert found.variance**0.5 < 1e-4


def test_many_stalls_on_one_side_shift_by_what_they_add() -> None:
    """Forty in 400 trials, each half a trial long, add five percent."""
    found = shift(events(trials=800), events(*[0.5] * 40, trials=400))
    assert found.mean == pytest.approx(math.log(1.05), rel=0.1)
    assert quantile(found, 0.025) < math.log(1.05) < quantile(found, 0.975)
    assert quantile(found, 0.005) > 0.02
    mirrored = shift(events(*[0.5] * 40, trials=400), events(trials=400))
    assert quantile(mirrored, 0.995) < -0.02


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("size", [0.2, 3.0, 50.0])
def test_a_stall_or_two_on_one_side_are_no_difference_by_the_interval_that_odd_trials_need(
    count: int, size: float
) -> None:
    """By the 99 % interval; a single one not even by that of 95 %."""
    tail = 0.025 if count == 1 else 0.005
    assert quantile(shift(events(trials=200), events(*[size] * count, trials=100)), tail) < 0.0
    assert quantile(shift(events(*[size] * count, trials=200), events(trials=100)), 1.0 - tail) > 0.0


def test_as_many_stalls_on_both_sides_shift_nothing_but_widen() -> None:
    found = shift(events(*[2.0] * 10, trials=200), events(*[2.0] * 5, trials=100))
    assert abs(found.mean) < 0.02
    assert quantile(found, 0.025) < -0.02
    assert quantile(found, 0.975) > 0.02


def test_events_below_shift_the_other_way() -> None:
    found = shift(events(trials=200), events(trials=200, below=[0.5] * 30))
    assert quantile(found, 0.975) < -0.02


def test_the_shift_is_of_the_side_that_is_asked_about() -> None:
    many, none = shifts([events(), events(*[0.5] * 40), events()])
    assert many.mean > 0.08
    assert abs(none.mean) < 0.01


def test_events_met_evenly_ask_for_more_pooling_than_events_met_on_one_side() -> None:
    trials = np.array([100.0, 100.0])
    even, uneven = (_strength_posterior(np.array(counts), trials) for counts in ([8, 8], [16, 0]))
    assert even.sum() == pytest.approx(1.0)
    assert even[-1] > 2.0 * uneven[-1]
    assert uneven[0] > 1.5 * even[0]


def test_a_side_without_events_is_given_some_of_what_the_others_met() -> None:
    """None was met, and still some may be on their way: what a side may have runs above nothing."""
    found = shift(events(*[1.0] * 3, trials=100), events(trials=100))
    assert -math.log(1.03) < found.mean < 0.0
    assert found.variance > 0.0
