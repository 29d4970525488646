import csv
import io
import math
from dataclasses import replace

import pyarrow.parquet
import pytest

from support import samples as s
from tdelta.errors import EnvironmentFault
from tdelta.report.formats import parquet
from tdelta.report.formats.answered import Answered
from tdelta.report.formats.rows import as_csv, verdict_rows

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


def test_csv_and_parquet_keep_what_a_label_holds(strange: Answered) -> None:
    kept = NASTY.replace("\ud800", "?")
    assert all(kept in row["label"] for row in read(as_csv(strange)))
    table = pyarrow.parquet.read_table(io.BytesIO(parquet.answer(strange)))
    assert all(kept in label for label in table.column("label").to_pylist())


@pytest.mark.parametrize("name", s.SAMPLES)
def test_parquet_has_the_rows_of_csv(name: str) -> None:
    found = answered(s.SAMPLES[name]())
    table = pyarrow.parquet.read_table(io.BytesIO(parquet.answer(found)))
    rows = verdict_rows(found)
    assert [row["ratio"] for row in table.to_pylist()] == [row["ratio"] for row in rows]
    assert set(table.column_names) == (set(rows[0]) if rows else set())


def test_a_parquet_column_of_mixed_values_becomes_one_that_holds_them_all() -> None:
    made = parquet.parquet({"level": ["natural", 32, None], "share": [1, 0.5, None], "empty": [None] * 3})
    assert pyarrow.parquet.read_table(io.BytesIO(made)).to_pydict() == {
        "level": ["natural", "32", None],
        "share": [1.0, 0.5, None],
        "empty": [None] * 3,
    }


def test_without_pyarrow_parquet_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(EnvironmentFault) as told:
        parquet.parquet({"a": [1]})
    (said,) = told.value.refusals
    assert (said.code, said.parameters["extra"]) == ("library-missing", "parquet")
