import os
import re
from pathlib import Path

import click
import pytest

from support.option_tables import generated
from tdelta.cli.commands import entries

DOCS = Path(__file__).parents[3] / "docs" / "commands.md"
COMMANDS = {entry.name: entry for entry in entries()}


def sections() -> dict[str, str]:
    parts = re.split(r"^## `tdelta ?([a-z-]*)`\n", DOCS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_command_is_documented_and_no_other() -> None:
    assert set(sections()) == {"", *COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_documented_and_no_other(name: str) -> None:
    command = COMMANDS[name].load()
    parts = [command, *(command.commands.values() if isinstance(command, click.Group) else ())]
    typed = [option for part in parts for p in part.params if isinstance(p, click.Option) for option in p.opts]
    options = [option for option in typed if option.startswith("--")]
    section = sections()[name]
    listed = re.findall(r"^As for [^.]*\.$", section, re.MULTILINE)
    documented = re.findall(r"^\| `(--[a-z-]+)", section, re.MULTILINE)
    documented += [option for words in listed for option in re.findall(r"`(--[a-z-]+)`", words)]
    assert sorted(documented) == sorted(options)


@pytest.mark.parametrize("name", ["run", "show", "export", "verify"])
def test_the_arguments_of_a_command_are_documented(name: str) -> None:
    arguments = [p.human_readable_name for p in COMMANDS[name].load().params if isinstance(p, click.Argument)]
    assert all(f"[{argument}]" in sections()[name] for argument in arguments)


@pytest.mark.parametrize("line", re.findall(r"^    tdelta (.+)$", DOCS.read_text(encoding="utf-8"), re.MULTILINE))
def test_every_example_parses(line: str) -> None:
    name, *words = line.split()
    COMMANDS[name].load().make_context(name, words)


def test_the_options_of_a_run_are_documented_as_they_are_declared() -> None:
    page = DOCS.read_text(encoding="utf-8")
    written = generated(page)
    if os.environ.get("TDELTA_UPDATE_GOLDEN"):
        DOCS.write_text(written, encoding="utf-8")
    assert page == written
