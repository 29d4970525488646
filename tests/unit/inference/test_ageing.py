"""The change with age against simulated truth: where noise carries over, blocks stall, instances age as they like."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tdelta.inference.ageing import FEWEST_BLOCKS, FEWEST_ROUNDS, ageing, interval, slopes
from tdelta.records import Condition, Role

from .builders import AA, TWINS, run, settings

Process = Callable[[np.random.Generator, int, int], np.ndarray]


def normal(rng: np.random.Generator, rounds: int, blocks: int) -> np.ndarray:
    return rng.normal(0.0, 0.03, (rounds, blocks))


def carried_over(rng: np.random.Generator, rounds: int, blocks: int) -> np.ndarray:
    """Of first order, 0.7 from block to block, begun at rest."""
    noise = rng.normal(0.0, 0.03, (rounds, blocks + 50))
    for block in range(1, blocks + 50):
        noise[:, block] += 0.7 * noise[:, block - 1]
    return noise[:, 50:]


def stalling(rng: np.random.Generator, rounds: int, blocks: int) -> np.ndarray:
    """One block in twelve far off, to either side: a stall in one twin or the other."""
    hit = rng.random((rounds, blocks)) < 1 / 12
    return normal(rng, rounds, blocks) + hit * rng.normal(0.0, 0.6, (rounds, blocks))


def instances_differ(rng: np.random.Generator, rounds: int, blocks: int) -> np.ndarray:
    """Every instance ages, each at its own pace and on average not at all."""
    pace = rng.normal(0.0, 0.004, (rounds, 1))
    return normal(rng, rounds, blocks) + pace * np.arange(blocks)


def wandering(rng: np.random.Generator, rounds: int, blocks: int) -> np.ndarray:
    """A random walk: no slope of one round says anything."""
    return np.cumsum(rng.normal(0.0, 0.02, (rounds, blocks)), axis=1)


def breaking(rng: np.random.Generator, rounds: int, blocks: int) -> np.ndarray:
    """A step up or down at a random block of each round."""
    at = rng.integers(0, blocks, (rounds, 1))
    return normal(rng, rounds, blocks) + rng.normal(0.0, 0.05, (rounds, 1)) * (np.arange(blocks) >= at)


@pytest.mark.parametrize("truth", [0.0, 0.003])
@pytest.mark.parametrize("process", [normal, carried_over, stalling, instances_differ, wandering, breaking])
def test_the_interval_holds_the_truth_as_often_as_it_says(process: Process, truth: float) -> None:
    rng = np.random.default_rng(71)
    tries, rounds, blocks = 600, 4, 16
    held = 0
    for _ in range(tries):
        made = process(rng, rounds, blocks) + truth * np.arange(blocks)
        low, high = interval(slopes(list(made)), 0.95)
        held += low <= truth <= high
    # Six processes, two truths: 0.95 with the binomial's own scatter (standard deviation 0.009) three and a half times.
    assert 0.919 <= held / tries <= 0.985


def growing(per_block: float, *, seed: int = 5) -> Callable[[Condition, int, int], float]:
    rng = np.random.default_rng(seed)

    def log_cost(of: Condition, round_: int, block: int) -> float:
        treated = of.role is Role.TREATMENT
        return float(rng.normal(0.0, 0.01)) + (0.1 + per_block * (block % 16) if treated else 0.0)

    return log_cost


def test_a_cost_that_grows_is_seen_and_an_identical_twin_is_not() -> None:
    found = {one.condition.role: one for one in ageing(run(growing(0.004), rounds=4, blocks=16), settings())}
    treated, twin = found[Role.TREATMENT], found[AA.role]
    assert treated.hdi95[0] < np.exp(15 * 0.004) < treated.hdi95[1]
    assert treated.hdi95[0] > 1.0
    assert twin.hdi95[0] < 1.0 < twin.hdi95[1]
    assert treated.hdi99[0] < treated.hdi95[0]
    assert (treated.rounds, treated.blocks) == (4, 16)
    ratios = [one.ratio for one in treated.bins]
    assert ratios[0] < ratios[-1]
    assert sum(one.blocks for one in treated.bins) == 64


@pytest.mark.parametrize(("rounds", "blocks"), [(FEWEST_ROUNDS - 1, 16), (6, FEWEST_BLOCKS - 1)])
def test_few_or_short_rounds_say_nothing_of_age(rounds: int, blocks: int) -> None:
    assert ageing(run(growing(0.0), TWINS, rounds=rounds, blocks=blocks), settings()) == ()
