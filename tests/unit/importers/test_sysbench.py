from pathlib import Path

import pytest

from support.data import text_of
from support.refused import Part, has, refused
from support.texts import texts
from tdelta.errors import ImportFault
from tdelta.importers.importer import Naming
from tdelta.importers.reading import FileSource
from tdelta.importers.sysbench import Sysbench
from tdelta.records.observed import Binned, Figure, Group, Series, Summary

from .files import FIXTURES, PLAIN, all_of, only, read, read_text

FOLDER = FIXTURES / "sysbench"
REPORT = text_of("printed/sysbench-totals.txt")


def report(name: str) -> str:
    return (FOLDER / name).read_text()


def test_a_recorded_report_gives_intervals_summary_and_throughput() -> None:
    found = read(Sysbench(), FOLDER / "sysbench-1.0.20-time.txt")
    transactions, queries = all_of(found, Series)
    assert transactions.group == Group("plain", "all", "throughput", "/s", "1", (("threads", 4),))
    assert (transactions.interval_seconds, transactions.starts_at_seconds) == (1.0, 0.0)
    assert transactions.values == (2336.27, 2957.81)
    assert (queries.group.transaction, queries.values) == ("queries", (46907.99, 59279.35))
    summary = only(found, Summary)
    assert (summary.count, summary.sd, dict(summary.quantiles)) == (5299, None, {0.99: 4.65})
    assert summary.mean == pytest.approx(7995.91 / 5299)
    assert summary.group == Group("plain", levels=(("threads", 4),))
    assert only(found, Figure).value == 2643.94
    assert has(summary.origin.cautions, "counted", count=18)


def test_a_recorded_histogram_holds_every_event_within_half_a_step() -> None:
    found = read(Sysbench(), FOLDER / "sysbench-1.0.20-events.txt")
    bins = only(found, Binned).bins
    assert sum(bins.counts) == 200
    assert len(bins.edges) == len(bins.counts) + 1
    assert all(low < high for low, high in zip(bins.edges, bins.edges[1:], strict=False))
    summary = only(found, Summary)
    low = sum(count * edge for count, edge in zip(bins.counts, bins.edges, strict=False)) / 200
    high = sum(count * edge for count, edge in zip(bins.counts, bins.edges[1:], strict=True)) / 200
    assert low < summary.mean < high
    step = 1e8 ** (1 / 1023)
    full = [high / low for low, high, count in zip(bins.edges, bins.edges[1:], bins.counts, strict=False) if count]
    assert all(1 < ratio < step * 1.01 for ratio in full)


def test_rows_of_a_histogram_below_its_decimals_are_one_bin(tmp_path: Path) -> None:
    bars = "Latency histogram (values are in milliseconds)\n" + "".join(
        f"       {value} |****  {count}\n" for value, count in (("0.009", 2), ("0.009", 3), ("0.010", 4), ("5.000", 1))
    )
    bins = only(read_text(Sysbench(), tmp_path, bars + REPORT), Binned).bins
    assert bins.counts == (5, 4, 0, 1)
    assert bins.edges[1] == pytest.approx(0.0095, rel=0.02)


def test_version_0_5_and_0_4_are_read() -> None:
    found = read(Sysbench(), FOLDER / "sysbench-0.5.txt")
    transactions, queries = all_of(found, Series)
    assert (transactions.interval_seconds, transactions.values) == (10.0, (3248.79, 3251.02, 3239.70))
    assert queries.values == (45495.15, 45514.30, 45355.80)
    summary = only(found, Summary)
    assert summary.group.levels == (("threads", 16),)
    assert summary.mean == pytest.approx(479_780.1 / 97404)
    assert dict(summary.quantiles) == {0.95: 4.59}
    assert only(found, Figure).value == 3246.59
    older = only(read(Sysbench(), FOLDER / "sysbench-0.4.txt"), Summary)
    assert (older.count, older.mean) == (1908818, pytest.approx(476_925.4 / 1908818))


def test_runs_in_one_file_are_told_apart_by_their_threads() -> None:
    found = read(Sysbench(), FOLDER / "sysbench-1.1-two-runs.txt")
    assert [(it.group.levels, it.group.run) for it in all_of(found, Summary)] == [
        ((("threads", 1),), "1"),
        ((("threads", 4),), "1"),
    ]
    assert [figure.value for figure in all_of(found, Figure)] == [258.98, 905.05]
    assert dict(all_of(found, Summary)[0].quantiles) == {0.95: 4.03, 0.99: 5.10, 0.999: 8.74}


def test_runs_at_the_same_threads_are_numbered(tmp_path: Path) -> None:
    text = report("sysbench-1.0.20-time.txt")
    found = read_text(Sysbench(), tmp_path, text + text, Naming("plain", "7"))
    assert [it.group.run for it in all_of(found, Summary)] == ["7", "7.2"]


def test_a_clock_set_back_begins_another_run(tmp_path: Path) -> None:
    line = "[ {}s ] thds: 2 tps: {}.00 qps: 20.00 (r/w/o: 1/1/1) lat (ms,95%): 1.0 err/s: 0.00 reconn/s: 0.00\n"
    text = "".join(line.format(second, 10 * run + second) for run in (1, 2) for second in (1, 2, 3))
    found = [it for it in all_of(read_text(Sysbench(), tmp_path, text), Series) if it.group.transaction == "all"]
    assert [(it.group.run, it.values) for it in found] == [("1", (11.0, 12.0, 13.0)), ("1.2", (21.0, 22.0, 23.0))]


def test_the_csv_hooks_rows_are_read_with_and_without_header() -> None:
    for name in ("hook.csv", "hook-with-header.csv"):
        found = read(Sysbench(), FOLDER / name)
        transactions, queries = all_of(found, Series)
        assert transactions.group.levels == (("threads", 16),)
        assert transactions.values == (5583.04, 5590.12, 5571.50, 5588.00)
        assert queries.values[0] == 89328.64
        assert has(transactions.origin.cautions, "report-missing")


def test_a_line_that_was_cut_off_at_the_end_is_left_out_and_told(tmp_path: Path) -> None:
    text = report("sysbench-0.5.txt")
    cut = text[: text.index("[  30s]") + 30]
    series = all_of(read_text(Sysbench(), tmp_path, cut), Series)[0]
    assert len(series.values) == 2
    assert has(series.origin.cautions, "file-cut-off", line=15)


def test_a_damaged_progress_line_is_named_by_its_line(tmp_path: Path) -> None:
    text = report("sysbench-0.5.txt").replace("tps: 3251.02", "tps: 32#1.02")
    with refused(
        ImportFault, "unexpected", found=Part("32#1.02"), where="file.txt:14", expected=Part("'thds: N tps: X qps")
    ):
        read_text(Sysbench(), tmp_path, text)


def test_a_sum_that_is_not_the_mean_times_the_count_is_refused(tmp_path: Path) -> None:
    with refused(ImportFault, "unexpected", expected=Part("1000"), where="file.txt:3"):
        read_text(Sysbench(), tmp_path, REPORT.replace("1500.00", "2500.00"))


def test_checkpoint_reports_leave_only_the_intervals(tmp_path: Path) -> None:
    text = report("sysbench-1.0.20-time.txt").replace("[ 2s ]", "[ 1s ] Checkpoint report:\n[ 2s ]")
    found = read_text(Sysbench(), tmp_path, text)
    assert not all_of(found, Summary)
    assert not all_of(found, Figure)
    assert any("checkpoint" in caution for caution in texts(all_of(found, Series)[0].origin.cautions))


def test_intervals_that_are_missing_are_told(tmp_path: Path) -> None:
    text = "".join(
        f"[ {second}s ] thds: 1 tps: 5.00 qps: 5.00 (r/w/o: 5.00/0.00/0.00) lat (ms,95%): 1.00 err/s: 0.00\n"
        for second in (1, 2, 3, 9, 10)
    )
    series = all_of(read_text(Sysbench(), tmp_path, text), Series)[0]
    assert has(series.origin.cautions, "intervals-uneven", uneven=1, of=4, seconds=1.0)


def test_a_run_that_failed_says_so(tmp_path: Path) -> None:
    text = (
        "sysbench 1.0.20 (using LuaJIT)\n\nRunning the test with following options:\nFATAL: error 1045: Access denied\n"
    )
    with refused(ImportFault, "no-progress-lines", lines=4, said=Part("FATAL: error 1045")):
        read_text(Sysbench(), tmp_path, text)


def test_other_texts_are_not_sysbenchs(tmp_path: Path) -> None:
    for text in ("condition,tps\nnone,5\n", "tps = 5 (without initial connection time)\n", "[ 10s ] hello\n"):
        path = tmp_path / "other"
        path.write_text(text)
        assert not Sysbench().recognizes(FileSource(path))


def test_its_origin_and_condition_are_those_of_the_file() -> None:
    found = read(Sysbench(), FOLDER / "sysbench-0.5.txt", PLAIN)
    assert {(it.origin.file, it.origin.format, it.group.condition) for it in found} == {
        ("sysbench-0.5.txt", "sysbench", "plain")
    }
