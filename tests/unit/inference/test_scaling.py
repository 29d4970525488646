from __future__ import annotations

import numpy as np
import pytest

from tdelta.inference.scaling import predict_ratio
from tdelta.records.cache_prediction import Band
from tdelta.records.scaling import Axis

THREADS = (1, 2, 4, 8, 16, 32)


def predicted(knee: float, at: tuple[int, ...], scatter: float = 0.0, *, over: Axis = Axis.THREADS) -> list[Band]:
    """Of twins that are full at so many threads: +10 % alone, +30 % at the place that is full."""
    random = np.random.default_rng(1)
    rates = []
    for alone, full in ((1.0, 1.0), (1.1, 1.3)):
        times = [np.hypot(alone, full * n / knee) * np.exp(scatter * random.standard_normal()) for n in THREADS]
        rates.append([n / time for n, time in zip(THREADS, times, strict=True)])
    return predict_ratio(THREADS, *rates, at, over)


def width(band: Band) -> float:
    return band.band95[1] - band.band95[0]


def test_the_overhead_of_a_full_place_goes_on() -> None:
    for band in predicted(4.0, (64, 128)):
        assert band.band95[0] < 1.3 < band.band95[1]
        assert band.median == pytest.approx(1.3, abs=0.03)


def test_bands_widen_with_every_doubling_beyond_the_sweep() -> None:
    widths = [width(band) for band in predicted(4.0, (32, 64, 128))]
    assert widths == sorted(widths)
    assert widths[0] < widths[2]


def test_a_sweep_that_fills_nothing_says_much_less_of_what_comes() -> None:
    full, other = (predicted(knee, (128,))[0] for knee in (4.0, 1000.0))
    assert width(other) > 2 * width(full)


def test_a_sweep_over_cores_that_fills_nothing_leaves_room_for_a_log_that_is_full_with_twice_as_many() -> None:
    """Whose overhead is 40 %, where +10 % is all that the sweep shows: what a sweep over threads does not leave."""
    over_cores, over_threads = (predicted(1000.0, (64,), over=over)[0] for over in (Axis.CORES, Axis.THREADS))
    assert over_cores.band95[0] < 1.0
    assert over_threads.band95[1] < 1.4 < over_cores.band95[1]


def test_a_sweep_over_cores_that_goes_through_its_knee_says_more() -> None:
    full, other = (predicted(knee, (64,), over=Axis.CORES)[0] for knee in (4.0, 1000.0))
    assert width(other) > 4 * width(full)


def test_a_sweep_that_scatters_more_says_less() -> None:
    assert width(predicted(4.0, (64,), scatter=0.05)[0]) > 2 * width(predicted(4.0, (64,))[0])


def test_equal_data_give_equal_bands() -> None:
    assert predicted(4.0, (64,)) == predicted(4.0, (64,))


@pytest.mark.parametrize(("fewest", "farthest"), [(3, 8), (4, 33)])
def test_few_numbers_of_threads_and_far_ones_are_refused(fewest: int, farthest: int) -> None:
    threads, rates = THREADS[:fewest], [1.0] * fewest
    with pytest.raises(ValueError, match=str(farthest)):
        predict_ratio(threads, rates, rates, (farthest,))
