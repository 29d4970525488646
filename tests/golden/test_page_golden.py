"""What is read on the HTML page, block by block; of a figure its description. A browser test looks at the drawings.

``TDELTA_UPDATE_GOLDEN=1 pytest tests/golden`` writes the files anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support import samples as s
from support import stored as t
from support.reading import outline
from tdelta import __version__
from tdelta.report.page.blocks import Page
from tdelta.report.page.compose import compose
from tdelta.report.page.gather import RunData, gather
from tdelta.report.page.render import render
from tdelta.store import Store

FILES = Path(__file__).parent / "page"


def factorial(folder: Path, *, has_leak: bool) -> RunData:
    with Store.open(t.store_factorial(folder / "runs.sqlite", has_leak=has_leak)) as store:
        return gather(store, t.RUN_ID)


def page(name: str, folder: Path) -> Page:
    match name:
        case "sound":
            return compose(factorial(folder, has_leak=False))
        case "leaking":
            return compose(factorial(folder, has_leak=True))
        case _:
            return compose(RunData(s.SAMPLES[name](), t.CREATED))


NAMES = (
    "sound",
    "leaking",
    "costly",
    "over_budget",
    "planted",
    "served_sweep",
    "scopes",
    "with_tails",
    "profiled",
    "with_cost_breakdown",
    "acted",
    "backed_up",
    "bulk",
    "replicated",
    "stored",
    "spilling",
    "traced",
)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_reads_as_its_golden_file_says(name: str, tmp_path: Path) -> None:
    path = FILES / f"{name}.txt"
    text = outline(render(page(name, tmp_path))).replace(f"Drawn by tdelta {__version__}", "Drawn by tdelta …")
    if os.environ.get("TDELTA_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_every_golden_page_belongs_to_a_run() -> None:
    assert {path.name for path in FILES.iterdir()} == {f"{name}.txt" for name in NAMES}
