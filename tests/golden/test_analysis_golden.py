"""What ``tdelta analyze`` prints, and its page.

``TDELTA_UPDATE_GOLDEN=1 pytest tests/golden`` writes the files anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.analysis_samples import SAMPLES, pictures
from support.reading import outline
from tdelta import __version__
from tdelta.report.analysis import analysis_text, compose_analysis
from tdelta.report.page.render import render

FILES = Path(__file__).parent / "analysis"
COMMAND = "tdelta analyze plain.csv tde.csv"


def golden(name: str, text: str) -> str:
    path = FILES / name
    if os.environ.get("TDELTA_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("name", SAMPLES)
def test_the_text_is_what_its_golden_file_says(name: str, width: int) -> None:
    found = SAMPLES[name]()
    text = analysis_text(found, pictures(found), width, details=True)
    assert text == golden(f"{name}-{width}.txt", text)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_answer_is_what_its_golden_file_says(name: str) -> None:
    found = SAMPLES[name]()
    text = analysis_text(found, pictures(found), 100, command=COMMAND)
    assert text == golden(f"{name}-brief.txt", text)
    assert text.count("\n") <= 30


@pytest.mark.parametrize("name", SAMPLES)
def test_the_page_reads_as_its_golden_file_says(name: str) -> None:
    found = SAMPLES[name]()
    text = outline(render(compose_analysis(found, pictures(found), COMMAND)))
    text = text.replace(f"Drawn by tdelta {__version__}", "Drawn by tdelta …")
    assert text == golden(f"{name}-page.txt", text)


def test_every_golden_file_belongs_to_a_sample() -> None:
    kinds = ("80.txt", "100.txt", "page.txt", "brief.txt")
    assert {path.name for path in FILES.iterdir()} == {f"{name}-{kind}" for name in SAMPLES for kind in kinds}
