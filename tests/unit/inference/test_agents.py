"""Load agents: whether they see the same overhead."""

from __future__ import annotations

import numpy as np

from tdelta.inference.agents import between


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
