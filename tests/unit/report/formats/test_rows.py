"""Verdicts as rows: CSV, Parquet, Bencher's JSON and Otava's CSV, each read back by a parser."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace

import pyarrow.parquet
import pytest
import tdelta_samples as s

from tdelta.cli.formats import FORMATS
from tdelta.errors import EnvironmentFault
from tdelta.records import Decision
from tdelta.report.formats import parquet
from tdelta.report.formats.answered import Answered
from tdelta.report.formats.bencher import bencher
from tdelta.report.formats.otava import ATTRIBUTES, otava_csv
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


def test_bencher_has_overheads_in_percent_and_the_latency_in_nanoseconds() -> None:
    found = json.loads(bencher(answered(s.costly())))
    measures = found["sqlite/order-entry: aes-256"]
    assert measures["response-time-overhead"] == pytest.approx({"value": 3.1, "lower_value": 2.4, "upper_value": 3.8})
    assert measures["latency"]["value"] == pytest.approx(84.213 * 1.031 * 1e3)
    assert "cpu-per-operation-overhead" in measures
    assert "latency" in found["sqlite/order-entry: aes-256: browse_products"]


@pytest.mark.parametrize("name", s.SAMPLES)
def test_bencher_fits_its_schema(name: str) -> None:
    found = json.loads(bencher(answered(s.SAMPLES[name]())))
    for benchmark, measures in found.items():
        assert 0 < len(benchmark) <= 1024
        assert measures
        for slug, values in measures.items():
            assert set(values) <= {"value", "lower_value", "upper_value"}
            assert isinstance(values["value"], float)
            assert slug == slug.lower()
            assert len(slug) <= 64
            assert "_" not in slug


def test_bencher_leaves_out_what_is_unsound() -> None:
    result = s.unsound()
    all_unsound = replace(result, verdicts=tuple(replace(v, decision=Decision.UNSOUND) for v in result.verdicts))
    assert json.loads(bencher(answered(all_unsound))) == {}


def test_otava_has_one_row_with_time_attributes_and_a_ratio_per_condition_and_metric() -> None:
    (row,) = read(otava_csv(answered(s.costly())))
    assert tuple(row)[: len(ATTRIBUTES)] == ATTRIBUTES
    assert (row["time"], row["run"]) == ("2026-11-25T18:40:29+00:00", s.RUN_ID)
    assert float(row["response_time_aes_256"]) == 1.031
    assert float(row["cpu_per_operation_aes_256"]) == pytest.approx(1.04)


def test_labels_that_become_the_same_column_are_numbered(strange: Answered) -> None:
    twice = replace(strange, result=replace(strange.result, verdicts=strange.result.verdicts[:1] * 2))
    (row,) = read(otava_csv(twice))
    assert len([name for name in row if name.startswith("response_time_")]) == 2


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_of_the_registry_makes_an_answer(name: str) -> None:
    made = FORMATS[name].answer(answered(s.costly()))
    assert isinstance(made, bytes) is FORMATS[name].is_binary
    assert made
