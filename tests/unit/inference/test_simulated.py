"""What answers say of themselves is what the grid of simulated runs has."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tdelta.inference import held

GRID = Path(__file__).parents[3] / "benches" / "results" / "grid.md"
ANSWERED_AT = 3
"""The column of runs that covered the truth or were undecided, after cell, truth and coverage."""

COLUMNS = 12
UNASKED = re.compile(
    r"of encrypted twins(, ([12] %|5 % of trials(, 5| in runs)|10 % of trials in runs of three, 5)| that last)"
)
"""Cells that expect fewer than five stalls of the encrypted twins."""


def answered(rounds: range) -> Iterator[float]:
    """Shares, %, of the grid's cells with so many rounds."""
    for line in GRID.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == COLUMNS and re.match(r"\d", cells[ANSWERED_AT]) and not UNASKED.search(cells[0]):
            named = re.search(r"(\d+) rounds", cells[0])
            if (int(named[1]) if named else 5) in rounds:
                yield float(cells[ANSWERED_AT])


@pytest.mark.parametrize("rounds", [1, 2, 3, 30])
def test_answers_say_what_runs_of_their_length_were_found_to_have(rounds: int) -> None:
    like = range(rounds, rounds + 1) if rounds < 3 else range(3, 100)
    found = list(answered(like))
    assert len(found) > 3
    assert (held(rounds).fewest, held(rounds).most) == (int(min(found)), round(max(found)))
