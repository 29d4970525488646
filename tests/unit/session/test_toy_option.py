"""An option is one declaration: a package with one line more has a flag, a default, a refusal, JSON and a command."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tdelta
from tdelta.engines.profile import Profile
from tdelta.engines.registry import profiles
from tdelta.session.request import OPTIONS, RunRequest

REFERENCE = Path(__file__).parents[3] / "scripts" / "reference"
PACKAGE = Path(tdelta.__file__).parent
DECLARED = (
    '    colour: str = option("--colour", values.Value("NAME"), "Colour of pages.", "blue", takes=Takes.LIBRARY)\n'
)
BEFORE = "    page_size: int | None = option("
FILE = Path("session") / "declared.py"
SCRIPT = """
import json
from click.testing import CliRunner
from tdelta.cli.main import cli
from tdelta.errors import UsageError
from tdelta.report.command import run_command
from tdelta.session import RunRequest, plan

asked = RunRequest(colour="red")
stored = asked.to_json()
try:
    plan(RunRequest(engine="duckdb", colour="red"), "r")
    refused = []
except UsageError as fault:
    refused = [(refusal.code, refusal.text) for refusal in fault.refusals]
print(json.dumps({
    "help": CliRunner().invoke(cli, ["run", "--help"]).output,
    "plan_help": CliRunner().invoke(cli, ["plan", "--help"]).output,
    "calibrate_help": CliRunner().invoke(cli, ["calibrate", "--help"]).output,
    "value": asked.colour,
    "again": RunRequest.from_json(json.loads(json.dumps(stored))) == asked,
    "command": run_command(stored),
    "usual_command": run_command(RunRequest().to_json()),
    "refused": refused,
}))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, but for one more line in one file."""
    root = tmp_path_factory.mktemp("toy")
    (root / "tdelta" / FILE).parent.mkdir(parents=True)
    for folder in FILE.parents:
        for child in (PACKAGE / folder).iterdir():
            place = root / "tdelta" / child.relative_to(PACKAGE)
            if not place.exists() and child.name not in (FILE.name, "__pycache__"):
                place.symlink_to(child)
    text = (PACKAGE / FILE).read_text(encoding="utf-8")
    assert text.count(BEFORE) == 1
    (root / "tdelta" / FILE).write_text(text.replace(BEFORE, DECLARED + BEFORE), encoding="utf-8")
    return root


def run(package: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(package), "COLUMNS": "120"}
    done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_option_is_one_declaration(package: Path) -> None:
    found = json.loads(run(package, "-c", SCRIPT))
    assert "--colour NAME" in found["help"]
    assert "Colour of pages.  [blue]" in found["help"]
    assert "--colour" in found["plan_help"]
    assert "--colour" not in found["calibrate_help"], "it decides nothing of a trial"
    assert (found["value"], found["again"]) == ("red", True)
    assert found["command"].split()[1:4] == ["run", "--colour", "red"]
    assert "--colour" not in found["usual_command"]
    refusal = ["not-supported", "--colour is only for SQLite, not for DuckDB"]
    assert found["refused"] == [refusal]


def test_its_row_is_on_the_page_and_its_name_in_the_lists_of_those_who_take_it(package: Path, tmp_path: Path) -> None:
    run(package, str(REFERENCE), "--into", str(tmp_path))
    page = (tmp_path / "cli.md").read_text(encoding="utf-8")
    assert page.count("| `--colour NAME` | Colour of pages. [blue] |") == 1
    _, planned, calibrated = re.split("^## `tdelta (?:calibrate|plan)`", page, flags=re.MULTILINE)
    assert "`--colour`" not in calibrated
    assert "`--colour`," in planned


def test_an_option_that_is_typed_reaches_the_plan(package: Path) -> None:
    text = run(package, "-m", "tdelta", "run", "--colour", "green", "--dry-run", "--json")
    assert json.loads(text)["conditions"]


@pytest.mark.parametrize("profile", profiles(), ids=lambda profile: profile.name)
def test_an_engines_own_defaults_are_of_options_and_are_what_a_run_of_it_has(profile: Profile) -> None:
    assert profile.defaults.keys() <= OPTIONS.keys()
    values = RunRequest(engine=profile.name).values
    assert {name: values[name] for name in profile.defaults} == dict(profile.defaults)
