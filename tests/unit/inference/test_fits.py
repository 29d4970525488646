import math
from dataclasses import replace

import numpy as np
import pytest

from support.flat import changed
from tdelta.inference.costs import panels
from tdelta.inference.fits import PLAIN, CostFit, Fitted, fit_metrics, treatment_of
from tdelta.records import Condition, Metric, Role, Trial

from .builders import AES, BASELINE, BB, TWINS, condition, noisy, run, settings

AES_128, BB_128 = condition("aes-128", Role.TREATMENT), condition("aes-128", Role.BB)
BOTH = (*TWINS, AES_128, BB, BB_128)


def fit(trials: list[Trial], conditions: tuple[Condition, ...]) -> CostFit:
    metric = Metric.RESPONSE_TIME
    return fit_metrics(panels(trials, settings(conditions)), (metric,))[metric]


def fitted(trials: list[Trial], conditions: tuple[Condition, ...]) -> Fitted:
    ((found, _),) = fit(trials, conditions).parts
    return found


def taking_turns(trials: list[Trial]) -> list[Trial]:
    """One of two B/B twins in every round."""
    return [t for t in trials if t.condition.role is not Role.BB or (t.condition == BB) is (t.round % 2 == 0)]


def in_order(trials: list[Trial], seed: int = 1) -> list[Trial]:
    """The same trials, those of each block in an order that is drawn."""
    rng = np.random.default_rng(seed)
    by_block: dict[int, list[Trial]] = {}
    for t in trials:
        by_block.setdefault(t.block, []).append(t)
    return [
        replace(t, position=int(place))
        for block in by_block.values()
        for t, place in zip(block, rng.permutation(len(block)), strict=True)
    ]


def test_a_bb_twin_is_a_column_with_the_theta_and_the_kind_of_its_treatment() -> None:
    found = fitted(run(noisy(0.1), BOTH), BOTH)
    assert found.columns == BOTH
    assert found.conditions == (*TWINS, AES_128)
    assert found.thetas(*PLAIN).tolist() == [0, 0, 1, 2, 1, 2]
    assert found.means.kinds.tolist() == [0, 0, 1, 2, 1, 2]
    assert treatment_of(BB) == AES
    assert treatment_of(BASELINE) == BASELINE


def test_a_bb_twin_is_part_of_no_answer_of_its_own_and_makes_its_treatments_surer() -> None:
    with_twin, without = (fit(run(noisy(0.1, instance_effect=0.01), c, rounds=8), c) for c in ((*TWINS, BB), TWINS))
    ((condition_, answer),) = [(a.condition, a) for a in with_twin.answers()]
    assert condition_ == AES
    (alone,) = without.answers()
    assert answer.mixture.variance < 0.85 * alone.mixture.variance


def test_bb_twins_that_take_turns_count_in_the_rounds_they_were_in() -> None:
    found = fitted(taking_turns(run(noisy(0.1), BOTH)), BOTH)
    assert found.means.blocks.tolist() == [[6, 6, 6, 6, 6, 0], [6, 6, 6, 6, 0, 6]] * 2
    assert found.means.there.sum(axis=0).tolist() == [24, 24, 24, 24, 12, 12]
    assert np.isfinite(found.means.means).all()
    for answer in fit(taking_turns(run(noisy(0.1), BOTH)), BOTH).answers():
        assert answer.posterior.ratio_hdi(0.95)[0] < math.exp(0.1) < answer.posterior.ratio_hdi(0.95)[1]


def test_a_round_without_a_twin_does_not_shift_the_places_of_the_others() -> None:
    """A place costs 5 % more than the one before: as many effects as there are places, each found as put in."""
    trials = in_order(taking_turns(run(noisy(0.1, sd=1e-3), BOTH, rounds=6)))
    later = {(t.condition.key, t.block): 0.05 * t.position for t in trials}
    costs = noisy(0.1, sd=1e-3)
    placed = run(lambda c, r, b: costs(c, r, b) + later.get((c.key, b), 0.0), BOTH, rounds=6)
    at = {(t.condition.key, t.block): t.position for t in trials}
    kept = [replace(t, position=at[t.condition.key, t.block]) for t in placed if (t.condition.key, t.block) in at]
    places = fitted(kept, BOTH).means.places
    assert np.diff(places) == pytest.approx([0.05] * 4, abs=2e-3)


def test_a_bb_twin_of_one_block_alone_is_no_fault() -> None:
    conditions = (*TWINS, BB)
    trials = [t for t in run(noisy(0.1), conditions) if t.condition != BB or t.block == 0]
    (answer,) = fit(trials, conditions).answers()
    assert answer.mixture.mean == pytest.approx(0.1, abs=0.01)
    assert answer.mixture.variance < 1e-3


def test_a_bb_twin_that_cost_nothing_is_left_out_and_its_treatment_stays() -> None:
    conditions = (*TWINS, BB)
    trials = [
        replace(t, measurement=changed(t.measurement, syscall_written_bytes=0)) if t.condition == BB else t
        for t in run(noisy(0.1), conditions)
    ]
    metric = Metric.WRITTEN_BYTES_PER_OPERATION
    ((found, _),) = fit_metrics(panels(trials, settings(conditions)), (metric,))[metric].parts
    assert found.columns == TWINS


def test_without_a_round_the_trials_of_that_round_are_gone_and_no_others() -> None:
    whole = fit(run(noisy(0.1), (*TWINS, BB), rounds=4), (*TWINS, BB))
    ((less, _),) = whole.without_round(1).parts
    ((found, _),) = whole.parts
    assert (less.means.means == found.means.means[[0, 2, 3]]).all()
    assert less.means.there.sum() == 3 * 6 * 4
    assert np.bincount(less.means.rounds).tolist() == [6, 6, 6]


def test_the_mean_lies_above_the_typical_trial_where_stalls_do() -> None:
    """Every eighth encrypted trial takes twice as long: typically nothing, on average an eighth more."""
    costs = noisy(0.0, sd=2e-3)
    stalled = run(lambda c, r, b: costs(c, r, b) + (math.log(2.0) if c == AES and b % 8 == 3 else 0.0), rounds=20)
    (answer,) = fit(stalled, TWINS).answers()
    assert answer.typical_posterior.quantile(0.5) == pytest.approx(0.0, abs=4e-3)
    assert math.exp(answer.posterior.quantile(0.5)) == pytest.approx(1.125, abs=0.02)
    assert len(answer.events.above) == 15
    assert len(answer.plain_events.above) == 0
