"""How a command explains itself: what it does, examples, then its options in groups, each with its default.

``--help`` prints everything, also exit codes and the factors of ``--vary``. ``-h`` prints the common options only, for
commands that have others. The man page is made of the same parts (`tdelta.cli.man`).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from tdelta.cli.exit_codes import MEANINGS, SHOWN_BRIEFLY
from tdelta.session.groups import Group

_EXAMPLE = "Example: "
_OTHERS = "Options"
_GAP = 3


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
    """A command whose help gives examples before its options, and groups of options if it has several."""

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """``-h`` is an option of its own for commands with a short help."""
        del ctx
        return ["--help"] if _has_short_help(self) else ["-h", "--help"]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters, ``-h`` among them."""
        params = super().get_params(ctx)
        return [*params[:-1], _short_help_option(), *params[-1:]] if _has_short_help(self) else params

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        for number, paragraph in enumerate(described(self)):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(paragraph)
            if not number:
                _write_examples(self, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, options in grouped(self, ctx):
            with formatter.section(heading):
                formatter.write_dl(_records(options, ctx))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The factors of ``--vary`` and the exit codes, for commands that have them."""
        names = {option.name for option in self.get_params(ctx)}
        if "vary" in names:
            from tdelta.design.factors import FACTORS

            with formatter.section("Factors of --vary (repeatable; all combinations run)"):
                formatter.write_dl([(factor.name, factor.expects) for factor in FACTORS.values()])
        if "undecided" in names:
            write_exit_codes(formatter)


class Command(_Explained):
    """A command."""


class CommandGroup(_Explained, click.Group):
    """A command that has commands, which explain themselves likewise."""

    command_class = Command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, then the options."""
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)


FILE = click.Path(path_type=Path, dir_okay=False)
common_option = partial(click.option, cls=Option, group=Group.COMMON)
control_option = partial(click.option, cls=Option, group=Group.CONTROL)
store_option = click.option(
    "--store",
    cls=Option,
    type=FILE,
    metavar="FILE",
    help="File that keeps the results.  [TDELTA_STORE, else the user's data folder]",
)
"""The option of every command that reads the store."""

dry_run_option = common_option("--dry-run", is_flag=True, help="Show the time, disk and memory needed; run nothing.")


def described(command: click.Command) -> list[str]:
    """The paragraphs of a command's help, without the examples."""
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


def write_exit_codes(formatter: click.HelpFormatter) -> None:
    """Each exit code with its meaning."""
    with formatter.section("Exit codes"):
        formatter.write_dl([(str(int(code)), meaning) for code, meaning in MEANINGS.items()])


def _has_short_help(command: click.Command) -> bool:
    """Whether a command has more options than the common ones."""
    groups = {option.group for option in command.params if isinstance(option, Option)}
    return Group.COMMON in groups and len(groups) > 1


def _short_help_option() -> Option:
    about = "Show the common options and exit."
    return Option(["-h"], is_flag=True, expose_value=False, is_eager=True, callback=_print_short_help, help=about)


def _print_short_help(ctx: click.Context, _option: click.Parameter, is_wanted: bool) -> None:
    if not is_wanted or ctx.resilient_parsing:
        return
    formatter = ctx.make_formatter()
    ctx.command.format_usage(ctx, formatter)
    about, *_ = described(ctx.command)
    formatter.write_paragraph()
    formatter.write_text(about)
    formatter.write_paragraph()
    _write_lines(examples(ctx.command), formatter)
    common = next(options for heading, options in grouped(ctx.command, ctx) if heading == Group.COMMON)
    with formatter.section(Group.COMMON.value):
        formatter.write_dl(_records(common, ctx))
    formatter.write_paragraph()
    names = {param.name for param in ctx.command.params}
    if "undecided" in names:
        formatter.write(f"Exit codes: {', '.join(f'{int(code)} {words}' for code, words in SHOWN_BRIEFLY.items())}\n")
    studies = "     Studies: tdelta studies" if "study" in names else ""
    formatter.write(f"All options: {ctx.command_path} --help{studies}\n")
    click.echo(formatter.getvalue().rstrip("\n"))
    ctx.exit()


def _records(options: Sequence[click.Parameter], ctx: click.Context) -> list[tuple[str, str]]:
    return [record for option in options if (record := option.get_help_record(ctx))]


def _write_examples(command: click.Command, formatter: click.HelpFormatter) -> None:
    if lines := examples(command):
        with formatter.section("Examples" if len(lines) > 1 else "Example"):
            _write_lines(lines, formatter)


def _write_lines(lines: Sequence[str], formatter: click.HelpFormatter) -> None:
    """Command lines, with what is said of them in a second column."""
    parts = [line.partition(" # ") for line in lines]
    widest = max(len(command) for command, _, _ in parts)
    indent = " " * max(2, formatter.current_indent)
    for command, sign, remark in parts:
        line = f"{command:<{widest}}{' ' * (_GAP - 1)}{sign}{remark}"
        formatter.write(f"{indent}{line}".rstrip() + "\n")


def _paragraphs(command: click.Command) -> list[str]:
    text = inspect.cleandoc(command.help or "")
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
