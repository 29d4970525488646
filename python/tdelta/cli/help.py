"""How a command explains itself: what it does, examples, then its options in groups, each with its default.

The man page is made of the same parts (`tdelta.cli.man`).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tdelta.session.groups import Group

_EXAMPLE = "Example: "
_OTHERS = "Options"


class Option(click.Option):
    """An option in a group.

    Args:
        *words: as click's.
        group: the heading under which it is listed.
        **more: as click's.
    """

    def __init__(self, *words: Any, group: Group = Group.OUTPUT, **more: Any) -> None:
        super().__init__(*words, **more)
        self.group = group

    def get_help_extra(self, ctx: click.Context) -> click.types.OptionHelpExtra:
        """Without click's ``[x>=1]``: what a number may be is said where it is refused."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


class _Explained(click.Command):
    """What explains itself with examples before its options, and its options in groups if it has several."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What it does, and examples."""
        del ctx
        for number, paragraph in enumerate(described(self)):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(paragraph)
            if not number:
                _write_examples(self, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options under their headings."""
        for heading, options in grouped(self, ctx):
            with formatter.section(heading):
                formatter.write_dl([record for option in options if (record := option.get_help_record(ctx))])


class Command(_Explained):
    """A command."""


class CommandGroup(_Explained, click.Group):
    """A command that has commands, which explain themselves likewise."""

    command_class = Command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, then the options."""
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)


store_option = click.option(
    "--store",
    cls=Option,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File that keeps the results.  [TDELTA_STORE, else the user's data folder]",
)
"""The option of every command that reads the store."""


def described(command: click.Command) -> list[str]:
    """What a command does: the paragraphs of its help but for the examples."""
    return [part for part in _paragraphs(command) if not part.startswith(_EXAMPLE)]


def examples(command: click.Command) -> list[str]:
    """The command lines of its examples."""
    return [part.removeprefix(_EXAMPLE) for part in _paragraphs(command) if part.startswith(_EXAMPLE)]


def grouped(command: click.Command, ctx: click.Context) -> Iterator[tuple[str, list[click.Parameter]]]:
    """Its options by the heading of their group; under one heading where all are of one group."""
    options = [one for one in command.get_params(ctx) if isinstance(one, click.Option) and not one.hidden]
    groups = {one: one.group if isinstance(one, Option) else Group.OUTPUT for one in options}
    if len(set(groups.values())) == 1:
        yield _OTHERS, [*options]
        return
    for group in Group:
        if listed := [one for one in options if groups[one] is group]:
            yield group.value, [*listed]


def _write_examples(command: click.Command, formatter: click.HelpFormatter) -> None:
    if lines := examples(command):
        with formatter.section("Examples" if len(lines) > 1 else "Example"):
            for line in lines:
                formatter.write(f"{' ' * formatter.current_indent}{line}\n")


def _paragraphs(command: click.Command) -> list[str]:
    text = inspect.cleandoc(command.help or "")
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
