from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from tdelta.cli.main import cli

DOCS = Path(__file__).parents[3] / "docs" / "commands.md"


def sections() -> dict[str, str]:
    parts = re.split(r"^## `tdelta ?([a-z]*)`\n", DOCS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_command_is_documented_and_no_other() -> None:
    assert set(sections()) == {"", *cli.commands}


@pytest.mark.parametrize("name", cli.commands)
def test_every_option_of_a_command_is_documented_and_no_other(name: str) -> None:
    options = {o for p in cli.commands[name].params if isinstance(p, click.Option) for o in p.opts}
    documented = set(re.findall(r"^\| `(--[a-z-]+)", sections()[name], re.MULTILINE))
    assert documented == options


@pytest.mark.parametrize("name", ["run", "show", "export", "verify"])
def test_the_arguments_of_a_command_are_documented(name: str) -> None:
    arguments = [p.human_readable_name for p in cli.commands[name].params if isinstance(p, click.Argument)]
    assert all(f"[{argument}]" in sections()[name] for argument in arguments)


@pytest.mark.parametrize("line", re.findall(r"^    tdelta (.+)$", DOCS.read_text(encoding="utf-8"), re.MULTILINE))
def test_every_example_parses(line: str) -> None:
    name, *words = line.split()
    cli.commands[name].make_context(name, words)
