import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tdelta.cli import help as explaining
from tdelta.cli.commands import SECTIONS, entries
from tdelta.cli.exit_codes import MEANINGS, ExitCode
from tdelta.cli.help import Command, CommandGroup
from tdelta.design.factors import FACTORS
from tdelta.session.groups import Group
from tdelta.session.options import Option
from tdelta.session.request import OPTIONS

from .calling import call

NAMES = [entry.name for entry in entries()]
SCRIPT = "from tdelta.__main__ import main; main()"


def completed(words: str, shell: str = "bash", **environment: str) -> list[str]:
    asked = {"_TDELTA_COMPLETE": f"{shell}_complete", "COMP_WORDS": f"tdelta {words}"}
    asked["COMP_CWORD"] = str(len(asked["COMP_WORDS"].split(" ")) - 1)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=os.environ | asked | environment, capture_output=True, text=True, check=True
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_every_command_explains_itself_in_the_same_way() -> None:
    assert all(isinstance(command, Command | CommandGroup) for command in _all().values())


def test_all_commands_are_listed_once_under_a_heading_with_their_line() -> None:
    out = call("--help").out
    assert all(f"{heading}:\n" in out for heading, _ in SECTIONS)
    assert all(out.count(f"  {entry.name} ") >= 1 and entry.about in out for entry in entries())
    assert len(NAMES) == len(set(NAMES))


def test_examples_come_before_options_and_options_are_listed_in_their_groups_with_defaults() -> None:
    out = call("run", "--help").out
    places = [out.index(f"\n{heading}:\n") for heading in ("Examples", *Group)]
    assert places == sorted(places)
    assert "--threads N          Concurrent clients.  [1]" in out
    common = out[out.index(f"\n{Group.COMMON}:") : out.index(f"\n{Group.DATA}:")]
    assert [flag for flag in ("--engine", "--max-time", "--vary", "--seed") if flag in common] == [
        "--engine",
        "--max-time",
        "--vary",
    ]


def test_the_long_help_ends_with_the_factors_and_the_exit_codes() -> None:
    out = call("run", "--help").out
    factors, codes = out.index("\nFactors of --vary"), out.index("\nExit codes:\n")
    assert all(f"\n  {name} " in out[factors:codes] for name in FACTORS)
    assert all(f"\n  {int(code)} " in out[codes:] for code in ExitCode)


def test_the_short_help_has_the_common_options_and_fits_a_terminal() -> None:
    done = call("run", "-h")
    lines = done.out.splitlines()
    assert (done.code, len(lines) <= 25, max(map(len, lines)) <= 80) == (0, True, True)
    assert re.findall(r"^  (--[a-z-]+)", done.out, re.MULTILINE) == [
        *("--engine", "--database", "--size", "--workload", "--threads", "--vary"),
        *("--max-time", "--tolerance", "--budget", "--dry-run"),
    ]
    assert "Exit codes: 0 answered, 2 usage, 3 undecided, 4 invalid, 5 over budget" in lines


@pytest.mark.parametrize("name", ["show", "engines", "runs"])
def test_a_command_with_few_options_has_one_help(name: str) -> None:
    assert call(name, "-h").out == call(name, "--help").out


@pytest.mark.parametrize("option", [o for o in OPTIONS.values() if o.flag.startswith("--")], ids=lambda o: o.flag)
def test_every_option_of_a_run_stands_under_the_heading_that_it_was_declared_with(option: Option) -> None:
    (found,) = (one for one in _run().params if option.flag in one.opts)
    assert isinstance(found, explaining.Option)
    assert found.group is option.group


def _all() -> dict[str, click.Command]:
    found = {entry.name: entry.load() for entry in entries()}
    inner = {
        f"{name} {one}": command
        for name, group in found.items()
        if isinstance(group, click.Group)
        for one, command in group.commands.items()
    }
    return found | inner


def _run() -> click.Command:
    return next(entry for entry in entries() if entry.name == "run").load()


def test_a_store_is_explained_alike_by_every_command() -> None:
    texts = {
        parameter.help
        for command in _all().values()
        for parameter in command.params
        if isinstance(parameter, click.Option) and "--store" in parameter.opts
    }
    assert texts == {OPTIONS["store"].help_text}


def test_the_man_page_has_every_command_option_and_exit_code_and_no_stray_request() -> None:
    page = call("man").out
    plain = page.replace("\\-", "-")
    for name, command in _all().items():
        assert f".SS tdelta {name} " in plain
        for option in (one for one in command.params if isinstance(one, click.Option)):
            assert f"\\fB{option.opts[0]}" in plain
    assert MEANINGS.keys() == set(ExitCode)
    assert all(f"\\fB{int(code)}\\fR" in plain for code in ExitCode)
    requests = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}
    assert requests == {".TH", ".SH", ".SS", ".PP", ".TP", ".EX", ".EE"}
    assert page.isascii()


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff here")
def test_groff_takes_the_man_page_without_a_warning() -> None:
    ran = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-P-cbou"], input=call("man").out, capture_output=True, text=True, check=True
    )
    assert ran.stderr == ""
    assert "--max-time" in ran.stdout


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("pl", ["plan"]),
        ("run --eng", ["--engine"]),
        ("run --engine ma", ["mariadb"]),
        ("run --workload read", ["read-only"]),
        ("run read-only-s", ["read-only-sweep"]),
        ("run --metric cpu", ["cpu_per_operation"]),
        ("show las", ["last"]),
        ("completion f", ["fish"]),
    ],
)
def test_a_shell_is_offered_what_begins_like_the_word(words: str, offered: list[str], tmp_path: Path) -> None:
    assert completed(words, TDELTA_STORE=str(tmp_path / "none.sqlite")) == offered


def test_all_commands_are_offered_where_nothing_is_typed() -> None:
    assert completed("") == NAMES


@pytest.mark.parametrize(
    ("shell", "variable", "place"),
    [
        ("bash", "XDG_DATA_HOME", "bash-completion/completions/tdelta"),
        ("zsh", "ZDOTDIR", ".zfunc/_tdelta"),
        ("fish", "XDG_CONFIG_HOME", "fish/completions/tdelta.fish"),
    ],
)
def test_a_completion_is_printed_and_installed_where_its_shell_looks(
    shell: str, variable: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.delenv("BASH_COMPLETION_USER_DIR", raising=False)
    printed = call("completion", shell).out
    assert f"{shell}_complete" in printed
    done = call("completion", shell, "--install")
    assert done.code == 0
    assert str(tmp_path / place) in done.out
    assert (tmp_path / place).read_text(encoding="utf-8") == printed
    assert ("autoload -Uz compinit" in done.out) is (shell == "zsh")


def test_the_shell_is_the_users_and_one_that_is_not_known_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert "fish_complete" in call("completion").out
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    done = call("completion")
    assert (done.code, done.out) == (2, "")
    assert "bash, zsh, fish" in done.err


def test_a_folder_that_cannot_be_written_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fish").write_text("a file", encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    done = call("completion", "fish", "--install")
    assert done.code == 2
    assert "tdelta.fish" in done.err


BASH = """
set -e
source "$1"
COMP_WORDS=(tdelta run --engine post) COMP_CWORD=3
_tdelta_completion tdelta
printf '%s\\n' "${COMPREPLY[@]}"
"""


def test_bash_completes_an_engine_by_the_installed_script(tmp_path: Path) -> None:
    script, program = tmp_path / "completion", tmp_path / "tdelta"
    script.write_text(call("completion", "bash").out, encoding="utf-8")
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m tdelta "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = ["bash", "--norc", "-c", BASH, "bash", str(script)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout == "postgres\n"
