import re

import pytest

from support import samples as s
from support.finished import found
from tdelta.findings.published import KIND, PublishedFigure
from tdelta.records import Condition, Role
from tdelta.session.studies import studies

PUBLISHED = {study.name: study.figures for study in studies()}
FIGURES = [(name, figure) for name, figures in PUBLISHED.items() for figure in figures]


def ratio(study: str, words: str) -> float:
    (found,) = (f.ratio for f in PUBLISHED[study] if words in f.what)
    assert found is not None
    return found


@pytest.mark.parametrize(("study", "figure"), FIGURES)
def test_every_figure_names_its_source_with_a_year_or_says_that_there_is_none(
    study: str, figure: PublishedFigure
) -> None:
    assert re.search(r"\b(20\d\d|year not given)\b", figure.source), (study, figure.source)


def test_what_was_not_published_as_a_ratio_has_none_and_what_was_has_it() -> None:
    oracle = [figure for figure in PUBLISHED["order-entry"] if "Oracle" in figure.source]
    assert [figure.ratio for figure in oracle] == [None, None]
    assert f"{ratio('direct-load', 'elapsed'):.2f}" == "1.50"


def of(cipher: str, role: Role = Role.TREATMENT, **levels: float) -> Condition:
    return Condition((("cipher", cipher), *levels.items()), role)


def cells(study: str, *conditions: Condition, **fixed: float) -> list[tuple[str, str]]:
    cells = found(KIND, (), s.settings(*conditions), published=PUBLISHED.get(study, ()), levels=fixed)
    return [(cell.condition.key, f"{cell.ratio:.3f}") for cell in cells]


def test_published_figures_stand_beside_the_conditions_that_have_their_levels() -> None:
    conditions = (
        of("none", Role.BASELINE, threads=1, cache=0.10),
        of("aes-256", threads=1, cache=0.10),
        of("aes-256", threads=1, cache=1.20),
        of("aes-256", threads=2, cache=1.20),
        of("none", Role.INJECTED, threads=1, cache=1.20),
    )
    assert cells("read-only-sweep", *conditions) == [
        ("cipher=aes-256,threads=1,cache=0.1", "1.088"),
        ("cipher=aes-256,threads=1,cache=1.2", "0.981"),
    ]


def test_a_level_that_the_run_does_not_vary_counts_as_well() -> None:
    assert cells("read-only-sweep", of("aes-256", threads=64), cache=0.10) == [("cipher=aes-256,threads=64", "1.002")]
    assert cells("read-only-sweep", of("aes-256", threads=64), cache=0.30) == []


def test_other_studies_and_none_have_no_cells() -> None:
    assert cells("order-entry", of("aes-256", threads=1), cache=0.10) == []
    assert cells("", of("aes-256", threads=1), cache=0.10) == []
