import re
from dataclasses import replace

import pytest

from support.prospect_samples import PROSPECTS, whole
from tdelta.report.drawing import draw
from tdelta.report.plan import plan_blocks


@pytest.mark.parametrize("name", PROSPECTS)
@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    assert max(map(len, draw(plan_blocks(PROSPECTS[name]()), width).splitlines())) <= width


@pytest.mark.parametrize("name", PROSPECTS)
def test_nothing_is_cut_off_at_80_columns(name: str) -> None:
    lines = [line.rstrip() for line in draw(plan_blocks(PROSPECTS[name]()), 80).splitlines()]
    assert not [line for line in lines if re.search(r"\S…", line)]


@pytest.mark.parametrize("name", PROSPECTS)
def test_without_colour_there_is_no_control_character(name: str) -> None:
    text = draw(plan_blocks(PROSPECTS[name]()), 100)
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "\x1b" in draw(plan_blocks(PROSPECTS[name]()), 100, color=True)


@pytest.mark.parametrize("name", PROSPECTS)
def test_nothing_is_called_significant(name: str) -> None:
    assert "significan" not in draw(plan_blocks(PROSPECTS[name]()), 100)


def test_going_over_it_again_asks_of_the_same_store_with_the_same_chance_and_time() -> None:
    again = {"assurance": 0.9, "max_seconds": 1800.0, "metric": "cpu_per_operation", "store": "/my runs.sqlite"}
    text = " ".join(draw(plan_blocks(replace(whole(), again=again)), 100).split())
    besides = "--assurance 0.9 --max-time 30m --metric cpu_per_operation --store '/my runs.sqlite'"
    assert f"20261122-jklm --effect 3% --tolerance 1% {besides}" in text
