"""Texts that people read, character by character. ``TDELTA_UPDATE_GOLDEN=1 pytest tests/golden`` writes the files anew.

Of an HTML page it is what is read there, block by block, and of a figure its description; a browser test looks at the
drawings.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from support import samples as s
from support import stored as t
from support.analysis_samples import SAMPLES as ANALYSES
from support.analysis_samples import pictures
from support.calibration_samples import CALIBRATIONS
from support.cipher_cost_samples import CIPHER_COSTS
from support.decision_samples import DECISIONS
from support.decision_samples import outline as planned
from support.listed import ENGINES, OWN_PLAN, PLAN, STUDIES
from support.prospect_samples import PROSPECTS
from support.reading import outline
from support.readings import FOLDER, READINGS
from tdelta import __version__
from tdelta.document.blocks import Page
from tdelta.report.analysis.details import analysis_blocks
from tdelta.report.analysis.page import compose_analysis
from tdelta.report.calibration import calibration_blocks
from tdelta.report.cipher_cost import cipher_cost_blocks
from tdelta.report.decision import decision_blocks, decision_page, outline_blocks
from tdelta.report.details import run_blocks as details_of_run
from tdelta.report.drawing import draw
from tdelta.report.listings import dry_run_blocks, engines_blocks, studies_blocks
from tdelta.report.page.compose import compose
from tdelta.report.page.file import render
from tdelta.report.page.gather import RunData, gather
from tdelta.report.plan import plan_blocks
from tdelta.report.verify import readings_blocks, run_blocks
from tdelta.store import Store

FILES = Path(__file__).parent
COMMAND = "tdelta analyze plain.csv tde.csv"

PAGES = (
    *("slower", "over_budget", "injected", "served_sweep", "scopes", "with_tails", "profiled", "with_cost_breakdown"),
    *("acted", "backed_up", "bulk", "replicated", "stored", "spilling", "traced"),
)

Text = Callable[[Path], str]


def page(composed: Page) -> str:
    return outline(render(composed)).replace(f"Drawn by tdelta {__version__}", "Drawn by tdelta …")


def factorial(folder: Path, *, has_leak: bool) -> str:
    with Store.open(t.store_factorial(folder / "runs.sqlite", has_leak=has_leak)) as store:
        return page(compose(gather(store, t.RUN_ID)))


def analyses(name: str) -> dict[str, Text]:
    found = ANALYSES[name]()
    drawn = pictures(found)
    return {
        f"analysis/{name}-80.txt": lambda _: draw(analysis_blocks(found, details=True), 80),
        f"analysis/{name}-brief.txt": lambda _: draw(analysis_blocks(found, command=COMMAND), 100),
        f"analysis/{name}-page.txt": lambda _: page(compose_analysis(found, drawn, COMMAND)),
    }


TEXTS: dict[str, Text] = {
    "listings/engines.txt": lambda _: draw(engines_blocks(ENGINES), 80),
    "listings/studies.txt": lambda _: draw(studies_blocks(STUDIES), 80),
    "listings/dry_run.txt": lambda _: draw(dry_run_blocks(PLAN), 80),
    "listings/dry_run_own.txt": lambda _: draw(dry_run_blocks(OWN_PLAN), 80),
    "decision/outline-80.txt": lambda _: draw(outline_blocks(planned()), 80),
    "page/valid.txt": partial(factorial, has_leak=False),
    "page/leaking.txt": partial(factorial, has_leak=True),
    "verify/run_leaking-100.txt": lambda _: draw(run_blocks(s.leaking()), 100),
    "verify/run_without-100.txt": lambda _: draw(run_blocks(s.slower()), 100),
}
for name, sample in s.SAMPLES.items():
    TEXTS[f"terminal/{name}.txt"] = lambda _, sample=sample: draw(details_of_run(sample(), with_details=True), 80)
    TEXTS[f"brief/{name}.txt"] = lambda _, sample=sample: draw(details_of_run(sample()), 100)
    if name in PAGES:
        TEXTS[f"page/{name}.txt"] = lambda _, sample=sample: page(compose(RunData(sample(), t.CREATED)))
for name, made in DECISIONS.items():
    TEXTS[f"decision/{name}-80.txt"] = lambda _, made=made: draw(decision_blocks(*made(), "decision.html"), 80)
    TEXTS[f"decision/{name}-page.txt"] = lambda _, made=made: page(decision_page(*made()))
for name in ANALYSES:
    TEXTS |= analyses(name)
for name, read in READINGS.items():
    TEXTS[f"verify/{name}-80.txt"] = lambda _, read=read: draw(readings_blocks(FOLDER, *read()), 80)
for kind, samples, blocks in (
    ("calibration", CALIBRATIONS, calibration_blocks),
    ("cipher-cost", CIPHER_COSTS, cipher_cost_blocks),
    ("plan", PROSPECTS, plan_blocks),
):
    for name, sample in samples.items():
        TEXTS[f"{kind}/{name}-80.txt"] = lambda _, sample=sample, blocks=blocks: draw(blocks(sample()), 80)


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_is_what_its_golden_file_says(name: str, tmp_path: Path) -> None:
    path, text = FILES / name, TEXTS[name](tmp_path)
    if os.environ.get("TDELTA_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_every_golden_file_belongs_to_a_text() -> None:
    assert {path.relative_to(FILES).as_posix() for path in FILES.rglob("*.txt")} == set(TEXTS)
