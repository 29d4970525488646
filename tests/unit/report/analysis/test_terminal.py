from __future__ import annotations

import re
from dataclasses import replace

import pytest

from support import analysis_samples as s
from tdelta.report.analysis import analysis_text
from tdelta.report.analysis.words import label
from tdelta.report.quantities import percent


@pytest.mark.parametrize("name", s.SAMPLES)
@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    found = s.SAMPLES[name]()
    brief, full = (analysis_text(found, s.pictures(found), width, details=details) for details in (False, True))
    assert max(map(len, (brief + full).splitlines())) <= width
    assert brief.count("\n") <= 30


@pytest.mark.parametrize("name", s.SAMPLES)
def test_the_answer_comes_first_and_colours_only_when_asked_for(name: str) -> None:
    found = s.SAMPLES[name]()
    plain = analysis_text(found, s.pictures(found), details=True)
    coloured = analysis_text(found, s.pictures(found), color=True, details=True)
    assert "\x1b" not in plain
    assert "\x1b[" in coloured
    bare = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert [line.rstrip() for line in bare.splitlines()] == plain.splitlines()


@pytest.mark.parametrize("name", s.SAMPLES)
def test_every_comparison_has_a_row(name: str) -> None:
    found = s.SAMPLES[name]()
    lines = [line.strip() for line in analysis_text(found, width=120, details=True).splitlines()]
    for comparison in found.comparisons:
        assert any(line.startswith(label(comparison, found)) for line in lines)


def test_what_the_design_can_bear_stands_below_the_table() -> None:
    text = analysis_text(s.one_run(), details=True)
    assert text.index("overhead") < text.index("What this design can bear")
    assert "87 %" in text


def test_a_table_without_posteriors_has_no_column_of_intervals() -> None:
    assert "95 % HDI" not in analysis_text(s.sweep(), details=True)
    assert "published" in analysis_text(s.sweep(), details=True)
    assert "published" not in analysis_text(s.one_run(), details=True)


def test_means_that_give_another_change_than_the_estimate_are_explained() -> None:
    found = s.one_run()
    (one,) = found.primary
    assert one.ratio is not None
    far, near = (replace(one, quotient=one.ratio.median * times) for times in (1.137, 1.01))
    given = [analysis_text(replace(found, comparisons=(which,))) for which in (far, near)]
    raw = percent(far.quotient)
    assert [text.count(raw) for text in given] == [1, 0]


def test_a_bare_quotient_reads_undecided_no_replication() -> None:
    assert analysis_text(s.sweep(), details=True).count("undecided: no replication") == 4


def test_only_the_first_pictures_are_drawn_and_the_others_are_told_of() -> None:
    found = s.transactions()
    text = analysis_text(found, s.pictures(found), details=True)
    assert text.count("mean of plain") == 2
    assert "1 more picture" in text


def test_pictures_of_what_does_not_decide_are_left_to_the_page() -> None:
    found = s.one_run()
    secondary = replace(found, comparisons=tuple(replace(c, primary=False) for c in found.comparisons))
    assert "mean of plain" not in analysis_text(secondary, s.pictures(found))


def test_names_of_strangers_cannot_move_the_cursor() -> None:
    assert "\x1b" not in analysis_text(s.steps())
    assert "SUM?[2Jagain" in analysis_text(s.steps())


def test_the_page_that_was_written_is_named() -> None:
    assert "HTML page: out.html" in analysis_text(s.one_run(), page="out.html")
    assert "HTML page" not in analysis_text(s.one_run(), details=True)
