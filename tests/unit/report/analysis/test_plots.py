from __future__ import annotations

import numpy as np
import pytest

from support import analysis_samples as s
from tdelta.report.analysis.plots import axis_row, block_rows, density_rows, picture_lines, span_row

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


def test_a_picture_shows_both_means_the_difference_and_both_checks() -> None:
    found = s.one_run()
    lines = [line.plain for line in picture_lines(s.pictures(found)[0], "a title", 100)]
    text = "\n".join(lines)
    assert lines[0] == "a title"
    for words in ("mean of plain: ", "mean of tde: ", "difference, tde less plain: +3.847 ms", "observed (bars)"):
        assert words in text
    assert text.count("bins outside the band") == 2
    assert max(map(len, lines)) <= 100


def test_without_a_histogram_the_check_is_of_quantiles() -> None:
    found = s.transactions()
    text = " ".join(" ".join(line.plain.split()) for line in picture_lines(s.pictures(found)[0], "a title", 100))
    assert "p95 observed 24.10 ms, predicted 23.10 ms … 24.20 ms" in text
    assert "p99 observed 39.00 ms, predicted 30.40 ms … 32.10 ms (outside)" in text


def test_a_bin_far_above_its_prediction_rises_above_the_dots() -> None:
    found = s.one_run()
    check = s.pictures(found)[0].checks[0]
    outside = int(np.sum((check.observed < check.low) | (check.observed > check.high)))
    text = "\n".join(line.plain for line in picture_lines(s.pictures(found)[0], "a title", 100))
    assert outside > 0
    assert f"{outside} of 48 bins outside" in text
