"""A user's database, described: its tables with their keys, columns and indexes. Values only; the driver reads them.

The key of a table is what its rows are found by: the integer primary key, else the declared primary key (unless it is
NULL in most rows, which SQLite allows), else the rowid by a name that no column has taken. A table without any of them
(all of ``rowid``, ``_rowid_`` and ``oid`` are columns of its own) has no key.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Set
from dataclasses import dataclass

ROWID_NAMES = ("rowid", "_rowid_", "oid")
"""The names of SQLite's row number; a column may take any of them (https://sqlite.org/lang_createtable.html#rowid)."""

DENSE_SHARE = 0.99
"""From this share of used numbers on, integer keys are drawn directly: at most 1 in 100 finds no row."""

_KEYED_SHARE = 0.5
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_]+\Z")
_LONGEST_STEM = 48
_EMPTY_RANGE = (1, 0)


@dataclass(frozen=True, slots=True)
class DatabaseColumn:
    """A column. ``key_place`` counts from 1 within the declared primary key, 0 outside of it."""

    name: str
    key_place: int = 0
    is_virtual: bool = False
    is_generated: bool = False


@dataclass(frozen=True, slots=True)
class IndexColumn:
    """A column of an index; ``name`` is None for an expression and for the rowid."""

    name: str | None
    collation: str = "BINARY"


@dataclass(frozen=True, slots=True)
class DatabaseIndex:
    """An index. ``is_of_key`` says that it stands for the declared primary key.

    ``distinct`` is how many different values its first column has in a sample of rows, 0 where none was taken.
    """

    name: str
    columns: tuple[IndexColumn, ...]
    is_unique: bool = False
    is_partial: bool = False
    is_of_key: bool = False
    distinct: int = 0


@dataclass(frozen=True, slots=True)
class ColumnSample:
    """A sample of a column's values.

    How many values there are, NULL included, and how many by storage class; how many texts a turn changes, and how many
    characters the texts have together.
    """

    column: str
    values: int
    integers: int
    reals: int
    texts: int
    changing_texts: int
    characters: int = 0
    decimals: int = 0


@dataclass(frozen=True, slots=True)
class TableKey:
    """The key by which rows are found: one column or several, with the collations of their index."""

    columns: tuple[IndexColumn, ...]
    is_integer: bool

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name or "" for column in self.columns)


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    """An ordinary table: no view, no virtual table, no table of a virtual table's own.

    ``keyed_rows`` are the rows whose key has no NULL. ``lowest`` and ``highest`` bound the integer key or the rowid as
    the twins will have them, None where there is neither or no row. ``samples`` are of columns that could be updated.
    """

    name: str
    rows: int
    size_bytes: int
    columns: tuple[DatabaseColumn, ...]
    indexes: tuple[DatabaseIndex, ...] = ()
    foreign_key_columns: frozenset[str] = frozenset()
    is_without_rowid: bool = False
    keyed_rows: int = 0
    lowest: int | None = None
    highest: int | None = None
    samples: tuple[ColumnSample, ...] = ()

    @property
    def integer_key(self) -> str | None:
        """The column that is the row number (``INTEGER PRIMARY KEY``), else a free name of the rowid, else None."""
        alias = self.row_number_column
        if alias is not None or self.is_without_rowid:
            return alias
        taken = {column.name.casefold() for column in self.columns}
        return next((name for name in ROWID_NAMES if name not in taken), None)

    @property
    def row_number_column(self) -> str | None:
        """The column that is the row number. A declared key that has an index of its own is none."""
        declared = self.declared_key
        if self.is_without_rowid or len(declared) != 1 or any(index.is_of_key for index in self.indexes):
            return None
        return declared[0]

    @property
    def declared_key(self) -> tuple[str, ...]:
        ordered = sorted((column for column in self.columns if column.key_place), key=lambda column: column.key_place)
        return tuple(column.name for column in ordered)

    @property
    def key(self) -> TableKey | None:
        """The key by which rows are found, if any."""
        declared = next((index for index in self.indexes if index.is_of_key), None)
        name = self.integer_key
        if declared is not None and (name is None or self.keyed_rows >= _KEYED_SHARE * self.rows):
            return TableKey(declared.columns[: len(self.declared_key)], is_integer=False)
        return None if name is None else TableKey((IndexColumn(name),), is_integer=True)

    @property
    def is_dense(self) -> bool:
        if self.lowest is None or self.highest is None:
            return False
        return self.rows >= DENSE_SHARE * (self.highest - self.lowest + 1)

    @property
    def stored_columns(self) -> tuple[str, ...]:
        """The columns whose values are in the file: all but virtual generated ones."""
        return tuple(column.name for column in self.columns if not column.is_virtual)


@dataclass(frozen=True, slots=True)
class Database:
    """The content of a database. ``names`` are those of all objects, in lower case; ``virtual_tables`` are ignored."""

    tables: tuple[DatabaseTable, ...]
    names: frozenset[str]
    virtual_tables: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)

    def table(self, name: str) -> DatabaseTable | None:
        """The table of that name; SQLite's names do not tell upper from lower case."""
        return next((table for table in self.tables if table.name.casefold() == name.casefold()), None)

    @property
    def stems(self) -> dict[str, str]:
        return stems(table.name for table in self.tables)

    def variables(self) -> dict[str, int]:
        """The variables that scripts get of the tables: ``rows_T``, and ``min_T`` and ``max_T`` of its row numbers.

        A table without rows has the empty range 1 … 0.
        """
        found: dict[str, int] = {}
        stem_of = self.stems
        for table in self.tables:
            stem = stem_of[table.name]
            found[f"rows_{stem}"] = table.rows
            if table.integer_key is not None:
                is_bounded = table.lowest is not None and table.highest is not None
                lowest, highest = (table.lowest, table.highest) if is_bounded else _EMPTY_RANGE
                found |= {f"min_{stem}": lowest or 0, f"max_{stem}": highest or 0}
        return found


def stems(names: Iterable[str]) -> dict[str, str]:
    """A short plain name for each name: ASCII letters, digits and ``_``, no two alike whatever their case.

    A name that is plain already stays as it is (to 48 characters). Elsewhere accents fall off, and what is left that is
    not plain becomes ``_``; of two that would be alike, the later gets a number.
    """
    every = tuple(names)
    made: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(every, key=lambda name: _PLAIN_NAME.match(name) is None):  # stable: plain ones choose first
        made[name] = _free(_stem(name), taken)
        taken.add(made[name].lower())
    return {name: made[name] for name in every}


def _stem(name: str) -> str:
    if _PLAIN_NAME.match(name):
        return name[:_LONGEST_STEM]
    bare = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return re.sub(r"[^A-Za-z0-9_]+", "_", bare)[:_LONGEST_STEM].strip("_") or "table"


def _free(stem: str, taken: Set[str]) -> str:
    number = 2
    free = stem
    while free.lower() in taken:
        free, number = f"{stem}_{number}", number + 1
    return free


def is_writable_name(name: str) -> bool:
    """Whether a script can name it: control characters would break its lines."""
    return all(character.isprintable() or character == " " for character in name) and "\ufffd" not in name


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
