"""Differences of the overheads of two runs hold the truth as often as they say, from what results keep of each."""

from collections.abc import Iterator
from itertools import chain, islice

import numpy as np
import pytest

from calibration.grid import Limit, widened
from calibration.harness import MACHINES, MOST_POOLED_COVERAGE, TOLERANCE, answers
from calibration.sequential import broken
from calibration.simulation import Machine
from tdelta.inference import between
from tdelta.inference.between import difference
from tdelta.records.history import Change, OverheadChange

Compared = tuple[float, OverheadChange]

PAIRS = ((0.0, 0.0), (0.05, 0.14), (0.8, 0.05))

POOLED = 25
HARDEST = (MACHINES[0], MACHINES[3])
"""The first has trials of a t and alike instances, the other skewed ones and unlike instances."""


def is_missed(one: Compared) -> bool:
    truth, (low, high) = one[0], one[1].hdi95
    return not low <= truth <= high


def is_false(one: Compared) -> bool | None:
    return one[1].change in (Change.LARGER, Change.SMALLER) if one[0] == 0.0 else None


MISSED = Limit("missed by the 95 % HDI", 0.07, is_missed)
FALSE = Limit("larger or smaller where nothing changed", 0.025, is_false)


def compared(machine: Machine, before: float, after: float) -> Iterator[Compared]:
    """Pairs of whole simulated runs; the later one's seeds are others, also where the truth is the same."""
    earlier = answers(machine, before)
    later = answers(machine, after, rounds=(4, 5, 6))
    for (_, then), (_, now) in zip(earlier, later, strict=False):
        yield float(np.exp(after) - np.exp(before)), difference(now, then, TOLERANCE)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("machine", HARDEST, ids=lambda m: m.name)
def test_the_95_percent_hdi_holds_the_true_difference(machine: Machine, pair: tuple[float, float]) -> None:
    limits = [MISSED, FALSE] if pair[0] == pair[1] else [MISSED]
    assert broken(limits, compared(machine, *pair)) == []


def test_intervals_are_not_much_wider_than_they_need_be() -> None:
    cells = chain.from_iterable(islice(compared(m, *pair), POOLED) for m in HARDEST for pair in PAIRS)
    assert 1.0 - np.mean([is_missed(one) for one in cells]) <= MOST_POOLED_COVERAGE


def test_differences_that_are_twice_too_sure_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = between.posterior_of

    monkeypatch.setattr(between, "posterior_of", lambda estimate: widened(honest(estimate), 0.5))
    caught = [bool(broken([MISSED], compared(m, *pair))) for m in HARDEST[:1] for pair in PAIRS[:2]]
    assert all(caught)
