"""``tdelta man``: the man page, made of the commands' own help."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import click

from tdelta.cli.commands import ENVIRONMENT, SECTIONS
from tdelta.cli.exit_codes import MEANINGS, ExitCode
from tdelta.cli.help import Command, described, examples, grouped
from tdelta.cli.output import write

_TOPIC = "What encryption at rest costs a database"


@click.command(cls=Command)
def man() -> int:
    """Print the man page: every command and option.

    Example: tdelta man | man -l -

    Example: tdelta man >~/.local/share/man/man1/tdelta.1
    """
    from tdelta import __version__

    write("\n".join(_page(click.get_current_context().find_root(), __version__)) + "\n")
    return ExitCode.ANSWERED


def _page(root: click.Context, version: str) -> Iterator[str]:
    yield f'.TH TDELTA 1 "" "tdelta {_escaped(version)}" "{_TOPIC}"'
    yield ".SH NAME"
    yield f"tdelta \\- {_escaped(_TOPIC[0].lower() + _TOPIC[1:])}"
    yield ".SH SYNOPSIS"
    yield "\\fBtdelta\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]"
    yield ".SH DESCRIPTION"
    yield from _paragraphs(described(root.command))
    for heading, listed in SECTIONS:
        yield f".SH {_escaped(heading.upper())}"
        for entry in listed:
            yield from _command(click.Context(entry.load(), root, entry.name))
    yield ".SH EXIT STATUS"
    yield from _terms((str(int(code)), meaning) for code, meaning in MEANINGS.items())
    yield ".SH ENVIRONMENT"
    yield from _terms(ENVIRONMENT.items())


def _command(ctx: click.Context) -> Iterator[str]:
    usage = " ".join(ctx.command.collect_usage_pieces(ctx))
    yield f".SS {_escaped(f'{ctx.command_path} {usage}')}"
    yield from _paragraphs(described(ctx.command))
    if lines := examples(ctx.command):
        yield from (".PP", ".EX", *(_escaped(line) for line in lines), ".EE")
    for heading, options in grouped(ctx.command, ctx):
        yield from (".PP", f"\\fI{_escaped(heading)}\\fR")
        yield from _terms(record for option in options if (record := option.get_help_record(ctx)))
    if isinstance(ctx.command, click.Group):
        for name, command in ctx.command.commands.items():
            yield from _command(click.Context(command, ctx, name))


def _paragraphs(texts: list[str]) -> Iterator[str]:
    for text in texts:
        yield ".PP"
        yield _escaped(text)


def _terms(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, meaning in pairs:
        yield from (".TP", f"\\fB{_escaped(term)}\\fR", _escaped(meaning))


def _escaped(text: str) -> str:
    """Text as troff shows it: hyphens that can be copied, and no line that is a request."""
    found = re.sub(r"\s+", " ", text).replace("\\", "\\e").replace("-", "\\-")
    found = "".join(sign if sign.isascii() else f"\\[u{ord(sign):04X}]" for sign in found)
    return f"\\&{found}" if found[:1] in ".'" else found
