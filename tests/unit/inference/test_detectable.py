import math

import numpy as np
import pytest

from tdelta.inference import instrument as module
from tdelta.inference.instrument import (
    MINUTES,
    MOST_ROUNDS,
    InstrumentNoise,
    critical_log_ratio,
    detectable_effects,
    rounds_in,
)
from tdelta.records import DetectableEffect, InstanceEffectPrior, Metric, Pace


@pytest.fixture(autouse=True)
def few_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_EXPERIMENTS", 60)


def noise(trial_sd: float = 0.03, instance_effect: float = 0.003) -> InstrumentNoise:
    return InstrumentNoise(Metric.RESPONSE_TIME, trial_sd, 1.0, np.array([instance_effect]), np.array([1.0]), 100)


def prior(instance_effect: float = 0.003) -> InstanceEffectPrior:
    return InstanceEffectPrior(instance_effect, 0.4, 0.2)


def test_a_longer_run_reaches_further_and_noise_and_instance_effects_take_it_back() -> None:
    usual = critical_log_ratio(noise(), prior(), rounds=10, blocks=6)
    assert critical_log_ratio(noise(), prior(), rounds=40, blocks=6) < 0.7 * usual
    assert critical_log_ratio(noise(trial_sd=0.06), prior(), rounds=10, blocks=6) > 1.4 * usual
    assert critical_log_ratio(noise(instance_effect=0.02), prior(0.02), rounds=10, blocks=6) > 1.4 * usual


def test_the_reach_is_what_normal_theory_says_where_everything_is_known() -> None:
    found = critical_log_ratio(
        noise(trial_sd=0.02, instance_effect=0.01), InstanceEffectPrior(0.01, 0.05, 0.0), rounds=60, blocks=6
    )
    sd = math.sqrt((0.01**2 + 0.02**2 / 6) / 60 * 1.5)
    assert found == pytest.approx((1.96 + 1.28) * sd, rel=0.15)


def test_a_single_block_a_round_has_no_noise_of_its_own_and_still_an_answer() -> None:
    assert 0.0 < critical_log_ratio(noise(), prior(), rounds=4, blocks=1) < 1.0


def test_one_reach_serves_every_limit() -> None:
    shown = DetectableEffect(5.0, 30, 0.01)
    assert shown.overhead(0.0) == pytest.approx(math.exp(0.01) - 1.0)
    assert shown.overhead(0.05) == pytest.approx(1.05 * math.exp(0.01) - 1.0)
    assert DetectableEffect(5.0, 0, None).overhead(0.02) is None


def test_rounds_fit_behind_the_set_up() -> None:
    assert rounds_in(Pace(60.0, 10.0), 5.0) == 24
    assert rounds_in(Pace(600.0, 10.0), 5.0) == 0
    assert rounds_in(Pace(0.0, 0.001), 60.0) == MOST_ROUNDS


def test_every_length_is_told_and_one_that_holds_no_round_shows_nothing() -> None:
    found = detectable_effects(noise(), prior(), Pace(400.0, 60.0), blocks=6)
    assert tuple(one.minutes for one in found) == MINUTES
    assert [one.rounds for one in found] == [0, 13, 53]
    assert found[0].critical_log_ratio is None
    assert found[1].critical_log_ratio is not None
    assert found[2].critical_log_ratio is not None
    assert found[2].critical_log_ratio < found[1].critical_log_ratio
