"""What people read, character by character. ``TDELTA_UPDATE_GOLDEN=1 pytest tests/golden`` writes the files anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.samples import SAMPLES
from tdelta.report.terminal import render

FILES = Path(__file__).parent / "terminal"
BRIEF = Path(__file__).parent / "brief"


@pytest.mark.parametrize("name", SAMPLES)
def test_the_terminal_text_is_what_its_golden_file_says(name: str) -> None:
    _hold(FILES / f"{name}.txt", render(SAMPLES[name](), 80, details=True))


@pytest.mark.parametrize("name", SAMPLES)
def test_the_answer_is_what_its_golden_file_says(name: str) -> None:
    _hold(BRIEF / f"{name}.txt", render(SAMPLES[name](), 100))


def _hold(path: Path, text: str) -> None:
    if os.environ.get("TDELTA_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_every_golden_file_belongs_to_a_sample() -> None:
    assert {path.name for path in FILES.iterdir()} == {f"{name}.txt" for name in SAMPLES}
    assert {path.name for path in BRIEF.iterdir()} == {f"{name}.txt" for name in SAMPLES}
