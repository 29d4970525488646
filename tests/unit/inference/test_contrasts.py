import math

import numpy as np
import pytest

from tdelta.inference.run_analysis import analyze_run
from tdelta.records import Condition, Metric, Role

from .builders import run, settings


def condition(cipher: str, instructions: str, role: Role = Role.TREATMENT) -> Condition:
    return Condition((("cipher", cipher), ("aes_instructions", instructions), ("threads", 1)), role)


BASELINE = condition("none", "on", Role.BASELINE)
AA = condition("none", "on", Role.AA)
FACTORIAL = (
    BASELINE,
    AA,
    condition("aes-128", "on"),
    condition("aes-256", "on"),
    condition("none", "off"),
    condition("aes-128", "off"),
    condition("aes-256", "off"),
)
LOG_COSTS = {"none": 0.0, "aes-128": 0.2, "aes-256": 0.3}


def truth(of: Condition) -> float:
    """Encryption costs, and without the instructions six times as much."""
    return LOG_COSTS[str(of.level("cipher"))] * (6.0 if of.level("aes_instructions") == "off" else 1.0)


def noisy(seed: int, sd: float = 0.02):
    rng = np.random.default_rng(seed)
    instance_effect: dict[tuple[str, int], float] = {}

    def log_cost(of: Condition, round_: int, _block: int) -> float:
        instance = instance_effect.setdefault((of.key, round_), rng.normal(0.0, 0.005))
        return truth(of) + instance + rng.normal(0.0, sd)

    return log_cost


def test_every_pair_that_differs_in_one_factor_is_told_the_later_level_over_the_earlier() -> None:
    found = analyze_run(run(noisy(1), FACTORIAL), settings(FACTORIAL)).contrasts
    pairs = [(c.factor, c.condition.key, c.versus.key) for c in found if c.metric is Metric.RESPONSE_TIME]
    named = [(f, later.replace(",threads=1", ""), earlier.replace(",threads=1", "")) for f, later, earlier in pairs]
    assert sorted(named) == sorted(
        [
            ("aes_instructions", "cipher=aes-128,aes_instructions=off", "cipher=aes-128,aes_instructions=on"),
            ("aes_instructions", "cipher=aes-256,aes_instructions=off", "cipher=aes-256,aes_instructions=on"),
            ("cipher", "cipher=aes-256,aes_instructions=on", "cipher=aes-128,aes_instructions=on"),
            ("cipher", "cipher=aes-128,aes_instructions=off", "cipher=none,aes_instructions=off"),
            ("cipher", "cipher=aes-256,aes_instructions=off", "cipher=none,aes_instructions=off"),
            ("cipher", "cipher=aes-256,aes_instructions=off", "cipher=aes-128,aes_instructions=off"),
        ]
    )


def test_settings_of_an_action_are_compared_where_one_knob_differs() -> None:
    def during(level: str, role: Role = Role.TREATMENT) -> Condition:
        return Condition((("cipher", "none"), ("during", level), ("threads", 1)), role)

    slow, more, fast = (f"encrypt:threads={n}:iops={iops}" for n, iops in ((1, 100), (4, 100), (4, 900)))
    conditions = (during("nothing", Role.BASELINE), *map(during, (slow, more, fast, "alter")))
    found = analyze_run(run(lambda _of, _round, block: 0.01 * (block % 3), conditions), settings(conditions)).contrasts
    pairs = {(c.condition.level("during"), c.versus.level("during")) for c in found}
    assert pairs == {(more, slow), (fast, more), ("alter", slow), ("alter", more), ("alter", fast)}


def test_contrasts_lie_where_the_truth_is() -> None:
    for contrast in analyze_run(run(noisy(2), FACTORIAL), settings(FACTORIAL)).contrasts:
        wanted = math.exp(truth(contrast.condition) - truth(contrast.versus))
        low, high = contrast.ratio.hdi99
        assert low < wanted < high, contrast
        assert contrast.ratio.median == pytest.approx(wanted, rel=0.05)


def test_what_happens_to_the_baseline_alone_does_not_move_a_contrast() -> None:
    quiet = noisy(3)

    def slow_baseline(of: Condition, round_: int, block: int) -> float:
        return quiet(of, round_, block) + (0.1 if of.role in (Role.BASELINE, Role.AA) else 0.0)

    before = analyze_run(run(noisy(3), FACTORIAL), settings(FACTORIAL)).contrasts
    after = analyze_run(run(slow_baseline, FACTORIAL), settings(FACTORIAL)).contrasts
    for one, other in zip(before, after, strict=True):
        assert one.ratio.median == pytest.approx(other.ratio.median, rel=1e-6)


def test_one_encrypted_condition_has_nothing_to_be_compared_with() -> None:
    twins = (BASELINE, AA, condition("aes-256", "on"))
    assert analyze_run(run(noisy(4), twins), settings(twins)).contrasts == ()
