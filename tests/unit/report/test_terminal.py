import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from support import samples as s
from tdelta.records import RunResult
from tdelta.report.terminal import render

_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("name", s.SAMPLES)
@pytest.mark.parametrize("details", [False, True])
@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_no_line_but_a_command_or_a_long_word_is_wider_than_asked_for(name: str, width: int, details: bool) -> None:
    lines = [line for line in render(s.SAMPLES[name](), width, details=details).splitlines() if " tdelta " not in line]
    assert [line for line in lines if len(line) > width and " " in line.strip()] == []


@pytest.mark.parametrize("name", s.SAMPLES)
def test_colours_change_nothing_but_the_colours(name: str) -> None:
    plain, colored = render(s.SAMPLES[name](), details=True), render(s.SAMPLES[name](), color=True, details=True)
    assert "\x1b" not in plain
    assert "\x1b" in colored
    stripped = [line.rstrip() for line in _ANSI.sub("", colored).splitlines()]
    assert stripped == plain.splitlines()


def test_verdicts_come_primary_first_then_cpu_then_bytes_then_transactions() -> None:
    labels = ["response time", "CPU ", "bytes read", "bytes written", "browse products", "register customer"]
    table = render(replace(s.slower(), verdicts=s.slower().verdicts[::-1]), details=True).split("\n\n")[2]
    assert [table.index(label) for label in labels] == sorted(table.index(label) for label in labels)


def test_a_run_in_a_store_of_its_own_is_shown_from_there() -> None:
    given = s.settings(options={"store": "my runs.db"})
    text = render(replace(s.slower(), settings=given), details=True)
    assert f"tdelta report {s.RUN_ID} --store 'my runs.db'" in text
    assert f"tdelta export {s.RUN_ID} --format csv --store 'my runs.db'" in text


def test_a_reason_to_stop_that_is_new_here_is_still_named() -> None:
    assert "ended by moonlight" in " ".join(render(replace(s.slower(), stopped_by="moonlight"), details=True).split())


@pytest.mark.parametrize("result", [s.sweep, s.slower, s.invalid, s.stalling])
def test_a_narrow_terminal_gets_lists_in_place_of_tables(result: Callable[[], RunResult]) -> None:
    text, wide = render(result(), 40, details=True), render(result(), 200, details=True)
    figures = re.compile(r"[+−-][\d.]+%")
    assert sorted(figures.findall(text)) == sorted(figures.findall(wide)), "nothing is left out"


def test_below_forty_columns_text_is_laid_out_for_forty() -> None:
    assert render(s.sweep(), 10) == render(s.sweep(), 40)
