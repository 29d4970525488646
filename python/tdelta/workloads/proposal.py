r"""A workload that is proposed from nothing but the schema of a user's database and the sizes of its tables.

On up to five of the biggest tables: point reads by key, ranges of 100 rows by key and by an index, an update of one
column, and the insert of a copy of a row where no unique index stands in the way; 70, 15, 10 and 5 in 100. It is a
guess, and says so: the real mix of an application is always better. The same database gives the same proposal.

What is written changes values and keeps them valid as far as that can be known: a text is turned by one character,
the last bit of an integer is flipped, a decimal has another last digit, a real moves by its last one, so lengths
stay. (Setting a column to itself would write nothing: SQLite leaves a page alone whose bytes do not change.) Whether
constraints and triggers agree is found by trying: an update has several scripts where there are several columns, and
the first one that works is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum

from tdelta.messages import Detail
from tdelta.workloads.database import (
    ColumnSample,
    Database,
    DatabaseIndex,
    DatabaseTable,
    IndexColumn,
    is_writable_name,
)
from tdelta.workloads.dialect import Dialect
from tdelta.workloads.keys import key_columns, key_table_name, key_variables
from tdelta.workloads.model import KeyTable, Transaction, Workload
from tdelta.workloads.scripts import check_script, given_variables

MOST_TABLES = 5
SMALLEST_SHARE = 0.01
"""A table under this share of the biggest one's bytes is left out: its few pages are always in the cache."""

RANGE_ROWS = 100
MOST_SAMPLED_COLUMNS = 30
_MOST_UPDATES = 3
_LARGEST_KEY = 2**62  # beyond it there may be no room for keys above the highest one
_WORTH_UPDATING = 0.5
_STORAGES = ("text", "integer", "decimal", "real")  # what an update turns, the first of them first
_SIMPLE_COLLATIONS = frozenset({"BINARY", "NOCASE", "RTRIM"})


class TransactionKind(StrEnum):
    READ = "read"
    RANGE = "range"
    UPDATE = "update"
    INSERT = "insert"


WEIGHTS: Mapping[TransactionKind, float] = {
    TransactionKind.READ: 70.0,
    TransactionKind.RANGE: 15.0,
    TransactionKind.UPDATE: 10.0,
    TransactionKind.INSERT: 5.0,
}
"""The share of each kind in 100 transactions, divided equally among its types."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A transaction type to try. The first of its ``scripts`` that works is taken."""

    name: str
    title: str
    kind: TransactionKind
    table: str
    scripts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    choices: tuple[Choice, ...]
    keys: tuple[KeyTable, ...]
    notes: tuple[Detail, ...]


def biggest(database: Database) -> tuple[DatabaseTable, ...]:
    """The tables that a proposal is about: with rows and a key, the biggest first, up to five."""
    usable = [table for table in database.tables if table.rows and table.key is not None and _is_writable(table)]
    ordered = sorted(usable, key=lambda table: (-table.size_bytes, -table.rows, table.name))
    least = SMALLEST_SHARE * ordered[0].size_bytes if ordered else 0.0
    return tuple(table for table in ordered[:MOST_TABLES] if table.size_bytes >= least)


def updatable(table: DatabaseTable) -> tuple[str, ...]:
    """The columns that an update may change: of no key, no unique index, no foreign key, and not computed.

    Those that no index holds come first.
    """
    held = {column.name for index in table.indexes if index.is_unique for column in index.columns}
    indexed = {column.name for index in table.indexes for column in index.columns}
    free = [
        column.name
        for column in table.columns
        if not column.key_place and not column.is_generated and is_writable_name(column.name)
        if column.name not in held and column.name not in table.foreign_key_columns
    ]
    return tuple(sorted(free, key=lambda name: name in indexed)[:MOST_SAMPLED_COLUMNS])


def rangeable(table: DatabaseTable) -> tuple[DatabaseIndex, ...]:
    """The indexes that hold all rows and begin with a column that the key does not begin with."""
    first_of_key = table.key.names[0] if table.key is not None else ""
    return tuple(
        index
        for index in table.indexes
        if not index.is_of_key and not index.is_partial
        if (first := index.columns[0].name) is not None and first != first_of_key and is_writable_name(first)
    )


def propose(database: Database, dialect: Dialect) -> Proposal:
    """Propose transactions for the biggest tables of a database, in the SQL of its engine.

    Every script has passed the checks of a user's own; one that does not (a name that looks like a call of the clock)
    is left out with a note.
    """
    notes: list[Detail] = []
    choices: list[Choice] = []
    keys: list[KeyTable] = []
    for table in biggest(database):
        writer = _Writer(table, database, {key_table_name(key.name) for key in keys}, dialect)
        keys += writer.key_tables()
        choices += writer.choices(notes)
    for left in (table for table in database.tables if table.rows and (table.key is None or not _is_writable(table))):
        notes.append(
            Detail.of("left-out", what=f"table {left.name!r}", why="no key to find a row by")
            if left.key is None
            else Detail.of("left-out", what=f"table {left.name!r}", why="its name has an unsupported character")
        )
    given = given_variables(()) | database.variables().keys() | key_variables(keys, database).keys()
    kept = tuple(checked for choice in choices if (checked := _checked(choice, given, notes, dialect)))
    return Proposal(kept, tuple(keys), tuple(notes))


def settle(proposal: Proposal, works: Mapping[str, str], file: str) -> Workload:
    """The workload of the choices that work: the script that does, by the choice's name; ``file`` is for the title."""
    settled = [choice for choice in proposal.choices if choice.name in works]
    counts = Counter(choice.kind for choice in settled)
    return Workload(
        name="proposed",
        version=1,
        title=f"Proposed for {file}",
        description=DESCRIPTION,
        tables=(),
        transactions=tuple(
            Transaction(
                choice.name,
                choice.title,
                round(WEIGHTS[choice.kind] / counts[choice.kind], 4),
                works[choice.name],
                choice.kind in (TransactionKind.UPDATE, TransactionKind.INSERT),
            )
            for choice in settled
        ),
        bytes_per_scale=1,
        fixed_bytes=0,
        keys=proposal.keys,
    )


DESCRIPTION = (
    "Proposed by tdelta from the schema and the sizes of the tables, and from nothing else: point reads, ranges,"
    " updates and inserts on the biggest tables, 70, 15, 10 and 5 in 100. Your application's own mix is better."
)


def _is_writable(table: DatabaseTable) -> bool:
    key = table.key
    return is_writable_name(table.name) and key is not None and all(is_writable_name(name) for name in key.names)


def _checked(choice: Choice, given: frozenset[str], notes: list[Detail], dialect: Dialect) -> Choice | None:
    faults = {text: [fault for _, fault in check_script(text, given, dialect).faults] for text in choice.scripts}
    sound = tuple(text for text in choice.scripts if not faults[text])
    if not sound:
        notes.append(Detail.of("left-out", what=choice.name, why=faults[choice.scripts[0]][0]))
    return replace(choice, scripts=sound) if sound else None


class _Writer:
    def __init__(self, table: DatabaseTable, database: Database, made: Set[str], dialect: Dialect) -> None:
        key = table.key
        assert key is not None  # noqa: S101 - `biggest` takes tables with a key only
        self.table = table
        self.key = key
        self.dialect = dialect
        self.quoted = dialect.quoted
        self.stem = database.stems[table.name]
        self.is_drawn_directly = key.is_integer and table.is_dense
        self.key_name = _key_name(self.stem.lower(), database.names | made)

    def key_tables(self) -> list[KeyTable]:
        return [] if self.is_drawn_directly else [KeyTable(self.key_name, self.table.name)]

    def choices(self, notes: list[Detail]) -> Iterator[Choice]:
        """Every transaction type of this table; what cannot be had goes to the notes."""
        name = self.table.name
        yield self._choice(TransactionKind.READ, "read", f"Read {name} by key", (self._read(),))
        yield self._choice(TransactionKind.RANGE, "range", f"Range of {name} by key", (self._range(),))
        if index := self._range_index():
            yield self._choice(
                TransactionKind.RANGE, "index", f"Range of {name} by index {index.name}", (self._index_range(index),)
            )
        if updates := tuple(self._update(*column) for column in _columns_to_update(self.table)):
            yield self._choice(TransactionKind.UPDATE, "update", f"Update {name}", updates)
        else:
            notes.append(Detail.of("no-update", table=name))
        if why := self._no_insert():
            notes.append(why)
        else:
            yield self._choice(TransactionKind.INSERT, "insert", f"Insert into {name}", (self._insert(),))

    def _choice(self, kind: TransactionKind, word: str, title: str, scripts: tuple[str, ...]) -> Choice:
        return Choice(f"{word}_{self.stem.lower()}", title, kind, self.table.name, scripts)

    # ------------------------------------------------------------------------------------------- parts of scripts

    @property
    def _name(self) -> str:
        return self.quoted(self.table.name)

    def _script(self, about: str, *lines: str) -> str:
        return "\n".join((f"-- {about}", *lines, ""))

    def _draw(self, rows_from_there: int = 1) -> str:
        """Draws a row: its number, or the number of its key among the sampled ones."""
        if not self.is_drawn_directly:
            return rf"\set n random(1, :keys_{self.key_name})"
        lowest, highest = f":min_{self.stem}", f":max_{self.stem}"
        if rows_from_there > 1:
            highest = f"max({lowest}, {highest} - {rows_from_there - 1})"
        return rf"\set id random({lowest}, {highest})"

    def _drawn(self) -> str:
        if self.is_drawn_directly:
            return ":id"
        return f"(SELECT {', '.join(key_columns(self.key))} FROM {key_table_name(self.key_name)} WHERE n = :n)"

    def _key(self) -> str:
        columns = [_collated(column, self.quoted) for column in self.key.columns]
        return columns[0] if len(columns) == 1 else f"({', '.join(columns)})"

    def _where(self) -> str:
        if self.dialect.has_types:
            return self.dialect.equal(*self._apart())
        return f"{self._key()} = {self._drawn()}"

    def _from_there(self) -> str:
        if self.dialect.has_types:
            return self.dialect.from_there(*self._apart())
        return f"{self._key()} >= {self._drawn()}"

    def _apart(self) -> tuple[list[str], list[str]]:
        columns = [_collated(column, self.quoted) for column in self.key.columns]
        if self.is_drawn_directly:
            return columns, [":id"]
        table = key_table_name(self.key_name)
        return columns, [f"(SELECT {column} FROM {table} WHERE n = :n)" for column in key_columns(self.key)]

    # ---------------------------------------------------------------------------------------------------- scripts

    def _one_row(self, column: str) -> str:
        """A query for one row by its drawn key.

        The table of keys is joined: MariaDB reads an index from its beginning if the start of a range is a nested
        subquery.
        """
        if self.is_drawn_directly:
            return f"SELECT {column} FROM {self._name} WHERE {self._where()}"
        pairs = zip(self.key.columns, key_columns(self.key), strict=True)
        joined = " AND ".join(f"{_collated(key, self.quoted, 't.')} = k.{sampled}" for key, sampled in pairs)
        keys = key_table_name(self.key_name)
        return f"SELECT t.{column} FROM {keys} AS k JOIN {self._name} AS t ON {joined} WHERE k.n = :n"

    def _read(self) -> str:
        return self._script(f"One row of {self.table.name}, by its key.", self._draw(), f"{self._one_row('*')};")

    def _range(self) -> str:
        ordered = ", ".join(_collated(column, self.quoted) for column in self.key.columns)
        return self._script(
            f"{RANGE_ROWS} rows of {self.table.name} in the order of its key.",
            self._draw(RANGE_ROWS),
            f"SELECT * FROM {self._name} WHERE {self._from_there()} ORDER BY {ordered} LIMIT {RANGE_ROWS};",
        )

    def _range_index(self) -> DatabaseIndex | None:
        """The index with the most different values, so that ranges lie in many places."""
        return min(rangeable(self.table), key=lambda index: (-index.distinct, index.name), default=None)

    def _index_range(self, index: DatabaseIndex) -> str:
        column = _collated(index.columns[0], self.quoted)
        start = f"({self._one_row(self.quoted(index.columns[0].name or ''))})"
        return self._script(
            f"{RANGE_ROWS} rows of {self.table.name} in the order of an index, from the place of a row.",
            self._draw(),
            f"SELECT * FROM {self._name} WHERE {column} >= {start} ORDER BY {column} LIMIT {RANGE_ROWS};",
        )

    def _update(self, name: str, storage: str) -> str:
        column = self.quoted(name)
        turned = self.dialect.turned[storage].format(column=column)
        return self._script(
            f"Another value of the same length in one column of {self.table.name}: to set it to itself writes nothing.",
            self._draw(),
            f"UPDATE {self._name} SET {column} = {turned} WHERE {self._where()};",
        )

    def _no_insert(self) -> Detail | None:
        """Why no copy of a row can be inserted, if so."""
        table = self.table
        if not self.key.is_integer:
            return Detail.of("no-insert", table=table.name, why="its primary key is not one integer")
        if unique := next((index.name for index in table.indexes if index.is_unique), None):
            return Detail.of("no-insert", table=table.name, why=f"the unique index {unique} would reject a copied row")
        if (table.highest or 0) > _LARGEST_KEY:
            return Detail.of("no-insert", table=table.name, why="no room for keys above the highest one")
        if not all(is_writable_name(column) for column in self._copied()):
            return Detail.of("no-insert", table=table.name, why="a column's name has an unsupported character")
        return None

    def _insert(self) -> str:
        copied = [self.quoted(name) for name in self._copied()]
        into, values = list(copied), list(copied)
        if self.table.row_number_column is not None:
            into.insert(0, self.quoted(self.table.row_number_column))
            values.insert(0, self.dialect.new_key.format(highest=f":max_{self.stem}"))
        return self._script(
            f"A copy of a row of {self.table.name} under a new key.",
            self._draw(),
            f"INSERT INTO {self._name} ({', '.join(into)}){self.dialect.overriding}"
            f" SELECT {', '.join(values)} FROM {self._name} WHERE {self._where()};",
        )

    def _copied(self) -> tuple[str, ...]:
        own = self.table.row_number_column
        return tuple(column.name for column in self.table.columns if not column.is_generated and column.name != own)


def _columns_to_update(table: DatabaseTable) -> Sequence[tuple[str, str]]:
    """Columns to try, each with the storage class that most of its values have.

    Texts come before integers and these before reals; columns that no index holds before others; longer texts before
    shorter ones, which are codes more often.
    """
    samples = {sample.column: sample for sample in table.samples}
    indexed = {column.name for index in table.indexes for column in index.columns}
    found = [
        (_STORAGES.index(storage), name in indexed, -samples[name].characters, place, name, storage)
        for place, name in enumerate(updatable(table))
        if name in samples and (storage := _storage_to_turn(samples[name])) is not None
    ]
    return [(name, storage) for *_, name, storage in sorted(found)[:_MOST_UPDATES]]


def _storage_to_turn(sample: ColumnSample) -> str | None:
    """The storage class of at least half of the values, if turning them makes other values."""
    counts = {"text": sample.changing_texts, "integer": sample.integers, "real": sample.reals}
    counts["decimal"] = sample.decimals
    storage = max(counts, key=lambda name: counts[name])
    return storage if counts[storage] >= max(1.0, _WORTH_UPDATING * sample.values) else None


def _collated(column: IndexColumn, quoted: Callable[[str], str], table: str = "") -> str:
    """A column with the collation of its index where that is not the usual one, so that the index can serve."""
    name = f"{table}{quoted(column.name or '')}"
    if column.collation.upper() == "BINARY":
        return name
    collation = column.collation if column.collation.upper() in _SIMPLE_COLLATIONS else quoted(column.collation)
    return f"{name} COLLATE {collation}"


def _key_name(stem: str, names: Set[str]) -> str:
    """A name for the key table that begins with a letter, as names in a folder do, and that no object has."""
    first = stem if stem[0].isalpha() else f"t_{stem}"
    number, free = 2, first
    while key_table_name(free) in names:
        free, number = f"{first}_{number}", number + 1
    return free
