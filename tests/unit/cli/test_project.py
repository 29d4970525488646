import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import tdelta.session
import tdelta.workloads
from support import samples as s
from tdelta.cli.init import init
from tdelta.cli.project_runs import most_severe
from tdelta.errors import EngineUnavailable, UsageError
from tdelta.messages import Refusal
from tdelta.records import Event, RunResult
from tdelta.session.request import RunRequest

from .calling import call


class FakeSession:
    """Answers by engine, and remembers what it was asked; where it has no answer the engine is not installed."""

    def __init__(self, **answers: RunResult) -> None:
        self.answers = answers
        self.requests: list[RunRequest] = []

    def conduct(self, request: RunRequest, _observer: Callable[[Event], None]) -> RunResult:
        self.requests.append(request)
        if request.engine not in self.answers:
            raise EngineUnavailable(Refusal.of("defect", said="not here"))
        return self.answers[request.engine]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def conducting(monkeypatch: pytest.MonkeyPatch, **answers: RunResult) -> FakeSession:
    fake = FakeSession(**answers)
    monkeypatch.setattr(tdelta.session, "conduct", fake.conduct, raising=False)
    return fake


def written(folder: Path, text: str) -> None:
    (folder / "tdelta.toml").write_text(text, encoding="utf-8")


def test_run_without_arguments_makes_the_projects_runs_and_ends_with_the_worst_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(folder, 'engines = ["sqlite", "duckdb"]\nthreads = 2')
    fake = conducting(monkeypatch, sqlite=s.undecided(), duckdb=s.slower())
    done = call("run", "--quiet")
    assert done.code == 3
    assert fake.requests == [RunRequest(engine="sqlite", threads=2), RunRequest(engine="duckdb", threads=2)]
    assert len(done.out.splitlines()) == 2


def test_the_file_is_found_from_a_folder_below_and_left_alone_if_it_is_not_wanted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(folder, "threads = 2")
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    fake = conducting(monkeypatch, sqlite=s.slower())
    assert [call("run").code, call("run", "--no-project").code] == [0, 0]
    assert [one.threads for one in fake.requests] == [2, 1]
    assert call("run", "--no-project", "--project", "x").code == 2


def test_a_run_that_fails_keeps_no_other_from_being_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(folder, 'engines = ["duckdb", "sqlite"]')
    fake = conducting(monkeypatch, sqlite=s.slower())
    done = call("run", "--json")
    document = json.loads(done.out)
    assert (done.code, document["schema"], document["exit_code"]) == (2, "tdelta.project/1", 2)
    assert [(one["engine"], one["exit_code"]) for one in document["runs"]] == [("duckdb", 2), ("sqlite", 0)]
    assert document["runs"][0]["error"]["schema"] == "tdelta.error/1"
    assert document["runs"][1]["run"]["schema"].startswith("tdelta.run/")
    assert len(fake.requests) == 2


def test_a_project_of_one_run_prints_that_runs_document(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(folder, 'engine = "sqlite"')
    conducting(monkeypatch, sqlite=s.slower())
    assert json.loads(call("run", "--json").out)["schema"].startswith("tdelta.run/")


def test_after_an_interruption_nothing_is_begun(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(folder, 'engines = ["sqlite", "duckdb"]')
    fake = conducting(monkeypatch, sqlite=s.changed(s.slower(), interrupted=True), duckdb=s.slower())
    assert (call("run").code, len(fake.requests)) == (130, 1)


def test_what_is_typed_goes_before_what_the_file_says(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(folder, 'engines = ["sqlite", "duckdb"]\nthreads = 2\nlabels = ["ci"]')
    fake = conducting(monkeypatch, sqlite=s.slower(), duckdb=s.slower())
    assert call("run", "--threads", "3", "--engine", "duckdb").code == 0
    assert fake.requests == [RunRequest(engine="duckdb", threads=3, labels=("ci",))]


def test_a_faulty_file_runs_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(folder, 'threads = 0\nbudget = "5"')
    fake = conducting(monkeypatch, sqlite=s.slower())
    done = call("run", "--json")
    assert (done.code, fake.requests) == (2, [])
    assert [one["code"] for one in json.loads(done.out)["refusals"]] == ["unexpected", "unexpected"]


def test_a_proposed_workload_is_of_one_run(folder: Path) -> None:
    written(folder, 'engines = ["sqlite", "duckdb"]')
    done = call("run", "--write-workload", "mine", "--json")
    assert (done.code, json.loads(done.out)["refusals"][0]["code"]) == (2, "project-several-runs")


@pytest.mark.parametrize(
    ("codes", "code"), [((0, 3, 0), 3), ((3, 5, 4), 4), ((4, 2), 2), ((2, 1), 1), ((1, 130), 130), ((5, 3), 5)]
)
def test_the_worst_code_is_the_projects(codes: tuple[int, ...], code: int) -> None:
    assert most_severe(codes) == code


def test_init_writes_what_was_typed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "spill --engine sqlite --budget 5% --max-time 5m --threads 4 --vary cipher=aes-256"
    assert call("init", *words.split(), "--rounds", "3..5", "--label", "ci", "--seed", "7", "--no-bb").code == 0
    assert tomllib.loads((folder / "tdelta.toml").read_text(encoding="utf-8")) == {
        "studies": ["spill"],
        "engines": ["sqlite"],
        "labels": ["ci"],
        "threads": 4,
        "vary": ["cipher=aes-256"],
        "no-bb": True,
        "seed": 7,
        "rounds": "3..5",
        "max-time": "5m",
        "budget": "5%",
    }
    fake = conducting(monkeypatch, sqlite=s.slower())
    assert (call("run").code, len(fake.requests)) == (0, 1)


def test_init_replaces_no_file_that_is_there(folder: Path) -> None:
    assert call("init").code == 0
    before = (folder / "tdelta.toml").read_text(encoding="utf-8")
    done = call("init", "--engine", "duckdb", "--json")
    assert done.code == 2
    assert (folder / "tdelta.toml").read_text(encoding="utf-8") == before
    assert call("init", "--engine", "duckdb", "--force").code == 0
    assert tomllib.loads((folder / "tdelta.toml").read_text(encoding="utf-8")) == {"engines": ["duckdb"]}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("--engine sqlit", "unknown"),
        ("--baseline mysql://me:geheim@db/", "project-password"),
        ("nowhere", "unknown"),
        ("--workload nowhere", "no-folder"),
        ("--workload ./nowhere", "no-folder"),
        ("--database nowhere.db", "unreadable"),
        ("--max-time 1s", "time-too-short"),
        ("--engine duckdb --library sqlcipher", "not-supported"),
    ],
)
def test_init_writes_no_file_that_a_dry_run_refuses(folder: Path, words: str, code: str) -> None:
    with pytest.raises(UsageError) as raised:
        init.main(words.split(), standalone_mode=False)
    assert ([one.code for one in raised.value.refusals], list(folder.iterdir())) == ([code], [])


def test_paths_that_init_writes_are_meant_from_its_file(folder: Path) -> None:
    workloads = Path(tdelta.workloads.__file__).parent
    shutil.copytree(workloads / "read_only", folder / "mine")
    assert call("init", "--workload", "mine").code == 0
    assert call("run", "--dry-run").code == 0


def test_init_asks_on_a_terminal_and_again_where_an_answer_cannot_stand(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter(["sqlit", "sqlite, duckdb", "", "mine", "./mine", "read-only", "5", "5%", "1s", "", "ci v1"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.prompt", lambda *_, **__: next(answers))
    assert call("init").code == 0
    assert tomllib.loads((folder / "tdelta.toml").read_text(encoding="utf-8")) == {
        "engines": ["sqlite", "duckdb"],
        "workload": "read-only",
        "budget": "5%",
        "labels": ["ci", "v1"],
    }
    assert next(answers, None) is None
