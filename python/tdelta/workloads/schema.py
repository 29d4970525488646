"""``schema.sql``: one generic text, checked against ``workload.toml`` and turned into each engine's dialect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import sqlglot
from sqlglot import exp

from tdelta.inputs import unexpected
from tdelta.messages import Refusal
from tdelta.workloads import distributions, sql
from tdelta.workloads.dialect import GENERIC, Dialect
from tdelta.workloads.faults import Faults
from tdelta.workloads.scan import cut

_INTEGERS = exp.DataType.INTEGER_TYPES
_REALS = exp.DataType.FLOAT_TYPES
_TEXTS = exp.DataType.TEXT_TYPES
_UNPADDED = {exp.DType.CHAR: exp.DType.VARCHAR, exp.DType.NCHAR: exp.DType.NVARCHAR}


@dataclass(frozen=True, slots=True)
class Schema:
    """The statements of a schema in one dialect: tables to be made before the load, indexes after it."""

    dialect: Dialect
    tables: tuple[str, ...]
    indexes: tuple[str, ...]

    def into(self, dialect: Dialect) -> Schema:
        read, write = self.dialect.sqlglot, dialect.sqlglot
        tables = _turned(self.tables, read, write, names_keys=dialect.names_keys, pads_char=dialect.pads_char)
        return Schema(dialect, tables, _turned(self.indexes, read, write))


@dataclass(frozen=True, slots=True)
class SchemaTable:
    """A table as the schema defines it: its line, its columns' types (``integer``, ``real``, ``text``, ``other``)."""

    line: int
    columns: dict[str, str]
    column_lines: dict[str, int]
    primary_key: tuple[str, ...]


@dataclass(slots=True)
class _Reader:
    file: str
    dialect: Dialect
    faults: Faults
    statements: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: {"TABLE": [], "INDEX": []})
    tables: dict[str, SchemaTable] = field(default_factory=dict)

    def take(self, text: str, line: int) -> None:
        tree = sql.parse(text, self.dialect)
        if isinstance(tree, str):
            self.faults.add(self.file, line, Refusal.of("invalid", kind="SQL", fault=tree))
        elif (why := sql.unwritable(tree)) is not None:
            self.faults.add(self.file, line, Refusal.of("invalid", kind="SQL", fault=why))
        elif isinstance(tree, exp.Create) and tree.kind in self.statements:
            self.statements[tree.kind].append((line, text))
            if tree.kind == "TABLE":
                self.table(tree, text, line)
        else:
            found = " ".join(text.split()[:2])
            self.faults.add(self.file, line, unexpected("CREATE TABLE or INDEX", found))

    def table(self, tree: exp.Create, text: str, line: int) -> None:
        definition = tree.this
        if not isinstance(definition, exp.Schema):
            self.faults.add(self.file, line, Refusal.of("table-as-query"))
            return
        name = definition.this.name
        if name in self.tables:
            self.faults.add(self.file, line, Refusal.of("table-twice", table=name, line=self.tables[name].line))
        columns = {column.name: _type(column) for column in definition.find_all(exp.ColumnDef)}
        places = {column: line + _line_within(text, column) for column in columns}
        self.tables[name] = SchemaTable(line, columns, places, tuple(_primary_key(definition)))


def read_schema(
    text: str, file: str, faults: Faults, dialect: Dialect = GENERIC
) -> tuple[Schema, dict[str, SchemaTable]]:
    """The statements of a schema file that could be read, and the tables they define."""
    reader = _Reader(file, dialect, faults)
    pieces, torn = cut(text)
    for line, fault in torn:
        faults.add(file, line, fault)
    for piece in pieces:
        for fault in sql.nondeterminism(piece):
            faults.add(file, piece.line, fault)
        reader.take(piece.text, piece.line)
    tables = tuple(text for _, text in reader.statements["TABLE"])
    indexes = tuple(text for _, text in reader.statements["INDEX"])
    schema = Schema(dialect, tables, indexes)
    if dialect is GENERIC and not faults:
        _try(reader, faults)
    return schema, reader.tables


def _try(reader: _Reader, faults: Faults) -> None:
    """Makes the schema in an empty database, which knows better than any parser what does not exist."""
    with sql.NameCheck() as check:
        for line, text in reader.statements["TABLE"] + reader.statements["INDEX"]:
            statement = sqlglot.transpile(text, write=sql.CHECKING.sqlglot)[0]
            if fault := check.define(statement):
                faults.add(reader.file, line, Refusal.of("database-says", said=fault))


@cache  # a run asks for its schema again and again, and parsing takes a tenth of a second
def _turned(
    statements: tuple[str, ...], read: str, write: str, *, names_keys: bool = False, pads_char: bool = False
) -> tuple[str, ...]:
    trees = [_in_own_order(sqlglot.parse_one(text, read=read), write) for text in statements]
    for kind in (kind for tree in trees if pads_char for kind in tree.find_all(exp.DataType)):
        kind.set("this", _UNPADDED.get(kind.this, kind.this))
    return tuple((_with_named_key(tree) if names_keys else tree).sql(write) for tree in trees)


def _with_named_key(tree: exp.Expr) -> exp.Expr:
    """The definition of a table whose primary key is called after it."""
    name = exp.to_identifier(f"{tree.this.this.name}_pk")
    for constraint in tree.find_all(exp.ColumnConstraint):
        if isinstance(constraint.args.get("kind"), exp.PrimaryKeyColumnConstraint) and constraint.this is None:
            constraint.set("this", name)
    for key in [*tree.find_all(exp.PrimaryKey)]:
        if not isinstance(key.parent, exp.Constraint):
            key.replace(exp.Constraint(this=name, expressions=[key.copy()]))
    return tree


def _in_own_order(tree: exp.Expr, dialect: str) -> exp.Expr:
    """The same with the columns of an index in the engine's own order of NULLs.

    In another one's order an index could not answer a plain ORDER BY, and the engine would sort.
    """
    are_large = sqlglot.Dialect.get_or_raise(dialect).NULL_ORDERING == "nulls_are_large"
    for ordered in tree.find_all(exp.Ordered):
        ordered.set("nulls_first", are_large is bool(ordered.args.get("desc")))
    return tree


def _type(column: exp.ColumnDef) -> str:
    kind = column.args.get("kind")
    if not isinstance(kind, exp.DataType):
        return "other"
    for types, name in ((_INTEGERS, distributions.INTEGER), (_REALS, distributions.REAL), (_TEXTS, distributions.TEXT)):
        if kind.this in types:
            return name
    return "other"


def _primary_key(definition: exp.Schema) -> Iterator[str]:
    for key in definition.find_all(exp.PrimaryKey):
        for part in key.expressions:
            yield part.name
    for column in definition.find_all(exp.ColumnDef):
        if column.find(exp.PrimaryKeyColumnConstraint):
            yield column.name


def _line_within(text: str, column: str) -> int:
    for number, line in enumerate(text.splitlines()):
        if column in line.replace('"', " ").replace("(", " ").split()[:1]:
            return number
    return 0
