"""``tdelta``: the group of commands, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path

import click

from tdelta import _native
from tdelta.cli.commands import Commands
from tdelta.cli.exit_codes import ExitCode
from tdelta.cli.output import (
    BadValue,
    Mistyped,
    close_streams,
    is_of_gone_terminal,
    is_of_output,
    require_streams,
    silence,
    write,
)
from tdelta.errors import Defect, EnvironmentFault, Interrupted, TdeltaError, UsageError
from tdelta.leaving import panic_words
from tdelta.messages import Refusal
from tdelta.processes import signals

_JSON = "--json"
_NO_PROCESSES = Refusal.of("no-processes")
_NO_FILES = Refusal.of("no-files")
_BY_ERRNO = {
    errno.EAGAIN: _NO_PROCESSES,
    errno.EMFILE: _NO_FILES,
    errno.ENFILE: _NO_FILES,
    errno.ENOMEM: Refusal.of("no-memory"),
}
_OF_PATHS = frozenset({errno.ENAMETOOLONG, errno.EACCES, errno.ELOOP, errno.ENOTDIR})
"""Errors of a path that a user named, wherever it is first opened."""

_LIBRARIES = {"SQLite3 Multiple Ciphers": "apsw-sqlite3mc", "SQLCipher": "sqlcipher3"}
_CONTEXT = {"max_content_width": 100}
_WHERE_TO_BEGIN = """\
tdelta measures what encryption at rest costs a database. Where to begin:

  tdelta run                     SQLite, unencrypted vs. AES-256, in a minute and a half
  tdelta run --database app.db   the same with your own SQLite file, which is only read
  tdelta run --engine mariadb    with a server that tdelta starts and removes
  tdelta engines                 what can be tested here, and what to install for more
  tdelta analyze plain/ tde/     a verdict from results that you already have

tdelta --help lists all commands, tdelta COMMAND --help explains one."""


def _version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    """Print the version, the commit of a checkout, and the versions of Python and of the libraries under test."""
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import PackageNotFoundError, version  # not earlier: it is slow

        from tdelta import __version__

        click.echo(f"tdelta {__version__}{_commit()}")
        click.echo(f"Python {sys.version.partition(' ')[0]}")
        for name, distribution in _LIBRARIES.items():
            try:
                click.echo(f"{name} {version(distribution)} ({distribution})")
            except PackageNotFoundError:
                click.echo(f"{name} not installed ({distribution})")
        ctx.exit()


def _commit() -> str:
    """The commit of the checkout that runs, in parentheses; empty for an installed package, or without Git."""
    root = Path(__file__).parents[3]
    if not ((root / ".git").exists() and (root / "pyproject.toml").is_file()):
        return ""
    command = ["git", "-C", str(root), "rev-parse", "--short=8", "HEAD"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f" (commit {found.stdout.strip()})"


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings=_CONTEXT,
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Print the versions of tdelta and of the libraries it tests, and exit.",
)
@click.pass_context
def cli(ctx: click.Context) -> int | None:
    """What does encryption at rest cost this database: yes or no, how much, and how sure?

    Example: tdelta run
    """
    if ctx.invoked_subcommand is None:
        click.echo(_WHERE_TO_BEGIN, err=True)
        return ExitCode.USAGE
    from tdelta.processes import sweep_all

    for folder in sweep_all():
        click.echo(f"removed {folder}, which a run left that was killed", err=True)
    return None


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process. ``arguments`` default to the process's own, whose signals are answered.

    A program that gives arguments keeps its own signal handlers until a run installs some.
    """
    signals.take()
    _native.without_memory(f"error: {Refusal.of('no-memory')}\n")
    as_json = _JSON in (sys.argv[1:] if arguments is None else arguments)
    if as_json:
        import_module("tdelta.report.document")  # now: nothing can be imported once files or memory have run out
    if arguments is not None:
        sys.exit(guarded(lambda: _run(arguments), as_json=as_json))
    try:
        code = guarded(_answering, as_json=as_json)
    except KeyboardInterrupt:  # within the words about something else
        code = _say(Refusal.of("interrupted").text, ExitCode.INTERRUPTED)
    signals.ignore()
    close_streams()
    if code == ExitCode.INTERRUPTED:
        os._exit(code)  # at the interpreter's end SIGINT may be lethal again, and more of them may come
    sys.exit(code)


def _answering() -> object:
    signals.answer()
    return _run(None)


def _run(arguments: Sequence[str] | None) -> object:
    require_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a Latin-1 terminal shows "?" for "…", no traceback
    return cli.main(args=arguments, prog_name="tdelta", standalone_mode=False)


def guarded(command: Callable[[], object], *, as_json: bool = False) -> int:
    """Call a command; whatever it raises becomes a message on standard error and an exit code.

    Args:
        command: what to call.
        as_json: whether a document with the codes of what went wrong goes to standard output, too.
    """
    try:
        outcome = command()
    except BrokenPipeError:
        silence(sys.stdout)
        return ExitCode.ANSWERED
    except BaseException as error:
        if (failed := _failure(error)) is None:
            raise
        return _failed(failed, error, as_json=as_json)
    return outcome if isinstance(outcome, int) else ExitCode.ANSWERED


def _failure(error: BaseException) -> TdeltaError | None:
    """The exception that was raised, as one of tdelta's; None if another place must answer it."""
    match error:
        case TdeltaError():
            return error
        case click.Abort() | KeyboardInterrupt():
            return Interrupted(Refusal.of("interrupted"))
        case click.ClickException():
            return UsageError(_said(error), text=_click_message(error))
        case OSError() if is_of_output(error) and is_of_gone_terminal(error):
            return Interrupted(Refusal.of("interrupted"))
        case OSError() if is_of_output(error):
            return EnvironmentFault(Refusal.of("output-not-writable", fault=error))
        case OSError() if error.errno in _OF_PATHS and error.filename is not None:
            return UsageError(Refusal.of("path-unusable", path=str(error.filename), fault=error.strerror))
        case Exception() if (lacking := _lacking(error)) is not None:
            return EnvironmentFault(lacking)
        case Exception():  # the last line of defence: an internal error is a message too
            return Defect(_defect_message(error))
    said = panic_words(error)
    return None if said is None else Defect(said)


def _said(error: click.ClickException) -> Refusal:
    """The fault of the command line, in tdelta's words or click's."""
    if isinstance(error, Mistyped | BadValue):
        return error.said
    return Refusal.of("command-line", said=error.format_message())


def _lacking(error: Exception) -> Refusal | None:
    """The resource that the machine, or a limit of this process, lacks; None if something else went wrong."""
    if isinstance(error, MemoryError):
        return _BY_ERRNO[errno.ENOMEM]
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return _NO_PROCESSES
    return _BY_ERRNO.get(error.errno or 0) if isinstance(error, OSError) else None


def _failed(failure: TdeltaError, error: BaseException, *, as_json: bool) -> int:
    """Say what went wrong, with what could not be tidied up on the way. Returns the exit code."""
    if isinstance(error, OSError) and is_of_output(error):
        silence(sys.stdout)
    text = "\n".join((str(failure), *getattr(error, "__notes__", ())))
    if as_json and sys.stdout is not None:
        from tdelta.report.document import error_document, to_json

        with suppress(OSError):
            write(to_json(error_document(failure.refusals, text, failure.exit_code)))
    return _say(text, failure.exit_code)


def _say(message: str, code: int) -> int:
    with suppress(OSError):  # a full disk under standard error: the exit code still says it
        print(f"error: {message}", file=sys.stdout if sys.stderr is None else sys.stderr, flush=True)
    return code


def _click_message(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    hint = f"\nTry '{context.command_path} --help'." if context is not None else ""
    return f"{error.format_message()}{hint}"


def _defect_message(error: Exception) -> str:
    if os.environ.get("TDELTA_DEBUG"):
        import traceback

        return f"internal error\n{''.join(traceback.format_exception(error))}"
    return f"internal error: {type(error).__name__}: {error} (set TDELTA_DEBUG=1 for a traceback)"
