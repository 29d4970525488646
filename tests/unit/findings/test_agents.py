from collections.abc import Sequence

import numpy as np
import pytest

from tdelta.inference.agents import between
from tdelta.inference.posterior import FloatArray


def simulated(seed: int, agent_sd: float, blocks: int = 12, agents: int = 4) -> tuple[float, bool | None]:
    rng = np.random.default_rng(seed)
    block = rng.normal(0.0, 0.05, (blocks, 1))
    agent = rng.normal(0.0, agent_sd, (1, agents))
    return between(0.03 + block + agent + rng.normal(0.0, 0.02, (blocks, agents)))


def test_agents_that_are_alike_are_called_apart_in_one_of_a_hundred_runs() -> None:
    calls = [simulated(seed, 0.0)[1] for seed in range(1000)]
    assert sum(map(bool, calls)) <= 25


def test_the_spread_of_agents_is_found_under_noise_that_blocks_share() -> None:
    found = [simulated(seed, 0.05) for seed in range(300)]
    assert sum(bool(is_apart) for _, is_apart in found) > 270
    assert abs(np.sqrt(np.mean([sd**2 for sd, _ in found])) - 0.05) < 0.005


def test_one_agent_or_two_blocks_say_nothing() -> None:
    assert between(np.zeros((10, 1))) == (0.0, None)
    assert between(np.zeros((2, 3))) == (0.0, None)


def test_agents_that_agree_to_the_last_digit_are_not_apart() -> None:
    assert between(np.full((5, 3), 0.1)) == (0.0, False)


def of_unequal_parts(rng: np.random.Generator, parts: Sequence[int], agent_sd: float, blocks: int) -> FloatArray:
    """Logarithms of ratios as closed loops give them: who is free does more operations, and other ones on each twin."""
    taken = rng.dirichlet(np.array(parts) / np.sum(parts) * 200.0, (blocks, 2))
    operations = np.maximum(1.0, np.round(taken * np.sum(parts)))
    luck = rng.normal(0.0, 0.005, (blocks, 2, len(parts)))
    truth = np.zeros((blocks, 2, len(parts)))
    truth[:, 1] = 0.1 + rng.normal(0.0, 0.05, (blocks, 1)) + rng.normal(0.0, agent_sd, len(parts))
    of_agent = rng.normal(0.0, 0.5, len(parts))  # some agents are slower than others, on both twins
    # The mean of so many exponential times.
    means = rng.gamma(operations) / operations * np.exp(of_agent + truth + luck)
    logs: FloatArray = np.log(means[:, 1] / means[:, 0])
    return logs


UNEQUAL = [(4000, 400), (4000, 400, 400, 400), (5000,) * 7 + (100,)]


@pytest.mark.parametrize("parts", UNEQUAL)
@pytest.mark.parametrize("blocks", [3, 12])
def test_agents_that_see_the_same_are_rarely_called_apart_however_unequal_their_parts(
    parts: tuple[int, ...], blocks: int
) -> None:
    rng = np.random.default_rng(11)
    calls = [between(of_unequal_parts(rng, parts, 0.0, blocks))[1] for _ in range(600)]
    assert np.mean(np.array(calls, dtype=float)) <= 0.04


@pytest.mark.parametrize("parts", [(4000, 400, 400, 400), (1000, 2000, 4000)])
def test_agents_that_see_another_overhead_are_found_with_unequal_parts(parts: tuple[int, ...]) -> None:
    rng = np.random.default_rng(12)
    found = [between(of_unequal_parts(rng, parts, 0.2, 12)) for _ in range(300)]
    assert np.mean([bool(is_apart) for _, is_apart in found]) >= 0.85
    assert abs(np.sqrt(np.mean([sd**2 for sd, _ in found])) - 0.2) < 0.03
