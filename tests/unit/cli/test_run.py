import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import tdelta.session
from support import samples as s
from support.refused import Part, check_messages
from tdelta.cli.run import run
from tdelta.errors import UnknownName
from tdelta.records import Event, Metric, Phase, RunResult
from tdelta.report.command import run_command
from tdelta.session import plan
from tdelta.session.preflight import DryRun
from tdelta.session.request import RunRequest

from .asking import ASKED, WORDS
from .calling import Called, call

PLAN = DryRun(("a", "b"), 15.0, 40.0, 85.0, 2**20, 2**30, 2**20, 2**30, "/somewhere", 54)


class FakeSession:
    def __init__(self, result: RunResult) -> None:
        self.result = result
        self.requests: list[object] = []

    def conduct(self, request: RunRequest, observer: Callable[[Event], None]) -> RunResult:
        self.requests.append(request)
        observer(Phase("load", "aes-256"))
        return self.result

    def dry_run(self, request: RunRequest, observer: Callable[[Event], None], written: Path | None) -> DryRun:
        self.requests.append(request if written is None else (request, written))
        observer(Phase("copy", "app.db"))
        return PLAN

    def resume(
        self, run_id: str, store: Path | None, observer: Callable[[Event], None], *, max_seconds: float | None
    ) -> RunResult:
        self.requests.append((run_id, store, max_seconds))
        return self.result


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> FakeSession:
    fake = FakeSession(s.slower())
    for name in ("conduct", "dry_run", "resume"):
        monkeypatch.setattr(tdelta.session, name, getattr(fake, name), raising=False)
    return fake


def test_without_options_the_request_keeps_its_own_defaults(session: FakeSession) -> None:
    assert call("run").code == 0
    assert session.requests == [RunRequest()]


def test_every_option_reaches_the_request(session: FakeSession) -> None:
    words = (
        "order-entry --engine sqlite --key raw --vary cipher=aes-128,aes-256 --vary threads=1,4"
        " --rounds 4..9 --budget 5% --metric cpu_per_operation --latency-limit 20ms --self-test --no-aa --no-bb"
    )
    assert call("run", *WORDS.split(), *words.split()).code == 0
    assert session.requests == [
        RunRequest(
            **ASKED,
            study="order-entry",
            engine="sqlite",
            key="raw",
            vary={"cipher": ("aes-128", "aes-256"), "aes_instructions": ("on", "off"), "threads": (1, 4)},
            min_rounds=4,
            max_rounds=9,
            budget=0.05,
            metric=Metric.CPU_PER_OPERATION,
            latency_limit_seconds=0.02,
            self_test=True,
            aa_control=False,
            bb_control=False,
        )
    ]


SERVERS = {"baseline": "mysql://a@b/", "encrypted": "mysql://a@c/"}
TYPED: tuple[dict[str, object], ...] = (
    {"contrast": "library", "vary": {"library": ("sqlite3mc", "sqlcipher")}},
    {"engine": "mariadb"},
    {"library": "sqlcipher", "key": "raw"},
    {"workload": "read-only"},
    {"database": Path("/d/app.db")},
    {"vary": {"cipher": ("aes-128", "aes-256"), "cache": (0.1, 1.2)}},
    {"threads": 4, "cache": 0.5},
    {"page_size": 8192, "synchronous": "full"},
    {"temp_store": "file"},
    {"engine": "mariadb", "session_memory": 1 << 20},
    {"size_bytes": 20_000_000},
    {"rate": 100.0, "trial_seconds": 2.0},
    {"rate": "60%", "trial_seconds": 0.25},
    {"profile": True},
    {"trial_seconds": 0.5, "warmup_seconds": 0.1},
    {"study": "warehouse", "engine": "sqlite", "blocks_per_round": 3},
    {"blocks_per_round": 12, "min_rounds": 14, "max_rounds": 14, "max_seconds": 120.0},
    {"tolerance": 0.01, "metric": Metric.CPU_PER_OPERATION, "latency_limit_seconds": 0.02},
    {"budget": 0.055},
    {"tolerance": 0.0123456, "cache": 0.07, "size_bytes": 12_345_678},
    {"self_test": True},
    {"bb_control": False},
    {"aa_control": False, "inject": (0.05,), "use_calibration": False},
    {"engine": "mysql", "server_binary": Path("/s/mysqld"), "scope": "data", "cold": True},
    {"workload": "dml-trace", "trace": True},
    {"study": "dml-trace", "engine": "sqlite"},
    {"engine": "postgres", "encrypted_dir": Path("/e")},
    {"engine": "mariadb", "load_generator": "work {host}", "load_operations": "did ([0-9]+)"},
    {"engine": "mariadb", "restore": "mariadb < app.sql"},
    {**SERVERS, "schema": "mine", "assume_encrypted": True},
    {"directory": Path("/d"), "store": Path("/s.db"), "labels": ("v1.0", "nightly")},
    {"engine": "mariadb", "agents": 2, "ray": "head:6379", "threads": 4},
    {"engine": "mariadb", "hosts": 2, "ray": "head:6379"},
    {"study": "order-entry"},
    {"study": "read-only-sweep", "engine": "mysql"},
    {"study": "read-only-sweep", "study_size": "published"},
    {"study": "read-only-sweep", "threads": 1},
    {"study": "read-only-sweep", "min_rounds": 3, "max_rounds": None},
)


UNTYPED = {"seed", "typed"}


def test_every_option_but_the_seed_is_typed_somewhere() -> None:
    assert {name for typed in TYPED for name in typed} == set(RunRequest().to_json()) - UNTYPED


@pytest.mark.parametrize("typed", TYPED, ids=lambda typed: ", ".join(f"{name} {typed[name]}" for name in typed))
def test_the_command_for_a_run_asks_for_that_run(session: FakeSession, typed: dict[str, object]) -> None:
    options = RunRequest(**typed).to_json()
    assert call(*shlex.split(run_command(options))[1:]).code == 0
    (asked,) = session.requests
    assert isinstance(asked, RunRequest)
    assert asked.to_json() == options


def test_the_answer_goes_to_standard_output_and_progress_to_standard_error(session: FakeSession) -> None:
    done = call("run")
    answer = " ".join(done.out.split())  # however wide the terminal is
    assert "3.1% slower" in answer
    assert done.err == "load: aes-256\n"


@pytest.mark.parametrize(("sample", "code"), [("slower", 0), ("undecided", 3), ("invalid", 4), ("over_budget", 5)])
def test_json_alone_is_on_standard_output_and_tells_the_exit_code(session: FakeSession, sample: str, code: int) -> None:
    session.result = s.SAMPLES[sample]()
    done = call("run", "--json")
    document = json.loads(done.out)
    assert (done.code, document["exit_code"], document["run_id"]) == (code, code, s.RUN_ID)


def test_an_interrupted_run_shows_what_is_known_and_ends_in_130(session: FakeSession) -> None:
    session.result = s.interrupted()
    done = call("run", "--json")
    answer = json.loads(done.out)
    assert (done.code, answer["interrupted"], answer["decision"]) == (130, True, "undecided")


def test_a_dry_run_that_finds_no_room_ends_with_2_after_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    short = replace(PLAN, faults=("--max-time: 130 s",))
    monkeypatch.setattr(tdelta.session, "dry_run", lambda *_: short, raising=False)
    done = call("run", "--dry-run")
    assert done.code == 2
    assert "--max-time: 130 s" in done.out
    assert call("run", "--dry-run", "--json").code == 2


def test_a_dry_run_measures_nothing(session: FakeSession) -> None:
    done = call("run", "--dry-run", "--threads", "2")
    assert (done.code, session.requests) == (0, [RunRequest(threads=2)])
    assert " 54 trials" in done.out
    assert json.loads(call("run", "--dry-run", "--json").out)["schema"] == "tdelta.dry-run/1"


def test_writing_a_proposal_measures_nothing_and_shows_how_far_it_is(session: FakeSession) -> None:
    done = call("run", "--database", "app.db", "--write-workload", "./mine")
    assert (done.code, done.err) == (0, "copy: app.db\n")
    assert session.requests == [(RunRequest(database=Path("app.db")), Path("mine"))]


def test_a_size_that_is_typed_does_not_go_with_a_database_even_if_it_is_the_default(session: FakeSession) -> None:
    done = call("run", "--database", "app.db", "--size", "50MB")
    assert done.code == 2
    check_messages(done.refusals, "conflict", other="--database", one="--size")
    assert session.requests == []


def test_a_run_resumes_by_its_id_from_the_store_that_was_named(session: FakeSession) -> None:
    assert call("run", "--resume", "2026", "--store", "/s.db").code == 0
    assert call("run", "--resume", "last").code == 0
    assert session.requests == [("2026", Path("/s.db"), None), ("last", None, None)]


def test_a_run_resumes_in_the_time_that_a_refusal_names(session: FakeSession) -> None:
    assert call("run", "--resume", "last", "--max-time", "5m").code == 0
    assert session.requests == [("last", None, 300.0)]


def test_a_resumed_run_takes_no_other_settings_and_all_that_were_typed_are_named(session: FakeSession) -> None:
    done = call("run", "--resume", "last", "--threads", "4", "--self-test", "--inject", "5%")
    assert done.code == 2
    assert "--threads, --self-test, --inject" in done.err
    assert session.requests == []


def test_a_factor_that_is_varied_twice_is_refused(session: FakeSession) -> None:
    done = call("run", "--vary", "threads=1", "--vary", "threads=2")
    assert done.code == 2
    assert "--vary threads=… is given more than once" in done.err


def test_a_bad_value_names_the_option_what_was_expected_and_what_was_found(session: FakeSession) -> None:
    done = call("run", "--tolerance", "2")
    assert done == Called(
        2, "", "error: Invalid value for '--tolerance': expected a percentage such as 5% or 0.5%, found '2'\n"
        "Try 'tdelta run --help'.\n"
    )  # fmt: skip


def test_what_the_session_refuses_is_a_message_and_not_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(request: RunRequest, observer: object) -> RunResult:
        raise UnknownName("cipher", "aes-257", ("aes-128", "aes-256"))

    monkeypatch.setattr(tdelta.session, "conduct", refuse, raising=False)
    done = call("run", "--vary", "cipher=aes-257")
    assert done.code == 2
    check_messages(done.refusals, "unknown", kind="cipher", found=Part("aes-257"), hint=Part("aes-256"))


def test_the_defaults_named_in_the_help_are_the_defaults_of_the_request() -> None:
    request = RunRequest()
    named = {
        "engine": request.engine,
        "library": request.library,
        "threads": str(request.threads),
        "cache": f"{100 * request.cache:g}%",
        "page_size": str(plan(request, "r").twin_settings(plan(request, "r").conditions[0], 0).page_size),
        "synchronous": request.synchronous,
        "size_bytes": f"{request.size_bytes // 10**6}MB",
        "trial_seconds": f"{request.trial_seconds:g}s",
        "blocks_per_round": str(request.blocks_per_round),
        "max_seconds": f"{request.max_seconds:g}s",
        "tolerance": f"{100 * request.tolerance:g}%",
        "metric": request.metric.value,
    }
    helps = {option.name: getattr(option, "help", "") for option in run.params}
    assert {name: helps[name].rsplit("[", 1)[-1].rstrip("]").split(";")[0] for name in named} == named
    assert f"[{request.min_rounds}, " in helps["min_rounds"]
