import re

import pytest

from support import analysis_samples as s
from tdelta.report.analysis.details import analysis_blocks
from tdelta.report.analysis.words import label
from tdelta.report.drawing import draw


@pytest.mark.parametrize("name", s.SAMPLES)
@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    found = s.SAMPLES[name]()
    brief, full = (draw(analysis_blocks(found, details=details), width) for details in (False, True))
    assert max(map(len, (brief + full).splitlines())) <= width


@pytest.mark.parametrize("name", s.SAMPLES)
def test_the_answer_comes_first_and_colours_only_when_asked_for(name: str) -> None:
    found = s.SAMPLES[name]()
    plain = draw(analysis_blocks(found, details=True))
    coloured = draw(analysis_blocks(found, details=True), color=True)
    assert "\x1b" not in plain
    assert "\x1b[" in coloured
    bare = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert [line.rstrip() for line in bare.splitlines()] == plain.splitlines()


@pytest.mark.parametrize("name", s.SAMPLES)
def test_every_comparison_has_a_row(name: str) -> None:
    found = s.SAMPLES[name]()
    lines = [line.strip() for line in draw(analysis_blocks(found, details=True), 120).splitlines()]
    for comparison in found.comparisons:
        assert any(line.startswith(label(comparison, found)) for line in lines)


def test_the_page_that_was_written_is_named() -> None:
    assert "HTML page: out.html" in draw(analysis_blocks(s.one_run(), page="out.html"))
    assert "HTML page" not in draw(analysis_blocks(s.one_run(), details=True))
