from __future__ import annotations

import re
from dataclasses import replace

import pytest

from support.prospect_samples import PROSPECTS, hopeless, one_round, stored, whole
from tdelta.report.plan import plan_text
from tdelta.report.plan.curves import curves


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


def test_the_first_lines_answer() -> None:
    first, second, *_ = plan_text(whole(), 120).splitlines()
    assert first == (
        "To call it negligible (±1 %) where encryption costs nothing: 11 rounds of 6 blocks, 1 min 28 s,"
        " for a chance of 80 %."
    )
    assert second.startswith("To tell an overhead of 2 % from ±1 %: 11 rounds of 6 blocks, 1 min 28 s")


def test_the_command_to_go_on_with_has_the_rounds_that_were_advised() -> None:
    assert "  tdelta run --rounds 11..11 --max-time 2m --rope 1%\n" in plan_text(whole(), 100)
    assert "tdelta run" not in plan_text(hopeless(), 100)


def test_what_cannot_be_is_said_plainly() -> None:
    text = plan_text(hopeless(), 120)
    assert "To tell an overhead of 2 % from ±2 %: it cannot be." in text
    assert "To tell an overhead of 2.1 % from ±2 %: not within 15 min" in text
    assert re.search(r"^\+2 % +never \(edge\)$", text, re.MULTILINE)


def test_the_table_has_a_row_for_each_overhead_and_a_column_for_each_rope() -> None:
    lines = plan_text(whole(), 100).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("true overhead"))
    rows = lines[start + 1 : start + 8]
    assert [row.split("  ")[0] for row in rows] == ["none", "+0.5 %", "+1 %", "+2 %", "+3 %", "+5 %", "+10 %"]
    headings = " ".join(lines[start].split())
    assert headings == "true overhead ROPE ±0.5 % ROPE ±1 % ROPE ±2 %"
    assert {len(row) for row in rows} == {len(rows[0])}


def test_every_curve_has_a_letter_and_the_edge_has_none() -> None:
    lines = curves([target for target in whole().targets if target.rope == 0.01], 0.8, 100)
    assert " ".join(lines[-1].split()) == "a none b +0.5 % c +2 % d +3 % e +5 % f +10 %"
    drawn = "".join(lines[:11])
    assert all(mark in drawn for mark in "bcdf"), "of curves that lie on each other the last is seen"
    assert any("····" in line for line in lines)


def test_a_curve_rises_from_left_to_right() -> None:
    (target,) = [target for target in whole().targets if target.rope == 0.02 and target.effect == 0.03]
    lines = curves([target], 0.8, 80)[:11]
    heights = [next(row for row, line in enumerate(lines) if line.ljust(80)[column] == "a") for column in range(6, 80)]
    assert heights == sorted(heights, reverse=True)
    assert heights[-1] == 0


def test_ticks_are_rounds_with_their_wall_clock_below() -> None:
    *_, rounds, clock, _ = curves([target for target in whole().targets if target.rope == 0.01], 0.8, 100)
    assert rounds.split()[:2] == ["3", "rounds"]
    assert rounds.rstrip().endswith("128 rounds")
    assert clock.lstrip().startswith("31 s")


def test_a_single_look_has_no_curve() -> None:
    assert "Chance that a run decides" not in plan_text(one_round(), 100)


def test_carry_over_from_encrypted_twins_is_told_with_what_it_does_to_an_overhead() -> None:
    text = " ".join(plan_text(stored(), 120).split())
    assert "after an encrypted twin +1.20 % (+0.40 … +2.00)" in text
    assert "which moves an overhead by −0.40 % (−0.67 … −0.13)" in text
    assert "threads 4" in text


def test_how_to_go_over_it_again_is_told() -> None:
    text = " ".join(plan_text(whole(), 100).split())
    assert "tdelta plan 20261122-abcd 20261122-efgh 20261122-jklm --effect 3% --rope 1%" in text


def test_going_over_it_again_asks_of_the_same_store_with_the_same_chance_and_time() -> None:
    again = {"assurance": 0.9, "max_seconds": 1800.0, "metric": "cpu_per_operation", "store": "/my runs.sqlite"}
    text = " ".join(plan_text(replace(whole(), again=again), 100).split())
    besides = "--assurance 0.9 --max-time 30m --metric cpu_per_operation --store '/my runs.sqlite'"
    assert f"20261122-jklm --effect 3% --rope 1% {besides}" in text
