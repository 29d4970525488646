from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.prospect_samples import PROSPECTS, hopeless, whole
from tdelta.report.document import to_json
from tdelta.report.plan import plan_document

DOCS = Path(__file__).parents[4] / "docs" / "json-plan.md"


def paths(value: object, at: str = "") -> Iterator[str]:
    """Every field of a document, as the documentation names it."""
    if isinstance(value, dict) and not at.endswith(".parameters"):
        for key, inner in value.items():
            here = f"{at}.{key}" if at else key
            yield here
            yield from paths(inner, here)
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner, f"{at}[]")


def test_the_documentation_of_a_plan_names_exactly_its_fields() -> None:
    section = DOCS.read_text(encoding="utf-8").split("## `tdelta.plan/1`")[1].split("\n## ")[0]
    documented = set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE))
    made = {path for sample in PROSPECTS.values() for path in paths(json.loads(to_json(plan_document(sample()))))}
    assert made == documented


def test_a_plan_is_strict_json() -> None:
    for sample in PROSPECTS.values():
        values = json.loads(to_json(plan_document(sample())), parse_constant=pytest.fail)
        assert values["schema"] == "tdelta.plan/1"


def test_what_cannot_be_reached_has_no_rounds_and_no_command() -> None:
    values = json.loads(to_json(plan_document(hopeless())))
    assert (values["advised_rounds"], values["advised_seconds"], values["advised_command"]) == (None, None, None)
    assert [target["attainability"] for target in values["targets"]] == ["on the edge", "too long"]


def test_figures_are_passed_on_unrounded() -> None:
    values = json.loads(to_json(plan_document(whole())))
    assert values["lengths"][0]["sd95"] == [0.91 * 0.0221, 1.1 * 0.0221]
    assert values["lengths"][0]["scales"][1]["excess95"] == [0.81, 1.47]
    assert values["carry_over"]["positions"][0] == {"share": 0.0012, "interval95": [-0.003, 0.0054]}
