import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from support import samples as s
from tdelta.cli import formats
from tdelta.cli.formats import FORMATS
from tdelta.records import RunResult

from .calling import Called, call, stored


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return stored(tmp_path / "runs.sqlite", s.undecided(), trials=2)


def show(store: Path, *arguments: str) -> Called:
    return call("show", *arguments, "--store", str(store))


def test_show_writes_each_format_to_standard_output_and_ends_with_the_code_of_the_run(store: Path) -> None:
    for name in FORMATS:
        done = show(store, "--format", name)
        assert (done.code, bool(done.out), done.err) == (3, True, "")


def test_each_text_goes_to_a_file_too(store: Path, tmp_path: Path) -> None:
    for name in ("json", "csv", "junit", "markdown"):
        target = tmp_path / name
        assert (show(store, "--format", name, "--output", str(target)).out, target.is_file()) == ("", True)
    assert json.loads((tmp_path / "json").read_text(encoding="utf-8"))["run_id"] == s.RUN_ID
    assert ET.parse(tmp_path / "junit").getroot().get("failures") == "1"


@pytest.mark.parametrize("name", ["junit", "markdown"])
def test_export_of_a_format_of_answers_is_what_show_gives(store: Path, name: str) -> None:
    done = call("export", "--format", name, "--store", str(store))
    assert (done.code, done.out) == (0, show(store, "--format", name).out)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--json", "--format", "csv"), "conflict"),
        (("--output", "x"), "requires"),
        (("--step-summary",), "no-step-summary"),
    ],
)
def test_what_does_not_go_together_is_refused(
    store: Path, words: tuple[str, ...], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(formats.STEP_SUMMARY, raising=False)
    as_json = () if "--json" in words else ("--json",) if "--output" not in words else ()
    done = show(store, *words, *as_json)
    assert done.code == 2
    if done.out:
        assert [one["code"] for one in json.loads(done.out)["refusals"]] == [code]


def test_the_summary_of_a_step_is_appended_to(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "summary.md"
    target.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv(formats.STEP_SUMMARY, str(target))
    assert "UNDECIDED" in show(store, "--step-summary").out
    assert show(store, "--step-summary", "--format", "json").code == 3
    text = target.read_text(encoding="utf-8")
    assert text.startswith("before\n### ")
    assert text.count("\n### ") == 2


def test_a_summary_that_cannot_be_written_is_an_error(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(formats.STEP_SUMMARY, "/nowhere/summary.md")
    done = show(store, "--step-summary")
    assert (done.code, done.out) == (2, "")


def test_an_undecided_answer_passes_where_it_is_to(store: Path) -> None:
    assert show(store, "--undecided", "fail").code == 3
    done = show(store, "--undecided", "pass", "--json")
    assert (done.code, json.loads(done.out)["exit_code"], json.loads(done.out)["decision"]) == (0, 0, "undecided")
    junit = ET.fromstring(show(store, "--undecided", "pass", "--format", "junit").out)
    assert (junit.get("failures"), len(junit.findall(".//testcase/skipped"))) == ("0", 2)


@pytest.mark.parametrize(("run", "code"), [(s.over_budget(), 5), (s.invalid(), 4), (s.slower(), 0)])
def test_undecided_pass_changes_no_other_exit_code(tmp_path: Path, run: RunResult, code: int) -> None:
    assert show(stored(tmp_path / "other.sqlite", run), "--undecided", "pass").code == code
