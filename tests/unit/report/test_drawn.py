"""Whatever is drawn for a terminal, whatever is made for programs: rules that all of it keeps."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from support import samples as s
from support.analysis_samples import SAMPLES as ANALYSES
from support.calibration_samples import CALIBRATIONS
from support.cipher_cost_samples import CIPHER_COSTS, not_hidden, whole
from support.json_docs import check_documented
from support.listed import ENGINES, OWN_PLAN, PLAN, STUDIES
from support.prospect_samples import PROSPECTS
from support.readings import FOLDER, READINGS
from tdelta.document.blocks import Block
from tdelta.messages import Reason, Refusal
from tdelta.records import Percentile99, TailMeasure
from tdelta.report.analysis.details import analysis_blocks, analysis_document
from tdelta.report.calibration import calibration_blocks, calibration_document
from tdelta.report.cipher_cost import cipher_cost_blocks, cipher_cost_document
from tdelta.report.details import run_blocks
from tdelta.report.document import document, dry_run_document, error_document, to_json
from tdelta.report.drawing import draw
from tdelta.report.listings import engines_document, studies_document
from tdelta.report.plan import plan_blocks, plan_document
from tdelta.report.verify import readings_blocks, readings_document, run_document

DRAWN: dict[str, Callable[[], Iterable[Block]]] = {
    f"{kind} {name}": partial(lambda blocks, sample: blocks(sample()), blocks, sample)
    for kind, samples, blocks in (
        ("run", s.SAMPLES, run_blocks),
        ("run with details", s.SAMPLES, partial(run_blocks, with_details=True)),
        ("analysis", ANALYSES, analysis_blocks),
        ("analysis with details", ANALYSES, partial(analysis_blocks, details=True)),
        ("plan", PROSPECTS, plan_blocks),
        ("calibration", CALIBRATIONS, calibration_blocks),
        ("cipher cost", CIPHER_COSTS, cipher_cost_blocks),
        ("files", READINGS, lambda read: readings_blocks(FOLDER, *read)),
    )
    for name, sample in samples.items()
}


WIDTHS = [(name, width) for name in DRAWN for width in (40, 60, 80, 100, 120, 200) if width >= 80 or name[:3] == "run"]


@pytest.mark.parametrize(("name", "width"), WIDTHS)
def test_no_line_but_a_command_or_a_long_word_is_wider_than_asked_for(name: str, width: int) -> None:
    lines = [line for line in draw(DRAWN[name](), width).splitlines() if " tdelta " not in line]
    assert [line for line in lines if len(line) > width and " " in line.strip()] == []


@pytest.mark.parametrize("name", DRAWN)
def test_colours_are_added_only_when_asked_for_and_change_nothing_else(name: str) -> None:
    plain, colored = (draw(DRAWN[name](), 100, color=color) for color in (False, True))
    assert all(character.isprintable() or character == "\n" for character in plain)
    assert "\x1b" in colored
    bare = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    assert [line.rstrip() for line in bare.splitlines()] == plain.splitlines()


@pytest.mark.parametrize("name", DRAWN)
def test_nothing_is_called_significant(name: str) -> None:
    assert "significan" not in draw(DRAWN[name](), 100)


def runs() -> Iterable[Mapping[str, Any]]:
    few = Percentile99(1, 2, None, Reason.of("percentile-few-rounds", fewest=3))
    yield document(s.changed(s.with_tails(), tails=(replace(s.with_tails().of(TailMeasure)[0], p99=few),)), 0)
    yield from (document(sample(), 0) for sample in s.SAMPLES.values())


def dry_runs() -> Iterable[Mapping[str, Any]]:
    refused = replace(PLAN, faults=(Refusal.of("path-unusable", path="/x", fault="not writable"),))
    return map(dry_run_document, (refused, OWN_PLAN))


def verified() -> Iterable[Mapping[str, Any]]:
    yield from (readings_document(FOLDER, *read(), 0) for read in READINGS.values())
    yield run_document(s.leaking(), 4)


ASKED = Refusal.of("requires", what="a", needs="a mode").at("--modes")
DOCUMENTS: dict[str, Callable[[], Iterable[Mapping[str, Any]]]] = {
    "tdelta.run/1": runs,
    "tdelta.dry-run/1": dry_runs,
    "tdelta.engines/1": lambda: [engines_document(ENGINES)],
    "tdelta.studies/2": lambda: [studies_document(STUDIES)],
    "tdelta.error/1": lambda: [error_document([ASKED], ASKED.text, 2)],
    "tdelta.analysis/1": lambda: (analysis_document(sample(), 0) for sample in ANALYSES.values()),
    "tdelta.plan/1": lambda: (plan_document(sample()) for sample in PROSPECTS.values()),
    "tdelta.calibration/1": lambda: (calibration_document(sample(), 0) for sample in CALIBRATIONS.values()),
    "tdelta.cipher-cost/1": lambda: map(cipher_cost_document, (whole(), not_hidden())),
    "tdelta.verify/1": verified,
}


@pytest.mark.parametrize("schema", DOCUMENTS)
def test_the_documentation_of_a_document_names_exactly_its_fields_and_it_is_strict_json(schema: str) -> None:
    made = list(DOCUMENTS[schema]())
    check_documented(schema, *made)
    for one in made:
        assert json.loads(to_json(one), parse_constant=pytest.fail)["schema"] == schema
