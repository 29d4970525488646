"""The commands, each in one row. A command's module is imported when the command runs, or when its own help is shown.

`tdelta --help`, `tdelta man`, shell completion and docs/cli.md list what stands here. A command is a module of
`tdelta.cli` with a click command of the same name in it, and one row; CONTRIBUTING.md has the steps.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from tdelta.cli.help import CommandGroup, write_exit_codes
from tdelta.errors import Interrupted
from tdelta.messages import Refusal


@dataclass(frozen=True, slots=True)
class Entry:
    """One command.

    Attributes:
        name: what is typed.
        about: its line in ``tdelta --help``.
        module: its module in `tdelta.cli`, in which the click command has the module's name. The command's name
            where that can be a module's.
    """

    name: str
    about: str
    module: str = ""

    def load(self) -> click.Command:
        """The command, its module imported."""
        module = self.module or self.name
        found = getattr(import_module(f"tdelta.cli.{module}"), module)
        assert isinstance(found, click.Command)  # noqa: S101 - a row that names something else is a defect
        return found


SECTIONS: tuple[tuple[str, tuple[Entry, ...]], ...] = (
    (
        "Measure",
        (
            Entry("run", "Measure what encryption costs."),
            Entry("decide", "Answer all questions about encryption on one page."),
            Entry("compare", "Measure which of two builds is faster, without encryption."),
            Entry("init", "Create a project file (tdelta.toml)."),
            Entry("fleet", "Measure all databases listed in INVENTORY."),
            Entry("plan", "Estimate how long a run must measure here."),
            Entry("calibrate", "Show what can be detected on this machine."),
            Entry("cipher-cost", "Measure what AES costs on this CPU.", "cipher_cost"),
        ),
    ),
    (
        "Read answers",
        (
            Entry("show", "Show the answer of a run again."),
            Entry("runs", "List the stored runs; label, note, remove and prune them."),
            Entry("history", "Show the overhead run by run, and where it changed."),
            Entry("pack", "Write a run as one file, to be handed on."),
            Entry("import", "Import a packed run and show its result.", "importing"),
            Entry("report", "Write the HTML page of a run."),
            Entry("export", "Write the trials of a run as CSV, JSON, …."),
        ),
    ),
    (
        "Existing results",
        (
            Entry("analyze", "Judge results of other tools."),
            Entry("verify", "Check files for plaintext."),
        ),
    ),
    (
        "Information",
        (
            Entry("engines", "List what can be tested here, and what to install."),
            Entry("studies", "List the built-in studies."),
        ),
    ),
    (
        "Help",
        (
            Entry("completion", "Have your shell complete commands, options and names."),
            Entry("man", "Print the man page."),
        ),
    ),
    (
        "For developers",
        (Entry("check-servers", "Check that tdelta works with two of your own servers.", "check_servers"),),
    ),
)
"""The commands under the headings of ``tdelta --help``."""


def entries() -> Iterator[Entry]:
    """Every command, in the order of ``tdelta --help``."""
    for _heading, listed in SECTIONS:
        yield from listed


ENVIRONMENT = {
    "TDELTA_STORE": "file that keeps the results, without --store",
    "TDELTA_DEBUG": "show the traceback of an internal error",
    "TDELTA_EFFORT": "brief: shorten all measurements except trials, for tests",
    "XDG_DATA_HOME, XDG_CACHE_HOME": "parents of the folders of results and of the copies' files",
    "NO_COLOR": "no colors, even on a terminal",
    "COLUMNS": "width of text if standard output is not a terminal",
}


class Commands(CommandGroup):
    """A group whose commands are those of the table, imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the table's order."""
        return [*(entry.name for entry in entries()), *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now; None where there is none."""
        found = next((entry for entry in entries() if entry.name == cmd_name), None)
        return super().get_command(ctx, cmd_name) if found is None else found.load()

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin so, without importing any, and the group's own options."""
        found = [CompletionItem(one.name, help=one.about) for one in entries() if one.name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> object:
        """Run the command. Ctrl-C, also while its modules are imported, is an error with what could not be tidied up.

        Raises:
            Interrupted: the user, or the system, asked for an end.
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            interrupted = Interrupted(Refusal.of("interrupted"))
            for note in getattr(stop, "__notes__", ()):
                interrupted.add_note(note)
            if sys.stderr.isatty():
                click.echo(err=True)  # ends the line of the terminal's ^C
            raise interrupted from stop

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands under their headings, without importing any."""
        del ctx
        widest = max(len(entry.name) for entry in entries())
        for heading, listed in SECTIONS:
            with formatter.section(heading):
                formatter.write_dl([(entry.name.ljust(widest), entry.about) for entry in listed])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The exit codes and the environment variables of every command."""
        del ctx
        write_exit_codes(formatter)
        with formatter.section("Environment"):
            formatter.write_dl([*ENVIRONMENT.items()])
