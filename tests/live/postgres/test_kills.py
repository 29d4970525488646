import pytest

from support.kills import kill_at_random
from support.runs import ServerPlace

SEEDS = (2, 5, 7, 8)  # a load, a copy, a block and a search: each with a file system under the server


@pytest.mark.parametrize("seed", SEEDS)
def test_a_killed_tdelta_leaves_nothing(place: ServerPlace, seed: int) -> None:
    kill_at_random(place, seed)
