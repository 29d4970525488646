"""Tables as other tools and articles write them: a column a condition, JMeter's results, camel case, no header.

The table by threads has the form in which Percona's post on data at rest encryption prints it; the
rows of JMeter are of a README on GitHub.
"""

from pathlib import Path

import pytest

from support.refused import Part, has, refused
from tdelta.errors import ImportFault, UsageError
from tdelta.importers.conditions import parse_arguments
from tdelta.importers.csv_columns import asked_unit, one_spelling
from tdelta.importers.detect import read_files
from tdelta.records.observed import Figure, Observation, Samples, Series, Summary

from .files import all_of, only

JMETER = """\
timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,grpThreads,allThreads,Latency,IdleTime,Connect
1499876018809,2384,ipify,200,OK,Thread Group 1-84,text,true,,220,129,2,2,2380,0,0
1499876021193,95,ipify,200,OK,Thread Group 1-84,text,true,,220,129,2,2,94,0,9
1499876021288,20,ipify,200,OK,Thread Group 1-84,text,false,,220,129,2,2,20,0,0
1499876021308,12,ipify,200,OK,Thread Group 1-84,text,true,,220,129,2,2,12,0,0
1499876019363,2144,other,200,OK,Thread Group 1-83,text,true,,220,129,2,2,2144,0,0
"""


def found_in(folder: Path, text: str, name: str = "plain.csv", unit: str | None = None) -> list[Observation]:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return list(read_files(parse_arguments([path]), unit=unit))


def figures(found: list[Observation]) -> dict[tuple[object, ...], float]:
    return {
        (it.group.condition, it.group.metric, *(level for _, level in it.group.levels)): it.value
        for it in all_of(found, Figure)
    }


def test_a_column_a_condition_is_read_with_the_users_unit(tmp_path: Path) -> None:
    table = "Threads;encrypted shelf;plain shelf\n1;423,47;450,1\n8;1389,11;1500,5\n"
    assert figures(found_in(tmp_path, table, "blog.csv", unit="tps")) == {
        ("encrypted shelf", "throughput", 1): 423.47,
        ("plain shelf", "throughput", 1): 450.1,
        ("encrypted shelf", "throughput", 8): 1389.11,
        ("plain shelf", "throughput", 8): 1500.5,
    }


def test_a_column_a_condition_without_a_unit_is_asked_about_once(tmp_path: Path) -> None:
    with refused(
        ImportFault, "columns-without-unit", column="plain", listed=Part("tde"), where="plain.csv:1"
    ) as caught:
        found_in(tmp_path, "run,plain,tde\n1,12.1,12.9\n2,12.3,12.8\n")
    assert len(str(caught.value).splitlines()) == 1


def test_the_units_of_a_column_a_condition_may_stand_in_their_names(tmp_path: Path) -> None:
    found = found_in(tmp_path, "query,plain_ms,encrypted_ms\nq1,12.1,12.9\nq2,30.3,32.8\n")
    assert {(it.group.condition, it.group.transaction): it.value for it in all_of(found, Figure)} == {
        ("plain", "q1"): 12.1,
        ("encrypted", "q1"): 12.9,
        ("plain", "q2"): 30.3,
        ("encrypted", "q2"): 32.8,
    }
    both = found_in(tmp_path, "threads,tps (plain),tps (TDE),plain_cpu_ms,tde_cpu_ms\n8,100,99,10.0,10.1\n")
    assert figures(both) == {
        ("plain", "throughput", 8): 100.0,
        ("tde", "throughput", 8): 99.0,
        ("plain", "cpu", 8): 10.0,
        ("tde", "cpu", 8): 10.1,
    }
    assert {it.group.transaction for it in both} == {"all"}


def test_runs_and_single_values_of_a_column_a_condition_are_runs_and_samples(tmp_path: Path) -> None:
    runs = all_of(found_in(tmp_path, "run,plain,tde\n1,12.1,12.9\n2,12.3,12.8\n", unit="ms"), Figure)
    assert [(it.group.condition, it.group.run) for it in runs] == [
        ("plain", "1"),
        ("tde", "1"),
        ("plain", "2"),
        ("tde", "2"),
    ]
    samples = all_of(found_in(tmp_path, "plain_ms,tde_ms\n12.1,12.9\n12.3,12.8\n12.1,13.0\n"), Samples)
    assert [(it.group.condition, it.count, it.maximum) for it in samples] == [("plain", 3, 12.3), ("tde", 3, 13.0)]


def test_one_condition_in_a_header_makes_no_column_a_condition(tmp_path: Path) -> None:
    found = all_of(found_in(tmp_path, "tde,threads,tps\n0,8,100\n1,8,99\n"), Figure)
    assert [(it.group.condition, it.value) for it in found] == [("0", 100.0), ("1", 99.0)]
    assert all(it.is_encryption for it in found)


def test_a_time_stamp_of_hundreds_of_digits_leaves_the_span_out_and_no_more(tmp_path: Path) -> None:
    first = JMETER.splitlines()[1].split(",")[0]
    text = JMETER.replace(first, "9" * 400, 1)
    assert text != JMETER
    whole, damaged = (
        [(it.group.transaction, it.count, it.total) for it in all_of(found_in(tmp_path, rows, name), Samples)]
        for rows, name in ((JMETER, "whole.jtl"), (text, "damaged.jtl"))
    )
    assert damaged == whole


def test_of_jmeter_elapsed_is_the_response_time_and_nothing_is_a_factor(tmp_path: Path) -> None:
    found = all_of(found_in(tmp_path, JMETER, "plain.jtl"), Samples)
    assert [(it.group.transaction, it.group.levels, it.count, it.total) for it in found] == [
        ("ipify", (), 3, 2384.0 + 95.0 + 12.0),
        ("other", (), 1, 2144.0),
    ]
    assert found[0].started_unix_seconds == 1499876018.809
    assert found[0].duration_seconds == pytest.approx(2.499)
    assert has(found[0].origin.cautions, "rows-failed", rows=1)


@pytest.mark.parametrize(
    ("cell", "spelling"),
    [
        ("AvgLatencyMs", "avg_latency_ms"),
        ("ThroughputRps", "throughput_rps"),
        ("avgMS", "avg_ms"),
        ("TPSAverage", "tps_average"),
        ("tpmC", "tpmc"),
        ("Response Time (ms)", "response_time_ms"),
    ],
)
def test_names_in_camel_case_have_the_spelling_of_others(cell: str, spelling: str) -> None:
    assert one_spelling(cell) == spelling


def test_camel_case_and_spaces_between_columns_are_read(tmp_path: Path) -> None:
    camel = found_in(tmp_path, "Condition,Threads,AvgLatencyMs,ThroughputRps\nplain,8,12.5,640\ntde,8,13.0,615\n")
    assert figures(camel)["tde", "throughput", 8] == 615.0
    assert figures(camel)["tde", "response_time", 8] == 13.0
    spaced = found_in(tmp_path, "condition threads   tps\nplain 8 640\ntde     8  615 \n")
    assert figures(spaced) == {("plain", "throughput", 8): 640.0, ("tde", "throughput", 8): 615.0}


def test_numbers_alone_are_read_with_the_users_unit(tmp_path: Path) -> None:
    text = "12.1\n12.9\n11.8\n12.4\n12.2\n"
    samples = only(found_in(tmp_path, text, "plain.txt", unit="us"), Samples)
    assert (samples.count, samples.maximum) == (5, pytest.approx(0.0129))
    series = only(found_in(tmp_path, text, "plain.txt", unit="tpm"), Series)
    assert series.values[0] == pytest.approx(12.1 / 60)
    with refused(ImportFault, "numbers-without-unit", where="plain.txt"):
        found_in(tmp_path, text, "plain.txt")
    with refused(ImportFault, "unexpected", found="'-3'", where="plain.txt:6", expected="a number of 0 or more"):
        found_in(tmp_path, text + "-3\n", "plain.txt", unit="ms")


def test_a_process_id_is_no_result(tmp_path: Path) -> None:
    with refused(ImportFault, "unexpected", "formats", where=("plain.pid", None)):
        found_in(tmp_path, "4711\n", "plain.pid", unit="ms")


def test_the_users_condition_is_believed_before_a_column(tmp_path: Path) -> None:
    path = tmp_path / "k6.csv"
    path.write_text("scenario,threads,tps\nramp,8,100\nsteady,8,99\n")
    found = all_of(list(read_files(parse_arguments([f"plain={path}"]))), Figure)
    assert [(it.group.condition, dict(it.group.levels)["scenario"]) for it in found] == [
        ("plain", "ramp"),
        ("plain", "steady"),
    ]
    assert {it.group.condition for it in read_files(parse_arguments([path]))} == {"ramp", "steady"}


def test_figures_of_a_table_say_how_they_are_rounded(tmp_path: Path) -> None:
    found = found_in(tmp_path, "condition,n,mean_s,sd_s,tps\nplain,10,0.065,0.01,15\ntde,10,0.067,0.01,14\n")
    assert only(found[:1], Summary).rounding == pytest.approx(0.5)
    assert {it.rounding for it in all_of(found, Figure)} == {0.5}


def test_a_unit_is_of_time_or_of_throughput() -> None:
    assert asked_unit("tps") == "tps"
    with refused(UsageError, "unexpected", where="--unit 'furlong'", expected=Part("a unit of time (ns")):
        asked_unit("furlong")
