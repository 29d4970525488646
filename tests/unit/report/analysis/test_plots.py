import numpy as np
import pytest

from tdelta.report.analysis.plots import axis_row, block_rows, density_rows, span_row

BLANK = " "


def peak_column(rows: list[str]) -> float:
    return float(np.mean([at for at, character in enumerate(rows[0]) if character != BLANK]))


def test_the_peak_stands_where_the_median_is_and_reaches_the_top() -> None:
    value = np.linspace(0, 10, 1001)
    rows = density_rows(value, np.exp(-0.5 * ((value - 7) / 0.5) ** 2), (0.0, 10.0), 50, 3)
    assert len(rows) == 3
    assert all(len(row) == 50 for row in rows)
    assert peak_column(rows) == pytest.approx(7 / 10 * 50 - 0.5, abs=0.6)
    assert rows[0].count("█") >= 1


def test_a_curve_narrower_than_a_column_is_still_seen() -> None:
    value = np.linspace(4.990, 4.991, 101)
    rows = density_rows(value, np.exp(-0.5 * ((value - 4.9905) / 0.0002) ** 2), (0.0, 10.0), 40, 2)
    assert sum(character != BLANK for character in rows[-1]) == 1


def test_a_bar_above_nothing_is_never_blank_and_nothing_is() -> None:
    assert block_rows(np.array([0.0, 0.002, 1.0]), 2) == ["  █", " ▁█"]


def test_an_interval_and_the_region_that_does_not_matter_lie_where_the_axis_says() -> None:
    row = span_row((0.2, 0.6), 0.4, (-1.0, 1.0), 41)
    assert (row.index("━"), row.index("●"), row.rindex("━")) == (24, 28, 32)
    assert span_row((-0.1, 0.1), 0.0, (-1.0, 1.0), 41, "░┊") == " " * 18 + "░░┊░░"


def test_the_axis_names_its_ends_with_their_unit() -> None:
    assert axis_row((12.0, 13.5), "ms", 30) == "12.0 ms" + " " * 16 + "13.5 ms"
    assert axis_row((-0.4, 1.9), "ms", 30, is_signed=True) == "−0.4 ms" + " " * 16 + "+1.9 ms"
