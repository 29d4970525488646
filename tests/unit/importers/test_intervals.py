import pytest

from support.refused import Part, has
from tdelta.importers.samples import longest_stretch


def test_partial_ends_and_idle_time_are_left_out():
    stretch = longest_stretch([0, 10, 20, 30, 40, 50, 60], [0, 5, 90, 100, 110, 7, 0])
    assert (stretch.interval_seconds, stretch.starts_at_seconds) == (10, 20)
    assert stretch.values == (90, 100, 110)
    assert len(stretch.notes) == 2


@pytest.mark.parametrize(
    ("seconds", "values", "kept"),
    [
        (range(6), [1, 9, 0, 0, 9, 1], (9, 0, 0, 9)),  # zeros under load stay
        ([0, 1, 2, 3, 10, 11, 12, 13, 14, 15], range(1, 11), (5, 6, 7, 8, 9)),  # the longest without a gap
        ([0, 1, 2, 3, 4, 2, 3, 4, 5, 6, 7, 8], [1] * 12, (1,) * 6),  # time that runs backwards ends it
    ],
)
def test_the_longest_stretch_under_load_is_taken(seconds, values, kept):
    assert longest_stretch(seconds, values).values == kept


def test_readings_beside_a_gap_are_told():
    stretch = longest_stretch([0, 1, 2, 3, 10, 11, 12, 13, 14, 15], range(1, 11))
    assert stretch.starts_at_seconds == 10
    assert has([stretch.notes[-1]], "left-out", what=Part("3"))


@pytest.mark.parametrize(
    ("seconds", "values"),
    [([], []), (range(4), [1] * 4), (range(9), [0] * 9), ([3] * 9, [1] * 9), ([0, 1e9, 2e9, 3e9, 4e9], [1] * 5)],
)
def test_too_few_or_impossible_readings_are_no_series(seconds, values):
    assert longest_stretch(seconds, values) is None
