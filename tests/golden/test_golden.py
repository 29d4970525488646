"""What people read, character by character. ``TDELTA_UPDATE_GOLDEN=1 pytest tests/golden`` writes the files anew.

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
from support.listed import ENGINES, OWN_PLAN, PLAN, STUDIES
from support.prospect_samples import PROSPECTS
from support.reading import outline
from support.readings import FOLDER, READINGS
from tdelta import __version__
from tdelta.document.blocks import Page
from tdelta.report.analysis.page import compose_analysis
from tdelta.report.analysis.terminal import analysis_text
from tdelta.report.calibration import calibration_text
from tdelta.report.cipher_cost import cipher_cost_text
from tdelta.report.listings import dry_run_text, engines_text, studies_text
from tdelta.report.page.compose import compose
from tdelta.report.page.gather import RunData, gather
from tdelta.report.page.render import render
from tdelta.report.plan import plan_text
from tdelta.report.terminal import render as terminal
from tdelta.report.verify import readings_text, run_text
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
        f"analysis/{name}-80.txt": lambda _: analysis_text(found, drawn, 80, details=True),
        f"analysis/{name}-brief.txt": lambda _: analysis_text(found, drawn, 100, command=COMMAND),
        f"analysis/{name}-page.txt": lambda _: page(compose_analysis(found, drawn, COMMAND)),
    }


TEXTS: dict[str, Text] = {
    "listings/engines.txt": lambda _: engines_text(ENGINES, 80),
    "listings/studies.txt": lambda _: studies_text(STUDIES, 80),
    "listings/dry_run.txt": lambda _: dry_run_text(PLAN, 80),
    "listings/dry_run_own.txt": lambda _: dry_run_text(OWN_PLAN, 80),
    "page/valid.txt": partial(factorial, has_leak=False),
    "page/leaking.txt": partial(factorial, has_leak=True),
    "verify/run_leaking-100.txt": lambda _: run_text(s.leaking(), 100),
    "verify/run_without-100.txt": lambda _: run_text(s.slower(), 100),
}
for name, sample in s.SAMPLES.items():
    TEXTS[f"terminal/{name}.txt"] = lambda _, sample=sample: terminal(sample(), 80, details=True)
    TEXTS[f"brief/{name}.txt"] = lambda _, sample=sample: terminal(sample(), 100)
    if name in PAGES:
        TEXTS[f"page/{name}.txt"] = lambda _, sample=sample: page(compose(RunData(sample(), t.CREATED)))
for name in ANALYSES:
    TEXTS |= analyses(name)
for name, read in READINGS.items():
    TEXTS[f"verify/{name}-80.txt"] = lambda _, read=read: readings_text(FOLDER, *read(), 80)
for kind, samples, text in (
    ("calibration", CALIBRATIONS, calibration_text),
    ("cipher-cost", CIPHER_COSTS, cipher_cost_text),
    ("plan", PROSPECTS, plan_text),
):
    for name, sample in samples.items():
        TEXTS[f"{kind}/{name}-80.txt"] = lambda _, sample=sample, text=text: text(sample(), 80)


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_is_what_its_golden_file_says(name: str, tmp_path: Path) -> None:
    path, text = FILES / name, TEXTS[name](tmp_path)
    if os.environ.get("TDELTA_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_every_golden_file_belongs_to_a_text() -> None:
    assert {path.relative_to(FILES).as_posix() for path in FILES.rglob("*.txt")} == set(TEXTS)
