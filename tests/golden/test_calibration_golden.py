from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.calibration_samples import CALIBRATIONS
from tdelta.report.calibration import calibration_text

FILES = Path(__file__).parent / "calibration"


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("name", CALIBRATIONS)
def test_the_tables_are_what_their_golden_file_says(name: str, width: int) -> None:
    path = FILES / f"{name}-{width}.txt"
    text = calibration_text(CALIBRATIONS[name](), width)
    if os.environ.get("TDELTA_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= width


def test_every_golden_file_belongs_to_a_sample() -> None:
    assert {path.name for path in FILES.iterdir()} == {
        f"{name}-{width}.txt" for name in CALIBRATIONS for width in (80, 100)
    }
