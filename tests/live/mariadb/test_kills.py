import pytest

from support.kills import STAGES, kill_at_random
from support.runs import ServerPlace
from support.thorough import draws

SEEDS = range(0, len(STAGES), draws(3, 1))
"""At a push every third stage; PostgreSQL's servers are killed in four of the others."""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_killed_tdelta_leaves_nothing(place: ServerPlace, seed: int) -> None:
    kill_at_random(place, seed, "--scope", "all")
