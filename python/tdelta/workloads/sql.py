from __future__ import annotations

import logging
import re
from collections.abc import Iterable

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tdelta.messages import Refusal
from tdelta.workloads.dialect import GENERIC, Dialect
from tdelta.workloads.scan import Piece

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # a warning would quote the script on standard error

WRITES = (exp.Insert, exp.Update, exp.Delete, exp.Merge)  # statements that change rows
TRANSACTION = (exp.Transaction, exp.Commit, exp.Rollback)  # statements that open or end a transaction
_WRITING = frozenset(("INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE"))
_FIRST_WORDS = _WRITING | {"SELECT", "WITH", "VALUES"}
_WORD = re.compile(r"[A-Z]+")
_CLOCK = re.compile(
    r"\b(current_timestamp|current_date|current_time|localtimestamp|localtime|sysdate|systimestamp)\b", re.I
)
_CLOCK_CALL = re.compile(
    r"\b(now|getdate|sysdatetime|curdate|curtime|utc_timestamp|unix_timestamp|clock_timestamp)\s*\(", re.I
)
_CHANCE_CALL = re.compile(
    r"\b(random|rand|randomblob|uuid|newid|gen_random_uuid|generate_uuid|uuid_generate_v4)\s*\(", re.I
)
_TIME_CALL = re.compile(r"\b(date|time|datetime|julianday|unixepoch|strftime)\s*\(([^()]*)\)", re.IGNORECASE)
_OF_NOW = re.compile(r"'\s*now\s*'|\A\s*\Z", re.IGNORECASE)
# Only what is said of names: one grammar is no yardstick for a workload that may be meant for another engine.
_NAME_FAULTS = re.compile(
    r"no such (table|column)|has no column named|ambiguous column name|values for \d+ columns|columns but \d+ values"
)


CHECKING = Dialect("sqlite", "sqlite")
"""The dialect of `NameCheck`: Python's own sqlite3, whatever engine the workload is for."""


def parse(text: str, dialect: Dialect = GENERIC) -> exp.Expression | str:
    for written, read in dialect.misread:
        text = written.sub(read, text)
    try:
        tree = sqlglot.parse_one(text, read=dialect.sqlglot)
    except RecursionError:
        return "it is nested too deeply"
    except SqlglotError as error:
        details = getattr(error, "errors", None)
        if not details:
            return str(error).splitlines()[0]
        first = details[0]
        return f"{first['description'].rstrip('.')} at {first['highlight']!r}"
    return tree if isinstance(tree, exp.Expression) else "it is no statement"


def opaque(piece: Piece) -> exp.Expression | None:
    """A statement that the parser cannot read, as far as its first word and its keywords tell; None for no statement.

    Whether it is one at all, is for the engine to say.
    """
    words = _WORD.findall(piece.code.upper())
    if not words or words[0] not in _FIRST_WORDS:
        return None
    return exp.Command(this=words[0], expression=next((it for it in words if it in _WRITING), ""))


def opaque_writes(tree: exp.Expression) -> bool:
    return isinstance(tree, exp.Command) and bool(tree.args.get("expression"))


def unwritable(tree: exp.Expression) -> str | None:
    """Why a statement that was read cannot be written for another engine: sqlglot lacks that for a few clauses."""
    try:
        tree.sql(CHECKING.sqlglot)
    except SqlglotError as error:
        return str(error).splitlines()[0]
    except AttributeError:
        return "it has a clause that cannot be turned into other engines' SQL"
    return None


def nondeterminism(piece: Piece) -> Iterable[Refusal]:
    """Why a statement would not do the same on every twin: it reads the clock or draws by itself."""
    for pattern in (_CLOCK, _CLOCK_CALL):
        if match := pattern.search(piece.code):
            yield Refusal.of("reads-the-clock", what=match.group(1))
    if match := _CHANCE_CALL.search(piece.code):
        yield Refusal.of("draws-by-itself", function=match.group(1))
    for match in _TIME_CALL.finditer(piece.text):
        if _OF_NOW.search(match.group(2)):
            yield Refusal.of("reads-the-clock", what=f"{match.group(1)}() of the present")
            return


class NameCheck:
    """Finds unknown tables and columns by preparing statements in an empty in-memory SQLite with the same schema."""

    def __init__(self) -> None:
        import sqlite3  # not earlier: a worker, which imports this package, is to hold no SQLite but the one under test

        self._database = sqlite3.connect(":memory:")
        self._error = sqlite3.Error

    def __enter__(self) -> NameCheck:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def define(self, statement: str) -> str | None:
        """Runs a statement of the schema; what SQLite says against it, or None."""
        try:
            self._database.execute(statement)
        except self._error as error:
            return str(error)
        return None

    def fault(self, piece: Piece) -> Refusal | None:
        """The fault in the names of a statement, or None."""
        try:
            self._database.execute(f"EXPLAIN {piece.text}", dict.fromkeys(piece.variables))
        except self._error as error:
            return Refusal.of("database-says", said=error) if _NAME_FAULTS.search(str(error)) else None
        return None
