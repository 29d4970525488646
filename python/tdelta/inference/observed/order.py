"""The order in which runs were made, by when they began: as far as it is known, and whether it can be believed.

Copied files have times of writing that are all alike, or in the order of their names. So the order is taken for known
only where every run has a beginning and no run begins before the one ahead of it is at least half through.

Where it is not known, numbered runs still have an order within their side (`numbered`): that shows a drift, though not
whether conditions took turns.
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
    starts = [run.started_unix_seconds for run in pair.runs]
    known = [start for start in starts if start is not None]
    if len(known) < len(starts):
        return None
    if not _can_be_true(known, pair.run_seconds):
        return None
    places: list[float] = np.argsort(np.argsort(known)).astype(float).tolist()
    return Order(*pair.sides(places))


def _can_be_true(starts: Sequence[float], lengths: Sequence[float | None]) -> bool:
    ordered = sorted(zip(starts, [_SHORTEST_RUN_SECONDS if n is None else n for n in lengths], strict=True))
    return all(later - start >= _SHARE_OF_A_RUN * seconds for (start, seconds), (later, _) in pairwise(ordered))


def numbered(pair: Pair) -> Order | None:
    """The order of runs within each side, by their numbers; None where they have none, or two have the same."""
    sides = [_by_number(runs) for runs in (pair.baseline_runs, pair.condition_runs)]
    return None if sides[0] is None or sides[1] is None else Order(sides[0], sides[1])


def _by_number(runs: Sequence[Observation]) -> tuple[float, ...] | None:
    found = [_LAST_NUMBER.search(run.group.run) for run in runs]
    numbers = [int(match[1]) for match in found if match is not None]
    if len(numbers) < len(runs) or len(set(numbers)) < len(numbers):
        return None
    return tuple(np.argsort(np.argsort(numbers)).astype(float).tolist())
