import json
from pathlib import Path

import pytest

from support.refused import Coded, Part, coded, has
from support.texts import texts
from tdelta.importers.benchbase import IMPORTERS, SUCCESSFUL
from tdelta.importers.importer import Naming
from tdelta.records.observed import Figure, Group, Samples, Summary

from .given import FIXTURES, changed, faulty, figures, read, series, summaries, written

FOLDER = FIXTURES / "benchbase"
HEADER = (FOLDER / "tpcc.raw.csv").read_text(encoding="utf-8").splitlines()[0]


def samples(observations) -> dict[str, Samples]:
    return {it.group.transaction: it for it in observations if isinstance(it, Samples)}


def test_each_transaction_of_a_raw_file_is_a_sample_in_ms():
    found = samples(read(IMPORTERS, FOLDER / "tpcc.raw.csv"))
    assert set(found) == {"NewOrder", "StockLevel", "Payment"}
    order = found["NewOrder"]
    assert (order.count, order.minimum, order.maximum) == pytest.approx((3, 7.218, 8.458))
    assert order.total == pytest.approx(8.207 + 7.218 + 8.458)
    assert order.group == Group("plain", "NewOrder")
    assert (found["Payment"].count, found["Payment"].zeros) == (2, 1)


def test_old_rows_without_names_are_known_by_their_numbers():
    found = samples(read(IMPORTERS, FOLDER / "old.raw.csv"))
    assert {name: it.count for name, it in found.items()} == {"3": 1, "4": 2}
    assert found["3"].total == pytest.approx(8.677)


def test_columns_are_found_by_name(tmp_path: Path):
    header = "Transaction Type Index,Transaction Name,Start Time (microseconds),Latency (milliseconds),Timed Out,Worker"
    found = samples(read(IMPORTERS, written(tmp_path, f"\ufeff{header}\r\n1,Q1,1.5,20,false,0\r\n")))
    assert found["Q1"].total == pytest.approx(20)


def test_phases_are_levels_of_their_own_and_told():
    found = [it for it in read(IMPORTERS, FOLDER / "phases.raw.csv") if isinstance(it, Samples)]
    assert [(it.group.levels, it.count) for it in found] == [((("phase", "0"),), 2), ((("phase", "1"),), 1)]
    assert "2 phases" in texts(found[0].origin.cautions)[0]


@pytest.mark.parametrize(
    "row",
    [
        "1,NewOrder,1.0,-5,0,1",
        "1,NewOrder,1.0,nan,0,1",
        "1,NewOrder,1.0,1e300,0,1",
        "1,NewOrder,1.0,20",
        "1,NewOrder,1,0,20,0,1",
        "1,,1.0,20,0,1",
        "1,NewOrder,1.0,٣,0,1",
        f"1,{'x' * 300},1.0,20,0,1",
    ],
)
def test_a_row_that_is_none_is_named_with_its_line_and_the_rest_is_read(tmp_path: Path, row: str):
    path = written(tmp_path, f"{HEADER}\n{row}\n1,NewOrder,1.0,2000,0,1\n", "x.raw.csv")
    observations, fault = faulty(IMPORTERS, path)
    assert has(fault, "unexpected", expected=Part("6"), where="x.raw.csv:2")
    assert samples(observations)["NewOrder"].total == pytest.approx(2.0)


def test_a_file_of_other_rows_ends_after_a_hundred_of_them(tmp_path: Path):
    observations, fault = faulty(IMPORTERS, written(tmp_path, f"{HEADER}\n" + "x\n" * 10_000))
    assert not observations
    assert len(fault) < 30


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (f"{HEADER}\n", coded("missing", where="given", what="a row of a transaction")),
        (
            "Transaction Type Index,Start Time,Latency (fortnights)\n1,2,3\n",
            coded("unexpected", where="given:1", expected=Part("columns for")),
        ),
        (
            f"{HEADER}\n" + "".join(f"1,T{n},1.0,5,0,1\n" for n in range(1100)),
            coded("groups-too-many", most=1000, where="given:1002"),
        ),
    ],
)
def test_what_is_no_raw_file_is_refused(tmp_path: Path, content: str, said: Coded):
    _, fault = faulty(IMPORTERS, written(tmp_path, content))
    assert has(fault, said), fault


def test_readings_are_series_of_throughput_and_of_response_times():
    rates, times = series(read(IMPORTERS, FOLDER / "tpcc.samples.csv", Naming("tde", "2")))
    assert rates.group == Group("tde", "all", "throughput", "/s", "2")
    assert rates.values == (179, 180, 181, 190)
    assert (rates.interval_seconds, rates.starts_at_seconds) == (1, 1)
    assert times.group == Group("tde", "all", run="2")
    assert times.values == pytest.approx((5.582, 5.568, 5.531, 5.5))


def test_the_results_of_one_transaction_type_are_known_by_the_files_name():
    rates, times = series(read(IMPORTERS, FOLDER / "tpcc.results.NewOrder.csv"))
    assert {rates.group.transaction, times.group.transaction} == {"NewOrder"}
    assert rates.values == (74.2, 74.0, 73.8)
    assert times.values == pytest.approx((4.512, 4.52, 4.54))
    assert rates.interval_seconds == 5


def test_an_interval_without_requests_has_no_mean(tmp_path: Path):
    path = changed(tmp_path, "benchbase/tpcc.samples.csv", "2,180,180.000,136,6351,6570,5568", "2,0,0.000,-1,-1,-1,-1")
    rates, times = series(read(IMPORTERS, path))
    assert rates.values == (179, 0, 181, 190)
    assert (times.values[1], times.counts) == (0, rates.values)
    others = [time for time, count in zip(times.values, times.counts, strict=True) if count]
    assert min(others) < times.mean < max(others)


def test_old_headers_of_readings_are_read(tmp_path: Path):
    rows = "".join(f"{n},{100 + n},{5 + n},1,2,3,4,5,6,7,8,9\n" for n in range(6))
    header = "time(sec), throughput(req/sec), avg_lat(ms), min_lat(ms), 25th_lat(ms), median_lat(ms), 75th_lat(ms)"
    path = written(tmp_path, f"{header}, 90th_lat(ms), 95th_lat(ms), 99th_lat(ms), max_lat(ms), tp (req/s)\n{rows}")
    rates, times = series(read(IMPORTERS, path))
    assert rates.values == (101, 102, 103, 104)
    assert times.values == pytest.approx((6, 7, 8, 9))


def test_a_reading_that_is_none_is_named_with_its_line(tmp_path: Path):
    path = changed(tmp_path, "benchbase/tpcc.samples.csv", "3,181,181.000", "3,181,fast")
    assert has(faulty(IMPORTERS, path)[1], "unexpected", expected=Part("12"), where="tpcc.samples.csv:5")


def test_too_few_readings_are_refused(tmp_path: Path):
    text = (FOLDER / "tpcc.samples.csv").read_text(encoding="utf-8")
    path = written(tmp_path, "\n".join(text.splitlines()[:4]), "s.csv")
    assert has(faulty(IMPORTERS, path)[1], "out-of-range", found=3, where="s.csv", what=Part("the number of"))


def test_a_summary_has_response_times_and_throughput():
    observations = read(IMPORTERS, FOLDER / "tpcc.summary.json")
    times = summaries(observations)["all"]
    assert (times.count, times.sd) == (10734, None)
    assert times.mean == pytest.approx(5.577)
    shares = {0.25: 6.225, 0.5: 6.402, 0.75: 6.576, 0.9: 6.756, 0.95: 7.137, 0.99: 9.928}
    assert times.quantiles == pytest.approx(shares)
    found = {group.transaction: value for group, value in figures(observations).items()}
    assert found == {"all": 178.9, SUCCESSFUL: 178.4}
    assert {it.group.levels for it in observations} == {(("threads", 4),)}


def test_a_summary_without_its_count_is_a_figure_and_told():
    observations = read(IMPORTERS, FOLDER / "old.summary.json")
    assert not any(isinstance(it, Summary) for it in observations)
    (time,) = (it for it in observations if isinstance(it, Figure) and not it.group.is_throughput)
    assert time.value == pytest.approx(5.577)
    assert has(time.origin.cautions, "count-unknown")


RATE = "Throughput (requests/second)"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"Latency Distribution": {"Average Latency (microseconds)": -1}}, "an average latency"),
        ({"Latency Distribution": "none"}, "an average latency"),
        ({RATE: "fast"}, "Throughput"),
        ({RATE: -3.5}, "Throughput"),
        ({RATE: float("nan")}, "Throughput"),
    ],
)
def test_a_summary_whose_figures_are_none_is_refused(tmp_path: Path, change: dict, expected: str):
    document = json.loads((FOLDER / "tpcc.summary.json").read_text(encoding="utf-8"))
    _, fault = faulty(IMPORTERS, written(tmp_path, json.dumps({**document, **change})))
    assert has(fault, "unexpected", where="given", expected=Part(expected)), fault


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"Latency Distribution": {}, \n "x": }', coded("invalid", where="given:2", kind="JSON")),
        ('{"Latency Distribution": ' + "[" * 10**5 + "]" * 10**5, coded("invalid", where="given", kind="JSON")),
        ('{"Latency Distribution": ' + "9" * 5000 + "}", coded("invalid", where="given", kind="JSON")),
        (b'{"Latency Distribution": "\xff"}', coded("unexpected", found=Part("0xff"), where="given", expected="UTF-8")),
        ('{"Goodput (requests/second)": 0}', coded("missing", where="given", what=Part("Latency Distribution"))),
    ],
)
def test_broken_json_is_refused_with_its_place(tmp_path: Path, content: str | bytes, said: Coded):
    _, fault = faulty(IMPORTERS, written(tmp_path, content))
    assert has(fault, said), fault
