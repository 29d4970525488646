"""``tdelta init``: a project file, from options or from questions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from tdelta.cli.help import Command
from tdelta.cli.output import write
from tdelta.cli.units import click_options, study_names
from tdelta.errors import StorageFault, UsageError
from tdelta.inputs import real_path
from tdelta.messages import Refusal
from tdelta.session.options import Option
from tdelta.session.request import OPTIONS
from tdelta.session.values import Flag, WholeNumber

_LISTS = ("engine", "labels")
_USUAL = OPTIONS["engine"].default
_TAKEN = [option for option in OPTIONS.values() if option.flag.startswith("--") and option.name not in _LISTS]


@click.command(
    cls=Command,
    params=[click.Argument(["studies"], nargs=-1, metavar="[STUDY]...", shell_complete=study_names)],
)
@click.option("--engine", "engines", multiple=True, metavar="NAME", help=f"Engine to test; repeatable.  [{_USUAL}]")
@click.option("--label", "labels", multiple=True, metavar="LABEL", help="Label of all runs; repeatable.")
@click.option("--force", is_flag=True, help="Replace a project file that is there.")
def init(
    studies: tuple[str, ...], engines: tuple[str, ...], labels: tuple[str, ...], force: bool, **given: Any
) -> None:
    """Create a project file, tdelta.toml, whose runs `tdelta run` then performs.

    All options of `tdelta run` are accepted. Without options, it prompts (on a terminal) or writes a default file.

    Example: tdelta init

    Example: tdelta init --engine sqlite --engine mariadb --workload workload --budget 5% --max-time 5m
    """
    from tdelta.session.project import project_text
    from tdelta.session.project_file import FILE

    path = Path(FILE)
    if path.exists() and not force:
        raise UsageError(Refusal.of("file-exists", path=FILE))
    typed = {_key(option): _value(option, given[option.name]) for option in _TAKEN if given[option.name] is not None}
    values = {"studies": list(studies), "engines": list(engines), "labels": list(labels), **typed}
    if not any(values.values()):
        values = _asked(path) if sys.stdin is not None and sys.stdin.isatty() else {"engines": [_USUAL]}
    text = project_text(values, path)
    from tdelta.store.export import replacing

    try:
        with replacing(real_path(path)) as out:
            out.write(text)
    except OSError as error:
        raise StorageFault(Refusal.of("path-unusable", path=FILE, fault=error.strerror or error)) from error
    write(f"{FILE}\n")


def _key(option: Option) -> str:
    return option.flag.removeprefix("--")


def _value(option: Option, parsed: Any) -> object:
    """The value in the file for an option that was typed."""
    value = option.value
    if isinstance(value, Flag):
        return True
    if isinstance(value, WholeNumber):
        return parsed
    if value.is_repeated:
        return [text for text in value.texts(value.gathered(parsed)) if text is not None]
    return value.write(value.gathered(parsed) if not option.also else parsed)


_QUESTIONS = {
    "engines": "Engines, one or several (`tdelta engines` lists them)",
    "studies": "Studies, none or several (`tdelta studies` lists them)",
    "workload": "Workload, a name or your own folder",
    "budget": "Overhead that you allow, such as 5% (a gate for CI)",
    "max-time": "Wall clock of a run, such as 5m",
    "labels": "Labels of all runs",
}


def _asked(path: Path) -> dict[str, object]:
    """The user's answers; each question is repeated until a run with the answers so far would not be refused."""
    found: dict[str, object] = {}
    for key, question in _QUESTIONS.items():
        found[key] = _ask(key, question, found, path)
    return found


def _ask(key: str, question: str, before: dict[str, object], path: Path) -> object:
    from tdelta.errors import ProjectError
    from tdelta.session.project import LISTS, project_text

    usual = _USUAL if key == "engines" else ""
    while True:
        answer = click.prompt(question, default=usual, show_default=bool(usual), err=True).strip()
        found = answer.replace(",", " ").split() if key in LISTS else answer or None
        try:
            project_text({**before, key: found}, path)
        except ProjectError as error:
            if answer == usual:  # nothing that could be typed here would do
                raise
            click.echo("\n".join(refusal.text for refusal in error.refusals), err=True)
        else:
            return found


init.params += click_options(_TAKEN)
