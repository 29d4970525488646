import math

import numpy as np
import pytest
from scipy import stats

from support.refused import Coded, Part, coded, has
from tdelta.inference.exceedances import FEWEST, FEWEST_BLOCKS, Shares, exceedance_ratio, reason_for_none
from tdelta.records import Exceeding, TailUnit


def shares(longer: object, of: float = 1000.0) -> Shares:
    counted = np.asarray(longer, dtype=np.float64)
    return Shares(counted, np.full(len(counted), of))


ROUNDS_OF_ONE = np.arange(40)
TWO_ROUNDS = np.repeat([3, 7], 20)
FIVE_ROUNDS = np.repeat(np.arange(5), 8)


def drawn(seed: int, mean: float) -> Shares:
    return shares(np.random.default_rng(seed).poisson(mean, 40))


def test_the_ratio_is_that_of_the_shares_over_all_blocks() -> None:
    found = exceedance_ratio(shares([6] * 40), shares([8] * 40, of=2000.0), ROUNDS_OF_ONE)
    assert found.ratio == pytest.approx(1.5)
    assert found.interval95 == pytest.approx((1.5, 1.5))


def test_the_interval_is_the_t_interval_of_the_rounds_influences() -> None:
    condition, baseline = drawn(1, 12.0), drawn(2, 9.0)
    found = exceedance_ratio(condition, baseline, ROUNDS_OF_ONE)
    influence = condition.influence - baseline.influence
    half = stats.t.ppf(0.975, 39) * math.sqrt(40) * influence.std(ddof=1)
    ends = found.ratio * np.exp([-half, half])
    assert found.interval95 == pytest.approx(tuple(ends), rel=1e-4)
    assert (found.unit, found.units) == (TailUnit.ROUND, 40)


def test_the_linearisation_agrees_with_a_bootstrap_of_blocks() -> None:
    condition, baseline = drawn(3, 30.0), drawn(4, 25.0)
    found = exceedance_ratio(condition, baseline, ROUNDS_OF_ONE)
    picks = np.random.default_rng(5).integers(0, 40, (4000, 40))
    logs = np.log(condition.longer[picks].sum(axis=1) / baseline.longer[picks].sum(axis=1))
    half = 0.5 * math.log(found.interval95[1] / found.interval95[0])
    assert half == pytest.approx(stats.t.ppf(0.975, 39) * logs.std() * math.sqrt(40 / 39), rel=0.06)


def test_the_round_is_the_unit() -> None:
    found = exceedance_ratio(drawn(1, 12.0), drawn(2, 9.0), FIVE_ROUNDS)
    assert (found.unit, found.units) == (TailUnit.ROUND, 5)


def test_two_rounds_that_agree_by_chance_do_not_narrow_the_interval_below_that_of_blocks() -> None:
    condition, baseline = shares([4, 20] * 20), shares([10] * 40)
    found = exceedance_ratio(condition, baseline, TWO_ROUNDS)
    assert found.interval95 == pytest.approx(exceedance_ratio(condition, baseline, ROUNDS_OF_ONE).interval95)
    apart = exceedance_ratio(shares([8] * 20 + [16] * 20), baseline, TWO_ROUNDS)
    half = math.log(apart.interval95[1] / apart.ratio)
    influences = 20 * (np.array([8.0, 16.0]) - 12.0) / 480
    assert half == pytest.approx(stats.t.ppf(0.975, 1) * math.sqrt(2) * influences.std(ddof=1), rel=1e-3)
    assert (apart.unit, apart.units) == (TailUnit.ROUND, 2)


def test_instance_effects_of_instances_widens_the_interval_of_rounds_and_not_that_of_single_blocks() -> None:
    lucky = np.repeat([0.5, 1.5, 0.7, 1.3, 1.0], 8)
    condition, baseline = shares(20 * lucky), shares(np.full(40, 20.0))
    rounds = exceedance_ratio(condition, baseline, FIVE_ROUNDS).interval95
    pairs = exceedance_ratio(condition, baseline, ROUNDS_OF_ONE).interval95
    assert math.log(rounds[1] / rounds[0]) > 2.5 * math.log(pairs[1] / pairs[0])


def test_drift_that_both_sides_share_does_not_widen_the_interval() -> None:
    drift = np.round(20 * np.exp(np.sin(np.arange(40))))
    found = exceedance_ratio(shares(2 * drift), shares(drift), ROUNDS_OF_ONE)
    assert found.interval95 == pytest.approx((2.0, 2.0))


def test_more_transactions_of_the_same_blocks_are_no_more_evidence() -> None:
    condition, baseline = drawn(1, 12.0), drawn(2, 9.0)
    more = [Shares(1000 * side.longer, 1000 * side.of) for side in (condition, baseline)]
    few, many = exceedance_ratio(condition, baseline, ROUNDS_OF_ONE), exceedance_ratio(*more, ROUNDS_OF_ONE)
    assert many.interval95 == pytest.approx(few.interval95)


def side(longer: int, blocks_with: int) -> Exceeding:
    return Exceeding(longer, 100_000, blocks_with)


@pytest.mark.parametrize(
    ("condition", "baseline", "said"),
    [
        (side(0, 0), side(0, 0), coded("tail-none", sides=Part("nor"), bound=pytest.approx(0.037, abs=0.0005))),
        (side(9, 9), side(0, 0), coded("tail-none", sides=Part("unencrypted"), bound=pytest.approx(0.037, abs=0.0005))),
        (
            side(0, 0),
            side(9, 9),
            coded("tail-none", sides=Part("config"), bound=pytest.approx(0.037, abs=0.0005)),
        ),
        (side(FEWEST - 1, FEWEST - 1), side(50, 50), coded("tail-too-few", found=9)),
        (side(500, FEWEST_BLOCKS - 1), side(50, 50), coded("tail-too-few")),
        (side(FEWEST, FEWEST_BLOCKS), side(FEWEST, FEWEST_BLOCKS), None),
    ],
)
def test_no_interval_is_given_where_there_is_too_little_and_it_is_said_why(
    condition: Exceeding, baseline: Exceeding, said: Coded | None
) -> None:
    reason = reason_for_none(condition, baseline, blocks=80, rounds=5)
    assert reason is None if said is None else has([reason], said)


def test_one_round_has_no_interval_and_two_have() -> None:
    many = side(500, 50)
    assert has([reason_for_none(many, many, blocks=80, rounds=1)], "tail-one-round")
    assert reason_for_none(many, many, blocks=80, rounds=2) is None


def test_the_bound_where_nothing_was_seen_is_the_share_at_which_nothing_is_seen_once_in_twenty_times() -> None:
    reason = reason_for_none(side(0, 0), side(0, 0), blocks=10, rounds=3)
    bound = 0.259
    assert (1 - bound) ** 10 == pytest.approx(0.05, rel=0.01)
    assert has([reason], "tail-none", bound=pytest.approx(bound, abs=0.0005))
