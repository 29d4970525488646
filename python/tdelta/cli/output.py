"""Where text goes: the answer to standard output, and how wide and colourful it may be."""

from __future__ import annotations

import errno
import functools
import os
import shutil
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, TextIO

import click

from tdelta.cli.exit_codes import UNDECIDED, after, exit_code
from tdelta.errors import EnvironmentFault
from tdelta.messages import Refusal

if TYPE_CHECKING:
    from tdelta.document.blocks import Block
    from tdelta.records import Event, RunResult

_WIDEST = 200

_ASCII = str.maketrans(
    {
        "\N{MINUS SIGN}": "-",
        "\N{EN DASH}": "-",
        "\N{HORIZONTAL ELLIPSIS}": "...",
        "\N{MICRO SIGN}": "u",
        "\N{MULTIPLICATION SIGN}": "x",
        "\N{PLUS-MINUS SIGN}": "+-",
        "\N{LEFT DOUBLE QUOTATION MARK}": '"',
        "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
        "\N{NO-BREAK SPACE}": " ",
        "\N{LIGHT SHADE}": ".",
        "\N{FULL BLOCK}": "#",
        "\N{BOX DRAWINGS HEAVY HORIZONTAL}": "=",
        "\N{BLACK CIRCLE}": "o",
        "\N{RIGHTWARDS ARROW}": "->",
        "\N{GREATER-THAN OR EQUAL TO}": ">=",
        "\N{LESS-THAN OR EQUAL TO}": "<=",
    }
)
"""ASCII in place of signs that the output cannot have."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How much of an answer is printed, and for whom; ``undecided`` is what the exit code makes of such an answer."""

    as_json: bool
    details: bool
    quiet: bool
    undecided: str


MANNER_OPTIONS = ("as_json", "details", "quiet", "undecided")
"""The parameters of `answer_options`."""


def answer_options(command: Callable[..., int]) -> Callable[..., int]:
    """The options of every command that prints an answer; the function gets them as its ``manner``."""

    @click.option(
        "--undecided",
        type=click.Choice(UNDECIDED),
        default=UNDECIDED[0],
        show_default=True,
        help="Whether an undecided answer ends with exit code 3 (fail) or 0 (pass).",
    )
    @click.option("--details", is_flag=True, help="Print everything that was found below the answer.")
    @click.option("--quiet", is_flag=True, help="Print only the sentence.")
    @click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON (docs/json.md).")
    @functools.wraps(command)
    def having(*given: object, as_json: bool, details: bool, quiet: bool, undecided: str, **named: object) -> int:
        typed = [flag for flag, is_on in (("--details", details), ("--quiet", quiet), ("--json", as_json)) if is_on]
        if quiet and len(typed) > 1:
            raise Mistyped(Refusal.of("conflict", one="--quiet", other=", ".join(typed)))
        return command(*given, manner=Manner(as_json, details, quiet, undecided), **named)

    return having


def show_result(result: RunResult, manner: Manner, name: str = "last") -> int:
    """Write one run's answer to standard output; returns its exit code, after ``--undecided``.

    Args:
        result: of the run.
        manner: how much is printed, and for whom.
        name: what the commands of *Next* call the run.
    """
    code = after(exit_code(result), manner.undecided)
    if manner.as_json:
        from tdelta.report.document import document, to_json

        write(to_json(document(result, code)))
    elif manner.quiet:
        from tdelta.report.answer import run_answer

        write(f"{run_answer(result).sentence}\n")
    else:
        from tdelta.report.details import run_blocks

        write_blocks(run_blocks(result, name, with_details=manner.details))
    return code


def ready_to_show() -> None:
    """Import what shows an answer before a run begins: later tdelta may have been replaced, or files have run out."""
    import_module("tdelta.report.document")
    import_module("tdelta.report.details")
    import_module("tdelta.report.drawing")


def drawn_progress() -> AbstractContextManager[Callable[[Event], None]]:
    """Within the block, what the observer sees is drawn on standard error as far as that can be drawn on."""
    from tdelta.report.progress import progress

    return progress(sys.stderr, live=is_live(), color=can_draw())


def typed_flags(ctx: click.Context, parameters: Iterable[click.Parameter], apart_from: Collection[str]) -> list[str]:
    """The flags of those parameters that were typed on the command line, but for some that go with anything."""
    return [
        parameter.opts[0]
        for parameter in parameters
        if parameter.name is not None
        and parameter.name not in apart_from
        and ctx.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
    ]


def write(text: str) -> None:
    """Write to standard output. A reader that went away (``| head``) is no error and changes no exit code."""
    try:
        click.echo(text if _has_signs(sys.stdout) else text.translate(_ASCII), nl=False)
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)


def show(blocks: Iterable[Block], document: Mapping[str, object], *, as_json: bool) -> None:
    """Write what was found to standard output, for people or as JSON."""
    from tdelta.report.document import to_json

    if as_json:
        write(to_json(document))
    else:
        write_blocks(blocks)


def write_blocks(blocks: Iterable[Block]) -> None:
    """Write blocks to standard output as wide as the terminal, in color if it wants that."""
    from tdelta.report.drawing import draw

    write(draw(blocks, width(), color=color()))


def _has_signs(stream: TextIO) -> bool:
    """Whether a stream can have every sign that tdelta writes: UTF does, and of all else nothing is assumed."""
    return (stream.encoding or "utf-8").lower().replace("-", "").startswith("utf")


def write_by(writing: Callable[[TextIO], object]) -> None:
    """Have something that is not at hand as one text written to standard output."""
    writing(sys.stdout)
    sys.stdout.flush()


def require_streams() -> None:
    """See that there is a standard output and a standard error; standard input may be missing.

    Raises:
        EnvironmentFault: one of the two is closed (``>&-``); its words go to the other.
    """
    for stream, name, sign in ((sys.stdout, "output", ">"), (sys.stderr, "error", "2>")):
        if stream is None:
            raise EnvironmentFault(Refusal.of("stream-closed", name=name, sign=sign))


class Mistyped(click.UsageError):
    """Options that do not go together, as click says it; ``said`` is it with its code."""

    def __init__(self, said: Refusal, ctx: click.Context | None = None) -> None:
        super().__init__(said.text, ctx)
        self.said = said


class BadValue(click.BadParameter):
    """A value that an option does not take, as click says it; ``said`` is it with its code."""

    def __init__(
        self,
        said: Refusal,
        ctx: click.Context | None = None,
        param: click.Parameter | None = None,
        *,
        param_hint: str | None = None,
    ) -> None:
        super().__init__(said.text, ctx, param, param_hint)
        self.said = said


def is_of_output(error: OSError) -> bool:
    """Whether it arose while something was written to a standard stream: a full disk, a terminal that is gone."""
    writers = (click.echo.__code__, write.__code__, write_by.__code__)
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code in writers:
            return True
        step = step.tb_next
    return False


def is_of_gone_terminal(error: OSError) -> bool:
    """Whether the terminal that standard output was has been closed: as good as its hang-up, whichever comes first."""
    if error.errno != errno.EIO or sys.stdout is None:
        return False
    try:
        return stat.S_ISCHR(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def silence(stream: TextIO) -> None:
    """Send what is still buffered nowhere, so that the interpreter's last flush cannot fail."""
    with suppress(OSError, ValueError):
        sink = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(sink, stream.fileno())
        finally:
            os.close(sink)


def close_streams() -> None:
    """Silence the streams that cannot be written to, which would have the interpreter end with a code of its own."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            try:
                stream.flush()
            except (OSError, ValueError):
                silence(stream)


def width() -> int:
    """Columns to lay text out for: the terminal's, at most 200; ``COLUMNS`` or 100 in a pipe."""
    from tdelta.report.drawing import DEFAULT_WIDTH

    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return min(_WIDEST, shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns)
    return DEFAULT_WIDTH


def color() -> bool:
    """Whether standard output is a terminal that wants colour (https://no-color.org, ``TERM=dumb``)."""
    return sys.stdout.isatty() and can_draw()


def is_live() -> bool:
    """Whether standard error is a terminal that can be redrawn."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def can_draw() -> bool:
    """Whether the environment allows colours at all."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
