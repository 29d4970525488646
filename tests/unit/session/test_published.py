from __future__ import annotations

import re

import pytest

from tdelta.session.published import PUBLISHED
from tdelta.session.studies import studies

FIGURES = [(name, figure) for name, figures in PUBLISHED.items() for figure in figures]


def ratio(study: str, words: str) -> float:
    (found,) = (f.ratio for f in PUBLISHED[study] if words in f.what)
    assert found is not None
    return found


def test_figures_belong_to_studies_that_exist() -> None:
    assert set(PUBLISHED) <= {study.name for study in studies()}
    assert all(study.figures == PUBLISHED.get(study.name, ()) for study in studies())


@pytest.mark.parametrize(
    ("study", "words", "printed"),
    [
        ("read-only-sweep", "1 thread, 5 GB", "1.09"),
        ("read-only-sweep", "16 threads, 5 GB", "1.08"),
        ("read-only-sweep", "64 threads, 5 GB", "1.00"),
        ("read-only-sweep", "2048 threads", "0.98"),
        ("warehouse", "elapsed, rebuild", "1.30"),
        ("warehouse", "CPU, rebuild", "1.12"),
        ("warehouse", "elapsed, SUM from disk", "1.50"),
        ("warehouse", "CPU, SUM from disk", "4.72"),
        ("warehouse", "CPU, SUM from memory", "1.01"),
        ("direct-load", "elapsed", "1.50"),
        ("dml-trace", "AIX", "2.17"),
        ("dml-trace", "Linux", "1.34"),
    ],
)
def test_ratios_are_those_that_were_printed_or_follow_from_what_was(study: str, words: str, printed: str) -> None:
    assert f"{ratio(study, words):.2f}" == printed


@pytest.mark.parametrize(("study", "figure"), FIGURES)
def test_every_figure_names_its_source_with_a_year_or_says_that_there_is_none(study: str, figure: object) -> None:
    source = figure.source  # type: ignore[attr-defined]
    assert re.search(r"\b(20\d\d|year not given)\b", source), (study, source)


def test_what_was_not_published_as_a_ratio_has_none() -> None:
    assert [f.ratio for f in PUBLISHED["order-entry"]] == [None, None]
