"""The output of real tools, recorded with their versions, in the units of a trial."""

import re
import shutil
from pathlib import Path

import pytest

from support.refused import Part, refused
from tdelta import _native
from tdelta.errors import LoadFault
from tdelta.processes.load_generator.command import AnyCommand
from tdelta.processes.load_generator.pgbench import Pgbench
from tdelta.processes.load_generator.sysbench import Sysbench
from tdelta.processes.load_generator.tools import Finished
from tdelta.records import SpanTotals

from .recorded import OUTPUTS


def printed(name: str) -> Finished:
    return Finished(0, 1_000_000_000, (OUTPUTS / f"{name}.txt").read_text(), "")


def logged(name: str, folder: Path) -> Finished:
    """The same with its logs, under the names that pgbench gives them."""
    for number, path in enumerate(sorted(OUTPUTS.glob(f"{name}.log.*"))):
        shutil.copy(path, folder / f"load-log.4711{f'.{number}' if number else ''}")
    text = (OUTPUTS / f"{name}.txt").read_text()
    return Finished(0, 1_000_000_000, text, "", folder, "load-log")


def count_of(payload: bytes) -> int:
    return _native.histogram_summary([payload], [0.5])[0]


def test_sysbenchs_report_gives_exact_totals_and_its_histogram() -> None:
    text = printed("sysbench-1.0.20-events")
    result = Sysbench().read(text)
    sum_ms = float(re.findall(r"sum: +([\d.]+)", text.out)[0])
    assert result.operations == 200
    assert result.transactions == {"event": SpanTotals(200, round(sum_ms * 1e6))}
    assert count_of(result.histograms["tx:event"]) == 200
    assert result.elapsed_ns == round(float(re.findall(r"total time: +([\d.]+)s", text.out)[0]) * 1e9)
    assert result.errors == {}


def test_sysbenchs_mean_is_within_a_step_of_its_histograms() -> None:
    result = Sysbench().read(printed("sysbench-1.0.20-events"))
    _, mean_ns, *_ = _native.histogram_summary([result.histograms["tx:event"]], [0.5])
    totals = result.transactions["event"]
    assert mean_ns == pytest.approx(totals.total_ns / totals.count, rel=0.02)


def test_sysbenchs_reports_on_the_way_and_its_ignored_errors_are_told_from_its_results() -> None:
    result = Sysbench().read(printed("sysbench-1.0.20-time"))
    assert (result.operations, result.errors, result.histograms) == (5299, {"ignored": 18}, {})


def test_pgbenchs_log_gives_every_time(tmp_path: Path) -> None:
    result = Pgbench().read(logged("pgbench-15.18-one", tmp_path))
    lines = [line.split() for path in OUTPUTS.glob("pgbench-15.18-one.log.*") for line in path.read_text().splitlines()]
    assert result.operations == 100 == len(lines)
    assert result.transactions == {"select only": SpanTotals(100, 1000 * sum(int(line[2]) for line in lines))}
    assert count_of(result.histograms["tx:select only"]) == 100
    assert result.elapsed_ns == pytest.approx(
        100 / float(re.findall(r"tps = ([\d.]+)", printed("pgbench-15.18-one").out)[0]) * 1e9
    )


def test_each_script_of_pgbench_is_a_transaction_of_its_own(tmp_path: Path) -> None:
    result = Pgbench().read(logged("pgbench-15.18-two", tmp_path))
    assert sorted(result.transactions) == ["TPC-B (sort of)", "select only"]
    counts = re.findall(r"^ - (\d+) transactions", printed("pgbench-15.18-two").out, re.MULTILINE)
    assert [result.transactions[name].count for name in ("TPC-B (sort of)", "select only")] == [int(n) for n in counts]


def test_failed_and_retried_transactions_of_pgbench_are_counted_and_not_timed(tmp_path: Path) -> None:
    result = Pgbench().read(logged("pgbench-15.18-failures", tmp_path))
    assert (result.operations, result.errors, result.retries) == (68, {"serialization": 12}, {"retry": 22})
    assert list(result.transactions) == ["ser"]


def test_transactions_that_pgbench_skipped_are_counted_and_not_timed(tmp_path: Path) -> None:
    result = Pgbench().read(logged("pgbench-15.18-rate", tmp_path))
    assert (result.operations, result.errors) == (24, {"skipped": 6})


def test_a_log_of_pgbench_that_lacks_lines_is_a_fault(tmp_path: Path) -> None:
    finished = logged("pgbench-15.18-one", tmp_path)
    path = tmp_path / "load-log.4711"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with refused(LoadFault, "load-output", what=Part("100")):
        Pgbench().read(finished)


@pytest.mark.parametrize("broken", ["0 1 x\n", "0 1 10 7 1 1\n", "0 1 10 0 1 1\n0 1 10\n", "\n"])
def test_a_log_of_pgbench_that_is_not_one_is_a_fault(tmp_path: Path, broken: str) -> None:
    finished = logged("pgbench-15.18-one", tmp_path)
    (tmp_path / "load-log.4711").write_text(broken)
    with refused(LoadFault, "load-output"):
        Pgbench().read(finished)


def test_a_missing_log_of_pgbench_is_a_fault(tmp_path: Path) -> None:
    finished = Finished(0, 1, printed("pgbench-15.18-one").out, "", tmp_path, "load-log")
    with refused(LoadFault, "load-output", what="pgbench's log of its transactions"):
        Pgbench().read(finished)


def test_what_cannot_be_read_is_told_with_its_last_lines() -> None:
    with refused(LoadFault, "load-output", shows="Access denied", what=Part("sysbench's report")):
        Sysbench().read(printed("sysbench-1.0.20-denied"))
    with refused(LoadFault, "load-output", shows="division by zero", what="a finished transaction"):
        Pgbench().read(printed("pgbench-15.18-aborted"))


def test_any_commands_time_is_its_result() -> None:
    result = AnyCommand("/opt/bin/mytool").read(Finished(0, 123_456, "hello", ""))
    assert (result.operations, result.transactions) == (1, {"mytool": SpanTotals(1, 123_456)})
    assert count_of(result.histograms["tx:mytool"]) == 1


def test_a_pattern_counts_the_operations_of_any_command() -> None:
    tool = AnyCommand("mytool", re.compile(r"done ([0-9,]+)"))
    result = tool.read(Finished(0, 9_000, "done 10\ndone 1,200\n", ""))
    assert (result.operations, result.transactions) == (1200, {"mytool": SpanTotals(1200, 9_000)})
    for text in ("nothing", "done 0", "done ,"):
        with refused(LoadFault, "load-output", what=Part("done ([0-9,]+)")):
            tool.read(Finished(0, 9_000, text, ""))


@pytest.mark.parametrize(("name", "operations"), [("sysbench-1.0.20-events", 200), ("pgbench-15.18-two", 60)])
def test_the_report_of_a_known_tool_is_read_from_a_script_that_ran_it(name: str, operations: int) -> None:
    assert AnyCommand("run.sh").read(printed(name)).operations == operations


def test_two_reports_in_one_output_are_not_taken_for_one() -> None:
    once = printed("sysbench-1.0.20-events")
    assert AnyCommand("run.sh").read(Finished(0, 7, once.out * 2, "")).operations == 1
