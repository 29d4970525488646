import re

import pytest

from tdelta.records import Condition, Role
from tdelta.session.published import PUBLISHED, published_cells
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
        ("read-only-sweep", "operation, 4 threads, 5 GB", "1.09"),
        ("read-only-sweep", "16 threads, 5 GB", "1.08"),
        ("read-only-sweep", "64 threads, 5 GB", "1.00"),
        ("read-only-sweep", "32 threads, 5 GB", "1.03"),
        ("read-only-sweep", "2048 threads, 5 GB", "0.98"),
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
    oracle = [figure for figure in PUBLISHED["order-entry"] if "Oracle" in figure.source]
    assert [figure.ratio for figure in oracle] == [None, None]


def of(cipher: str, role: Role = Role.TREATMENT, **levels: float) -> Condition:
    return Condition((("cipher", cipher), *levels.items()), role)


def cells(study: str, *conditions: Condition, **fixed: float) -> list[tuple[str, str]]:
    return [(c.condition.key, f"{c.ratio:.3f}") for c in published_cells(study, conditions, fixed)]


def test_the_whole_table_of_the_sweep_is_known() -> None:
    levels = [dict(figure.levels) for figure in PUBLISHED["read-only-sweep"]]
    assert {level["cache"] for level in levels} == {0.10, 1.20}
    assert [level["threads"] for level in levels if level["cache"] == 0.10] == [
        *(1, 4, 16, 32, 64, 96, 128, 256, 512, 1024, 2048),
    ]
    assert len(levels) == 22


def test_published_figures_stand_beside_the_conditions_that_have_their_levels() -> None:
    conditions = (
        of("none", Role.BASELINE, threads=1, cache=0.10),
        of("aes-256", threads=1, cache=0.10),
        of("aes-256", threads=1, cache=1.20),
        of("aes-256", threads=2, cache=1.20),
        of("none", Role.PLANTED, threads=1, cache=1.20),
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
