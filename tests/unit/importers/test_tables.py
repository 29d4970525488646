from pathlib import Path

import pytest

from tdelta.errors import ImportFault, UnknownName
from tdelta.importers import csv_rows, json_lines
from tdelta.importers.conditions import parse_arguments
from tdelta.importers.detect import read_files, recognize
from tdelta.importers.importer import Importer, Naming
from tdelta.importers.reading import FileSource
from tdelta.records.observed import Figure, Samples, Summary

from .given import FIXTURES, figures, only, read, written

NAMELESS = Naming(None)


def fault(importers: tuple[Importer, ...], path: Path, naming: Naming = NAMELESS) -> list[tuple[str, str]]:
    with pytest.raises(ImportFault) as raised:
        list(only(importers, path).read(FileSource(path, path.name), naming))
    return [(it.code, str(it.parameters.get("where", ""))) for it in raised.value.refusals]


def test_json_lines_are_rows_by_their_keys():
    found = read(json_lines.IMPORTERS, FIXTURES / "jsonl/samples.jsonl", NAMELESS)
    assert {(it.group.condition, it.group.transaction): it.total for it in found if isinstance(it, Samples)} == {
        ("none", "order"): 23.75,
        ("aes-256", "order"): 27.75,
        ("none", "payment"): 3.5,
        ("aes-256", "payment"): 3.75,
    }
    assert {it.origin.format for it in found} == {"JSON lines"}
    rates = figures(read(json_lines.IMPORTERS, FIXTURES / "jsonl/figures.jsonl", NAMELESS))
    assert [(group.condition, group.levels, value) for group, value in rates.items()][3] == (
        "aes-256",
        (("threads", 16),),
        5098.75,
    )


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('{"condition": "none", "response_ms": -1}', "out-of-range"),
        ('{"condition": "none", "response_ms": "slow"}', "out-of-range"),
        ('{"condition": "none", "response_ms": {"a": 1}}', "out-of-range"),
        ("[1, 2]", "unexpected"),
        ('{"condition": "none", "resp', "unexpected"),
    ],
)
def test_a_json_line_that_is_none_is_named_by_its_number(tmp_path: Path, line: str, code: str):
    good = '{"condition": "none", "response_ms": 1}\n'
    path = written(tmp_path, f"{good}{good}\n{line}\n{good}", "log.jsonl")
    assert fault(json_lines.IMPORTERS, path)[0] == (code, "log.jsonl:4")


def test_a_key_that_comes_late_is_a_fault(tmp_path: Path):
    good = '{"condition": "none", "response_ms": 1.5}\n'
    path = written(tmp_path, good * 3000 + '{"condition": "none", "response_ms": 1, "threads": 4}\n', "log.jsonl")
    assert fault(json_lines.IMPORTERS, path)[0] == ("unexpected", "log.jsonl:3001")


def test_the_column_with_the_figures_can_be_chosen(tmp_path: Path):
    text = "condition,wait_ms,total_ms,p95_ms\nplain,1,10,20\nplain,2,11,21\ntde,3,14,30\ntde,4,15,31\n"
    path = written(tmp_path, text)

    def of(column: str, unit: str | None = None) -> list[object]:
        found = read(csv_rows.IMPORTERS, path, Naming(None, column=column, unit=unit))
        return [(it.group.metric, it.value if isinstance(it, Figure) else it.total) for it in found]  # type: ignore[union-attr]

    assert of("wait_ms") == [("response_time", 3.0), ("response_time", 7.0)]
    assert of("P95_ms")[2] == ("p95", 30.0)
    assert fault(csv_rows.IMPORTERS, path, Naming(None, column="x")) == [("unknown", "given:1")]


def test_a_column_that_the_user_names_makes_a_table_known(tmp_path: Path):
    for name, scale in (("plain.csv", 1), ("tde.csv", 2)):
        (tmp_path / name).write_text("id,took\n" + "".join(f"{n % 2},{scale * (n + 1)}\n" for n in range(8)))
    with pytest.raises(ImportFault):
        read_files(parse_arguments([tmp_path]))
    with pytest.raises(ImportFault) as raised:
        read_files(parse_arguments([tmp_path]), column="took")
    assert raised.value.refusals[0].code == "time-without-unit"
    found = read_files(parse_arguments([tmp_path]), column="took", unit="us")
    assert sum(it.total for it in found if isinstance(it, Samples)) == pytest.approx(0.036 * 3)


def test_a_column_of_a_log_in_json_is_chosen_too(tmp_path: Path):
    (tmp_path / "plain.jsonl").write_text("".join(f'{{"t": {n}, "elapsed": {n + 1}}}\n' for n in range(8)))
    found = read_files(parse_arguments([f"plain={tmp_path}/*.jsonl"]), column="elapsed", unit="ms")
    assert sum(it.total for it in found if isinstance(it, Samples)) == 36


def test_a_mean_that_is_chosen_keeps_its_count(tmp_path: Path):
    path = written(tmp_path, "condition,n,mean_ms,sd_ms,tps\nplain,100,5,1,200\ntde,100,6,1,180\n")
    found = read(csv_rows.IMPORTERS, path, Naming(None, column="mean_ms"))
    assert [(it.count, it.mean, it.sd) for it in found if isinstance(it, Summary)] == [(100, 5, 1), (100, 6, 1)]
    assert len(found) == 2


def test_a_format_without_columns_refuses_one():
    with pytest.raises(ImportFault) as raised:
        read_files(parse_arguments([FIXTURES / "wrk/wrk-4.1.0.txt"]), column="Latency")
    assert [it.code for it in raised.value.refusals] == ["conflict"]


def test_the_user_says_the_format_where_two_claim_a_file(tmp_path: Path):
    texts = [(FIXTURES / name).read_text() for name in ("wrk/wrk-4.1.0.txt", "sysbench/sysbench-0.5.txt")]
    (tmp_path / "plain.log").write_text("".join(texts))
    with pytest.raises(ImportFault) as raised:
        recognize(FileSource(tmp_path / "plain.log"))
    (said,) = raised.value.refusals
    assert said.code == "several-formats"
    assert "wrk" in str(said.parameters["formats"])
    found = read_files(parse_arguments([tmp_path / "plain.log"]), input_format="WRK")
    assert {it.origin.format for it in found} == {"wrk"}
    with pytest.raises(UnknownName):
        read_files(parse_arguments([tmp_path / "plain.log"]), input_format="wrc")


def test_rows_over_time_are_no_runs(tmp_path: Path):
    path = written(tmp_path, "time,tps\n" + "".join(f"2026-11-20 10:0{n}:00,{100 + n}\n" for n in range(7)))
    with pytest.raises(ImportFault) as raised:
        recognize(FileSource(path))
    assert [it.code for it in raised.value.refusals] == ["unexpected"]
