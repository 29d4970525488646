r"""Transaction scripts compiled for the Python loop: steps with absolute jumps, statements with a client's marks.

The language is read by `tdelta.workloads.scripts`, which also checks it; here it only becomes steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from sqlglot import exp

from tdelta.driver.scripted.draws import Rng
from tdelta.driver.scripted.evaluating import Evaluate, Value, compiled
from tdelta.workloads import scripts, sql
from tdelta.workloads.scan import Piece

Mark: TypeAlias = Callable[[int], str]
"""How a client writes the N-th parameter of a statement, from 1."""

_VARIABLE = re.compile(r"(?<!:):([A-Za-z_][A-Za-z0-9_]*)")
_GIVEN = ("op", "client", "scale")


class Kind(StrEnum):
    """What a statement is to the client that runs it."""

    BOUNDARY = "boundary"
    QUERY = "query"
    WRITE = "write"
    CONNECT = "connect"


@dataclass(frozen=True, slots=True)
class Statement:
    r"""One statement: its text with a client's marks, and the variables bound to them in order.

    With ``\gset``, ``into`` are the variables that the first row fills, column by column; None without.
    """

    sql: str
    names: tuple[str, ...]
    kind: Kind
    into: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Set:
    """Evaluate and store."""

    name: str
    value: Evaluate


@dataclass(frozen=True, slots=True)
class Run:
    """Run a statement of the program."""

    statement: int


@dataclass(slots=True)
class Unless:
    """Go on at a step unless the condition holds."""

    condition: Evaluate
    target: int = -1


@dataclass(slots=True)
class Jump:
    """Go on at a step."""

    target: int = -1


@dataclass(frozen=True, slots=True)
class LoopStart:
    """Set a counter of rounds that are left."""

    counter: str
    count: Evaluate


@dataclass(slots=True)
class LoopTest:
    """Take one round off the counter, or go on at a step where none is left."""

    counter: str
    target: int = -1


Step: TypeAlias = Set | Run | Unless | Jump | LoopStart | LoopTest


@dataclass(frozen=True, slots=True)
class Program:
    """One transaction type. ``names`` are all variables, with counters, which hold nothing at first."""

    name: str
    steps: tuple[Step, ...]
    statements: tuple[Statement, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mix:
    """Transaction types with their shares: ``thresholds`` are where each one's share of 64 bits ends.

    ``constants`` are variables that hold throughout. Spans are numbered: the types first, then every statement of each.
    """

    programs: tuple[Program, ...]
    thresholds: tuple[int, ...]
    first_span: tuple[int, ...]
    constants: Mapping[str, Value]

    @property
    def span_names(self) -> tuple[str, ...]:
        """The names of the spans: ``tx:NAME``, and ``stmt:NAME/N`` with N from 1."""
        types = [f"tx:{program.name}" for program in self.programs]
        statements = [
            f"stmt:{program.name}/{number}"
            for program in self.programs
            for number in range(1, len(program.statements) + 1)
        ]
        return (*types, *statements)

    def draw(self, rng: Rng) -> int:
        """Which type an operation is of; nothing is drawn where there is one only."""
        if len(self.programs) == 1:
            return 0
        bits = rng.bits()
        return next((index for index, threshold in enumerate(self.thresholds) if bits <= threshold), 0)


def mix_of(transactions: Sequence[Mapping[str, object]], constants: Mapping[str, float], mark: Mark) -> Mix:
    """Compile a mix.

    Args:
        transactions: each with its ``name``, ``weight`` and ``text``.
        constants: variables that hold throughout; a whole number stands for an integer.
        mark: how the client writes parameters.

    Raises:
        ValueError: a script has faults, or no weight is above 0.
    """
    weights = [float(str(one["weight"])) for one in transactions]
    if not sum(weights) > 0:
        raise ValueError("a mix needs at least one transaction with a weight above 0")
    programs = tuple(compile_program(str(one["name"]), str(one["text"]), constants, mark) for one in transactions)
    below, thresholds, first_span, span = 0.0, [], [], len(programs)
    for weight, program in zip(weights, programs, strict=True):
        below += weight / sum(weights)
        thresholds.append(min(int(below * (2.0**64 - 1)), 2**64 - 1))
        first_span.append(span)
        span += len(program.statements)
    thresholds[-1] = 2**64 - 1
    whole = {name: int(value) if float(value).is_integer() else value for name, value in constants.items()}
    return Mix(programs, tuple(thresholds), tuple(first_span), whole)


def compile_program(name: str, text: str, constants: Iterable[str], mark: Mark) -> Program:
    """Compile one script.

    Raises:
        ValueError: it has faults.
    """
    script = scripts.check_script(text, (*_GIVEN, *constants))
    if script.faults:
        line, fault = script.faults[0]
        raise ValueError(f"{name}, line {line}: {fault}")
    compiler = _Compiler(mark)
    for step in script.steps:
        compiler.take(step)
    return Program(name, tuple(compiler.steps), tuple(compiler.statements), tuple(dict.fromkeys(compiler.names)))


class _Compiler:
    """Turns checked steps into steps with jumps. ``open`` holds, for each open block, what is to be patched."""

    def __init__(self, mark: Mark) -> None:
        self.steps: list[Step] = []
        self.statements: list[Statement] = []
        self.names: list[str] = [*_GIVEN]
        self._mark = mark
        self._open: list[_Block] = []

    def take(self, step: scripts.Step) -> None:
        if isinstance(step, scripts.Statement):
            self._statement(step)
            return
        match step.word:
            case "connect":
                self._run(Statement("", (), Kind.CONNECT))
            case "set":
                self.names.append(step.name)
                self.steps.append(Set(step.name, _value(step)))
            case "if":
                self._open.append(_Block())
                self._test(step)
            case "elif":
                self._branch()
                self._test(step)
            case "else":
                self._branch()
            case "repeat":
                self._repeat(step)
            case _:
                self._end()

    def _statement(self, step: scripts.Statement) -> None:
        text, names = marked(step.piece, self._mark)
        into = None
        if step.piece.gset is not None and isinstance(step.tree, exp.Query):
            into = tuple(f"{step.piece.gset}{column.alias_or_name}" for column in step.tree.selects)
        self.names += (*names, *(into or ()))
        kind = Kind.WRITE if step.writes else Kind.QUERY
        if isinstance(step.tree, sql.TRANSACTION):
            kind = Kind.BOUNDARY
        self._run(Statement(text, names, kind, into))

    def _run(self, statement: Statement) -> None:
        self.statements.append(statement)
        self.steps.append(Run(len(self.statements) - 1))

    def _test(self, step: scripts.Command) -> None:
        test = Unless(_value(step))
        self._open[-1].test = test
        self.steps.append(test)

    def _branch(self) -> None:
        """The end of one branch: over the others from there, and to here where its condition does not hold."""
        jump = Jump()
        self.steps.append(jump)
        block = self._open[-1]
        block.ends.append(jump)
        if block.test is not None:
            block.test.target = len(self.steps)
        block.test = None

    def _repeat(self, step: scripts.Command) -> None:
        counter = f"repeat {len(self.steps)}"  # no script can name it
        self.names.append(counter)
        self.steps.append(LoopStart(counter, _value(step)))
        test = LoopTest(counter)
        self._open.append(_Block(loop=test, begins=len(self.steps)))
        self.steps.append(test)

    def _end(self) -> None:
        block = self._open.pop()
        if block.loop is not None:
            self.steps.append(Jump(block.begins))
            block.loop.target = len(self.steps)
            return
        if block.test is not None:
            block.test.target = len(self.steps)
        for jump in block.ends:
            jump.target = len(self.steps)


class _Block:
    r"""An open ``\if`` (``test`` waits for where its branch ends) or ``\repeat`` (``loop``, from step ``begins``)."""

    def __init__(self, loop: LoopTest | None = None, begins: int = -1) -> None:
        self.loop = loop
        self.begins = begins
        self.test: Unless | None = None
        self.ends: list[Jump] = []


def _value(step: scripts.Command) -> Evaluate:
    if step.expression is None:
        raise ValueError(f"line {step.line}: \\{step.word} without an expression")
    return compiled(step.expression)


def marked(piece: Piece, mark: Mark) -> tuple[str, tuple[str, ...]]:
    """A statement with ``:name`` replaced by a client's marks, and the names by number from 1.

    Strings, quoted names and comments stay as they are.
    """
    names: list[str] = []
    parts: list[str] = []
    end = 0
    for found in _VARIABLE.finditer(piece.code):
        if found.group(1) not in names:
            names.append(found.group(1))
        parts += [piece.text[end : found.start()], mark(names.index(found.group(1)) + 1)]
        end = found.end()
    return "".join((*parts, piece.text[end:])), tuple(names)
