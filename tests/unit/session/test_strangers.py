"""Wrong answers that strangers' files once got: written here as their tools write them, with the truth known."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support.refused import Part, has
from tdelta.document.quantities import small_share
from tdelta.errors import ImportFault
from tdelta.inference.observed.pictures import ComparisonPicture
from tdelta.messages import Caution, Reason
from tdelta.records import AnalysisResult, Comparison, Decision
from tdelta.records.analysis import NoteCode, RunNote
from tdelta.report.analysis.page import compose_analysis
from tdelta.report.analysis.words import files_against_trust as against_trust
from tdelta.report.analysis.words import is_of_encryption
from tdelta.report.answer import files_answer
from tdelta.report.page.file import render
from tdelta.session.analyzing import AnalysisRequest, analyze_files

Write = Callable[[Iterable[float]], str]


def analyzed(folder: Path, **asked: object) -> AnalysisResult:
    files = tuple(str(path) for path in sorted(folder.iterdir()))
    return analyze_files(AnalysisRequest(files, **asked)).result  # type: ignore[arg-type]


def the(result: AnalysisResult, transaction: str = "all") -> Comparison:
    (found,) = [c for c in result.comparisons if c.metric == "response_time" and c.transaction == transaction]
    return found


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


# single times of a clock that is too coarse


def whole_ms(mean: float, run: int, count: int = 4000) -> list[float]:
    """Exponential times read off a clock of whole ms: the difference of two readings."""
    rng = np.random.default_rng(run)
    began = rng.uniform(0.0, 1.0, count)
    return [float(it) for it in np.floor(began + rng.exponential(mean, count)) - np.floor(began)]


def jtl(times: Iterable[float]) -> str:
    rows = (f"{1700000000000 + 5 * n},{it:.0f},Q1,200,true" for n, it in enumerate(times))
    return "timeStamp,elapsed,label,responseCode,success\n" + "\n".join(rows) + "\n"


def jtl_xml(times: Iterable[float]) -> str:
    rows = (f'<sample t="{it:.0f}" ts="{1700000000000 + 5 * n}" s="true" lb="Q1"/>' for n, it in enumerate(times))
    return '<?xml version="1.0"?>\n<testResults version="1.2">\n' + "\n".join(rows) + "\n</testResults>\n"


def csv_seconds(times: Iterable[float]) -> str:
    return "transaction,response_s\n" + "".join(f"Q1,{it / 1e3:.3f}\n" for it in times)


def json_lines(times: Iterable[float]) -> str:
    return "".join(f'{{"transaction": "Q1", "response_ms": {it:.0f}}}\n' for it in times)


def hey_rows(times: Iterable[float]) -> str:
    """hey prints 0.1 ms: a tenth of the clock above."""
    header = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n"
    return header + "".join(f"{it / 1e4:.4f},0.0,0.0,0.0,0.0,0.0,200,0.1\n" for it in times)


def benchbase_raw(times: Iterable[float]) -> str:
    header = (
        "Transaction Type Index,Transaction Name,Start Time (microseconds),Latency (microseconds),Worker Id,Phase Id\n"
    )
    return header + "".join(f"1,Q1,{1700000000 + n / 1e3:.6f},{it:.0f},0,0\n" for n, it in enumerate(times))


def ycsb_raw(times: Iterable[float]) -> str:
    header = "YCSB Client 0.17.0\n\nREAD latency raw data: op, timestamp(ms), latency(us)\n"
    return header + "".join(f"Q1,{1700000000000 + n},{it:.0f}\n" for n, it in enumerate(times))


COARSE: dict[str, tuple[Write, str]] = {
    "run.jtl": (jtl, "Q1"),
    "run.xml": (jtl_xml, "Q1"),
    "seconds.csv": (csv_seconds, "Q1"),
    "run.jsonl": (json_lines, "Q1"),
    "hey.csv": (hey_rows, "all"),
    "run.raw.csv": (benchbase_raw, "Q1"),
    "ycsb.txt": (ycsb_raw, "Q1"),
}


@pytest.mark.parametrize("name", COARSE)
def test_times_of_0_are_in_the_mean_and_a_clock_too_coarse_for_the_effect_decides_nothing(
    name: str, tmp_path: Path
) -> None:
    """Dropped, they made +63 % a "No, not slower"."""
    text, transaction = COARSE[name]
    for run in range(1, 4):
        for at, (condition, mean) in enumerate((("plain", 0.34), ("tde", 0.56))):
            write(tmp_path, f"{condition}/run{run}-{name}", text(whole_ms(mean, 10 * run + at)))
    found = the(analyzed(tmp_path), transaction)
    assert found.quotient == pytest.approx(0.56 / 0.34, rel=0.08)
    assert found.decision is Decision.UNDECIDED
    assert has(found.reasons, "clock-too-coarse")


def test_an_effect_far_above_the_steps_of_the_clock_is_found(tmp_path: Path) -> None:
    for run in range(1, 4):
        for at, (condition, mean) in enumerate((("plain", 0.8), ("tde", 12.0))):
            write(tmp_path, f"{condition}/run{run}.jtl", jtl(whole_ms(mean, 10 * run + at)))
    found = the(analyzed(tmp_path), "Q1")
    assert found.decision is Decision.SLOWER
    assert found.ratio is not None
    assert found.ratio.hdi95[0] < 15.0 < found.ratio.hdi95[1]


def test_runs_whose_times_are_all_0_are_not_dropped_from_their_condition(tmp_path: Path) -> None:
    """Only the slower runs of the condition would be left."""
    for run in range(1, 4):
        for condition, times in (("plain", [0.0] * 50 if run == 1 else [1.0] * 50), ("tde", [1.0] * 50)):
            write(
                tmp_path,
                f"{condition}/run{run}.csv",
                "response_ms,transaction\n" + "".join(f"{it},a\n5,b\n" for it in times),
            )
    result = analyzed(tmp_path)
    assert {c.transaction for c in result.comparisons} == {"b"}
    assert has(result.left_out, "not-compared", what="plain")


def test_times_that_all_are_one_step_of_their_clock_decide_nothing(tmp_path: Path) -> None:
    for run in range(1, 5):
        for condition, count in (("plain", 100), ("tde", 110)):
            write(tmp_path, f"{condition}/run{run}.csv", "response_ms\n" + "1\n" * count * run)
    result = analyzed(tmp_path)
    assert result.decision is Decision.UNDECIDED
    assert files_answer(result).sentence.startswith("UNDECIDED")
    assert "clock" in against_trust(result)[0]


# figures over time


def progress(seconds: Iterable[int], rate: Callable[[int], float], clients: int = 10) -> str:
    """Lines of pgbench: with so many clients a mean response time is their number over the throughput."""
    rates = [(second, rate(second)) for second in seconds]
    return "pgbench (15.4)\nstarting vacuum...end.\n" + "".join(
        f"progress: {second}.0 s, {tps:.1f} tps, lat {1e3 * clients / tps if tps else 0.0:.3f} ms stddev 0.061\n"
        for second, tps in rates
    )


def report(tps: float, clients: int = 10, seconds: int = 60, **settings: object) -> str:
    said = {
        "type": "<builtin: TPC-B (sort of)>",
        "scale": 50,
        "mode": "simple",
        "threads": 2,
        "connecting": "",
    } | settings
    connecting = said["connecting"] or "without initial connection time"
    return (
        f"transaction type: {said['type']}\nscaling factor: {said['scale']}\nquery mode: {said['mode']}\n"
        f"number of clients: {clients}\nnumber of threads: {said['threads']}\nduration: {seconds} s\n"
        f"number of transactions actually processed: {tps * seconds:.0f}\n"
        f"latency average = {1e3 * clients / tps:.3f} ms\n"
        f"tps = {tps:.6f} ({connecting})\n"
    )


def dipping(level: float, seed: int) -> Callable[[int], float]:
    """A checkpoint takes nearly all of every twentieth second."""
    rng = np.random.default_rng(seed)
    return lambda second: level * (0.02 if second % 20 == 0 else 1.0) * float(np.exp(rng.normal(0.0, 0.01)))


def test_intervals_count_as_many_transactions_as_they_had(tmp_path: Path) -> None:
    """Alike, they made +9.9 % "96 % slower"."""
    for run in range(1, 5):
        for at, (condition, level) in enumerate((("plain", 2900.0), ("tde", 2636.0))):
            write(tmp_path, f"{condition}/run{run}.log", progress(range(1, 401), dipping(level, 10 * run + at)))
    found = the(analyzed(tmp_path))
    assert found.quotient == pytest.approx(1.1, abs=0.004)
    assert found.baseline.value == pytest.approx(1e4 / (2900.0 * 0.951), rel=0.01)


def test_intervals_without_transactions_have_no_mean(tmp_path: Path) -> None:
    for condition, idle in (("plain", 6), ("tde", 30)):
        text = progress(range(1, 121), lambda second, idle=idle: 0.0 if 40 <= second < 40 + idle else 1000.0)
        write(tmp_path, f"{condition}.log", text)
    found = the(analyzed(tmp_path))
    assert (found.baseline.value, found.condition.value) == pytest.approx((10.0, 10.0))


def status(second: int, rate: float, sign: str) -> str:
    at = f"2024-06-17 23:{48 + second // 60:02d}:{second % 60:02d}:125"
    return f"{at} {second} sec: {1000 * second} operations; {rate:.2f} current ops/sec; est completion".replace(
        ".", sign
    )


@pytest.mark.parametrize("sign", [".", ","])
def test_status_lines_of_ycsb_are_read_with_either_decimal_sign(sign: str, tmp_path: Path) -> None:
    for condition, level in (("plain", 11000.0), ("tde", 10000.0)):
        rng = np.random.default_rng(1)
        lines = [status(second, level * float(np.exp(rng.normal(0.0, 0.01))), sign) for second in range(10, 600, 10)]
        write(tmp_path, f"{condition}.log", "\n".join(lines) + "\n")
    (found,) = analyzed(tmp_path).comparisons
    assert found.ratio is not None
    assert found.quotient == pytest.approx(1.1, rel=0.01)


def test_a_status_line_that_is_not_understood_is_refused(tmp_path: Path) -> None:
    lines = [status(second, 11000.0, ".").replace("11000.00", "11'000.00") for second in range(10, 600, 10)]
    for condition in ("plain", "tde"):
        write(tmp_path, f"{condition}.log", "\n".join(lines) + "\n[OVERALL], Throughput(ops/sec), 11000.0\n")
    with pytest.raises(ImportFault) as caught:
        analyzed(tmp_path)
    assert caught.value.refusals[0].code == "unexpected"


# what a file says of the test itself

OTHER_TESTS = {
    "scale": ("pgbench/pgbench-19.txt", "scaling factor: 1", "scaling factor: 10", "scaling factor"),
    "mode": ("pgbench/pgbench-19.txt", "query mode: prepared", "query mode: simple", "query mode"),
    "threads": ("pgbench/pgbench-19.txt", "number of threads: ", "number of threads: 1", "threads"),
    "rate": ("pgbench/pgbench-19.txt", "rate limit schedule lag", "lag", "paced"),
    "statements": (
        "sysbench/sysbench-1.0.20-time.txt",
        "write:                           21219",
        "write:                           0",
        "statements",
    ),
    "sysbench rate": (
        "sysbench/sysbench-1.0.20-time.txt",
        "Report intermediate",
        "Target transaction rate: 100/sec\nReport intermediate",
        None,
    ),
    "oltp test": ("sysbench/sysbench-0.4.txt", "Running mixed OLTP test", "Doing read-only test", "test"),
    "workload": ("ycsb/ycsb-0.17.txt", "-P wl ", "-P workloads/other ", "workload file"),
    "phase": ("ycsb/ycsb-0.17.txt", "Command line: -t ", "Command line: -load ", "phase"),
    "target": ("ycsb/ycsb-0.17.txt", "-threads 4", "-threads 4 -target 100", None),
    "mix": ("ycsb/ycsb-0.17.json", "UPDATE", "INSERT", "operations"),
    "wrk threads": ("wrk/wrk-4.1.0.txt", " threads and", "0 threads and", "threads"),
    "isolation": ("benchbase/tpcc.summary.json", "TRANSACTION_SERIALIZABLE", "TRANSACTION_READ_COMMITTED", "isolation"),
    "benchmark": ("benchbase/tpcc.summary.json", '"tpcc"', '"ycsb"', "benchmark"),
    "think time": (
        "swingbench/results.xml",
        "<MinimumInterThinkTime>0<",
        "<MinimumInterThinkTime>20<",
        "least think time between transactions",
    ),
    "ramp-up": ("hammerdb/console.log", "rampup time of 2 minutes", "rampup time of 5 minutes", "ramp-up, min"),
}
FIXTURES = Path(__file__).parents[2] / "data" / "importers"


@pytest.mark.parametrize("name", OTHER_TESTS)
def test_figures_of_another_test_decide_nothing_and_the_first_words_say_which(name: str, tmp_path: Path) -> None:
    """A read-only test against a mixed one was "927 % slower"."""
    fixture, old, new, setting = OTHER_TESTS[name]
    text = (FIXTURES / fixture).read_text(encoding="utf-8")
    assert old in text
    write(tmp_path, f"plain{Path(fixture).suffix}", text)
    write(tmp_path, f"tde{Path(fixture).suffix}", text.replace(old, new))
    result = analyzed(tmp_path)
    assert result.decision is Decision.UNDECIDED
    if setting is None:  # one side alone says it: nobody knows of the other
        assert not has([r for c in result.primary for r in c.undecided_because], "tests-differ")
        return
    assert all(has(c.undecided_because, "tests-differ", settings=Part(setting)) for c in result.primary)
    assert against_trust(result)[0].startswith(f"not the same test: {setting}")


def test_jmeter_says_how_many_threads_it_had(tmp_path: Path) -> None:
    for condition, threads in (("plain", 4), ("tde", 8)):
        rows = "".join(f"1700000000{n:03d},{5 + n % 3},Q1,true,{min(n, threads)}\n" for n in range(100))
        write(tmp_path, f"{condition}.jtl", f"timeStamp,elapsed,label,success,allThreads\n{rows}")
        samples = "".join(
            f'<sample t="{5 + n % 3}" ts="1700000000{n:03d}" s="true" lb="Q1" na="{min(n, threads)}"/>\n'
            for n in range(100)
        )
        write(tmp_path, f"xml/{condition}.xml", f'<testResults version="1.2">\n{samples}</testResults>\n')
    for folder in (tmp_path, tmp_path / "xml"):
        files = [path for path in folder.iterdir() if path.is_file()]
        result = analyze_files(AnalysisRequest(tuple(map(str, sorted(files))))).result
        assert has(result.primary[0].undecided_because, "tests-differ", settings="threads 4 of plain, 8 of tde")


def test_other_tests_in_one_log_are_levels_and_no_runs_of_one_another(tmp_path: Path) -> None:
    modes = {"simple": 10000.0, "extended": 8000.0, "prepared": 15000.0}
    for condition, factor in (("plain", 1.0), ("tde", 1.05)):
        write(tmp_path, f"{condition}.log", "".join(report(tps / factor, mode=mode) for mode, tps in modes.items()))
    result = analyzed(tmp_path)
    assert has(result.cautions, "tests-as-levels", settings="query mode")
    primary = {dict(c.levels)["query mode"]: c.quotient for c in result.primary}
    assert primary == pytest.approx(dict.fromkeys(modes, 1.05), abs=1e-4)
    assert {(c.baseline.runs, c.condition.runs) for c in result.comparisons} == {(1, 1)}


def test_as_few_settings_as_tell_tests_apart_become_levels(tmp_path: Path) -> None:
    for condition, factor in (("plain", 1.0), ("tde", 1.05)):
        text = report(1000.0 / factor, scale=10, mode="simple") + report(2000.0 / factor, scale=20, mode="prepared")
        write(tmp_path, f"{condition}.log", text)
    levels = [dict(c.levels) for c in analyzed(tmp_path).comparisons]
    assert {("scaling factor" in it, "query mode" in it) for it in levels} == {(True, False)}


def test_a_file_that_does_not_say_it_may_be_of_the_same_test(tmp_path: Path) -> None:
    for run in range(1, 4):
        write(tmp_path, f"plain/run{run}.log", report(1000.0 + run))
        write(tmp_path, f"tde/run{run}.log", report(500.0 + run).replace("query mode: simple\n", ""))
    assert the(analyzed(tmp_path)).decision is Decision.SLOWER


# several measures in a row, and what is said of many


def rates(names: tuple[str, str]) -> str:
    """Inserts at a third of the plain rate, selects within noise that reaches over the limit."""
    rng = np.random.default_rng(4)
    rows = []
    for _ in range(6):
        for condition, insert in (("none", 30000.0), ("chacha20", 9600.0)):
            wobble = np.exp(rng.normal(0.0, 0.015, 2))
            of = {"insert_ops_per_sec": insert * wobble[0], "select_ops_per_sec": 35000.0 * wobble[1]}
            rows.append(",".join((condition, *(f"{of[name]:.0f}" for name in names))))
    return "\n".join((",".join(("condition", *names)), *rows)) + "\n"


@pytest.mark.parametrize("is_json", [False, True])
def test_of_several_rates_in_a_row_none_is_the_mix_and_all_decide(is_json: bool, tmp_path: Path) -> None:
    """The first one alone did: the verdict was that of the order of columns."""
    names = ("insert_ops_per_sec", "select_ops_per_sec")
    answers = []
    for at, order in enumerate((names, names[::-1])):
        header, *rows = rates(order).split()
        objects = (dict(zip(header.split(","), row.split(","), strict=True)) for row in rows)
        lines = [
            str({key: it if key == "condition" else int(it) for key, it in row.items()}).replace("'", '"')
            for row in objects
        ]
        text = "\n".join(lines if is_json else [header, *rows]) + "\n"
        write(tmp_path, f"{at}.{'jsonl' if is_json else 'csv'}", text)
        result = analyze_files(AnalysisRequest((str(tmp_path / f"{at}.{'jsonl' if is_json else 'csv'}"),))).result
        assert {c.transaction for c in result.primary} == set(names)
        assert all(name in files_answer(result).sentence for name in names)
        answers.append({c.transaction: c.decision for c in result.primary})
    assert answers[0] == answers[1]
    assert answers[0]["insert_ops_per_sec"] is Decision.SLOWER


@pytest.mark.parametrize(
    ("columns", "deciding"),
    [
        ("tps,qps", {"all"}),
        ("insert_ops_per_sec,tps", {"all"}),
        ("ops_per_sec", {"all"}),
        ("insert_ops_per_sec", {"insert_ops_per_sec"}),
        ("insert_ops_per_sec,select_ms", {"insert_ops_per_sec", "all"}),
    ],
)
def test_a_rate_of_the_whole_decides_where_there_is_one(columns: str, deciding: set[str], tmp_path: Path) -> None:
    names = columns.split(",")
    rows = "".join(
        f"{condition},{run},{','.join(['100'] * len(names))}\n" for run in (1, 2) for condition in ("none", "tde")
    )
    write(tmp_path, "table.csv", f"condition,run,{columns}\n{rows}")
    assert {c.transaction for c in analyzed(tmp_path).primary} == deciding


def of_many(deltas: Iterable[float], noise: float = 0.004) -> str:
    rng = np.random.default_rng(5)
    rows = (
        f"{condition},{run},q{at},{100.0 * (1.0 + delta * (condition == 'tde')) * np.exp(rng.normal(0.0, noise)):.5f}\n"
        for at, delta in enumerate(deltas)
        for run in range(1, 7)
        for condition in ("plain", "tde")
    )
    return "condition,run,query,elapsed_s\n" + "".join(rows)


@pytest.mark.parametrize("deltas", [(0.3, 0.02), (0.3, 0.3, 0.02, 0.3, 0.3)])
def test_no_yes_where_one_of_many_is_undecided_and_queries_are_no_conditions(
    deltas: tuple[float, ...], tmp_path: Path
) -> None:
    write(tmp_path, "table.csv", of_many(deltas))
    result = analyzed(tmp_path)
    assert result.decision is Decision.UNDECIDED
    assert files_answer(result).sentence.startswith("UNDECIDED")
    assert "Yes" not in files_answer(result).sentence
    assert "condition" not in files_answer(result).sentence


def test_a_page_about_versions_does_not_speak_of_encryption(tmp_path: Path) -> None:
    for run in range(1, 4):
        for condition, tps in (("mysql", 1000.0), ("percona", 900.0)):
            write(tmp_path, f"{condition}/run{run}.log", report(tps + run))
    found = analyze_files(AnalysisRequest((str(tmp_path / "mysql"), str(tmp_path / "percona")), baseline="mysql"))
    page = render(compose_analysis(found.result, found.pictures, "tdelta analyze"))
    shown = re.sub(r"<style.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)
    assert "ncrypt" not in shown


def test_a_third_condition_is_not_called_encryption_because_another_one_is(tmp_path: Path) -> None:
    for run in range(1, 4):
        for condition, tps in (("plain", 1000.0), ("tde", 900.0), ("pgo", 1100.0)):
            write(tmp_path, f"{condition}-{run}.csv", f"condition,run,tps\n{condition},{run},{tps + run}\n")
    result = analyzed(tmp_path)
    assert {c.condition.condition: is_of_encryption(c, result) for c in result.comparisons} == {
        "tde": True,
        "pgo": False,
    }


def test_cautions_are_ordered_by_weight_and_the_like_of_many_is_said_once() -> None:
    found = replace(
        analyze_files(AnalysisRequest(("published:response-times",))).result,
        cautions=(Caution.of("rows-failed", rows=3), Caution.of("copy-suspected", file="a", other="b")),
    )
    drifting = [Reason.of("confounded", first="plain", then="tde", drift=drift) for drift in (0.04, 1.2, 0.2)]
    said = against_trust(replace(found, comparisons=(replace(found.comparisons[0], reasons=tuple(drifting)),)))
    assert said[0] == "a has the same figures as b, under another configuration: a copy?"
    assert "+1.2%" in said[1]
    assert said[1].endswith("(and 2 more like it)")


def test_notes_in_the_same_words_are_said_once() -> None:
    result = analyze_files(AnalysisRequest(("published:response-times",))).result
    notes = [RunNote(code, "plain", "1") for code in (NoteCode.SERIES_SHORT, NoteCode.SERIES_TOO_SHORT)]
    said = against_trust(replace(result, comparisons=(replace(result.comparisons[0], notes=tuple(notes)),)))
    assert said.count("few figures over time in 1 run") == 1


@pytest.mark.parametrize("drift", [-109.7, 150.0, 12345.0])
def test_per_cents_have_no_exponent(drift: float) -> None:
    assert "e+" not in str(Reason.of("confounded", first="plain", then="tde", drift=drift))
    assert "e+" not in small_share(drift / 100.0)


# what is a run, and what a limit


@pytest.mark.parametrize("column", ["response_ms", "elapsed_ms"])
def test_a_table_of_a_row_a_figure_is_read_by_whatever_name(column: str, tmp_path: Path) -> None:
    """99 queries of two conditions in 6 runs are more than 1000 combinations, and no ids."""
    write(tmp_path, "tpcds.csv", of_many([0.3] * 99).replace("elapsed_s", column))
    result = analyzed(tmp_path)
    assert len(result.comparisons) == 99
    assert {c.decision for c in result.comparisons} == {Decision.SLOWER}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("mean", [1e3, 1e9, 1e12])
def test_summaries_that_hardly_scatter_are_judged_without_a_warning(mean: float, tmp_path: Path) -> None:
    rows = "".join(f"{name},201,{mean + off:.4f},0.1\n" for name, off in (("plain", 0.3), ("tde", 0.4)))
    write(tmp_path, "table.csv", f"condition,n,mean,sd\n{rows}")
    result = analyzed(tmp_path)
    assert result.decision is Decision.UNDECIDED
    compose_analysis(*_pictured(tmp_path), "tdelta analyze")


def _pictured(folder: Path) -> tuple[AnalysisResult, tuple[ComparisonPicture, ...]]:
    found = analyze_files(AnalysisRequest(tuple(map(str, folder.iterdir()))))
    return found.result, found.pictures


def test_a_header_alone_is_no_table(tmp_path: Path) -> None:
    for condition, mean in (("plain", 10.0), ("tde", 12.0)):
        write(tmp_path, f"{condition}/run.csv", f"response_ms\n{mean}\n{mean + 1}\n")
        write(tmp_path, f"{condition}/README", "how we ran it, response must be 0.5 ms, no warm-up\n")
    assert the(analyzed(tmp_path)).quotient == pytest.approx(12.5 / 10.5)


OUTPUT_OF_OTHERS = {
    "mysqlslap": "\tBenchmark\n\tAverage number of seconds to run all queries: 0.705 seconds\n",
    "mysqlslap --csv": "innodb,mixed,0.705,0.670,0.775,1,100\ninnodb,mixed,0.912,0.866,1.003,8,100\n",
    "go-tpc": "[Current] NEW_ORDER - Takes(s): 10.0, Count: 13524, TPM: 80406.5, Avg(ms): 73.9\n",
    "Go benchmarks": "BenchmarkReadPage-8   \t  300000\t      4012 ns/op\n",
    "HammerDB's time profile": "MariaDB Hammerdb Time Profile Report @ Sat Nov 28\n>>>>> VIRTUAL USER 2 : ELAPSED\n",
    "HammerDB's jobs": '{"NEWORD": {"elapsed_ms": "60017.5", "ratio_pct": "37.2"}}\n',
    "a spreadsheet": "PK\3\4\24\0\6\0\10\0[Content_Types].xml",
    "go-ycsb": "READ   - Takes(s): 10.0, Count: 92444, OPS: 9248.6, Avg(us): 4529\n",
}


@pytest.mark.parametrize("tool", OUTPUT_OF_OTHERS)
def test_output_that_is_not_read_is_refused_with_the_nearest_way(tool: str, tmp_path: Path) -> None:
    for condition in ("plain", "tde"):
        write(tmp_path, f"{condition}.txt", OUTPUT_OF_OTHERS[tool])
    with pytest.raises(ImportFault) as caught:
        analyzed(tmp_path)
    found = str(caught.value.refusals[0].parameters["found"])
    assert tool.removesuffix(" --csv") in found
    assert ("use jobs ID result" if "jobs" in tool else "CSV") in found


def test_a_copy_whose_columns_stand_in_another_order_is_a_copy(tmp_path: Path) -> None:
    for at, names in enumerate(
        (("insert_ops_per_sec", "select_ops_per_sec"), ("select_ops_per_sec", "insert_ops_per_sec"))
    ):
        write(tmp_path, f"{at}.csv", rates(names))
    result = analyzed(tmp_path)
    assert has(result.left_out, "copy-left-out")
