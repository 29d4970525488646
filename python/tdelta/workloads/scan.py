r"""Cuts SQL files into statements and backslash commands, knowing strings and comments.

The grammar is pgbench's: a command is a line that begins with a backslash, a statement ends in ``;`` or ``\gset``. The
load loop's interpreter reads the same files by the same rules.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from tdelta.inputs import requires, too_many
from tdelta.messages import Refusal
from tdelta.workloads.limits import DEEPEST, LONGEST_STATEMENT, MOST_PIECES

_TOKEN = re.compile(
    r"""(?P<string>'[^']*')  # a string with '' inside reads as two, which is as good
      | (?P<name>"[^"]*"|`[^`]*`)
      | (?P<comment>--[^\n]*|/\*.*?\*/)
      | (?P<end>;)
      | (?P<gset>\\gset\b[^\n]*)
      | (?P<command>\\[^\n]*)
      | (?P<unclosed>['"`]|/\*)
      | (?P<space>\s+)
      | (?P<code>[^'"`;\\/\s-]+|.)""",
    re.VERBOSE | re.DOTALL,
)
_PARENTHESIS = re.compile("[()]")
_VARIABLE = re.compile(r"(?<!:):([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Piece:
    r"""A statement or a command.

    ``text`` is as written, without its end; ``code`` the same with strings, quoted names and comments blanked,
    character for character. ``line`` counts from 1. ``gset`` is the prefix of a ``\gset`` that ended a statement, else
    None.
    """

    text: str
    code: str
    line: int
    is_command: bool = False
    gset: str | None = None

    @property
    def is_counted(self) -> bool:
        r"""Whether a client times it as a statement, and numbers it: SQL is, and of commands ``\connect``."""
        return not self.is_command or self.text.split(maxsplit=1)[0] == r"\connect"

    @property
    def is_raw(self) -> bool:
        r"""Whether it is the command ``\raw``, which goes with the statement after it."""
        return self.is_command and self.text.split(maxsplit=1)[0] == r"\raw"

    @property
    def variables(self) -> tuple[str, ...]:
        """The names bound as ``:name``, in order of appearance, each once."""
        return tuple(dict.fromkeys(_VARIABLE.findall(self.code)))


class _Cutter:
    def __init__(self, text: str) -> None:
        self.text = text
        self.pieces: list[Piece] = []
        self.faults: list[tuple[int, Refusal]] = []
        self.start: int | None = None
        self.code: list[str] = []
        self.line_ends = [match.start() for match in re.finditer("\n", text)]

    def line(self, position: int) -> int:
        return bisect_left(self.line_ends, position) + 1

    def take(self, kind: str, token: str, position: int) -> None:
        if kind == "end":
            self.close(position, None)
        elif kind == "gset":
            self.gset(token, position)
        elif kind == "command":
            self.command(token, position)
        elif kind == "unclosed":
            self.fault(position, requires(f"the opening {token}", "its end"))
        elif self.start is not None or kind in ("code", "name", "string"):
            self.start = position if self.start is None else self.start
            self.code.append(" " * len(token) if kind in ("string", "name", "comment") else token)

    def close(self, position: int, gset: str | None) -> None:
        if self.start is None:
            return
        text = self.text[self.start : position].rstrip()
        self.pieces.append(Piece(text, "".join(self.code)[: len(text)], self.line(self.start), gset=gset))
        self.start, self.code = None, []

    def gset(self, token: str, position: int) -> None:
        if self.start is None:
            self.fault(position, requires("\\gset", "a statement before it, whose ';' it replaces"))
        self.close(position, token.removeprefix(r"\gset").strip())

    def command(self, token: str, position: int) -> None:
        text = token.strip()
        if self.start is not None:
            begun = f"the statement of line {self.line(self.start)}"
            self.fault(position, requires(begun, f"';' before {text.split()[0]}"))
            self.start, self.code = None, []
        self.pieces.append(Piece(text, text, self.line(position), is_command=True))

    def fault(self, position: int, said: Refusal) -> None:
        self.faults.append((self.line(position), said))


def cut(text: str) -> tuple[list[Piece], list[tuple[int, Refusal]]]:
    """The pieces of a file in their order, and the faults as (line, text)."""
    cutter = _Cutter(text)
    for match in _TOKEN.finditer(text):
        cutter.take(match.lastgroup or "code", match.group(), match.start())
        if match.lastgroup == "unclosed":  # what follows may be anything
            break
    if cutter.start is not None:
        cutter.fault(cutter.start, requires("this statement", "';' at its end"))
    return cutter.pieces, [*cutter.faults, *_too_much(cutter.pieces)]


def without_last_comments(text: str) -> str:
    """A script without those comments after its end that the load loop takes for the beginning of another statement.

    These are all but lines of ``--``, which it passes over; a script that has no other stays as it is, to the letter.
    """
    end = 0
    for match in _TOKEN.finditer(text):
        if match.lastgroup not in ("space", "comment"):
            end = match.end()
    behind, *lines = text[end:].split("\n")
    is_begun = behind.strip() or any(line.strip() and not line.strip().startswith("--") for line in lines)
    return f"{text[:end]}\n" if is_begun else text


def _too_much(pieces: list[Piece]) -> Iterator[tuple[int, Refusal]]:
    """Faults of a file with more than can be checked; of those pieces little is left."""
    if len(pieces) > MOST_PIECES:
        line = pieces[MOST_PIECES].line
        del pieces[MOST_PIECES:]
        yield line, too_many("statements and commands in a file", MOST_PIECES)
    for number in reversed(range(len(pieces))):
        piece = pieces[number]
        if len(piece.text) > LONGEST_STATEMENT:
            said = too_many("characters in a statement", LONGEST_STATEMENT)
        elif _depth(piece.code) > DEEPEST:
            said = too_many("levels of parentheses", DEEPEST)
        else:
            continue
        del pieces[number]
        yield piece.line, said


def _depth(code: str) -> int:
    """How many parentheses stand within each other at most."""
    depth = deepest = 0
    for sign in _PARENTHESIS.findall(code):
        depth = depth + 1 if sign == "(" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest
