"""From files to an answer, with the real importers and models: small files that each say one thing."""

import gzip
import io
import itertools
import shlex
from pathlib import Path

import numpy as np
import pytest

import tdelta.session.analyzing
from support.refused import Part, check_messages, coded, has, refused
from support.texts import texts
from tdelta.errors import ImportFault, UsageError
from tdelta.records import Bins, Decision, Event, Figure, Group, Model, Observation, Origin, Phase, Samples, Summary
from tdelta.session.analyzing import AnalysisRequest, analyze_files, without_copies

FIXTURES = Path(__file__).parents[2] / "data" / "importers"


def samples(path: Path, mean_ms: float, seed: int, count: int = 4000) -> Path:
    values = np.random.default_rng(seed).gamma(3.0, mean_ms / 3.0, count)
    text = "response_ms\n" + "".join(f"{value:.6f}\n" for value in values)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def two(tmp_path: Path) -> tuple[str, ...]:
    """Plain and encrypted, the latter half as slow again, one of them packed."""
    return tuple(
        str(samples(tmp_path / name, mean, seed))
        for name, mean, seed in (("plain.csv", 10.0, 1), ("tde.csv.gz", 15.0, 2))
    )


def test_two_files_of_samples_give_a_verdict_and_its_picture(two: tuple[str, ...]) -> None:
    found = analyze_files(AnalysisRequest(two))
    (only,) = found.result.comparisons
    assert (found.result.baseline, only.condition.condition, only.model) == ("plain", "tde", Model.GAMMA)
    assert only.quotient == pytest.approx(1.5, abs=0.06)
    assert only.ratio is not None
    assert only.ratio.hdi95[0] < only.quotient < only.ratio.hdi95[1]
    assert only.decision is Decision.UNDECIDED
    check_messages(only.undecided_because, "one-run-only")
    (picture,) = found.pictures
    assert [check.condition for check in picture.checks] == ["plain", "tde"]
    assert [check.condition for check in picture.checks] == ["plain", "tde"]


def test_the_same_files_give_the_same_answer(two: tuple[str, ...]) -> None:
    assert analyze_files(AnalysisRequest(two)).result == analyze_files(AnalysisRequest(two)).result


def test_what_runs_differ_by_is_stated_and_kept(two: tuple[str, ...]) -> None:
    result = analyze_files(AnalysisRequest(two, run_sd=0.03)).result
    assert (result.decision, result.stated_run_sd) == (Decision.SLOWER, 0.03)


def test_the_tolerance_is_the_users_only_where_it_was_given(two: tuple[str, ...]) -> None:
    assert analyze_files(AnalysisRequest(two, tolerance=0.02)).result.is_tolerance_given
    assert not analyze_files(AnalysisRequest(two)).result.is_tolerance_given


def test_a_folder_is_its_files_and_says_what_was_no_result(two: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "README").write_text("nothing to see here\n", encoding="utf-8")
    result = analyze_files(AnalysisRequest((str(tmp_path),))).result
    assert len(result.comparisons) == 1
    assert any("README" in words for words in texts(result.left_out))


def test_conditions_and_baseline_can_be_said(tmp_path: Path) -> None:
    files = tuple(str(samples(tmp_path / f"{day}.csv", 10.0, seed)) for seed, day in enumerate(("monday", "friday")))
    named = tuple(f"{name}={file}" for name, file in zip(("old", "new"), files, strict=True))
    result = analyze_files(AnalysisRequest(named, baseline="new")).result
    assert (result.baseline, result.comparisons[0].condition.condition) == ("new", "old")
    with refused(UsageError, "no-baseline-named", name="new", remedy=Part("tdelta analyze plain=")):
        analyze_files(AnalysisRequest(named))


def test_files_of_one_condition_are_refused_with_a_command_that_assigns_them(tmp_path: Path) -> None:
    files = tuple(str(samples(tmp_path / day / "results.csv", 10.0, seed)) for seed, day in enumerate(("mon", "fri")))
    with refused(UsageError, "one-condition", condition="results") as caught:
        analyze_files(AnalysisRequest(files))
    *_, command = str(caught.value).splitlines()
    assert analyze_files(AnalysisRequest(tuple(shlex.split(command)[2:]))).result.baseline == "plain"


FOREIGN = "Bedingung;Lauf;Clients;Transaktionen/s\n" + "".join(
    f"{condition};{run};8;{rate + run}\n" for condition, rate in (("ohne", 1214), ("TDE", 1140)) for run in (1, 2, 3)
)


def test_a_table_without_a_known_condition_is_refused_with_its_columns_and_what_to_rename(tmp_path: Path) -> None:
    path = tmp_path / "messung.csv"
    path.write_text(FOREIGN, encoding="utf-8")
    for asked in (AnalysisRequest((str(path),)), AnalysisRequest((str(path),), baseline="messung")):
        with refused(ImportFault, "no-condition-column", columns=Part("Bedingung, Lauf"), known=Part("encryption")):
            analyze_files(asked)
    with refused(UsageError, "one-condition", condition="plain"):
        analyze_files(AnalysisRequest((f"plain={path}",)))


def test_a_column_that_counts_from_1_in_every_condition_is_said_to_be_runs_perhaps(tmp_path: Path) -> None:
    path = tmp_path / "messung.csv"
    for header, is_told in (("condition;Lauf;Clients", True), ("condition;run;Clients", False)):
        path.write_text(FOREIGN.replace("Bedingung;Lauf;Clients", header), encoding="utf-8")
        result = analyze_files(AnalysisRequest((str(path),))).result
        assert has(result.cautions, "column-may-count-runs", column="Lauf") is is_told
    path.write_text(FOREIGN.replace("Bedingung", "condition").replace("ohne;3", "ohne;5"), encoding="utf-8")
    assert not has(analyze_files(AnalysisRequest((str(path),))).result.cautions, "column-may-count-runs")


def test_what_an_importer_says_of_a_file_is_a_caution_with_the_files_name(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(
        "# source: somebody, 2020\n# reconstruction: made up\ncondition,tps\nplain,100\ntde,90\n", encoding="utf-8"
    )
    result = analyze_files(AnalysisRequest((str(path),))).result
    assert result.source == "somebody, 2020"
    assert has(result.cautions, "authors-say", word="reconstruction", said="made up", where=path)


def test_a_threshold_is_held_against_single_response_times(two: tuple[str, ...]) -> None:
    result = analyze_files(AnalysisRequest(two, latency_limit_seconds=0.02)).result
    (tail,) = (c.tail for c in result.comparisons)
    assert tail is not None
    assert tail.threshold_ms == 20.0
    times = [np.random.default_rng(seed).gamma(3.0, mean / 3.0, 4000) for mean, seed in ((10.0, 1), (15.0, 2))]
    for side, values in zip((tail.baseline, tail.condition), times, strict=True):
        assert side.longer_at_least is not None
        assert side.longer_at_most is not None
        assert side.longer_at_least <= (values > 20.0).sum() <= side.longer_at_most
    assert not any("--latency-limit" in caution for caution in texts(result.cautions))


def test_a_threshold_and_files_without_response_times_is_told_with_the_remedy(tmp_path: Path) -> None:
    files = []
    for name in ("plain", "tde"):
        path = tmp_path / f"{name}.log"
        path.write_bytes((FIXTURES / "sysbench" / "sysbench-1.0.20-time.txt").read_bytes() + name.encode())
        files.append(str(path))
    result = analyze_files(AnalysisRequest(tuple(files), latency_limit_seconds=0.005)).result
    assert [c.tail for c in result.comparisons] == [None] * len(result.comparisons)
    assert has(result.cautions, "latency-limit-without-tail", why=Part("tde"), remedy=Part("--histogram"))
    assert not any(
        "--latency-limit" in caution for caution in texts(analyze_files(AnalysisRequest(tuple(files))).result.cautions)
    )


def test_a_threshold_and_throughput_alone_is_told_with_the_remedy() -> None:
    result = analyze_files(AnalysisRequest(("published:read-only-sweep",), latency_limit_seconds=0.02)).result
    assert has(result.cautions, "latency-limit-without-tail", why=Part("throughput"), remedy=Part("CSV"))


def test_progress_is_told_only_when_reading_takes_longer_than_a_moment(
    two: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Event] = []
    monkeypatch.setattr(tdelta.session.analyzing.time, "monotonic", lambda: 0.0)
    analyze_files(AnalysisRequest(two), heard.append)
    quick = len(heard)
    clock = itertools.count(step=5)
    monkeypatch.setattr(tdelta.session.analyzing.time, "monotonic", lambda: float(next(clock)))
    analyze_files(AnalysisRequest(two), heard.append)
    assert quick == 0
    assert heard
    assert all(isinstance(event, Phase) and event.name == "reading" for event in heard)


def test_a_published_table_is_called_as_it_was_named() -> None:
    (first, *_) = analyze_files(AnalysisRequest(("published:warehouse",))).result.comparisons
    assert {origin.file for origin in first.source.origins} == {"published:warehouse"}


def report_of(tps: float, folder: Path) -> str:
    folder.mkdir(parents=True)
    (folder / "run1.log").write_text(
        "transaction type: <builtin: select only>\nnumber of clients: 1\n"
        f"number of transactions actually processed: 1000\nlatency average = 1.0 ms\ntps = {tps:.6f} (excluding\n",
        encoding="utf-8",
    )
    return str(folder)


@pytest.mark.parametrize(
    ("names", "is_encryption"),
    [(("mysql", "mysql-tde"), True), (("plain", "aes-256"), True), (("mysql56", "mysql57"), False)],
)
def test_the_answer_says_whether_encryption_is_what_differs(
    tmp_path: Path, names: tuple[str, str], is_encryption: bool
) -> None:
    folders = tuple(report_of(1000.0 + number, tmp_path / name) for number, name in enumerate(names))
    result = analyze_files(AnalysisRequest(folders, baseline=names[0])).result
    assert result.is_encryption is is_encryption


def test_a_column_of_encryption_says_so_whatever_its_conditions_are_called(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("encryption,tps\nbefore,100\nafter,99\n", encoding="utf-8")
    assert analyze_files(AnalysisRequest((str(path),), baseline="before")).result.is_encryption
    path.write_text("setup,tps\nbefore,100\nafter,99\n", encoding="utf-8")
    assert not analyze_files(AnalysisRequest((str(path),), baseline="before")).result.is_encryption


def test_standard_input_is_a_file_that_messages_call_a_dash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def given(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    given("condition,latency\nplain,12.1\ntde,13\n")
    result = analyze_files(AnalysisRequest(("-",), unit="ms")).result
    assert result.comparisons[0].source.origins[0].file == "-"
    assert result.comparisons[0].quotient == pytest.approx(13 / 12.1)
    given("condition,latency\nplain,12.1\ntde,13\n")
    with refused(UsageError, "time-without-unit", where="-:1"):
        analyze_files(AnalysisRequest(("-",)))


def samples_of(file: str, condition: str, run: str, total: float) -> Observation:
    bins = Bins((1.0, 2.0), (3,))
    return Samples(Group(condition, run=run), Origin(file, "CSV"), 3, total, 1.0, 5.0, 1.0, 2.0, bins)


def figure(file: str, condition: str, run: str, value: float, metric: str = "throughput") -> Observation:
    return Figure(Group(condition, metric=metric, unit="/s", run=run), Origin(file, "sysbench"), value)


def test_a_copy_is_no_second_run() -> None:
    given = (samples_of("a", "plain", "1", 4.5), samples_of("b", "plain", "2", 4.5), samples_of("c", "plain", "3", 4.6))
    found = without_copies(given)
    assert found.observations == (given[0], given[2])
    check_messages(found.left_out, coded("copy-left-out", other="a", where="b"))
    assert texts(found.cautions) == ()


def test_the_same_figures_under_another_condition_are_kept_and_told() -> None:
    given = (samples_of("a", "plain", "1", 4.5), samples_of("b", "tde", "1", 4.5))
    found = without_copies(given)
    assert found.observations == given
    check_messages(found.cautions, coded("copy-suspected", file="b", other="a"))


def test_a_single_figure_may_be_the_same_by_chance() -> None:
    given = (figure("a", "plain", "1", 100.0), figure("b", "plain", "2", 100.0))
    assert without_copies(given).observations == given


def test_a_file_is_a_copy_only_if_all_of_it_is() -> None:
    given = (
        figure("a", "plain", "1", 100.0),
        figure("a", "plain", "1", 9.0, "cpu"),
        figure("b", "plain", "2", 100.0),
        figure("b", "plain", "2", 9.1, "cpu"),
    )
    assert without_copies(given).observations == given


def test_summaries_with_quantiles_are_compared_as_well() -> None:
    first, second = (
        Summary(Group("plain", run=run), Origin(run, "pgbench"), 10, 4.0, 1.0, {0.95: 6.0}) for run in ("1", "2")
    )
    assert without_copies((first, second)).observations == (first,)
