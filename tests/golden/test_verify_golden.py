from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.readings import FOLDER, READINGS
from support.samples import costly, leaking
from tdelta.report.verify import readings_text, run_text

FILES = Path(__file__).parent / "verify"
RUNS = {"run_leaking": leaking, "run_without": costly}


def held_against(name: str, text: str) -> None:
    path = FILES / name
    if os.environ.get("TDELTA_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("name", READINGS)
def test_the_text_of_files_is_what_its_golden_file_says(name: str, width: int) -> None:
    held_against(f"{name}-{width}.txt", readings_text(FOLDER, *READINGS[name](), width))


@pytest.mark.parametrize("name", RUNS)
def test_the_text_of_a_run_is_what_its_golden_file_says(name: str) -> None:
    held_against(f"{name}-100.txt", run_text(RUNS[name](), 100))


def test_every_golden_file_belongs_to_a_sample() -> None:
    expected = {f"{name}-{width}.txt" for name in READINGS for width in (80, 100)} | {
        f"{name}-100.txt" for name in RUNS
    }
    assert {path.name for path in FILES.iterdir()} == expected
