import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import samples as s
from support import stored as t
from tdelta.document.blocks import Cell, Figure, Table
from tdelta.document.forest import Limits, Row, RowStyle, forest
from tdelta.document.wording import chance
from tdelta.inference.fits import PairedRatios
from tdelta.records import EvidenceState, FileEvidence
from tdelta.report.page.figures.differences import clock, differences
from tdelta.report.page.figures.latency import latency_curves
from tdelta.report.page.figures.resources import RESOURCES, resource_tables, resource_values
from tdelta.report.page.gather import RunData
from tdelta.report.page.sections import trust_section

TOLERANCE = Limits(tolerance=(0.98, 1.02))


def plot(rows: Sequence[Row], limits: Limits = TOLERANCE) -> Figure:
    return forest("f", "a title", rows, limits, axis="response time", caption="")


def circles(drawing: str) -> list[float]:
    return [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', drawing)]


def test_rows_that_cost_more_stand_further_to_the_right() -> None:
    figure = plot([Row(f"c{m}", s.estimate(m, 0.01), "x") for m in (1.01, 1.05, 1.30)])
    found = circles(figure.drawing)
    assert found == sorted(found)
    assert len(set(found)) == 3


@pytest.mark.parametrize(("median", "is_log"), [(1.4, False), (3.0, True)])
def test_a_two_fold_cost_makes_the_axis_logarithmic(median: float, is_log: bool) -> None:
    figure = plot([Row("a", s.estimate(median, 0.05), "x")])
    assert (">2×</text>" in figure.drawing) is is_log
    assert (">+20%</text>" in figure.drawing) is not is_log


def test_plain_twins_are_squares_and_what_must_not_be_relied_on_is_marked() -> None:
    rows = [
        Row("a", s.estimate(1.0, 0.01), "x", RowStyle.PLAIN),
        Row("b", s.estimate(1.2, 0.01), "× invalid", RowStyle.ALARM),
    ]
    figure = plot(rows)
    assert 'class="plain-dot"' in figure.drawing
    assert len(circles(figure.drawing)) == 1
    assert 'class="warn"' in figure.drawing


def test_a_row_without_data_keeps_its_place_and_draws_nothing() -> None:
    figure = plot([Row("a", s.estimate(1.1, 0.01), "x"), Row("b", None, "no data")])
    assert len(circles(figure.drawing)) == 1
    assert "no data" in figure.drawing
    assert ("b", "–", "–", "–", "no data") in [tuple(row) for row in figure.table.rows]


def test_numbers_below_a_forest_plot_are_those_above_and_stand_below_their_heading() -> None:
    figure = plot([Row("CPU"), Row("aes-256", s.estimate(1.031, 0.007), "▲ slower")])
    assert [tuple(row) for row in figure.table.rows] == [
        ("CPU",),
        ("aes-256", "+3.1%", "+2.4% to +3.8%", "+2.2% to +4.0%", "▲ slower"),
    ]


@pytest.mark.parametrize(
    ("mass", "words"), [(0.0, "< 0.1%"), (0.5, "50.0%"), (1.0, "> 99.9%"), (0.9994, "99.9%"), (math.nan, "–")]
)
def test_a_probability_is_never_a_certainty(mass: float, words: str) -> None:
    assert chance(mass) == words


def pairs(logs: Sequence[float], rounds: int = 2, of: int = 2) -> PairedRatios:
    count = len(logs)
    condition = t.factorial()[of]
    return PairedRatios(
        condition,
        np.repeat(np.arange(rounds), count // rounds),
        np.arange(count),
        t.CREATED + 2.0 * np.arange(count),
        np.exp(np.array(logs)),
    )


def test_every_block_is_a_point_discs_and_diamonds_by_turns() -> None:
    figure = differences([pairs([0.01, 0.02, 0.0, 0.03])], {}, t.settings())
    (discs,) = re.findall(r'<path d="([^"]*)" class="points"', figure.drawing)
    (diamonds,) = re.findall(r'<path d="([^"]*)" class="points-odd"', figure.drawing)
    assert (discs.count("h0"), diamonds.count("z")) == (2, 2)


def test_a_point_far_outside_is_drawn_at_the_edge_and_counted() -> None:
    logs = [0.01 * math.sin(k) for k in range(39)] + [3.0]
    figure = differences([pairs(logs)], {}, t.settings())
    assert 'class="beyond"' in figure.drawing
    assert "1 beyond it" in figure.caption


def test_more_blocks_than_can_be_told_apart_are_drawn_as_means_within_a_round() -> None:
    figure = differences([pairs([0.01] * 3000)], {}, t.settings())
    drawn = figure.drawing.count("h0") + figure.drawing.count("l3.6")
    assert 500 <= drawn <= 600
    assert "up to 5 neighbouring blocks" in figure.caption


def test_panels_are_at_one_scale_also_where_their_windows_are_moved() -> None:
    small, large = [0.02 * math.sin(k) for k in range(20)], [1.5 + 0.02 * math.cos(k) for k in range(20)]
    figure = differences([pairs(small), pairs(large, of=3)], {}, t.settings())
    assert "each around its own estimate" in figure.caption
    together = differences([pairs(small), pairs([v + 0.01 for v in small], of=3)], {}, t.settings())
    assert "each around its own estimate" not in together.caption


def test_curves_of_a_condition_stand_beside_both_plain_twins_of_its_stratum(valid: RunData) -> None:
    figure = latency_curves(valid.latencies, valid.result.settings)
    assert figure is not None
    counts = [figure.drawing.count(f'class="{style}"') for style in ("curve", "plain-curve", "twin-curve")]
    assert counts == [5, 5, 5]
    assert latency_curves({}, valid.result.settings) is None


def test_a_table_of_many_conditions_is_cut_by_stratum_and_never_broader_than_paper(valid: RunData) -> None:
    settings = valid.result.settings
    values = resource_values(valid.trials, settings)
    assert [len(table.columns) for table in resource_tables(values, settings)] == [8]
    levels = [replace(c, levels=(*c.levels, ("threads", n)), stratum=n) for n in range(2) for c in settings.conditions]
    first = next(iter(values.values()))
    many = resource_tables(dict.fromkeys((c.key for c in levels), first), replace(settings, conditions=tuple(levels)))
    assert [len(table.columns) for table in many] == [8, 8]
    assert {column.title.rpartition(", ")[2] for column in many[1].columns[1:]} == {"1 thread"}
    assert resource_tables({}, settings) == []


def test_an_engine_without_counters_has_no_page_counts_and_is_not_said_to_have_zero(valid: RunData) -> None:
    bare = [replace(x, measurement=replace(x.measurement, engine_counters={})) for x in valid.trials]
    values = resource_values(bare, valid.result.settings)
    named = dict(zip((r.name for r in RESOURCES), values[t.factorial()[0].key], strict=True))
    assert math.isnan(named["pages read"])
    assert math.isnan(named["page cache hits"])


def test_every_state_of_evidence_reads_differently(leaking: RunData) -> None:
    evidence = list(leaking.result.of(FileEvidence))
    evidence[0] = replace(evidence[0], state=EvidenceState.MISSING)
    result = s.changed(leaking.result, evidence=tuple(evidence))
    tables = [b for b in trust_section(replace(leaking, result=result)).blocks if isinstance(b, Table)]
    cells = {cell for row in tables[0].rows for cell in row[1:] if isinstance(cell, Cell)}
    assert {cell.text for cell in cells} == {"found 512", "not found", "LEAK 512", "MISSING", "no file"}
    assert {cell.text.split()[0] for cell in cells if cell.state == "bad"} == {"LEAK", "MISSING"}


moments = st.lists(st.floats(min_value=1e9, max_value=2e9), min_size=1, max_size=20)


def test_a_run_without_pauses_keeps_its_clock() -> None:
    time = clock([100.0, 103.0, 101.5])
    assert [time.at(m) for m in (100.0, 101.5, 103.0)] == [0.0, 1.5, 3.0]
    assert (time.pauses, time.title) == (0, "since the first block")


def test_a_night_between_two_sittings_is_cut_short_and_said() -> None:
    first = [10.0 * k for k in range(6)]
    second = [30_000.0 + 10.0 * k for k in range(6)]
    time = clock(first + second)
    assert time.at(second[0]) - time.at(first[-1]) == pytest.approx(50.0)
    assert time.at(second[-1]) - time.at(second[0]) == pytest.approx(50.0)
    assert time.title == "since the first block, 1 pause cut short"


def test_slow_blocks_are_no_pauses() -> None:
    assert clock([600.0 * k for k in range(5)]).pauses == 0


@given(moments)
def test_what_came_later_is_drawn_no_earlier(given_: list[float]) -> None:
    time = clock(given_)
    drawn = [time.at(moment) for moment in sorted(given_)]
    assert drawn[0] == 0.0
    assert all(first <= second for first, second in pairwise(drawn))
