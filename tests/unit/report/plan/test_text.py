import re
from dataclasses import replace

import pytest

from support.prospect_samples import PROSPECTS, whole
from tdelta.report.plan import plan_text
from tdelta.report.plan.text import curves


@pytest.mark.parametrize("name", PROSPECTS)
@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    assert max(map(len, plan_text(PROSPECTS[name](), width).splitlines())) <= width


@pytest.mark.parametrize("name", PROSPECTS)
def test_nothing_is_cut_off_at_80_columns(name: str) -> None:
    lines = [line.rstrip() for line in plan_text(PROSPECTS[name](), 80).splitlines()]
    assert not [line for line in lines if re.search(r"\S…", line)]


@pytest.mark.parametrize("name", PROSPECTS)
def test_without_colour_there_is_no_control_character(name: str) -> None:
    text = plan_text(PROSPECTS[name](), 100)
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "\x1b" in plan_text(PROSPECTS[name](), 100, color=True)


@pytest.mark.parametrize("name", PROSPECTS)
def test_nothing_is_called_significant(name: str) -> None:
    assert "significan" not in plan_text(PROSPECTS[name](), 100)


def test_a_curve_rises_from_left_to_right() -> None:
    (target,) = [target for target in whole().targets if target.tolerance == 0.02 and target.effect == 0.03]
    lines = curves([target], 0.8, 80)[:11]
    heights = [next(row for row, line in enumerate(lines) if line.ljust(80)[column] == "a") for column in range(6, 80)]
    assert heights == sorted(heights, reverse=True)
    assert heights[-1] == 0


def test_going_over_it_again_asks_of_the_same_store_with_the_same_chance_and_time() -> None:
    again = {"assurance": 0.9, "max_seconds": 1800.0, "metric": "cpu_per_operation", "store": "/my runs.sqlite"}
    text = " ".join(plan_text(replace(whole(), again=again), 100).split())
    besides = "--assurance 0.9 --max-time 30m --metric cpu_per_operation --store '/my runs.sqlite'"
    assert f"20261122-jklm --effect 3% --tolerance 1% {besides}" in text
