import math

import numpy as np
import pytest

from tdelta.inference import complete_blocks, paired_ratios
from tdelta.records import Metric, Role

from . import builders as b


def test_without_a_complete_block_there_is_nothing_to_draw() -> None:
    alone = [t for t in b.run(b.noisy(0.05)) if t.condition != b.AES]
    for found in (alone, []):
        assert paired_ratios(found, b.settings()) == ()
        assert complete_blocks(found, b.settings()) == frozenset()


def test_a_paired_ratio_is_over_the_geometric_mean_of_both_plain_twins() -> None:
    costs = {b.BASELINE.key: 0.10, b.AA.key: 0.30, b.AES.key: 0.50}
    trials = b.run(lambda c, _r, block: costs[c.key] + 0.01 * block, rounds=2, blocks=3)
    aes, twin = paired_ratios(trials, b.settings())
    assert (aes.condition, twin.condition) == (b.AES, b.AA)
    assert np.log(aes.ratio) == pytest.approx([0.5 - 0.2] * 6, abs=1e-6)
    assert np.log(twin.ratio) == pytest.approx([0.3 - 0.1] * 6, abs=1e-6)
    assert aes.rounds.tolist() == [0, 0, 0, 1, 1, 1]
    assert aes.blocks.tolist() == [0, 1, 2, 3, 4, 5]


def test_judged_conditions_come_in_the_designs_order_before_the_twins() -> None:
    conditions = (b.AA, b.condition("aes-128", Role.TREATMENT), b.BASELINE, b.AES)
    trials = b.run(b.noisy(0.05), conditions)
    wanted = ["aes-128", "aes-256", "none"]
    assert [p.condition.level("cipher") for p in paired_ratios(trials, b.settings(conditions))] == wanted


def test_a_condition_that_cost_nothing_has_no_paired_ratio() -> None:
    given = b.settings(metric=Metric.READ_BYTES_PER_OPERATION)
    assert paired_ratios(b.run(b.noisy(0.0)), given) == ()
    read = b.run(b.noisy(0.0), read=4096)
    assert [math.log(r) for p in paired_ratios(read, given) for r in p.ratio] == pytest.approx([0.0] * 48)


def test_a_trial_of_an_incomplete_block_is_not_among_the_used_ones() -> None:
    trials = b.run(b.noisy(0.05), rounds=1, blocks=3)[:-1]
    used = complete_blocks(trials, b.settings())
    assert used == {(block, c.key) for block in (0, 1) for c in b.TWINS}
