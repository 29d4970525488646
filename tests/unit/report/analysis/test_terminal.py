import re
from dataclasses import replace

import pytest

from support import analysis_samples as s
from tdelta.report.analysis.terminal import analysis_text
from tdelta.report.analysis.words import label


@pytest.mark.parametrize("name", s.SAMPLES)
@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    found = s.SAMPLES[name]()
    brief, full = (analysis_text(found, s.pictures(found), width, details=details) for details in (False, True))
    assert max(map(len, (brief + full).splitlines())) <= width


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


def test_pictures_of_what_does_not_decide_are_left_to_the_page() -> None:
    found = s.one_run()
    secondary = replace(found, comparisons=tuple(replace(c, primary=False) for c in found.comparisons))
    assert "mean of plain" not in analysis_text(secondary, s.pictures(found))


def test_the_page_that_was_written_is_named() -> None:
    assert "HTML page: out.html" in analysis_text(s.one_run(), page="out.html")
    assert "HTML page" not in analysis_text(s.one_run(), details=True)
