"""``tdelta``: the group of commands, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import TextIOWrapper

import click

from tdelta import __version__, _native
from tdelta.cli.analyze import analyze
from tdelta.cli.calibrate import calibrate
from tdelta.cli.contract import contract
from tdelta.cli.engines import engines
from tdelta.cli.exit_codes import ExitCode
from tdelta.cli.export import export
from tdelta.cli.floor import floor
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
from tdelta.cli.plan import plan
from tdelta.cli.report import report
from tdelta.cli.run import run
from tdelta.cli.show import show
from tdelta.cli.studies import studies
from tdelta.cli.verify import verify
from tdelta.driver import signals, sweep_all
from tdelta.errors import Defect, EnvironmentFault, Interrupted, TdeltaError, UsageError
from tdelta.messages import Refusal
from tdelta.panics import panic_words
from tdelta.report.document import error_document, to_json

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
"""What is wrong with a path that a user named, wherever it is first looked at."""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="tdelta", message="%(prog)s %(version)s")
def cli() -> None:
    """What does encryption at rest cost this database: yes or no, how much, and how sure?

    Example: tdelta run
    """
    for folder in sweep_all():
        click.echo(f"removed {folder}, which a run left that was killed", err=True)


for _command in (run, analyze, plan, calibrate, engines, studies, floor, show, report, export, verify, contract):
    cli.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process. ``arguments`` default to the process's own, whose signals are answered.

    A program that gives arguments keeps its own signal handlers until a run installs some.
    """
    signals.take()
    _native.without_memory(f"error: {Refusal.of('no-memory')}\n")
    as_json = _JSON in (sys.argv[1:] if arguments is None else arguments)
    if arguments is not None:
        sys.exit(guarded(lambda: _run(arguments), as_json=as_json))
    try:
        code = guarded(_answering, as_json=as_json)
    except KeyboardInterrupt:  # within the words about something else
        code = _say(Refusal.of("interrupted").text, ExitCode.INTERRUPTED)
    signals.ignore()
    close_streams()
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
    """What was raised, as an exception of tdelta's; None where it is not for this place to answer."""
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
        case Exception():  # the last line of defence: a defect of tdelta is a message too
            return Defect(_defect_message(error))
    said = panic_words(error)
    return None if said is None else Defect(said)


def _said(error: click.ClickException) -> Refusal:
    """What is wrong with the command line: as tdelta says it, or as click does."""
    if isinstance(error, Mistyped | BadValue):
        return error.said
    return Refusal.of("command-line", said=error.format_message())


def _lacking(error: Exception) -> Refusal | None:
    """What the machine, or a limit of this process, does not give; None where that is not what went wrong."""
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
        with suppress(OSError):
            write(to_json(error_document(failure.refusals, text, failure.exit_code)))
    return _say(text, failure.exit_code)


def _say(message: str, code: int) -> int:
    with suppress(OSError):  # a full disk under standard error: the exit code still says it
        print(f"error: {message}", file=sys.stdout if sys.stderr is None else sys.stderr, flush=True)
    return code


def _click_message(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and context is not None:
        return f"expected a command\n\n{context.get_help()}"
    hint = f"\n{context.command_path} --help says more" if context is not None else ""
    return f"{error.format_message()}{hint}"


def _defect_message(error: Exception) -> str:
    if os.environ.get("TDELTA_DEBUG"):
        return f"a defect of tdelta\n{''.join(traceback.format_exception(error))}"
    return f"a defect of tdelta: {type(error).__name__}: {error}\nTDELTA_DEBUG=1 shows where it arose"
