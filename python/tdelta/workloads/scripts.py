r"""Checks transaction scripts: every fault of a script at once, before anything runs.

The language is pgbench's (``\set``, ``\if`` … ``\endif``, ``\gset``, ``:name``) with ``\repeat`` … ``\endrepeat``,
``\connect``, and ``\raw`` before a statement that goes to the engine unread. The load loop compiles the same text in
Rust and stops at the first fault; what passes here compiles there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from tdelta.inputs import conflict, requires, unexpected
from tdelta.messages import Refusal
from tdelta.workloads import expressions, sql
from tdelta.workloads.dialect import GENERIC, Dialect
from tdelta.workloads.faults import unknown
from tdelta.workloads.scan import Piece, cut

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)
_COMMANDS = ("set", "if", "elif", "else", "endif", "repeat", "endrepeat", "gset", "connect", "raw")
_ENDS = {"if": r"\endif", "repeat": r"\endrepeat"}
_GIVEN = ("op", "client", "scale")
_RAW = re.compile(r"(?P<writes>writes\b)?\s*(?:into\s+(?P<into>\S.*))?\Z", re.ASCII)
_ENDING = re.compile(r"(BEGIN|START|COMMIT|END|ROLLBACK(?!\s+(WORK\s+)?TO\b))\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Command:
    r"""A command: ``set`` has a name and an expression, ``if``, ``elif`` and ``repeat`` an expression."""

    line: int
    word: str
    name: str = ""
    expression: expressions.Expression | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """A SQL statement and its syntax tree, which tells little where it was not read (``is_raw``)."""

    piece: Piece
    tree: exp.Expression
    is_raw: bool = False

    @property
    def writes(self) -> bool:
        return self.tree.find(*sql.WRITES) is not None or sql.opaque_writes(self.tree)


Step: TypeAlias = Command | Statement


@dataclass(frozen=True, slots=True)
class Raw:
    r"""The declaration by ``\raw`` of the next statement: whether it changes rows, and the columns for ``\gset``."""

    line: int
    writes: bool
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """A checked script: its steps in order, and its faults as (line, text), by line."""

    steps: tuple[Step, ...]
    faults: tuple[tuple[int, Refusal], ...]

    @property
    def statements(self) -> tuple[Statement, ...]:
        return tuple(step for step in self.steps if isinstance(step, Statement))

    @property
    def writes(self) -> bool:
        return any(statement.writes for statement in self.statements)

    @property
    def connects(self) -> bool:
        return any(isinstance(step, Command) and step.word == "connect" for step in self.steps)


def given_variables(tables: Iterable[str]) -> frozenset[str]:
    """The variables every script has: ``op``, ``client``, ``scale``, and ``rows_TABLE`` for each table."""
    return frozenset(_GIVEN) | {f"rows_{table}" for table in tables}


def check_script(text: str, given: Iterable[str], dialect: Dialect = GENERIC, *, is_tried: bool = False) -> Script:
    """Reads a script and finds its faults; where it has any, its steps are those that could be read.

    `given`: names of the variables that are set before it begins, see `given_variables`; `dialect`: whose SQL it is;
    `is_tried`: whether an engine prepares every statement before anything is measured: then SQL that the parser cannot
    read is the engine's to judge.
    """
    checker = _Checker(frozenset(given), dialect, is_tried)
    pieces, faults = cut(text)
    checker.faults += faults
    for piece in pieces:
        if piece.is_command:
            checker.command(piece)
        else:
            checker.statement(piece)
    return checker.finish()


@dataclass(slots=True)
class _Block:
    r"""An open ``\if`` or ``\repeat``, and whether a transaction was open where it, and each of its branches, ended."""

    word: str
    line: int
    in_transaction: bool
    ends: set[bool]
    has_else: bool = False


def _by_line(fault: tuple[int, Refusal]) -> tuple[int, str]:
    line, said = fault
    return line, said.text


class _Checker:
    """Follows a script in the order of its lines, with the variables set and the blocks open so far."""

    def __init__(self, given: frozenset[str], dialect: Dialect, is_tried: bool) -> None:
        self.given = given
        self.dialect = dialect
        self.is_tried = is_tried
        self.known = set(given)
        self.steps: list[Step] = []
        self.faults: list[tuple[int, Refusal]] = []
        self.blocks: list[_Block] = []
        self.in_transaction = False
        self.begun = 0
        self.declared: Raw | None = None

    def finish(self) -> Script:
        self.end_raw()
        for block in self.blocks:
            self.fault(block.line, requires(f"\\{block.word}", f"its {_ENDS[block.word]}"))
        if not any(isinstance(step, Statement) for step in self.steps) and not self.faults:
            self.fault(1, requires("a script", "at least one SQL statement"))
        if self.in_transaction and not self.blocks:
            self.fault(self.begun, requires("this transaction", "COMMIT; before the end of the script"))
        return Script(tuple(self.steps), tuple(sorted(set(self.faults), key=_by_line)))

    # ------------------------------------------------------------------------------------------------- commands

    def fault(self, line: int, said: Refusal) -> None:
        self.faults.append((line, said))

    def command(self, piece: Piece) -> None:
        word, _, rest = piece.text[1:].replace("\t", " ").partition(" ")
        rest = rest.strip()
        self.end_raw()
        match word:
            case "raw":
                self.declare(piece.line, rest)
            case "set":
                self.set(piece.line, rest)
            case "if" | "repeat":
                self.steps.append(Command(piece.line, word, expression=self.expression(piece.line, rest)))
                self.blocks.append(_Block(word, piece.line, self.in_transaction, set()))
            case "elif" | "else":
                self.branch(piece.line, word, rest)
            case "endif" | "endrepeat":
                self.end(piece.line, word)
            case "connect":
                self.connect(piece.line, rest)
            case _:
                self.fault(piece.line, unknown("command", word, _COMMANDS, f"\\{word}"))

    def expression(self, line: int, text: str) -> expressions.Expression | None:
        try:
            expression = expressions.parse(text)
        except expressions.ExpressionFault as fault:
            self.fault(line, fault.said.at(f"in the expression '{text}'"))
            return None
        self.read(line, expressions.variables(expression))
        return expression

    def set(self, line: int, rest: str) -> None:
        name, _, text = rest.partition(" ")
        if not _NAME.match(name) or not text.strip():
            self.fault(line, unexpected("\\set name expression", "another form"))
            return
        expression = self.expression(line, text.strip())
        self.assign(line, name)
        self.steps.append(Command(line, "set", name, expression))

    def connect(self, line: int, rest: str) -> None:
        if rest:
            self.fault(line, unexpected("\\connect alone", f"{rest!r} after it"))
        if self.in_transaction:
            self.fault(line, conflict("\\connect", "an open transaction"))
        self.steps.append(Command(line, "connect"))

    def declare(self, line: int, rest: str) -> None:
        match = _RAW.match(rest)
        columns = tuple(re.split(r"[\s,]+", match["into"].strip(" ,"))) if match and match["into"] else ()
        if match is None or not all(map(_NAME.match, columns)):
            self.fault(line, unexpected("\\raw, \\raw writes or \\raw [writes] into COLUMN, …", f"\\raw {rest}"))
        self.declared = Raw(line, match is not None and match["writes"] is not None, columns)

    def end_raw(self) -> None:
        if self.declared is not None:
            self.fault(self.declared.line, requires("\\raw", "a statement directly after it"))
        self.declared = None

    def branch(self, line: int, word: str, rest: str) -> None:
        block = self.blocks[-1] if self.blocks else None
        if block is None or block.word != "if" or block.has_else:
            self.fault(line, requires(f"\\{word}", "an open \\if"))
            return
        block.ends.add(self.in_transaction)
        block.has_else = word == "else"
        self.in_transaction = block.in_transaction
        self.steps.append(Command(line, word, expression=None if word == "else" else self.expression(line, rest)))

    def end(self, line: int, word: str) -> None:
        opened = word.removeprefix("end")
        if not self.blocks or self.blocks[-1].word != opened:
            self.fault(line, requires(f"\\{word}", f"an open \\{opened}"))
            return
        block = self.blocks.pop()
        self.steps.append(Command(line, word))
        # Without \else, or with no turn of the loop, the block may be passed over.
        ends = block.ends | {self.in_transaction} | (set() if block.has_else else {block.in_transaction})
        if len(ends) > 1:
            self.fault(line, Refusal.of("transaction-half-done", line=block.line))

    # ------------------------------------------------------------------------------------------------ variables

    def read(self, line: int, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.known:
                self.fault(line, unknown("variable", name, self.known, f":{name}"))

    def assign(self, line: int, name: str) -> None:
        if name in self.given:
            self.fault(line, Refusal.of("variable-given", name=name))
        self.known.add(name)

    # ----------------------------------------------------------------------------------------------- statements

    def statement(self, piece: Piece) -> None:
        self.read(piece.line, piece.variables)
        self.faults += [(piece.line, fault) for fault in sql.nondeterminism(piece)]
        if "?" in piece.code:
            self.fault(piece.line, Refusal.of("question-mark"))
        if self.declared is not None:
            self.raw(piece, self.declared)
            return
        tree = sql.parse(piece.text, self.dialect)
        judged = sql.opaque(piece) if self.is_tried and piece.gset is None else None
        if judged is not None and not isinstance(tree, (exp.Query, *sql.WRITES, *sql.TRANSACTION)):
            self.steps.append(Statement(piece, judged))
            return
        if isinstance(tree, str):
            self.fault(piece.line, Refusal.of("statement-not-readable", why=tree))
        elif isinstance(tree, sql.TRANSACTION):
            self.transaction(piece.line, tree)
        elif not isinstance(tree, (exp.Query, *sql.WRITES)):
            self.fault(piece.line, Refusal.of("not-of-a-transaction", statement=piece.text.split()[0].upper()))
        if piece.gset is not None:
            self.store(piece, tree)
        if isinstance(tree, exp.Expression):
            self.steps.append(Statement(piece, tree))

    def raw(self, piece: Piece, declared: Raw) -> None:
        """Takes a statement as it is written. Transactions are followed, so that what ends one is never raw."""
        self.declared = None
        if match := _ENDING.match(piece.code):
            self.fault(piece.line, conflict("\\raw", f"{match[1].split()[0].upper()}, which tdelta has to see"))
        if piece.gset is not None and not declared.columns:
            self.fault(piece.line, requires("\\gset after \\raw", "the columns: \\raw into COLUMN, …"))
        if piece.gset is None and declared.columns:
            self.fault(piece.line, requires("\\raw … into", "\\gset at its end"))
        for column in declared.columns if piece.gset is not None else ():
            self.assign(piece.line, f"{piece.gset}{column}")
        tree = exp.Command(this=piece.code.split(maxsplit=1)[0], expression="WRITE" if declared.writes else "")
        self.steps.append(Statement(piece, tree, is_raw=True))

    def transaction(self, line: int, tree: exp.Expression) -> None:
        opens = isinstance(tree, exp.Transaction)
        if opens and self.in_transaction:
            self.fault(line, conflict("BEGIN", "an open transaction"))
        if not opens and not self.in_transaction:
            self.fault(line, requires(tree.key.upper(), "an open transaction"))
        self.in_transaction = opens
        self.begun = line if opens else self.begun

    def store(self, piece: Piece, tree: exp.Expression | str) -> None:
        if isinstance(tree, str):
            return
        if not isinstance(tree, exp.Query):
            self.fault(piece.line, requires("\\gset", "a SELECT"))
            return
        for column in tree.selects:
            if isinstance(column, exp.Column | exp.Alias) and _NAME.match(column.alias_or_name):
                self.assign(piece.line, f"{piece.gset}{column.alias_or_name}")
            else:
                self.fault(piece.line, Refusal.of("gset-without-names"))
