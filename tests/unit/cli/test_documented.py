from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from tdelta.cli.main import cli
from tdelta.session.options import Option
from tdelta.session.request import OPTIONS

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


def documented_options() -> dict[str, tuple[str, str]]:
    """What the table of `run` says is typed, and its default, by the flag."""
    rows = [re.split(r"(?<!\\)\|", line) for line in sections()["run"].splitlines() if line.startswith("| `--")]
    cells = [
        (typed.replace("\\|", "|").strip(" `"), default.replace("`", "").strip()) for _, typed, default, *_ in rows
    ]
    return {typed.partition(" ")[0]: (typed, default) for typed, default in cells}


@pytest.mark.parametrize("option", [option for option in OPTIONS.values() if option.flag.startswith("--")])
def test_an_option_is_documented_as_it_is_declared(option: Option) -> None:
    value = option.value.metavar or "|".join(getattr(option.value, "names", ()))
    assert documented_options()[option.flag] == (f"{option.flag} {value}".strip(), option.default_words)
