"""The order in which runs were made: when they began, or one count through both conditions; else the worst it can be.

Copied files have times of writing that are all alike, or in the order of their names. So times are believed only where
every run has a beginning and no run begins before the one ahead of it is at least half through. Numbers are believed
where no two runs of the two conditions have the same one: such a count goes through the whole session.

Where neither is known, all runs of one condition may have come first, which is how most people measure, and a drift
over the session is then in the difference. Numbers within a condition still say in which order its own runs were made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tdelta.inference.observed.pairing import Pair
from tdelta.records import Observation

_LAST_NUMBER = re.compile(r"(\d+)\D*$")
_SHARE_OF_A_RUN = 0.5
_SHORTEST_RUN_SECONDS = 10.0
"""Of runs whose length is not known."""


@dataclass(frozen=True, slots=True)
class Order:
    """The places of the runs in the session, 0 for the first.

    Attributes:
        baseline, condition: shape (runs,).
    """

    baseline: tuple[float, ...]
    condition: tuple[float, ...]

    @property
    def first(self) -> str | None:
        """Which side was over before the other began: ``baseline``, ``condition``, or None."""
        if max(self.baseline) < min(self.condition):
            return "baseline"
        return "condition" if max(self.condition) < min(self.baseline) else None


def order_of(pair: Pair) -> Order | None:
    """The order of the runs of a comparison; None where it is not known, or cannot be true."""
    return _by_times(pair) or _by_one_count(pair)


def worst_orders(pair: Pair) -> tuple[Order, Order]:
    """The two orders in which one side was over before the other began; within it by number, else as it was read."""
    baseline, condition = (_places(runs) for runs in (pair.baseline_runs, pair.condition_runs))
    then = Order(baseline, tuple(len(baseline) + place for place in condition))
    return then, Order(tuple(len(condition) + place for place in baseline), condition)


def _by_times(pair: Pair) -> Order | None:
    starts = [run.started_unix_seconds for run in pair.runs]
    known = [start for start in starts if start is not None]
    if len(known) < len(starts) or not _can_be_true(known, pair.run_seconds):
        return None
    return Order(*pair.sides(_ranks(known)))


def _can_be_true(starts: Sequence[float], lengths: Sequence[float | None]) -> bool:
    ordered = sorted(zip(starts, [_SHORTEST_RUN_SECONDS if n is None else n for n in lengths], strict=True))
    return all(later - start >= _SHARE_OF_A_RUN * seconds for (start, seconds), (later, _) in pairwise(ordered))


def _by_one_count(pair: Pair) -> Order | None:
    numbers = _numbers(pair.runs)
    return None if numbers is None else Order(*pair.sides(_ranks(numbers)))


def _places(runs: Sequence[Observation]) -> tuple[float, ...]:
    numbers = _numbers(runs)
    return tuple(map(float, range(len(runs)))) if numbers is None else tuple(_ranks(numbers))


def _numbers(runs: Sequence[Observation]) -> list[int] | None:
    """The number of each run; None where one has none, or two have the same."""
    found = [_LAST_NUMBER.search(run.group.run) for run in runs]
    numbers = [int(match[1]) for match in found if match is not None]
    return None if len(numbers) < len(runs) or len(set(numbers)) < len(numbers) else numbers


def _ranks(values: Sequence[float]) -> list[float]:
    ranks: list[float] = np.argsort(np.argsort(values)).astype(float).tolist()
    return ranks
