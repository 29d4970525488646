"""Commands and exit codes of the shells in ``ci/``, with a stand-in for tdelta that ends as requested."""

import re
from pathlib import Path

import pytest

from support import ci_shells as ci

STAND_IN = """#!/bin/sh
printf '%s' "$1" >>called; shift
for word in "$@"; do printf '|%s' "$word" >>called; done; echo >>called
"""


def stand_in(folder: Path, run: int, show: int) -> str:
    """A `tdelta` that notes its arguments. Returns the PATH that has it."""
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    program = bin_folder / "tdelta"
    codes = f"case $command in run) exit {run};; show) exit {show};; esac\n"
    program.write_text(STAND_IN.replace("printf", "command=$1; printf", 1) + codes, encoding="utf-8")
    program.chmod(0o755)
    return f"{bin_folder}:/usr/bin:/bin"


def called(folder: Path) -> list[list[str]]:
    return [line.split("|") for line in (folder / "called").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", ci.SHELLS)
@pytest.mark.parametrize("code", [0, 3, 4, 5])
def test_the_shell_ends_with_the_code_of_the_run_after_it_was_shown(tmp_path: Path, name: str, code: int) -> None:
    done = ci.SHELLS[name]().run(tmp_path, stand_in(tmp_path, code, code))
    assert (done.returncode, done.stderr) == (code, "")
    assert [words[0] for words in called(tmp_path)] == ["run", "show", "show", "show", "report"]
    assert [words[words.index("--format") + 1] for words in called(tmp_path) if "--format" in words] == [
        "json",
        "junit",
        "markdown",
    ]


@pytest.mark.parametrize("name", ci.SHELLS)
@pytest.mark.parametrize(("run", "show", "expected"), [(2, 0, 2), (1, 0, 1), (130, 0, 130), (4, 2, 4), (0, 2, 0)])
def test_what_has_no_answer_is_not_shown_and_keeps_its_code(
    tmp_path: Path, name: str, run: int, show: int, expected: int
) -> None:
    done = ci.SHELLS[name]().run(tmp_path, stand_in(tmp_path, run, show))
    assert done.returncode == expected
    assert "report" not in [words[0] for words in called(tmp_path)]


@pytest.mark.parametrize("name", ci.SHELLS)
def test_arguments_go_to_the_run_one_per_line_as_they_are(tmp_path: Path, name: str) -> None:
    typed = {
        "TDELTA_STUDY": "order-entry",
        "TDELTA_BUDGET": "5%",
        "TDELTA_UNDECIDED": "pass",
        "TDELTA_ARGUMENTS": "--vary\ncipher=aes-128,aes-256\n\n--workload\n./my work; $(touch owned) `touch owned` *\n",
    }
    done = ci.SHELLS[name]().run(tmp_path, stand_in(tmp_path, 0, 0), **typed)
    assert done.returncode == 0
    first = called(tmp_path)[0]
    assert first[:3] == ["run", "order-entry", "--budget"]
    assert first[3:8] == [
        "5%",
        "--vary",
        "cipher=aes-128,aes-256",
        "--workload",
        "./my work; $(touch owned) `touch owned` *",
    ]
    assert first[-2:] == ["--undecided", "pass"]
    assert not (tmp_path / "owned").exists()


def test_scripts_of_the_action_hold_no_expressions() -> None:
    for step in ci.read("github/action.yml")["runs"]["steps"]:
        assert "${{" not in step["run"]


def test_every_input_of_the_action_is_described_and_used() -> None:
    text = (ci.CI / "github" / "action.yml").read_text(encoding="utf-8")
    for name, one in ci.read("github/action.yml")["inputs"].items():
        assert one["description"]
        assert re.search(rf"inputs\.{name}\b", text)


def test_the_job_keeps_what_is_written_into_the_folder_that_was_asked_for() -> None:
    job = ci.read("gitlab/tdelta.yml")[".tdelta"]
    assert job["artifacts"]["paths"] == ["$TDELTA_FOLDER/"]
    assert job["artifacts"]["reports"] == {"junit": "$TDELTA_FOLDER/tdelta.xml"}
