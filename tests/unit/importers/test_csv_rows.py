"""The three layouts of CSV, in the spellings that the documentation promises."""

import math
import random
from pathlib import Path

import pytest

from support.refused import Part, check_messages, coded, has
from support.texts import texts
from tdelta.errors import ImportFault
from tdelta.importers.csv_rows import CsvRows
from tdelta.importers.importer import Naming
from tdelta.importers.reading import FileSource
from tdelta.messages import Refusal
from tdelta.records.observed import Figure, Group, Observation, Samples, Summary

from .files import FIXTURES, PLAIN, all_of, only, read, read_text

FOLDER = FIXTURES / "csv"
COLUMN = Naming(None)


def of(folder: Path, text: str, naming: Naming = COLUMN) -> list[Observation]:
    return read_text(CsvRows(), folder, text, naming)


def faults_of(folder: Path, text: str, naming: Naming = COLUMN) -> tuple[Refusal, ...]:
    with pytest.raises(ImportFault) as caught:
        of(folder, text, naming)
    return caught.value.refusals


@pytest.mark.parametrize("name", ["samples.csv", "samples-packed.csv.gz"])
def test_samples_are_grouped_by_condition_and_transaction(name: str) -> None:
    found = all_of(read(CsvRows(), FOLDER / name, COLUMN), Samples)
    assert [(it.group.condition, it.group.transaction, it.count, it.zeros) for it in found] == [
        ("none", "Customer Registration", 2, 0),
        ("none", "Order Products", 2, 0),
        ("aes-256", "Customer Registration", 2, 0),
        ("aes-256", "Order Products", 2, 1),
    ]
    assert found[0].total == 26.75
    assert found[0].total_log == pytest.approx(math.log(12.5) + math.log(14.25))


def test_samples_keep_their_order_within_groups(tmp_path: Path) -> None:
    rows = "".join(f"{('none', 'tde')[number % 2]},{number + 1}\n" for number in range(1000))
    found = all_of(of(tmp_path, "condition,response_ms\n" + rows), Samples)
    assert [total for _, total in found[0].clusters] == [float(value) for value in range(1, 1001, 2)]


def test_many_chunks_add_up(tmp_path: Path) -> None:
    draw = random.Random(1)
    rows = [(draw.choice(("none", "tde")), draw.choice("ab"), draw.randrange(1, 10_000)) for _ in range(40_000)]
    text = "condition,transaction,latency_us\n" + "".join(f"{c},{t},{us}\n" for c, t, us in rows)
    for samples in all_of(of(tmp_path, text), Samples):
        own = [us / 1000 for c, t, us in rows if (c, t) == (samples.group.condition, samples.group.transaction)]
        assert (samples.count, samples.total) == (len(own), pytest.approx(math.fsum(own)))


def test_without_a_condition_column_the_file_says_it() -> None:
    samples = only(read(CsvRows(), FOLDER / "one-column-plain.csv", PLAIN), Samples)
    assert (samples.group, samples.count, samples.total) == (Group("plain"), 4, pytest.approx(4.7505))


def test_tabs_other_names_and_units_are_read() -> None:
    found = all_of(read(CsvRows(), FOLDER / "tabs.tsv", COLUMN), Samples)
    assert [(it.group.condition, it.group.levels, it.total) for it in found] == [
        ("none", (("Threads", 1),), pytest.approx(25.5)),
        ("AES-256", (("Threads", 1),), pytest.approx(27.9)),
    ]


def test_summaries_have_runs_quantiles_and_their_source() -> None:
    found = all_of(read(CsvRows(), FOLDER / "summaries.csv", COLUMN), Summary)
    assert [(it.group.condition, it.group.run, it.count, it.mean, it.sd) for it in found] == [
        ("none", "1", 1000, 12.61, 4.20),
        ("none", "2", 1010, 12.70, 4.31),
        ("aes-256", "1", 990, 13.02, 4.40),
        ("aes-256", "2", 995, 12.98, 4.38),
    ]
    assert [dict(it.quantiles) for it in found] == [{0.95: 20.1}, {0.95: 20.4}, {0.95: 21.0}, {}]
    assert {it.origin.source for it in found} == {"written by hand"}
    assert [it.origin.line for it in found] == [3, 4, 5, 6]


def test_published_cells_are_figures_with_what_was_printed() -> None:
    found = all_of(read(CsvRows(), FOLDER / "published.csv", COLUMN), Figure)
    assert [(it.group.condition, it.group.levels, it.value, it.published) for it in found] == [
        ("plain", (("threads", 1),), 423.47, None),
        ("plain", (("threads", 4),), 1673.2, None),
        ("encrypted", (("threads", 1),), 389.11, "1.09"),
        ("encrypted", (("threads", 4),), 1531.48, "1.09"),
    ]
    assert {(it.group.metric, it.group.unit) for it in found} == {("throughput", "/s")}
    assert str(found[0].origin.source).endswith(", 2019")
    check_messages(
        found[0].origin.cautions,
        coded("authors-say", word="reconstruction", said="rows were split where the numbers fit"),
    )


def test_several_metrics_each_have_their_printed_words() -> None:
    found = all_of(read(CsvRows(), FOLDER / "warehouse.csv", COLUMN), Figure)
    rebuild = [it for it in found if it.group.condition == "TDE" and it.group.transaction.startswith("rebuild")]
    assert [(it.group.metric, it.group.unit, it.value, it.published) for it in rebuild] == [
        ("cpu", "ms", 3036202.0, "+12 %"),
        ("elapsed", "ms", 86807.5, "+30 %"),
    ]


@pytest.mark.parametrize(
    ("column", "value", "metric", "unit", "expected"),
    [
        ("response_ms", "5", "response_time", "ms", 5.0),
        ("Latency (us)", "5000", "response_time", "ms", 5.0),
        ("duration_s", "0.005", "response_time", "ms", 5.0),
        ("elapsed_min", "2", "elapsed", "ms", 120_000.0),
        ("cpu_s", "2", "cpu", "ms", 2000.0),
        ("tps", "60", "throughput", "/s", 60.0),
        ("tpm", "60", "throughput", "/s", 1.0),
        ("NOPM", "120", "throughput", "/s", 2.0),
        ("orders/s", "7", "throughput", "/s", 7.0),
        ("query_gets", "7", "query_gets", "", 7.0),
        ("size_mb", "7", "size", "MB", 7.0),
        ("mean", "7", "response_time", "ms", 7.0),
        ("widgets", "7", "widgets", "", 7.0),
    ],
)
def test_metrics_by_their_names(
    tmp_path: Path, column: str, value: str, metric: str, unit: str, expected: float
) -> None:
    figure = all_of(of(tmp_path, f"condition,threads,{column}\nnone,1,{value}\ntde,1,{value}\n"), Figure)[0]
    assert (figure.group.metric, figure.group.unit, figure.value) == (metric, unit, pytest.approx(expected))
    assert figure.group.levels == (("threads", 1),)


def test_unknown_columns_of_words_are_factors_and_so_are_numbers_beside_a_metric(tmp_path: Path) -> None:
    figure = all_of(of(tmp_path, "condition,colour,depth,cache_gb,tps\nnone,red,3,5,9\ntde,blue,3,5,8\n"), Figure)[0]
    assert figure.group.levels == (("colour", "red"), ("depth", 3), ("cache_gb", 5))


def test_transactions_and_queries_a_second_are_two_figures(tmp_path: Path) -> None:
    found = all_of(of(tmp_path, "condition,qps,tps\nnone,160,10\ntde,144,9\n"), Figure)
    assert [(it.group.transaction, it.value) for it in found[:2]] == [("qps", 160.0), ("all", 10.0)]


def test_a_row_that_comes_again_is_another_run(tmp_path: Path) -> None:
    found = all_of(of(tmp_path, "condition,tps\nnone,10\nnone,11\ntde,9\nnone,12\n"), Figure)
    assert [(it.group.condition, it.group.run) for it in found] == [
        ("none", "1"),
        ("none", "1.2"),
        ("tde", "1"),
        ("none", "1.3"),
    ]


def test_a_gap_in_a_published_table_is_no_figure(tmp_path: Path) -> None:
    found = all_of(of(tmp_path, "condition,cpu_ms,elapsed_ms\nnone,10,\ntde,,9\n"), Figure)
    assert [(it.group.condition, it.group.metric) for it in found] == [("none", "cpu"), ("tde", "elapsed")]


def test_levels_of_the_name_stand_beside_the_columns(tmp_path: Path) -> None:
    naming = Naming("plain", "2", (("threads", 8), ("cache", "5 GB")))
    figure = all_of(of(tmp_path, "threads,tps\n8,10\n", naming), Figure)[0]
    assert figure.group == Group(
        "plain", metric="throughput", unit="/s", run="2", levels=(("cache", "5 GB"), ("threads", 8))
    )
    assert texts(figure.origin.cautions) == ()


@pytest.mark.parametrize(
    ("rows", "value"),
    [
        ("none;1,5\ntde;2,25\n", 1.5),
        ("none;1.234,5\ntde;2,25\n", 1234.5),
        ("none;0,125\ntde;0,250\n", 0.125),
        ("none;1,234,567\ntde;1.5\n", 1234567.0),
        ("none;1,234.5\ntde;1.5\n", 1234.5),
        ("none;1.5e3\ntde;2\n", 1500.0),
    ],
)
def test_decimal_signs_that_are_beyond_doubt(tmp_path: Path, rows: str, value: float) -> None:
    assert all_of(of(tmp_path, "condition;tps\n" + rows), Figure)[0].value == value


def test_a_comma_that_could_be_either_is_asked_about(tmp_path: Path) -> None:
    fault = faults_of(tmp_path, 'condition,tps\nnone,"1,234"\ntde,"2,345"\n')
    assert has(fault, "doubtful-number", number="1,234", whole="1234", part="1.234", where="file.txt:2")


def test_two_decimal_signs_are_refused(tmp_path: Path) -> None:
    fault = faults_of(tmp_path, "condition;tps\nnone;1,5\ntde;2.25\n")
    assert has(fault, "unexpected", found=Part("3"), where="file.txt:2", expected="one decimal sign")


@pytest.mark.parametrize("bad", ["", "x", "-1", "nan", "inf", "1e999", "1_000", "0x10", "12 %"])
def test_samples_that_are_no_numbers_are_named_by_their_lines(tmp_path: Path, bad: str) -> None:
    fault = faults_of(tmp_path, f"condition,response_ms\nnone,1\nnone,2\n# a comment\nnone,{bad}\ntde,3\ntde,{bad}\n")
    check_messages(
        fault,
        coded("out-of-range", what="a response time"),
        coded("out-of-range", what="a response time"),
        where=("file.txt:5", "file.txt:7"),
    )


@pytest.mark.parametrize("bad", ["x", "-1", "nan", "1e999"])
def test_figures_that_are_no_numbers_are_named_by_their_lines(tmp_path: Path, bad: str) -> None:
    fault = faults_of(tmp_path, f"condition,tps\nnone,1\n\nnone,{bad}\ntde,3\ntde,{bad}\n")
    assert [Path(str(one.parameters["where"])).name for one in fault] == ["file.txt:4", "file.txt:6"]


@pytest.mark.parametrize("count", ["0", "1.5", "-3", "x"])
def test_a_count_is_a_whole_number_above_0(tmp_path: Path, count: str) -> None:
    (fault,) = faults_of(tmp_path, f"condition,n,mean,sd\nnone,{count},5,1\n")
    assert Path(str(fault.parameters["where"])).name == "file.txt:2"


def test_faults_stop_at_twenty(tmp_path: Path) -> None:
    fault = faults_of(tmp_path, "condition,response_ms\nnone,1\nnone,1\n" + "none,x\n" * 500)
    assert len(fault) == 21


def test_a_row_of_another_width_is_named_by_its_line(tmp_path: Path) -> None:
    fault = faults_of(tmp_path, "condition,response_ms\nnone,1\nnone,2,3\n")
    check_messages(fault, "unexpected", expected=Part("2"), found=Part("3"), where="file.txt:3")


def test_separators_at_the_end_of_a_line_are_no_columns(tmp_path: Path) -> None:
    assert len(of(tmp_path, "condition,tps\nnone,1,\ntde,2,,\n")) == 2


def test_a_quotation_mark_without_its_second_is_refused(tmp_path: Path) -> None:
    fault = faults_of(tmp_path, 'condition,response_ms\nnone,1\nnone,2\n"none,3\n' + "none,4\n" * 50)
    assert has(fault, "unexpected", where="file.txt:2", expected="one row per line")


@pytest.mark.parametrize(
    ("header", "code", "part"),
    [
        ("condition,tps,tps", "twice", "tps"),
        ("condition,response", "time-without-unit", "response"),
        ("condition,response_ms,latency_us", "unexpected", "response_ms, latency_us"),
        ("condition,transaction,statement,tps", "unexpected", "transaction, statement"),
        ("condition,colour,run", "unexpected", "a column of figures"),
    ],
)
def test_headers_with_faults_are_refused(tmp_path: Path, header: str, code: str, part: str) -> None:
    words = ("condition", "colour", "transaction", "statement")
    row = ",".join("x" if name in words else "1" for name in header.split(","))
    (fault, *_) = faults_of(tmp_path, f"{header}\n{row}\n")
    assert (fault.code, fault.parameters["where"]) == (code, "file.txt:1")
    assert part in str(fault)


def test_a_header_without_rows_is_refused(tmp_path: Path) -> None:
    assert has(faults_of(tmp_path, "condition,tps\n"), "missing", what=Part("1"), where="file.txt")


def test_a_column_of_ids_is_no_factor(tmp_path: Path) -> None:
    rows = "".join(f"none,x{number},{number + 1}\n" for number in range(3000))
    fault = faults_of(tmp_path, "condition,order_number,response_ms\n" + rows)
    assert has(fault, "groups-too-many", most=1000, where="file.txt:1002")
    ignored = all_of(of(tmp_path, "condition,timestamp,id,response_ms\n" + rows.replace(",x", ",2024,x")), Samples)
    assert [samples.count for samples in ignored] == [3000]


def test_metrics_beside_samples_are_told_not_to_be_used(tmp_path: Path) -> None:
    samples = all_of(of(tmp_path, "condition,cpu_ms,response_ms\nnone,1,2\nnone,1,3\n"), Samples)[0]
    check_messages(
        samples.origin.cautions, coded("not-used", what=Part("cpu_ms"), why="its rows are single response times")
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "just a text\nof two lines\n",
        "a,b,c\n1,2,3\n",
        "1,2,3\n4,5,6\n",
        "Dear reader, run this twice\n",
    ],
)
def test_other_texts_are_no_tables_of_results(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other"
    path.write_text(text or "\n")
    assert not CsvRows().recognizes(FileSource(path))


def test_a_file_says_its_conditions_if_it_has_the_column(tmp_path: Path) -> None:
    for header, row, says in (
        ("condition,tps", "none,2", True),
        ("Encryption;tps", "none;2", True),
        ("threads,tps", "1,2", False),
    ):
        path = tmp_path / "file.csv"
        path.write_text(f"{header}\n{row}\n")
        assert CsvRows().says_conditions(FileSource(path)) is says


@pytest.mark.parametrize("column", ["response_ms", "tps"])
def test_a_condition_without_a_name_is_refused(tmp_path: Path, column: str) -> None:
    fault = faults_of(tmp_path, f"condition,{column}\nnone,1\nnone,2\n ,3\n")
    check_messages(fault, "missing", where="file.txt:4", what="the name of the configuration")


def test_names_cannot_move_the_cursor(tmp_path: Path) -> None:
    metric = all_of(of(tmp_path, "condition,c\x1bpu_ms\nnone,1\ntde,2\n"), Figure)[0].group.metric
    assert metric == "c\ufffdpu"
    figure = all_of(of(tmp_path, "condition,transaction,tps\n\x1b[2Jnone,a\x07,1\ntde,b,2\n"), Figure)[0]
    assert (figure.group.condition, figure.group.transaction) == ("\ufffd[2Jnone", "a\ufffd")


def test_runs_of_a_second_file_stand_behind_its_own(tmp_path: Path) -> None:
    text = "condition,run,tps\nnone,1,10\nnone,2,11\n"
    assert [it.group.run for it in all_of(of(tmp_path, text), Figure)] == ["1", "2"]
    assert [it.group.run for it in all_of(of(tmp_path, text, Naming(None, "2")), Figure)] == ["2.1", "2.2"]


def test_quantiles_are_within_0_and_1(tmp_path: Path) -> None:
    text = "condition,n,mean,p0,p5,p50_ms,p99.9,p999,p99_99999999999999999999\nnone,9,5,1,2,3,4,5,6\n"
    assert dict(only(of(tmp_path, text), Summary).quantiles) == {0.05: 2.0, 0.5: 3.0, 0.999: 5.0}


@pytest.mark.parametrize("name", ["response (ms)", "Response [ms]", "response{ ms }", " RESPONSE-MS", "response_ms"])
def test_units_stand_in_brackets_or_behind_the_name(tmp_path: Path, name: str) -> None:
    assert all_of(of(tmp_path, f"condition,{name}\nnone,5\n"), Figure)[0].group.metric == "response_time"


def test_a_header_of_nothing_but_brackets_takes_no_time(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("condition,cpu_" + "\x1b[2J" * 5000 + "\nnone,1\n")
    assert not CsvRows().recognizes(FileSource(path))
    path.write_text("condition,cpu" + "[ " * 90 + "_ms\nnone,1\n")
    assert CsvRows().recognizes(FileSource(path))
