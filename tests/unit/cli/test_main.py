import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import click
import pytest

from support import samples as s
from tdelta import __version__
from tdelta.cli.exit_codes import exit_code
from tdelta.cli.main import guarded
from tdelta.errors import Defect, UsageError, WorkloadError
from tdelta.messages import Refusal
from tdelta.records import CheckState, Decision, RunResult, Validity

from .calling import call


def raising(error: BaseException) -> Callable[[], object]:
    def command() -> object:
        raise error

    return command


def test_the_version_comes_with_those_of_python_and_of_the_tested_libraries() -> None:
    first, python, *libraries = call("--version").out.splitlines()
    assert re.fullmatch(rf"tdelta {re.escape(__version__)}( \(commit [0-9a-f]{{8,}}\))?", first)
    assert python == f"Python {platform.python_version()}"
    assert [line.rpartition("(")[2] for line in libraries] == ["apsw-sqlite3mc)", "sqlcipher3)"]


def test_without_a_command_the_help_is_shown_as_a_usage_error() -> None:
    done = call()
    assert done.code == 2
    assert {"run", "analyze"} <= set(done.err.split())


def test_an_unknown_command_is_a_usage_error() -> None:
    done = call("frobnicate")
    assert done.code == 2
    assert done.err.startswith("error: No such command 'frobnicate'")


def test_the_faults_of_a_workload_are_all_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        guarded(
            raising(
                WorkloadError(
                    "./mine",
                    [
                        Refusal.of("unexpected", expected="text", found="a zero byte").at("a.sql"),
                        Refusal.of("requires", what="a script", needs="at least one SQL statement").at("b.sql:1"),
                    ],
                )
            )
        )
        == 2
    )
    faults = "  a.sql: expected text, found a zero byte\n  b.sql:1: a script requires at least one SQL statement\n"
    assert capsys.readouterr().err == f"error: workload ./mine: 2 faults\n{faults}"


@pytest.mark.parametrize(
    ("error", "code"), [(Defect("x"), 1), (KeyboardInterrupt(), 130), (click.Abort(), 130), (BrokenPipeError(), 0)]
)
def test_what_is_raised_decides_the_exit_code(error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdelta.cli.main.silence", lambda _stream: None)
    assert guarded(raising(error)) == code


def test_a_defect_is_one_message_without_a_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TDELTA_DEBUG", raising=False)
    assert guarded(raising(ZeroDivisionError("oh"))) == 1
    text = capsys.readouterr().err
    assert "ZeroDivisionError: oh" in text
    assert "TDELTA_DEBUG=1" in text
    assert len(text.splitlines()) == 1


def test_a_defect_shows_its_traceback_when_debugging(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TDELTA_DEBUG", "1")
    guarded(raising(ZeroDivisionError("oh")))
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_a_terminal_that_lacks_a_character_gets_a_question_mark_instead_of_a_traceback(
    tmp_path: Path,
) -> None:
    script = "from tdelta.cli.main import main; import click, tdelta.cli.main as m\n"
    script += "m.cli.add_command(click.Command('micro', callback=lambda: click.echo('…')))\nmain(['micro'])"
    environment = {
        "PYTHONPATH": ":".join(sys.path),
        "PYTHONIOENCODING": "latin-1",
        "PATH": "",
        "XDG_CACHE_HOME": str(tmp_path),
    }
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"?\n", b"")


def test_a_reader_that_goes_away_leaves_the_exit_code_of_the_answer() -> None:
    script = "import sys, os; from tdelta.cli.output import write\nwrite('x' * 10**6); sys.exit(3)"
    reader, writer = os.pipe()
    os.close(reader)
    environment = {"PYTHONPATH": ":".join(sys.path), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (3, b"")


@pytest.mark.parametrize(
    ("error", "codes", "exit_code"),
    [
        (
            UsageError(Refusal.of("requires", what="a", needs="b"), Refusal.of("conflict", one="c", other="d")),
            ["requires", "conflict"],
            2,
        ),
        (click.UsageError("no such option"), ["command-line"], 2),
        (KeyboardInterrupt(), ["interrupted"], 130),
        (MemoryError(), ["no-memory"], 2),
        (ZeroDivisionError("oh"), ["defect"], 1),
    ],
)
def test_a_command_that_fails_prints_a_document_of_codes_where_json_is_wanted(
    error: BaseException, codes: list[str], exit_code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert guarded(raising(error), as_json=True) == exit_code
    printed = capsys.readouterr()
    values = json.loads(printed.out)
    assert (values["schema"], values["exit_code"]) == ("tdelta.error/1", exit_code)
    assert [refusal["code"] for refusal in values["refusals"]] == codes
    assert printed.err == f"error: {values['text']}\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("analyze", "--no-such-option"), "command-line"),
        (("analyze", "--force", "a.csv"), "requires"),
        (("analyze", "/nowhere.csv"), "unreadable"),
        (("run", "--size", "x"), "unexpected"),
        (("run", "--size", "1MB", "--database", "x.db"), "conflict"),
        (("run", "--vary", "threads"), "unexpected"),
        (("plan", "--tolerance", "0%"), "out-of-range"),
        (("verify", "/nowhere/at/all"), "path-unusable"),
    ],
)
def test_the_word_json_on_the_command_line_has_a_fault_of_that_line_printed_as_a_document(
    arguments: tuple[str, ...], code: str
) -> None:
    done = call(*arguments, "--json")
    values = json.loads(done.out)
    assert (done.code, [refusal["code"] for refusal in values["refusals"]]) == (2, [code])
    assert done.err == f"error: {values['text']}\n"


def test_what_could_not_be_tidied_up_is_told_with_what_went_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> None:
        error = UsageError(Refusal.of("command-line", said="it went wrong"))
        error.add_note("schema-x")
        raise error

    def interrupted() -> None:
        stop = KeyboardInterrupt()
        stop.add_note("schema-y")
        raise stop

    assert guarded(fails) == 2
    assert guarded(interrupted) == 130
    told = capsys.readouterr().err
    assert told == "error: it went wrong\nschema-x\nerror: interrupted\nschema-y\n"


def test_what_an_interrupted_command_could_not_tidy_up_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        stop = KeyboardInterrupt()
        stop.add_note("schema-y")
        raise stop

    monkeypatch.setattr("tdelta.engines.registry.catalogue", interrupted)
    done = call("engines")
    assert (done.code, done.out, done.err) == (130, "", "error: interrupted\nschema-y\n")


AT_THE_END = """
import atexit, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin without it
def again():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
atexit.register(again)
from tdelta.cli import main
def interrupted():
    print("answered")
    os.kill(os.getpid(), signal.SIGINT)
    raise AssertionError("there was no Ctrl-C")
main._answering = interrupted
main.main()
"""


def test_another_ctrl_c_while_the_interpreter_ends_does_not_change_the_exit_code() -> None:
    done = subprocess.run([sys.executable, "-c", AT_THE_END], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "answered\n", "error: interrupted\n")


def test_every_command_removes_what_a_killed_run_left_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    left = tmp_path / "tdelta" / "twins-20261124-bcdf"
    left.mkdir(parents=True)
    (left / ".tdelta-owner").touch()
    (left / "load-0.db").write_bytes(b"rows")
    done = call("studies")
    assert done.code == 0
    assert str(left) in done.err
    assert len(done.err.splitlines()) == 1
    assert not left.exists()
    assert call("studies").err == ""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "ulimit -v"),
        (RuntimeError("can't start new thread"), "ulimit -u"),
        (BlockingIOError(11, "Resource temporarily unavailable"), "ulimit -u"),
        (OSError(24, "Too many open files"), "ulimit -n"),
        (OSError(12, "Cannot allocate memory"), "ulimit -v"),
    ],
)
def test_what_a_limit_does_not_give_is_told_by_its_name(
    error: Exception, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert guarded(raising(error)) == 2
    assert said in capsys.readouterr().err


_CODES = {
    Decision.SLOWER: 0,
    Decision.NEGLIGIBLE: 0,
    Decision.FASTER: 0,
    Decision.WITHIN: 0,
    Decision.UNDECIDED: 3,
    Decision.OVER: 5,
    Decision.INVALID: 4,
}
_WORST_FIRST = (Decision.INVALID, Decision.OVER, Decision.UNDECIDED, Decision.SLOWER)


def run_of(*decisions: Decision) -> RunResult:
    verdicts = tuple(s.verdict(s.estimate(1.03, 0.01), d, primary=True) for d in decisions)
    return s.result(decisions[0], verdicts)


@pytest.mark.parametrize("decision", Decision)
def test_each_decision_has_its_code(decision: Decision) -> None:
    assert exit_code(run_of(decision)) == _CODES[decision]


@pytest.mark.parametrize(("worse", "better"), list(combinations(_WORST_FIRST, 2)))
def test_the_worst_of_two_verdicts_counts(worse: Decision, better: Decision) -> None:
    assert exit_code(run_of(better, worse)) == _CODES[worse]


def test_verdicts_that_are_not_primary_never_set_the_code() -> None:
    secondary = s.verdict(s.estimate(1.03, 0.01), Decision.INVALID)
    assert exit_code(replace(run_of(Decision.SLOWER), verdicts=(*run_of(Decision.SLOWER).verdicts, secondary))) == 0


def test_a_failed_check_is_invalid_whatever_the_verdicts_say() -> None:
    assert exit_code(replace(run_of(Decision.SLOWER), validity=(Validity("rows", CheckState.FAILED, ()),))) == 4


def test_a_run_without_any_verdict_is_undecided() -> None:
    assert exit_code(s.result(Decision.SLOWER, ())) == 3


def test_an_interruption_comes_before_all() -> None:
    assert exit_code(replace(run_of(Decision.INVALID), interrupted=True)) == 130
