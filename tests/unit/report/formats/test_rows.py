import csv
import io
import math
from dataclasses import replace

import pytest

from support import samples as s
from tdelta.report.formats.rows import Answered, as_csv

from .conftest import NASTY, answered


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


@pytest.mark.parametrize("name", s.SAMPLES)
def test_csv_has_a_row_per_verdict_with_its_figures(name: str) -> None:
    result = s.SAMPLES[name]()
    rows = read(as_csv(answered(result)))
    assert len(rows) == len(result.verdicts)
    for row, verdict in zip(rows, result.verdicts, strict=True):
        assert (row["condition"], row["metric"]) == (verdict.condition.key, verdict.metric.value)
        expected = verdict.ratio.median
        assert float(row["ratio"]) == expected if math.isfinite(expected) else row["ratio"] == ""


def test_csv_of_a_run_without_a_verdict_is_a_header() -> None:
    text = as_csv(answered(replace(s.undecided(), verdicts=())))
    assert (text.count("\n"), read(text)) == (1, [])


def test_csv_keeps_what_a_label_holds(strange: Answered) -> None:
    kept = NASTY.replace("\ud800", "?")
    assert all(kept in row["label"] for row in read(as_csv(strange)))
