"""Tails of other tools' results in words: cells with two ends, why there is no interval, what is left to the page."""

from __future__ import annotations

from dataclasses import replace

from support import analysis_samples as s
from support.reading import outline
from tdelta.records import AnalysisResult, ObservedTail
from tdelta.report.analysis import analysis_text, compose_analysis
from tdelta.report.analysis.tails import reason_lines, tail_groups, tail_lines, tail_notes, tail_section
from tdelta.report.page.render import render


def with_tail(change: dict[str, object]) -> AnalysisResult:
    found = s.one_tail()
    (only,) = found.comparisons
    assert only.tail is not None
    tail: ObservedTail = replace(only.tail, **change)  # type: ignore[arg-type]
    return replace(found, comparisons=(replace(only, tail=tail),))


def test_a_cell_has_both_ends_of_what_bins_leave_open() -> None:
    longer, p99 = tail_groups(s.one_tail())
    assert (longer.title, p99.title) == ("longer than 20 ms", "p99")
    (row,) = longer.rows
    assert (row.label, row.baseline, row.condition) == ("tde", "0.80 … 0.87 %", "1.3 … 1.4 %")
    assert (row.ratio, row.interval) == ("1.68 x", "–")
    (row,) = p99.rows
    assert (row.baseline, row.condition, row.ratio) == ("22.10 … 22.53 ms", "26.40 … 26.92 ms", "1.19 x")


def test_a_row_has_its_interval_and_one_end_where_both_are_one() -> None:
    longer, p99 = tail_groups(s.tails())
    assert [row.label for row in longer.rows] == ["aes-128, New Order", "aes-256, New Order"]
    row = longer.rows[0]
    assert (row.baseline, row.condition, row.ratio, row.interval) == ("0.80 %", "1.2 %", "1.45 x", "1.12 … 1.88")
    assert p99.rows[1].condition == p99.rows[1].ratio == "–"


def test_a_reason_of_every_row_is_said_once_and_others_with_their_rows() -> None:
    (one,) = reason_lines(tail_groups(s.one_tail()))
    assert one.startswith("No interval: one run of a condition")
    few, none = reason_lines(tail_groups(s.tails()))
    assert few.startswith("aes-256, New Order, longer than 20 ms: too few for an interval: 6 on the rarer side")
    assert none.startswith("aes-256, New Order, p99: no percentile")


def test_the_notes_say_from_where_on_is_counted_and_what_intervals_rest_on() -> None:
    one, several = tail_notes(s.one_tail()), tail_notes(s.tails())
    assert "counted from 20.3612 ms on; an upper end counts" in one
    assert "intervals rest on" not in one
    assert "counted from 20 ms on." in several
    assert "rest on 10 runs: the run is the unit, and runs are taken to have alternated" in several
    assert all(text.endswith("Nothing is decided on tails.") for text in (one, several))


def test_a_percentile_without_a_threshold_says_nothing_of_shares() -> None:
    found = s.one_tail()
    (only,) = found.comparisons
    assert only.tail is not None
    sides = {
        name: replace(side, longer_at_least=None, longer_at_most=None)
        for name, side in (("baseline", only.tail.baseline), ("condition", only.tail.condition))
    }
    result = with_tail({**sides, "threshold_ms": None, "counted_from_ms": None, "longer_quotient": None})
    assert [group.title for group in tail_groups(result)] == ["p99"]
    assert "Shares" not in tail_notes(result)


def test_the_terminal_shows_so_many_rows_and_tells_of_the_others() -> None:
    found = s.one_tail()
    (only,) = found.comparisons
    many = replace(found, comparisons=tuple(replace(only, transaction=f"step {n}") for n in range(10)))
    text = analysis_text(many, width=100, details=True)
    part = text[text.index("\ntails") :]
    assert "step 7" in part
    assert "step 8" not in part
    assert "2 more tails: --output page.html and --json have them." in text


def test_without_tails_nothing_is_said_of_them() -> None:
    assert tail_lines(s.one_run(), 100) == []
    assert tail_section(s.one_run()) is None
    assert "Nothing is decided on tails" not in analysis_text(s.one_run())


def test_the_page_has_a_table_for_each_figure() -> None:
    text = outline(render(compose_analysis(s.tails(), s.pictures(s.tails()), "tdelta analyze x")))
    part = text[text.index("## Tails") :]
    assert "longer than 20 ms" in part
    assert "1.12 … 1.88" in part
    assert "no percentile: it takes 1,000 response times" in part
