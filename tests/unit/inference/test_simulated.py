"""What intervals say they have is what the tables of simulated runs have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tdelta.inference import held

DOCS = Path(__file__).parents[3] / "docs"
FOUND_AT = 3
"""The column of coverage, after design, machine and log ratio."""


def coverages(rows: str, *, rounds: str = "") -> list[float]:
    """Coverage, %, in the rows of docs/statistics.md whose design matches."""
    lines = (DOCS / "statistics.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [
        float(row[FOUND_AT])
        for row in cells
        if len(row) == 8 and re.match(rows, row[0]) and (not rounds or row[-1] == rounds)
    ]


def gates() -> list[float]:
    lines = (DOCS / "statistics.md").read_text().splitlines()
    return [float(line.split("|")[8]) for line in lines if line.startswith("| gate,")]


def known_luck() -> Iterator[float]:
    """Coverage of runs that begin with a calibration, right or wrong, in docs/calibrate.md."""
    for line in (DOCS / "calibrate.md").read_text().splitlines():
        if re.match(r"\| (0\.3|1) % \| 3", line):
            yield from (float(cell.split(",")[0]) for cell in line.strip("| ").split("|")[3:])


def rounded(values: list[float]) -> tuple[int, int]:
    assert values
    return round(min(values)), round(max(values))


@pytest.mark.parametrize("rounds", [1, 2])
def test_few_rounds_say_what_they_were_found_to_have(rounds: int) -> None:
    found = held(rounds, gated=False, calibrated=False)
    assert (found.fewest, found.most) == rounded(coverages("few rounds", rounds=str(rounds)))
    assert found.unequal is None


@pytest.mark.parametrize("rounds", [3, 8, 30])
def test_rounds_enough_say_what_they_were_found_to_have(rounds: int) -> None:
    found = held(rounds, gated=False, calibrated=False)
    everything = [
        *coverages("fixed|no A/A twin|contrast|precision|types"),
        *coverages("few rounds", rounds="3"),
    ]
    assert (found.fewest, found.most) == rounded(everything)
    assert found.unequal == rounded(coverages("unequal"))


def test_a_gate_says_what_it_was_found_to_have() -> None:
    found = held(4, gated=True, calibrated=False)
    assert (found.fewest, found.most) == rounded(gates())


def test_a_calibrated_run_says_what_calibrations_right_and_wrong_were_found_to_have() -> None:
    found = held(4, gated=False, calibrated=True)
    assert (found.fewest, found.most) == rounded(list(known_luck()))
