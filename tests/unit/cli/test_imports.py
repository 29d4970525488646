"""How fast a command starts is held by what it imports, since seconds depend on what else the machine does.

On an idle CPU of November 2026 ``--help`` takes 0.07 CPU seconds more than ``python -c pass``; NumPy alone takes 0.1.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tdelta.cli.commands import entries

LOADED = """
import sys
from tdelta.cli.main import cli
try:
    cli.main(sys.argv[1:], prog_name="tdelta")
except SystemExit as ended:
    assert not ended.code, ended.code
print(*sorted(sys.modules), file=sys.stderr)
"""
HEAVY = ("numpy", "scipy", "rich", "sqlglot", "jinja2", "sqlite3", "apsw", "asyncio", "importlib.metadata")
OF_HELP = {
    "tdelta",
    "tdelta._native",
    "tdelta.cli",
    "tdelta.cli.commands",
    "tdelta.cli.exit_codes",
    "tdelta.cli.main",
    "tdelta.cli.output",
    "tdelta.driver",
    "tdelta.driver.signals",
    "tdelta.errors",
    "tdelta.lazily",
    "tdelta.leaving",
    "tdelta.messages",
    "tdelta.panics",
}
"""What ``tdelta --help`` may load of tdelta; of `tdelta.messages` all modules, which are tables."""


def loaded(*words: str) -> set[str]:
    """The modules that a command has loaded when it has answered."""
    ran = subprocess.run([sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return set(ran.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("words", [("--help",), ("--version",)])
def test_the_list_of_commands_is_printed_without_any_command(words: tuple[str, ...]) -> None:
    found = loaded(*words)
    ours = {name for name in found if name.split(".")[0] == "tdelta" and not name.startswith("tdelta.messages.")}
    assert ours <= OF_HELP
    heavy = set(HEAVY) - ({"importlib.metadata"} if words == ("--version",) else set())
    assert not heavy & found


@pytest.mark.parametrize("name", [entry.name for entry in entries()])
def test_the_help_of_a_command_is_printed_without_what_only_its_work_needs(name: str) -> None:
    found = loaded(name, "--help")
    assert f"tdelta.cli.{name}" in found
    assert not {"scipy", "rich", "jinja2", "apsw", "tdelta.report", "tdelta.store"} & found
