"""How fast a command starts is held by what it imports, since seconds depend on what else the machine does.

On an idle CPU of November 2026 ``--help`` takes 0.07 CPU seconds more than ``python -c pass``; NumPy alone takes 0.1.
"""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from support import samples as s
from tdelta.cli.commands import Entry, entries
from tdelta.store import Store

LOADED = """
import sys
from tdelta.cli.main import cli
for command in sys.argv[1:]:
    cli.main(command.split(), prog_name="tdelta", standalone_mode=False)
print(*sorted(sys.modules), file=sys.stderr)
"""
HEAVY = ("numpy", "scipy", "rich", "sqlglot", "jinja2", "sqlite3", "apsw", "asyncio", "importlib.metadata")
NOT_TO_SHOW = {
    "numpy",
    "scipy",
    "sqlglot",
    "jinja2",
    "apsw",
    "asyncio",
    "tdelta.inference.fits",
    "tdelta.processes.workers",
}
"""Modules that a run loads and its answer does not need. On the same CPU ``show`` takes 0.35 CPU seconds."""
OF_HELP = {
    "tdelta",
    "tdelta._native",
    "tdelta.cli",
    "tdelta.cli.commands",
    "tdelta.cli.exit_codes",
    "tdelta.cli.help",
    "tdelta.cli.main",
    "tdelta.cli.output",
    "tdelta.processes",
    "tdelta.processes.signals",
    "tdelta.errors",
    "tdelta.lazily",
    "tdelta.leaving",
    "tdelta.messages",
    "tdelta.session",
    "tdelta.session.groups",
}
"""Modules of tdelta that ``tdelta --help`` may load; of `tdelta.messages` all modules, which are tables."""


def loaded(*commands: str) -> set[str]:
    """The modules that are loaded when the commands, one after another in one process, have answered."""
    ran = subprocess.run([sys.executable, "-c", LOADED, *commands], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return set(ran.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_list_of_commands_is_printed_without_any_command(option: str) -> None:
    found = loaded(option)
    ours = {name for name in found if name.split(".")[0] == "tdelta" and not name.startswith("tdelta.messages.")}
    assert ours <= OF_HELP
    heavy = set(HEAVY) - ({"importlib.metadata"} if option == "--version" else set())
    assert not heavy & found


@pytest.mark.parametrize("entry", [*entries()], ids=lambda entry: entry.name)
def test_the_help_of_a_command_is_printed_without_what_only_its_work_needs(entry: Entry) -> None:
    found = loaded(f"{entry.name} --help")
    assert f"tdelta.cli.{entry.module or entry.name}" in found
    assert not {"numpy", "scipy", "rich", "sqlglot", "jinja2", "apsw", "tdelta.report", "tdelta.store"} & found


def test_answers_of_every_kind_are_shown_without_what_found_them(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    ids = []
    with Store.open(path) as opened:
        for number, made in enumerate(s.SAMPLES.values()):
            run = made()
            ids.append(f"20261125-{number:04}")
            named = s.changed(run, settings=replace(run.settings, run_id=ids[-1]))
            opened.create_run(named.settings, named.machine, named.versions)
            opened.finish(ids[-1], named)
    found = loaded(*(f"show {run_id} --store {path}" for run_id in ids))
    assert not NOT_TO_SHOW & found
