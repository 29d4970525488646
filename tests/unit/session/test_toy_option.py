"""An option is a declaration: a flag, a default, a refusal, JSON and a command follow from it.

That of an embedded engine is also a setting of its profile: a statement and a query, which workers apply and check.
"""

import json
import os
import re
import shutil
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
ADDED = {
    Path("session/declared.py"): (
        "    page_size: int | None = option(",
        '    log_size: int | None = option("--log-size", values.Size(), "Size of the log.", takes=Takes.SETTING)\n',
    ),
    Path("engines/sqlite/profile.py"): (
        '        "cache_size": _pragma(',
        '        "log_size": Setting("PRAGMA journal_size_limit={value}", "PRAGMA journal_size_limit"),\n',
    ),
    Path("engines/duckdb/profile.py"): (
        '        "memory_limit": _setting(',
        """        "log_size": _setting("checkpoint_threshold", "'{value}B'", _as_reported),\n""",
    ),
}
"""By file, what is added and ahead of what: an option that two engines have."""

RUN = [
    "--workload",
    "point-select",
    "--size",
    "200kB",
    "--trial-time",
    "0.02s",
    "--rounds",
    "2..2",
    "--max-time",
    "10m",
]
SCRIPT = """
import json
from types import SimpleNamespace
from click.testing import CliRunner
from tdelta.cli.main import cli
from tdelta.engines.registry import profile
from tdelta.report.command import run_command
from tdelta.session import RunRequest
from tdelta.session.check_request import _taken

asked = RunRequest(log_size=1_000_000)
stored = asked.to_json()
mariadb = SimpleNamespace(profile=profile("mariadb"), product="MariaDB")
refused = [(refusal.code, refusal.text) for refusal in _taken(asked, {}, mariadb)]
print(json.dumps({
    "help": CliRunner().invoke(cli, ["run", "--help"]).output,
    "plan_help": CliRunner().invoke(cli, ["plan", "--help"]).output,
    "calibrate_help": CliRunner().invoke(cli, ["calibrate", "--help"]).output,
    "value": asked.log_size,
    "again": RunRequest.from_json(json.loads(json.dumps(stored))) == asked,
    "command": run_command(stored),
    "usual_command": run_command(RunRequest().to_json()),
    "refused": refused,
}))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, with one more line in each of three files."""
    root = tmp_path_factory.mktemp("toy")
    shutil.copytree(PACKAGE, root / "tdelta", ignore=shutil.ignore_patterns("__pycache__"))
    for file, (before, line) in ADDED.items():
        text = (PACKAGE / file).read_text(encoding="utf-8")
        assert text.count(before) == 1
        (root / "tdelta" / file).write_text(text.replace(before, line + before), encoding="utf-8")
    return root


def run(package: Path, *words: str, codes: tuple[int, ...] = (0,)) -> str:
    environment = {**os.environ, "PYTHONPATH": str(package), "COLUMNS": "120"}
    done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in codes, done.stderr
    return done.stdout


def test_an_option_with_its_settings_is_a_line_in_each_of_three_files(package: Path) -> None:
    found = json.loads(run(package, "-c", SCRIPT))
    assert "--log-size SIZE" in found["help"]
    assert "--log-size" in found["plan_help"]
    assert "--log-size" not in found["calibrate_help"], "it decides nothing of a trial"
    assert (found["value"], found["again"]) == (1_000_000, True)
    assert found["command"].split()[1:4] == ["run", "--log-size", "1MB"]
    assert "--log-size" not in found["usual_command"]
    assert found["refused"] == [["not-supported", "--log-size is only for SQLite and DuckDB, not for MariaDB"]]


def test_its_row_is_on_the_page_and_its_name_in_the_lists_of_those_who_take_it(package: Path, tmp_path: Path) -> None:
    run(package, str(REFERENCE), "--into", str(tmp_path))
    page = (tmp_path / "cli.md").read_text(encoding="utf-8")
    assert page.count("| `--log-size SIZE` | Size of the log. |") == 1
    _, planned, calibrated = re.split("^## `tdelta (?:calibrate|plan)`", page, flags=re.MULTILINE)
    assert "`--log-size`" not in calibrated
    assert "`--log-size`," in planned


@pytest.mark.parametrize(
    ("engine", "typed", "found"), [("sqlite", [], "-1"), ("sqlite", ["1MB"], "1000000"), ("duckdb", ["3MB"], "2.8 MiB")]
)
def test_workers_apply_an_option_that_is_a_setting(
    package: Path, tmp_path: Path, engine: str, typed: list[str], found: str
) -> None:
    where = ["--store", str(tmp_path / "runs.sqlite"), "--dir", str(tmp_path), "--max-time", "10m", "--json"]
    option = [word for size in typed for word in ("--log-size", size)]
    words = ["-m", "tdelta", "run", "--engine", engine, *option, *RUN, *where]
    result = json.loads(run(package, *words, codes=(0, 3)))  # so short a run need not decide
    assert result["twin_settings"]["shared"]["log_size"] == found


@pytest.mark.parametrize("profile", profiles(), ids=lambda profile: profile.name)
def test_an_engines_own_defaults_are_of_options_and_are_what_a_run_of_it_has(profile: Profile) -> None:
    assert profile.defaults.keys() <= OPTIONS.keys()
    values = RunRequest(engine=profile.name).values
    assert {name: values[name] for name in profile.defaults} == dict(profile.defaults)
