import math
from pathlib import Path

import pytest

from support.data import text_of
from support.refused import Part, has, refused
from support.texts import texts
from tdelta.errors import ImportFault
from tdelta.importers.pgbench import PgbenchReport
from tdelta.records.observed import Figure, Series, Summary

from .files import FIXTURES, all_of, only, read, read_text

FOLDER = FIXTURES / "pgbench"


def report(name: str) -> str:
    return (FOLDER / name).read_text()


def test_version_9_6_excludes_connections_and_has_progress() -> None:
    found = read(PgbenchReport(), FOLDER / "pgbench-9.6.txt")
    series, times = all_of(found, Series)
    assert (series.interval_seconds, series.starts_at_seconds, series.values) == (5.0, 0.0, (1000.2, 1010.6, 1004.0))
    assert (times.group.metric, times.values, times.counts) == (
        "response_time", (0.994, 0.984, 0.99), (5001.0, 5053.0, 5020.0),
    )  # fmt: skip
    assert series.group.levels == (("clients", 1),)
    assert only(found, Figure).value == 1005.209412
    summary = only(found, Summary)
    assert (summary.count, summary.mean) == (15074, 0.989)
    assert summary.sd == pytest.approx(0.211 * math.sqrt(15074 / 15073))
    assert not texts(summary.origin.cautions)


def test_scripts_are_transactions_of_their_own() -> None:
    for name, counts in (("pgbench-15.18-two.txt", (26, 34)), ("pgbench-19.txt", (3244, 3245))):
        found = read(PgbenchReport(), FOLDER / name)
        whole, first, second = all_of(found, Summary)
        assert whole.group.transaction == "all"
        assert (first.group.transaction, first.count) == ("<builtin: TPC-B (sort of)>", counts[0])
        assert (second.group.transaction, second.count) == ("<builtin: select only>", counts[1])
        assert [figure.group.transaction for figure in all_of(found, Figure)] == [
            "all",
            "<builtin: TPC-B (sort of)>",
            "<builtin: select only>",
        ]


def test_a_mean_that_counts_failures_has_no_deviation_and_says_so() -> None:
    summary = only(read(PgbenchReport(), FOLDER / "pgbench-15.18-failures.txt"), Summary)
    assert (summary.count, summary.mean, summary.sd) == (68, 2.312, None)
    assert has(summary.origin.cautions, "counted", count=12)
    assert has(summary.origin.cautions, "mean-with-failed")


def test_failed_and_skipped_transactions_are_told() -> None:
    summary = only(read(PgbenchReport(), FOLDER / "pgbench-15.18-rate.txt"), Summary)
    assert summary.count == 24
    assert has(summary.origin.cautions, "counted", count=6)


def test_runs_in_one_file_are_told_apart(tmp_path: Path) -> None:
    text = report("pgbench-9.6.txt")
    more = text.replace("number of clients: 1", "number of clients: 8")
    found = read_text(PgbenchReport(), tmp_path, text + text + more)
    assert [(it.group.run, it.group.levels) for it in all_of(found, Summary)] == [
        ("1", (("clients", 1),)),
        ("1.2", (("clients", 1),)),
        ("1", (("clients", 8),)),
    ]
    rates = [it.values for it in all_of(found, Series) if it.group.is_throughput]
    assert rates == [(1000.2, 1010.6, 1004.0)] * 3


def test_an_aborted_run_before_a_good_one_is_not_mixed_with_it(tmp_path: Path) -> None:
    aborted = (
        "transaction type: bad.sql\nnumber of clients: 2\nnumber of transactions actually processed: 0/6\n"
        "pgbench: error: Run was aborted; the above results are incomplete.\n"
    )
    found = read_text(PgbenchReport(), tmp_path, aborted + report("pgbench-9.6.txt"))
    assert only(found, Summary).count == 15074
    with refused(ImportFault, "neither-progress-nor-report", lines=4, aborted=Part("aborted")):
        read_text(PgbenchReport(), tmp_path, aborted)


def test_a_run_without_its_report_says_so(tmp_path: Path) -> None:
    text = "".join(f"progress: {second}.0 s, {100 + second}.0 tps, lat 1.0 ms stddev 0.1\n" for second in (1, 2, 3))
    series, _ = all_of(read_text(PgbenchReport(), tmp_path, text + "progress: 4.0 s, 1"), Series)
    assert series.values == (101.0, 102.0, 103.0)
    assert has(series.origin.cautions, "file-cut-off", line=4)
    assert has(series.origin.cautions, "report-missing")


def test_time_stamps_of_progress_are_no_seconds_of_the_run(tmp_path: Path) -> None:
    text = "".join(f"progress: {1650000000 + second}.000 s, 5.0 tps, lat 1.0 ms stddev 0.1\n" for second in (1, 2))
    for series in all_of(read_text(PgbenchReport(), tmp_path, text), Series):
        assert (series.starts_at_seconds, series.started_unix_seconds, series.duration_seconds) == (0.0, 1.65e9, 2.0)


def test_a_damaged_progress_line_is_named_by_its_line(tmp_path: Path) -> None:
    text = report("pgbench-9.6.txt").replace("1010.6 tps", "-nan tps")
    with refused(ImportFault, "unexpected", found=Part("-nan"), where="file.txt:3", expected=Part("'progress: 5.0 s")):
        read_text(PgbenchReport(), tmp_path, text)


OLD = text_of("printed/pgbench-old.txt")
"""Of tvondra/kernel-bench (i5-2500k, scale 300, read-only), as it was published."""


def test_a_mean_computed_from_the_runs_length_has_all_the_digits_of_throughput(tmp_path: Path) -> None:
    found = read_text(PgbenchReport(), tmp_path, OLD)
    summary, rate = only(found, Summary), only(found, Figure)
    assert summary.mean == pytest.approx(1e3 / 15276.940308, rel=1e-12)
    assert summary.rounding == pytest.approx(summary.mean * 5e-7 / 15276.940308)
    assert (rate.rounding, rate.duration_seconds) == (5e-7, 900.0)


def test_a_mean_that_does_not_go_with_throughput_stays_as_it_was_printed(tmp_path: Path) -> None:
    summary = only(read_text(PgbenchReport(), tmp_path, OLD.replace("0.065 ms", "0.165 ms")), Summary)
    assert (summary.mean, summary.rounding) == (0.165, 0.0005)


def test_a_mean_that_was_measured_says_how_it_was_rounded() -> None:
    summary = only(read(PgbenchReport(), FOLDER / "pgbench-9.6.txt"), Summary)
    assert (summary.mean, summary.rounding) == (0.989, 0.0005)
