"""How often answers of runs like this one were right when runs were simulated.

The figures are those of ``benches/results/grid.md``, found by ``benches/calibration.py --grid``; a test compares them:
an interval says what it has, not what it is called.
"""

from __future__ import annotations

from dataclasses import dataclass

FEWEST_ROUNDS = 3
"""From how many rounds on an answer needs no caution of their number (docs/statistics.md, Decisions)."""


@dataclass(frozen=True, slots=True)
class Held:
    """Of 100 runs, in how many the 95% interval covered the truth or the verdict was undecided.

    The fewest and the most over the cells of the grid.

    Cells in which fewer than five stalls of the encrypted twins are expected are not among them: what was not met
    cannot be covered, and is said beside the answer.
    """

    fewest: int
    most: int


_HELD = {1: Held(99, 100), 2: Held(99, 100)}
_ROUNDS_ENOUGH = Held(85, 100)


def held(rounds: int) -> Held:
    """What intervals of runs of so many rounds held."""
    return _HELD.get(rounds, _ROUNDS_ENOUGH)
