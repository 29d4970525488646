import pytest

from tdelta.records import Measurement
from tdelta.session.pace import is_settled, misses_per_operation


@pytest.mark.parametrize(
    ("misses", "settled"),
    [
        ([], False),
        ([5.0, 5.0], False),
        ([5.0, 5.0, 5.0], True),
        ([9.0, 7.0, 5.0], False),
        ([9.0, 5.0, 5.1, 4.9], True),
        ([5.0, 5.0, 5.0, 4.0], False),
        ([0.5, 0.0, 0.01, 0.019], True),  # a pool that holds it all: a few misses more or less are none
        ([0.0, 0.0, 0.5], False),
        ([0.0], False),
        ([7.0, 0.0], False),
        ([7.0, 0.0, 0.0], True),  # nothing is left to be read
        ([0.01, 0.0, 0.01], True),
        ([0.01, 0.0], False),
    ],
)
def test_a_cache_has_settled_when_three_trials_miss_alike_or_two_do_not_at_all(
    misses: list[float], settled: bool
) -> None:
    assert is_settled(misses) is settled


@pytest.mark.parametrize(
    ("misses", "at_rest", "settled"),
    [
        ([], 5.0, False),
        ([5.2], 5.0, True),
        ([5.3], 5.0, False),
        ([0.02], 0.0, True),
        ([9.0, 4.0], 5.0, True),
        ([4.0, 9.0], 5.0, False),
    ],
)
def test_a_cache_that_was_restored_has_settled_when_it_misses_no_more_than_at_rest(
    misses: list[float], at_rest: float, settled: bool
) -> None:
    assert is_settled(misses, at_rest) is settled


def test_misses_are_of_all_operations_that_ran_those_not_recorded_included() -> None:
    measured = Measurement(90, 1, {}, {}, total_operations=100, engine_counters={"buffer_reads": 250})
    assert misses_per_operation(measured) == 2.5


def test_an_engine_that_does_not_count_misses_has_none_to_tell() -> None:
    assert misses_per_operation(Measurement(90, 1, {}, {}, engine_counters={"cache_misses": 3})) is None
