"""pgbench's logs, and the two layouts of six numbers that are told apart by where the seconds since 1970 stand."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refused import has, refused
from support.texts import texts
from tdelta.errors import ImportFault
from tdelta.importers.importer import Naming
from tdelta.importers.pgbench_log import PgbenchAggregates, PgbenchLog, is_aggregate, is_transaction
from tdelta.records.observed import Observation, Samples, Series, Summary

from .files import FIXTURES, all_of, only, read, read_text

FOLDER = FIXTURES / "pgbench"


def times_of(name: str) -> list[float]:
    words = [line.split() for line in (FOLDER / name).read_text().splitlines()]
    return [int(row[2]) / 1000 for row in words if row[2].isdecimal()]


def test_a_recorded_log_gives_the_whole_mix_and_each_script() -> None:
    whole, first, second = all_of(read(PgbenchLog(), FOLDER / "pgbench-15.18-two.log.0"), Samples)
    times = times_of("pgbench-15.18-two.log.0")
    assert (whole.count, whole.total) == (60, pytest.approx(math.fsum(times)))
    assert whole.total_log == pytest.approx(math.fsum(map(math.log, times)))
    assert {first.group.transaction, second.group.transaction} == {"script 0", "script 1"}
    assert first.count + second.count == 60
    assert whole.clusters[0] == (1, 3.871)


def test_stretches_of_the_whole_mix_are_in_time_order(tmp_path: Path) -> None:
    text = "".join(f"0 {number} {1000 + number} {number % 2} 1795320675 {number}\n" for number in range(200))
    whole = all_of(read_text(PgbenchLog(), tmp_path, text), Samples)[0]
    assert [total for _, total in whole.clusters] == sorted(total for _, total in whole.clusters)


def test_one_script_is_the_whole_mix(tmp_path: Path) -> None:
    samples = only(read_text(PgbenchLog(), tmp_path, "0 1 814 0 1795320675 7853\n0 2 749 0 1795320675 9288\n"), Samples)
    assert (samples.group.transaction, samples.count, samples.total) == ("all", 2, pytest.approx(1.563))


def test_transactions_without_a_time_are_counted_and_told() -> None:
    failures = only(read(PgbenchLog(), FOLDER / "pgbench-15.18-failures.log.0"), Samples)
    assert failures.count == 36
    assert has(failures.origin.cautions, "transactions-untimed", count=4, rows=40, why="serialization")
    late = only(read(PgbenchLog(), FOLDER / "pgbench-15.18-rate.log.0"), Samples)
    assert late.count == 24
    assert has(late.origin.cautions, "transactions-untimed", count=6, rows=30, why="skipped")
    assert has(late.origin.cautions, "times-from-due")


def test_a_time_of_zero_is_counted_apart(tmp_path: Path) -> None:
    samples = only(read_text(PgbenchLog(), tmp_path, "0 1 0 0 1795320675 7853\n0 2 749 0 1795320675 9288\n"), Samples)
    assert (samples.count, samples.zeros, samples.total) == (2, 1, 0.749)


def test_damaged_rows_are_named_by_their_lines(tmp_path: Path) -> None:
    rows = [f"0 {number} 814 0 1795320675 {number}" for number in range(40_000)]
    rows[12] = "0 12 8x4 0 1795320675 12"
    rows[30_000] = "0 30000 814 0 17953"
    with refused(ImportFault, "unexpected", found="'0 12 8x4 0 1795320675 12'", where="file.txt:13"):
        read_text(PgbenchLog(), tmp_path, "\n".join(rows) + "\n")
    rows[12] = rows[11]
    with refused(ImportFault, "unexpected", where="file.txt:30001"):
        read_text(PgbenchLog(), tmp_path, "\n".join(rows) + "\n")


def test_a_last_row_that_was_cut_off_is_left_out_and_told(tmp_path: Path) -> None:
    samples = only(read_text(PgbenchLog(), tmp_path, "0 1 814 0 1795320675 7853\n" * 3 + "0 2 749 0 17953\n"), Samples)
    assert samples.count == 3
    assert has(samples.origin.cautions, "file-cut-off", line=4)


AMBIGUOUS = [
    # As an interval: 1.7e9 µs are 28 minutes. As a transaction: a client of that number.
    ("1650260552 2 3400000001 5780000003400000001 1700000000 1700000001", False),
    ("1650260552 5178 26171317 177284491527 1136 44462", False),
    ("7 5178 26171317 0 1650260552 44462", True),
    ("0 1 100000000 0 1650260552 0", True),
]


@pytest.mark.parametrize(("line", "is_one_transaction"), AMBIGUOUS)
def test_six_numbers_are_told_apart_by_where_the_epoch_stands(line: str, is_one_transaction: bool) -> None:
    assert is_transaction(line.split()) is is_one_transaction
    assert is_aggregate(line.split()) is not is_one_transaction


@given(st.lists(st.integers(min_value=0, max_value=10**12), min_size=6, max_size=16))
def test_no_row_is_both(numbers: list[int]) -> None:
    row = [str(number) for number in numbers]
    assert not (is_transaction(row) and is_aggregate(row))


def test_aggregates_give_an_exact_summary_and_a_series() -> None:
    found = read(PgbenchAggregates(), FOLDER / "aggregate-10-rate.log", Naming("tde", "3"))
    summary = only(found, Summary)
    rows = [
        [int(word) for word in line.split()] for line in (FOLDER / "aggregate-10-rate.log").read_text().splitlines()
    ]
    count, total, squares = (sum(row[column] for row in rows) for column in (1, 2, 3))
    mean = total / count
    assert (summary.count, summary.mean) == (3000, pytest.approx(mean / 1000))
    assert summary.sd == pytest.approx(math.sqrt((squares - count * mean**2) / (count - 1)) / 1000)
    assert summary.group.run == "3"
    series, times = all_of(found, Series)
    assert (series.interval_seconds, series.values) == (1.0, (1000.0, 1004.0, 996.0))
    assert series.group.is_throughput
    assert (times.group.metric, times.values, times.counts) == ("response_time", (0.5,) * 3, (1000.0, 1004.0, 996.0))
    assert (series.started_unix_seconds, series.duration_seconds) == (1649114136.0, 3.0)


def rates_of(found: list[Observation]) -> Series:
    (rates,) = (it for it in all_of(found, Series) if it.group.is_throughput)
    return rates


@pytest.mark.parametrize(
    ("name", "interval", "told"),
    [
        ("aggregate-9.4.log", 2.0, ()),
        ("aggregate-10-limit.log", 1.0, ("3 transactions were skipped",)),
        ("aggregate-15.log", 10.0, ("8675 transactions failed",)),
        ("aggregate-19.log", 10.0, ("8687 transactions failed",)),
    ],
)
def test_aggregates_of_all_versions_are_read(name: str, interval: float, told: tuple[str, ...]) -> None:
    series = rates_of(read(PgbenchAggregates(), FOLDER / name))
    assert series.interval_seconds == interval
    assert all(words in texts(series.origin.cautions) for words in told)


def test_sums_of_squares_that_no_times_have_are_refused(tmp_path: Path) -> None:
    with refused(ImportFault, "unexpected", where="file.txt", expected="sums of squares that fit the sums"):
        read_text(PgbenchAggregates(), tmp_path, "1650260552 10 5000 100 400 600\n1650260553 10 5000 100 400 600\n")


def test_damaged_intervals_are_named_by_their_lines(tmp_path: Path) -> None:
    rows = [
        "1650260552 10 5000 2500000 500 500",
        "1650260553 10 5000 2500000 900 500",
        "1650260554 10 5000 2500000 500 500",
    ]
    with refused(ImportFault, "unexpected", where="file.txt:2"):
        read_text(PgbenchAggregates(), tmp_path, "\n".join(rows) + "\n")


@pytest.mark.parametrize("script", ["9" * 5000, "00", "12345", "-1"])
def test_a_script_has_a_number_that_pgbench_gives(tmp_path: Path, script: str) -> None:
    good = "0 1 814 0 1795320675 7853\n" * 9
    with refused(ImportFault, "unexpected", where="file.txt:10"):
        read_text(PgbenchLog(), tmp_path, f"{good}0 2 749 {script} 1795320675 9\n0 3 749 0 1795320675 9\n")
