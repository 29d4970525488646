from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support import analysis_samples as s
from tdelta.report.analysis import analysis_document
from tdelta.report.document import to_json

DOCS = Path(__file__).parents[4] / "docs" / "json.md"
_FREE_FORM = re.compile(r"(comparisons\[\]\.(levels|priors)|formats|codes?(\[\])?\.parameters)$")


def paths(value: object, at: str = "") -> Iterator[str]:
    """Every field of a document, as the documentation names it."""
    if isinstance(value, dict) and not _FREE_FORM.search(at):
        for key, inner in value.items():
            here = f"{at}.{key}" if at else key
            yield here
            yield from paths(inner, here)
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner, f"{at}[]")


def test_the_documentation_names_exactly_the_fields() -> None:
    section = DOCS.read_text(encoding="utf-8").split("## `tdelta.analysis/1`")[1].split("\n## ")[0]
    documented = set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE))
    found = {path for name in s.SAMPLES for path in paths(json.loads(to_json(analysis_document(s.SAMPLES[name](), 0))))}
    assert found == documented


def test_what_has_no_posterior_is_null_and_the_quotient_is_there() -> None:
    (first, *_) = json.loads(to_json(analysis_document(s.sweep(), 3)))["comparisons"]
    assert first["ratio"] is None
    assert first["difference"] is None
    assert first["baseline"]["mean"] is None
    assert f"{first['quotient']:.2f}" == first["published"] == "1.09"
    assert first["levels"] == {"buffer_pool": "5 GB", "threads": 1}


def test_priors_stand_under_their_names() -> None:
    (only,) = json.loads(to_json(analysis_document(s.one_run(), 0)))["comparisons"]
    assert set(only["priors"]) == {"no speed-up", "runs differ by 3 %", "normal:0,0.01"}
    assert only["priors"]["normal:0,0.01"]["median"] == pytest.approx(1.274)


def test_numbers_that_do_not_exist_are_null() -> None:
    odd = replace(s.one_run().comparisons[0], quotient=float("inf"))
    values = json.loads(to_json(analysis_document(s.result(odd), 0)), parse_constant=pytest.fail)
    assert values["comparisons"][0]["quotient"] is None
