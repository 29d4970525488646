"""Reads a workload folder, and says everything that is wrong with it at once."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tdelta.errors import WorkloadError
from tdelta.inputs import conflict, missing, out_of_range, requires, too_large, too_many, unexpected
from tdelta.messages import Refusal
from tdelta.workloads import BUILT_IN, distributions, limits, sql
from tdelta.workloads.dialect import GENERIC, Dialect
from tdelta.workloads.faults import shown, unknown
from tdelta.workloads.files import FolderFiles
from tdelta.workloads.model import Column, Table, Transaction, Workload
from tdelta.workloads.scan import cut
from tdelta.workloads.schema import Schema, SchemaTable, read_schema
from tdelta.workloads.scripts import Script, check_script, given_variables

SCHEMA = "schema.sql"
_TOP = ("name", "version", "title", "description", "spills", "size", "tables", "transactions")
_ROWS = ("rows", "rows_per_scale", "rows_per")
_DISTRIBUTION = "distribution"
_ROW_BYTES = 3
"""The least that SQLite's file format adds to a row: its pointer, its length and its header's (section 1.6)."""
_SLASH = re.compile(r"^/[ \t\r]*$", re.MULTILINE)
_FREE_BYTES = 1 << 20  # what need not be in ``fixed_bytes``: it changes no plan


def read_folder(folder: Path, dialects: Mapping[str, Dialect]) -> Workload:
    """Reads and checks a folder with ``workload.toml``, ``schema.sql`` and one ``NAME.sql`` for each transaction.

    `dialects`: each engine's, by the names that overrides such as ``schema.NAME.sql`` may have. Raises `WorkloadError`:
    all faults of the folder, each with file and line.
    """
    return read_by(FolderReader(folder, dialects))


def read_by(reader: FolderReader) -> Workload:
    """Raises `WorkloadError`: all faults of the folder, each with file and line."""
    workload = reader.read()
    if workload is None or reader.faults:
        raise WorkloadError(str(reader.folder), reader.faults.refusals())
    return workload


class FolderReader(FolderFiles):
    dialect = GENERIC  # whose SQL the scripts are; by default what all engines have in common
    is_tried = False

    def __init__(self, folder: Path, dialects: Mapping[str, Dialect]) -> None:
        super().__init__(folder)
        self.dialects = dialects

    # ------------------------------------------------------------------------------------------------ the stages

    def read(self) -> Workload | None:
        """None where there is too little to make a workload of."""
        if not self.folder.is_dir():
            self.faults.add(str(self.folder), 0, Refusal.of("no-folder", known=", ".join(BUILT_IN)))
            return None
        schemas, defined = self.schemas()
        document = self.document()
        if document is None:
            return None
        self.unknown_keys(document, _TOP)
        tables = self.tables(document, defined)
        transactions = self.transactions(document, given_variables(table.name for table in tables), schemas)
        per_scale, fixed = self.size(document, tables)
        return Workload(
            name=self.title(document, "name"),
            version=self.typed(document, int, "version") or 0,
            title=self.title(document, "title"),
            description=(self.typed(document, str, "description") or "").strip(),
            tables=tables,
            transactions=transactions,
            bytes_per_scale=per_scale,
            fixed_bytes=fixed,
            schemas=schemas,
            rebuilds=self.rebuilds(),
            routines=self.routines(),
            spills=self.spills(document),
        )

    def spills(self, document: Mapping[str, object]) -> bool:
        value = document.get("spills", False)
        if not isinstance(value, bool):
            self.fault(out_of_range("spills", "true or false", shown(value)), "spills")
        return value is True

    def rebuilds(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for engine, file, text in self.of_engines("rebuild"):
            pieces, torn = cut(text)
            for line, fault in torn:
                self.faults.add(file, line, fault)
            for piece in pieces:
                if piece.is_command or piece.variables:
                    self.faults.add(file, piece.line, unexpected("plain SQL", "a command or a variable"))
            found[engine] = tuple(piece.text for piece in pieces)
        return found

    def routines(self) -> dict[str, tuple[str, ...]]:
        """By engine: statements that are separated by lines with a slash, since semicolons are within them."""
        texts = {engine: text for engine, _, text in self.of_engines("routine")}
        return {engine: tuple(filter(None, map(str.strip, _SLASH.split(text)))) for engine, text in texts.items()}

    def of_engines(self, stem: str) -> Iterator[tuple[str, str, str]]:
        """Engine, name and content of each file ``STEM.ENGINE.sql``, of several with ``+``; unknown ones are faults."""
        for path in sorted(self.folder.glob(f"{stem}.*.sql")):
            for engine in path.name.split(".")[1].split("+"):
                if engine not in self.dialects:
                    self.faults.add(path.name, 0, unknown("engine", engine, self.dialects))
                elif (text := self.text(path.name)) is not None:
                    yield engine, path.name, text

    def schemas(self) -> tuple[dict[str, Schema], dict[str, SchemaTable]]:
        """The generic schema under ``""``, overrides such as ``schema.mysql.sql`` under their engine's name."""
        schemas: dict[str, Schema] = {}
        defined: dict[str, SchemaTable] = {}
        if (text := self.text(SCHEMA)) is not None:
            schemas[""], defined = read_schema(text, SCHEMA, self.faults)
        for engine, file, text in self.of_engines("schema"):
            schemas[engine], own = read_schema(text, file, self.faults, self.dialects[engine])
            self.same_columns(file, own, defined)
        return schemas, defined

    def same_columns(self, file: str, own: Mapping[str, SchemaTable], generic: Mapping[str, SchemaTable]) -> None:
        """Faults where an override has other tables or columns than the generic schema."""
        for name in sorted(own.keys() | generic.keys()):
            if name not in own:
                self.faults.add(file, 0, missing(f"table {name} of schema.sql"))
            elif name not in generic or own[name].columns.keys() != generic[name].columns.keys():
                self.faults.add(file, own[name].line, Refusal.of("columns-otherwise", table=name))

    # ---------------------------------------------------------------------------------------------------- tables

    def tables(self, document: Mapping[str, object], defined: Mapping[str, SchemaTable]) -> tuple[Table, ...]:
        """In load order, held against the schema."""
        entries = self.named_tables(document, "tables")
        tables: list[Table] = []
        for name, entry in entries.items():
            self.unknown_keys(entry, (*_ROWS, "columns"), "tables", name)
            table = self.row_count(Table(name, (), ()), entry, [known.name for known in tables])
            columns = self.columns(table, entry, entries)
            if name in defined:
                self.match_schema(name, columns, defined[name])
                table = replace(table, primary_key=defined[name].primary_key)
            elif defined:
                self.fault(unknown("table", name, defined, name), "tables", name)
            tables.append(replace(table, columns=columns))
        for name in defined.keys() - entries.keys():
            self.faults.add(SCHEMA, defined[name].line, missing(f"[tables.{name}] in workload.toml"))
        self.references(tables)
        return tuple(tables)

    def row_count(self, table: Table, entry: Mapping[str, object], earlier: Iterable[str]) -> Table:
        path = ("tables", table.name)
        given = [key for key in _ROWS if key in entry]
        if len(given) != 1:
            self.fault(
                out_of_range(
                    f"the number of rows of table {table.name}",
                    f"given once, as one of {', '.join(_ROWS)}",
                    " and ".join(given) or "none",
                ),
                *path,
            )
            return replace(table, fixed_rows=1)
        key, value = given[0], entry[given[0]]
        if key == "rows_per":
            return replace(table, rows_per=self.rows_per(table.name, value, set(earlier)))
        wanted = int if key == "rows" else (int, float)
        least = 0 if key == "rows" else math.ulp(0.0)
        if isinstance(value, bool) or not isinstance(value, wanted) or not least <= value <= limits.MOST_ROWS:
            limit = f"{'a whole number of at least' if key == 'rows' else 'a number above'} 0"
            self.fault(out_of_range(key, f"{limit}, and at most {limits.MOST_ROWS}", shown(value)), *path, key)
            return replace(table, fixed_rows=1)
        return replace(table, fixed_rows=int(value)) if key == "rows" else replace(table, rows_per_scale=float(value))

    def rows_per(self, name: str, value: object, earlier: set[str]) -> tuple[str, int]:
        path = ("tables", name, "rows_per")
        if not (isinstance(value, dict) and isinstance(value.get("table"), str) and type(value.get("count")) is int):
            self.fault(out_of_range("rows_per", '{ table = "…", count = … }', shown(value)), *path)
            return name, 1
        self.unknown_keys(value, ("table", "count"), *path)
        if (parent := value["table"]) not in earlier:
            self.fault(unknown("table", parent, earlier, f"{shown(parent)} in rows_per"), *path)
        if not 1 <= value["count"] <= limits.MOST_ROWS:
            self.fault(out_of_range("count", f"1 to {limits.MOST_ROWS}", shown(value["count"])), *path)
        return value["table"], value["count"]

    def columns(self, table: Table, entry: Mapping[str, object], tables: Iterable[str]) -> tuple[Column, ...]:
        path = ("tables", table.name, "columns")
        entries = entry.get("columns")
        if not isinstance(entries, dict) or not entries:
            self.fault(missing(f"[tables.{table.name}.columns]"), *path)
            return ()
        listed = self.entries(entries, *path).items()
        found = (self.column(table, name, value, set(tables)) for name, value in listed)
        return tuple(column for column in found if column is not None)

    def column(self, table: Table, name: str, value: object, tables: set[str]) -> Column | None:
        """A column with its distribution; None where it has faults that leave none."""
        path = ("tables", table.name, "columns", name)
        if not isinstance(value, dict) or not isinstance(value.get(_DISTRIBUTION), str):
            self.fault(out_of_range(f"column {name}", '{ distribution = "…", … }', shown(value)), *path)
            return None
        distribution = value[_DISTRIBUTION]
        if distribution not in distributions.DISTRIBUTIONS:
            found = f"{shown(distribution)} of column {name}"
            self.fault(unknown("distribution", distribution, distributions.DISTRIBUTIONS, found), *path)
            return None
        given = (
            (parameter, item) for parameter, item in value.items() if parameter not in (_DISTRIBUTION, "null_share")
        )
        values = {parameter: distributions.epoch_seconds(item) for parameter, item in given}
        for said in distributions.parameter_faults(distribution, values):
            self.fault(said.at(f"column {name}"), *path)
        if distribution in ("parent", "line") and table.rows_per is None:
            self.fault(
                requires(f"distribution {distribution!r} of column {name}", f"rows_per on table {table.name}"), *path
            )
        if distribution == "ref" and isinstance(values.get("table"), str) and values["table"] not in tables:
            self.fault(
                unknown("table", str(values["table"]), tables, f"{shown(values['table'])} of column {name}"), *path
            )
        return Column(name, distribution, values, self.null_share(value, distribution, *path))

    def null_share(self, value: Mapping[str, object], distribution: str, *path: str) -> float:
        share = value.get("null_share", 0.0)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            self.fault(out_of_range(f"null_share of column {path[-1]}", "0 to 1", shown(share)), *path)
            return 0.0
        if share and not distributions.DISTRIBUTIONS[distribution].nullable:
            self.fault(
                conflict("null_share", f"distribution {distribution!r} of column {path[-1]}, which generates keys"),
                *path,
            )
        return float(share)

    def match_schema(self, name: str, columns: tuple[Column, ...], defined: SchemaTable) -> None:
        """Faults where distributions and schema do not fit each other."""
        path = ("tables", name, "columns")
        for column in columns:
            wanted = defined.columns.get(column.name)
            if wanted is None:
                self.fault(
                    unknown("column", column.name, defined.columns, f"{column.name} of table {name}"),
                    *path,
                    column.name,
                )
                continue
            made = distributions.made_types(column.distribution, column.parameters)
            if wanted != "other" and not made <= {wanted}:
                found = " and ".join(sorted(made))
                self.fault(
                    Refusal.of(
                        "distribution-makes-other",
                        column=column.name,
                        distribution=column.distribution,
                        found=found,
                        wanted=wanted,
                    ),
                    *path,
                    column.name,
                )
        for column_name in defined.columns.keys() - {column.name for column in columns}:
            said = missing(f"the distribution of column {column_name} of table {name}")
            self.faults.add(SCHEMA, defined.column_lines[column_name], said)

    def references(self, tables: list[Table]) -> None:
        """A key drawn for another table must exist there: keys 1 to the number of rows, as ``serial`` makes them."""
        by_name = {table.name: table for table in tables}
        for table in tables:
            for column in table.columns:
                parent = table.rows_per[0] if table.rows_per and column.distribution == "parent" else None
                other = by_name.get(str(parent or column.parameters.get("table")))
                if other is None:
                    continue
                path = ("tables", table.name, "columns", column.name)
                wanted = f"table {other.name}, for column {column.name},"
                keys = {key.name for key in other.columns if key.distribution == "serial"}
                if not keys.intersection(other.primary_key):
                    self.fault(missing(f"a 'serial' primary key in {wanted}"), *path)
                if other.fixed_rows == 0:
                    self.fault(missing(f"a row of {wanted}"), *path)

    def size(self, document: Mapping[str, object], tables: Sequence[Table]) -> tuple[int, int]:
        """Bytes a unit of scale and fixed bytes, of ``[size]``, held against the rows that the same file asks for.

        A run takes its scale from these two numbers and announces disk and time by them: one that is far too small
        would have it make rows without end.
        """
        size = document.get("size")
        if not isinstance(size, dict):
            self.fault(Refusal.of("size-missing"), "size")
            return 1, 0
        self.unknown_keys(size, ("bytes_per_scale", "fixed_bytes"), "size")
        found: list[int] = []
        for key, least, limit in (("bytes_per_scale", 1, "above 0 and of"), ("fixed_bytes", 0, "of at least 0 and")):
            value = size.get(key, None if least else 0)
            if type(value) is not int or not least <= value <= limits.MOST_BYTES:
                wanted = f"a whole number {limit} at most {limits.MOST_BYTES}"
                self.fault(out_of_range(key, wanted, shown(value)), "size", key)
                value = least
            found.append(value)
        per_scale, fixed = found
        if not self.faults:
            self.hold_against_rows(tables, per_scale, fixed)
        return per_scale, fixed

    def hold_against_rows(self, tables: Sequence[Table], per_scale: int, fixed: int) -> None:
        """Faults where the rows alone take more than the size says, or are too many or too long."""
        counted: dict[str, tuple[float, float]] = {}  # for a unit of scale, and at any scale
        for table in tables:
            counted[table.name] = table.rows_per_scale or 0.0, table.fixed_rows or 0
            if table.rows_per is not None:
                parent, each = table.rows_per
                counted[table.name] = counted[parent][0] * each, counted[parent][1] * each
            if max(counted[table.name]) > limits.MOST_ROWS:
                self.fault(too_many("rows at scale 1", limits.MOST_ROWS), "tables", table.name)
            if _row_bytes(table, longest=True) > limits.LONGEST_ROW_BYTES:
                self.fault(too_large("a row", f"{limits.LONGEST_ROW_BYTES} bytes"), "tables", table.name)
        least = [sum(counted[table.name][at] * _row_bytes(table) for table in tables) for at in (0, 1)]
        for key, found, allowed, needed in (
            ("bytes_per_scale", per_scale, per_scale, least[0]),
            ("fixed_bytes", fixed, max(fixed, _FREE_BYTES), least[1]),
        ):
            if allowed < needed:
                self.fault(Refusal.of("size-too-small", key=key, least=needed, found=found), "size", key)

    # ---------------------------------------------------------------------------------------------- transactions

    def transactions(
        self, document: Mapping[str, object], given: frozenset[str], schemas: Mapping[str, Schema]
    ) -> tuple[Transaction, ...]:
        found: list[Transaction] = []
        checked: list[tuple[str, Script]] = []
        steps = 0
        for name, entry in self.named_tables(document, "transactions").items():
            path = ("transactions", name)
            self.unknown_keys(entry, ("title", "weight"), *path)
            weight = entry.get("weight")
            if not distributions.is_weight(weight):
                self.fault(out_of_range("weight", distributions.WEIGHT, shown(weight)), *path, "weight")
                weight = 1.0
            title = self.title(document, *path, "title")
            text = self.text(f"{name}.sql")
            if text is None or steps > limits.MOST_PIECES_OF_ALL:
                continue
            script = check_script(text, given, self.dialect, is_tried=self.is_tried)
            steps += len(script.steps)
            for line, fault in script.faults:
                self.faults.add(f"{name}.sql", line, fault)
            checked.append((f"{name}.sql", script))
            found.append(Transaction(name, title, float(weight), text, script.writes, script.connects))
        if steps > limits.MOST_PIECES_OF_ALL:
            self.fault(too_many("statements and commands in all scripts", limits.MOST_PIECES_OF_ALL), "transactions")
        self.names(checked, schemas)
        return tuple(found)

    def names(self, scripts: list[tuple[str, Script]], schemas: Mapping[str, Schema]) -> None:
        """Checks the tables and columns that scripts name, once the schema itself is sound."""
        schema = schemas.get(sql.CHECKING.name) or (schemas[""].into(sql.CHECKING) if "" in schemas else None)
        if schema is None:
            return
        with sql.NameCheck() as check:
            if any(check.define(statement) for statement in schema.tables):
                return
            for file, script in scripts:
                for statement in script.statements:
                    if not statement.is_raw and (fault := check.fault(statement.piece)):
                        self.faults.add(file, statement.piece.line, fault)


def _row_bytes(table: Table, *, longest: bool = False) -> float:
    """The least that a row takes on average in a file of SQLite, or the most that its texts can."""
    return _ROW_BYTES + sum(
        1
        + (1.0 if longest else 1.0 - column.null_share)
        * distributions.text_bytes(column.distribution, column.parameters, longest)
        for column in table.columns
    )
