from __future__ import annotations

import math
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
    table = render(replace(s.costly(), verdicts=s.costly().verdicts[::-1]), details=True).split("\n\n")[2]
    assert [table.index(label) for label in labels] == sorted(table.index(label) for label in labels)


def test_failed_checks_stand_before_those_not_shown_and_those_before_the_ones_that_held() -> None:
    text = render(s.unsound(), details=True)
    assert text.index("FAILED") < text.index("not shown  ") < text.index("ok         ")


def test_a_prior_that_forbids_a_speed_up_is_shown_where_it_changes_the_figures() -> None:
    assert "Excluding speed-ups a priori, aes-256: +0.4 % (95 % HDI 0.0 … +0.9)." in render(
        s.negligible(), details=True
    )
    assert "Excluding speed-ups a priori does not change the result." in render(s.costly(), details=True)


def test_an_interrupted_run_says_how_to_go_on() -> None:
    assert f"go on:     tdelta run --resume {s.RUN_ID}" in render(s.interrupted(), details=True)
    assert "--resume" not in render(s.costly())


def test_a_run_in_a_store_of_its_own_is_shown_from_there() -> None:
    given = s.settings(options={"store": "my runs.db"})
    text = render(replace(s.costly(), settings=given), details=True)
    assert f"tdelta show {s.RUN_ID} --store 'my runs.db'" in text
    assert f"tdelta export {s.RUN_ID} --format csv --store 'my runs.db'" in text


def test_numbers_that_do_not_exist_are_dashes() -> None:
    text = render(s.without_numbers(), details=True)
    assert not re.search(r"\b(nan|inf)\b", text, re.IGNORECASE)
    assert math.isinf(s.without_numbers().loop.client_overhead_share)


def test_a_reason_to_stop_that_is_new_here_is_still_named() -> None:
    assert "ended by moonlight" in " ".join(render(replace(s.costly(), stopped_by="moonlight"), details=True).split())


@pytest.mark.parametrize("result", [s.sweep, s.costly, s.unsound, s.stalling])
def test_a_narrow_terminal_gets_lists_in_place_of_tables(result: Callable[[], RunResult]) -> None:
    text, wide = render(result(), 40, details=True), render(result(), 200, details=True)
    figures = re.compile(r"[+−-][\d.]+ %")
    assert sorted(figures.findall(text)) == sorted(figures.findall(wide)), "nothing is left out"


def test_below_forty_columns_text_is_laid_out_for_forty() -> None:
    assert render(s.sweep(), 10) == render(s.sweep(), 40)


def test_checks_that_are_ok_stand_in_one_item_and_others_keep_their_detail() -> None:
    text = " ".join(render(s.unsound(), details=True).split())
    assert "ok 2 checks: " in text
    assert "lies wholly outside ±2 %" in text


def test_the_typical_operation_stands_below_the_figure_that_decides() -> None:
    lines = render(s.stalling(), details=True).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("response time  "))
    assert lines[at + 1].split() == ["typical", "operation", "+0.4", "%", "−0.1", "…", "+0.9"]
