"""Output as strangers published it: behind debug lines, behind prefixes, beside logs of a build, in several files.

Excerpts of files on GitHub, unaltered but for their length: nishitsoni-sh/pgbench-insights (pgbench -d),
josmera/hammerDB (a build's log), serverscamp/pgbench-aws-vs-serverscamp (report and aggregate logs of 4 threads),
Percona-Lab-results/2026-pgo (sysbench).
"""

from pathlib import Path

import pytest

from support.data import text_of
from support.refused import check_messages, coded, refused
from tdelta.errors import ImportFault
from tdelta.importers.conditions import parse_arguments
from tdelta.importers.detect import read_files, without_prefix
from tdelta.importers.pgbench_log import PgbenchAggregates
from tdelta.importers.reading import HEAD_BYTES
from tdelta.messages import Refusal
from tdelta.records.observed import Figure, Series, Summary

from .files import all_of

DEBUG = text_of("printed/pgbench-debug.txt")
REPORT = text_of("printed/pgbench-report.txt")
BUILD = text_of("printed/hammerdb-build.log")
RUN = """\
Hammerdb Log @ Tue May 11 11:20:20 -05 2021
Vuser 1:1 Active Virtual Users configured
Vuser 1:TEST RESULT : System achieved 311 NOPM from 980 MySQL TPM
"""
PREPARE = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Creating table 'sbtest1'...
Inserting 100000 records into 'sbtest1'
"""
SYSBENCH = text_of("printed/sysbench-run.txt")
LOGS = (
    "1778839446 8911 70973143 677022301639 3290 54612\n1778839456 9413 79918337 797018352217 3299 96361\n",
    "1778839446 8849 71050003 681121904519 3322 55377\n1778839456 9397 79930117 795302261871 3313 97210\n",
)
"""Two intervals of two threads; a report of them says 36570 transactions."""


def put(folder: Path, **texts: str) -> Path:
    """Files of a folder, ``plain__run1_txt`` as ``plain/run1.txt``."""
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_a_report_behind_more_debug_lines_than_the_head_holds_is_found(tmp_path: Path) -> None:
    text = DEBUG * (2 * HEAD_BYTES // len(DEBUG)) + REPORT
    (summary,) = all_of(list(read_files(parse_arguments([put(tmp_path, plain_log=text) / "plain.log"]))), Summary)
    assert (summary.count, summary.group.levels) == (1714, (("clients", 10),))
    assert summary.mean == pytest.approx(1e4 / 38.109657)


@pytest.mark.parametrize("text", [BUILD, PREPARE])
def test_a_log_of_a_build_among_results_is_left_out_and_told(tmp_path: Path, text: str) -> None:
    folder = put(tmp_path, plain__run1_log=RUN, tde__run1_log=RUN.replace("311", "299"), plain__build_log=text)
    told: list[Refusal] = []
    found = all_of(list(read_files(parse_arguments([folder]), on_refusal=told.append)), Figure)
    assert {it.origin.file for it in found} == {str(tmp_path / "plain/run1.log"), str(tmp_path / "tde/run1.log")}
    assert {it.group.run for it in found} == {"1"}
    check_messages(told, coded("missing", where="build.log"))


def test_a_log_of_a_build_that_the_user_named_is_an_error(tmp_path: Path) -> None:
    with refused(ImportFault, "no-test-result", where="plain.log"):
        read_files(parse_arguments([put(tmp_path, plain_log=BUILD) / "plain.log"]))


PREFIXES = (
    "sysbench_1  | {}",
    "mysql-bench-1 | {}",
    "\x1b[36msysbench_1  |\x1b[0m {}",
    "2024-05-01 10:00:00 {}",
    "2024-05-01T10:00:00.123456Z {}",
    "[2024-05-01 10:00:00,123] {}",
    "10:00:00 {}",
    "May  1 10:00:00 host7 sysbench[4711]: {}",
    "sysbench_1  | 2024-05-01T10:00:00.123456789Z {}",
    '            "{}",',
)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_lines_behind_a_prefix_are_read_as_without_it(tmp_path: Path, prefix: str) -> None:
    lines = SYSBENCH.splitlines()
    put(tmp_path, bare__plain_log=SYSBENCH, pre__plain_log="\n".join(map(prefix.format, lines)) + "\n")
    bare, pre = (
        [
            (it.values, it.group)
            for it in all_of(list(read_files(parse_arguments([tmp_path / of / "plain.log"]))), Series)
        ]
        for of in ("bare", "pre")
    )
    assert pre == bare
    assert len(pre) == 2


@pytest.mark.parametrize("line", ["[ 1s ] thds: 16 tps: 2861.56", "tps = 38.1 (", "transactions: 5 (1.0 per sec.)"])
def test_a_line_without_a_prefix_stays_as_it_is(line: str) -> None:
    assert without_prefix(line) == line


@pytest.mark.parametrize("log", ["run1", "pgbench_log"])
def test_a_report_and_the_logs_of_its_threads_are_one_run(tmp_path: Path, log: str) -> None:
    report = REPORT.replace("1714", "36570")
    for folder in ("plain", "tde"):
        for name, text in {"run1.txt": report, f"{log}.9026": LOGS[0], f"{log}.9026.1": LOGS[1]}.items():
            path = tmp_path / folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    found = [it for it in read_files(parse_arguments([tmp_path])) if it.group.condition == "tde"]
    assert {it.group.levels for it in found} == {(("clients", 10),)}
    assert {it.group.run for it in found} == {"1"}
    (summary,) = all_of(found, Summary)
    assert (summary.origin.format, summary.count) == (PgbenchAggregates.name, 36570)
    (rate,) = all_of(found, Figure)
    assert (rate.value, rate.started_unix_seconds) == (38.109657, 1778839446.0)
    series = {it.group.metric: it for it in all_of(found, Series)}
    assert series["throughput"].values == (1776.0, 1881.0)
    assert series["response_time"].counts == (17760.0, 18810.0)
    assert series["response_time"].values[0] == pytest.approx((70973143 + 71050003) / 17760 / 1e3)


def test_a_log_of_another_run_stays_a_run_of_its_own(tmp_path: Path) -> None:
    for folder in ("plain", "tde"):
        put(tmp_path, **{f"{folder}__run1_txt": REPORT})
        (tmp_path / folder / "run2.9026").write_text(LOGS[0])
    found = list(read_files(parse_arguments([tmp_path])))
    assert {(it.group.run, it.origin.format) for it in found} == {("1", "pgbench"), ("2", PgbenchAggregates.name)}


def test_half_a_surrogate_pair_in_json_is_no_defect(tmp_path: Path) -> None:
    row = '{"condition": "%s", "response_ms": %d, "by": "\\ud800"}'
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(row % (name, n) for n in (1, 2) for name in ("none", "tde")), encoding="utf-8")
    assert {one.group.condition for one in read_files(parse_arguments([path]))} == {"none", "tde"}
