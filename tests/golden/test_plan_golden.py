from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.prospect_samples import PROSPECTS
from tdelta.report.plan import plan_text

FILES = Path(__file__).parent / "plan"


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("name", PROSPECTS)
def test_a_plan_reads_as_its_golden_file_says(name: str, width: int) -> None:
    path = FILES / f"{name}-{width}.txt"
    text = plan_text(PROSPECTS[name](), width)
    if os.environ.get("TDELTA_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_every_golden_file_belongs_to_a_sample() -> None:
    named = {f"{name}-{width}.txt" for name in PROSPECTS for width in (80, 100)}
    assert {path.name for path in FILES.iterdir()} == named
