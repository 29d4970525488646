"""Reads a workload folder, and says everything that is wrong with it at once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from tdelta.errors import WorkloadError
from tdelta.workloads import laws, sql
from tdelta.workloads.dialect import GENERIC, Dialect
from tdelta.workloads.faults import Faults, hint
from tdelta.workloads.model import Column, Table, Transaction, Workload
from tdelta.workloads.scan import cut
from tdelta.workloads.schema import Schema, SchemaTable, read_schema
from tdelta.workloads.scripts import Script, check_script, given_variables
from tdelta.workloads.toml_lines import key_lines, line_of

TOML = "workload.toml"
SCHEMA = "schema.sql"

_T = TypeVar("_T")
_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_POSITION = re.compile(r"\s*\(at line (\d+), column (\d+)\)")
_TOP = ("name", "version", "title", "description", "size", "tables", "transactions")
_ROWS = ("rows", "rows_per_scale", "rows_per")
_NO_SCHEMA = (
    "is missing: it defines the tables in generic SQL (a workload on a database of your own has none: --database)"
)


def read_folder(folder: Path, dialects: Mapping[str, Dialect]) -> Workload:
    """Reads and checks a folder with ``workload.toml``, ``schema.sql`` and one ``NAME.sql`` for each transaction.

    Args:
        folder: where it is.
        dialects: each engine's, by the names that overrides such as ``schema.NAME.sql`` may have.

    Raises:
        WorkloadError: all faults of the folder, each with file and line.
    """
    return read_by(FolderReader(folder, dialects))


def read_by(reader: FolderReader) -> Workload:
    """What a reader reads.

    Raises:
        WorkloadError: all faults of the folder, each with file and line.
    """
    workload = reader.read()
    if workload is None or reader.faults:
        raise WorkloadError(str(reader.folder), reader.faults.texts())
    return workload


class FolderReader:
    """One reading of one folder."""

    dialect = GENERIC
    """Whose SQL the scripts are; by default what all engines have in common."""

    def __init__(self, folder: Path, dialects: Mapping[str, Dialect]) -> None:
        self.folder = folder
        self.dialects = dialects
        self.faults = Faults()
        self.lines: Mapping[tuple[str, ...], int] = {}

    # ------------------------------------------------------------------------------------------------ the stages

    def read(self) -> Workload | None:
        """Reads the whole folder; None where there is too little to make a workload of."""
        if not self.folder.is_dir():
            self.faults.add(str(self.folder), 0, f"is no folder: a workload is a folder with {TOML} and {SCHEMA}")
            return None
        schemas, defined = self.schemas()
        document = self.document()
        if document is None:
            return None
        self.unknown_keys(document, _TOP)
        tables = self.tables(document, defined)
        transactions = self.transactions(document, given_variables(table.name for table in tables), schemas)
        per_scale, fixed = self.size(document)
        return Workload(
            name=self.typed(document, str, "name") or "",
            version=self.typed(document, int, "version") or 0,
            title=self.typed(document, str, "title") or "",
            description=(self.typed(document, str, "description") or "").strip(),
            tables=tables,
            transactions=transactions,
            bytes_per_scale=per_scale,
            fixed_bytes=fixed,
            schemas=schemas,
            rebuilds=self.rebuilds(),
        )

    def rebuilds(self) -> dict[str, tuple[str, ...]]:
        """The statements of files such as ``rebuild.mysql.sql``, by engine, as they stand there."""
        found: dict[str, tuple[str, ...]] = {}
        for path in sorted(self.folder.glob("rebuild.*.sql")):
            engine = path.name.split(".")[1]
            if engine not in self.dialects:
                self.faults.add(path.name, 0, f"unknown engine {engine!r}.{hint(engine, self.dialects)}")
            elif (text := self.text(path.name, "is missing")) is not None:
                pieces, torn = cut(text)
                for line, fault in torn:
                    self.faults.add(path.name, line, fault)
                for piece in pieces:
                    if piece.is_command or piece.variables:
                        self.faults.add(path.name, piece.line, "expected plain SQL, found a command or a variable")
                found[engine] = tuple(piece.text for piece in pieces)
        return found

    def text(self, name: str, missing: str) -> str | None:
        """The content of a file of the folder; a fault if there is none that can be read."""
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            near = [path.name for path in self.folder.glob("*") if path.suffix == Path(name).suffix]
            self.faults.add(name, 0, f"{missing}.{hint(name, near) if near else ''}")
        except (OSError, UnicodeDecodeError) as error:
            self.faults.add(name, 0, f"cannot be read: {error}")
        return None

    def document(self) -> dict[str, object] | None:
        """The content of ``workload.toml``; a fault if it is no TOML."""
        text = self.text(TOML, "is missing: it says tables, laws and transactions")
        if text is None:
            return None
        self.lines = key_lines(text)
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            place = _POSITION.search(str(error))
            why = _POSITION.sub(f", column {place.group(2)}" if place else "", str(error))
            self.faults.add(TOML, int(place.group(1)) if place else 0, f"this is no TOML: {why}")
        return None

    def schemas(self) -> tuple[dict[str, Schema], dict[str, SchemaTable]]:
        """The generic schema under ``""``, overrides such as ``schema.mysql.sql`` under their engine's name."""
        schemas: dict[str, Schema] = {}
        defined: dict[str, SchemaTable] = {}
        if (text := self.text(SCHEMA, _NO_SCHEMA)) is not None:
            schemas[""], defined = read_schema(text, SCHEMA, self.faults)
        for path in sorted(self.folder.glob("schema.*.sql")):
            engine = path.name.split(".")[1]
            if engine not in self.dialects:
                self.faults.add(path.name, 0, f"unknown engine {engine!r}.{hint(engine, self.dialects)}")
            elif (text := self.text(path.name, "is missing")) is not None:
                schemas[engine], own = read_schema(text, path.name, self.faults, self.dialects[engine])
                self.same_columns(path.name, own, defined)
        return schemas, defined

    def same_columns(self, file: str, own: Mapping[str, SchemaTable], generic: Mapping[str, SchemaTable]) -> None:
        """Faults where an override has other tables or columns than the generic schema."""
        for name in sorted(own.keys() | generic.keys()):
            if name not in own:
                self.faults.add(file, 0, f"lacks table {name}, which {SCHEMA} defines")
            elif name not in generic or own[name].columns.keys() != generic[name].columns.keys():
                self.faults.add(file, own[name].line, f"table {name} has other columns than in {SCHEMA}")

    # ------------------------------------------------------------------------------------------- reading of TOML

    def fault(self, text: str, *path: str) -> None:
        """A fault at the line of a key of ``workload.toml``."""
        self.faults.add(TOML, line_of(self.lines, *path), text)

    def typed(self, document: Mapping[str, object], kind: type[_T], *path: str) -> _T | None:
        """The value at ``path``; a fault if it is missing or of another type."""
        value: object = document
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is None:
            self.fault(f"{'.'.join(path)} is missing", *path)
        elif isinstance(value, bool) or not isinstance(value, kind):
            names = {str: "a text", int: "an integer", dict: "a table", list: "a list"}
            self.fault(f"{'.'.join(path)} must be {names[kind]}, found {value!r}", *path)
        else:
            return value
        return None

    def unknown_keys(self, table: Mapping[str, object], known: Iterable[str], *path: str) -> None:
        """Faults for the keys that nobody reads."""
        names = tuple(known)
        for key in table.keys() - set(names):
            self.fault(f"unknown key {'.'.join((*path, key))!r}.{hint(key, names)}", *path, key)

    def named_tables(self, document: Mapping[str, object], key: str) -> dict[str, dict[str, object]]:
        """The tables under ``key`` by name, e.g. ``[tables.orders]``."""
        found: dict[str, dict[str, object]] = {}
        for name, value in (self.typed(document, dict, key) or {}).items():
            if not _NAME.match(name):
                self.fault(f"{name!r} is no name: lower-case letters, digits and _, a letter first", key, name)
            if isinstance(value, dict):
                found[name] = value
            else:
                self.fault(f"{key}.{name} must be a table, found {value!r}", key, name)
        if not found and key in document:
            self.fault(f"{key} must name at least one", key)
        return found

    def size(self, document: Mapping[str, object]) -> tuple[int, int]:
        """Bytes a unit of scale and fixed bytes, of ``[size]``."""
        remedy = "load scale 1 and scale 11 into a plain file of SQLite; a tenth of the difference is bytes_per_scale"
        size = document.get("size")
        if not isinstance(size, dict):
            self.fault(f"the table [size] with bytes_per_scale is missing: {remedy}", "size")
            return 1, 0
        self.unknown_keys(size, ("bytes_per_scale", "fixed_bytes"), "size")
        per_scale, fixed = size.get("bytes_per_scale"), size.get("fixed_bytes", 0)
        if not isinstance(per_scale, int) or per_scale <= 0:
            self.fault(
                f"bytes_per_scale must be a whole number above 0, found {per_scale!r}: {remedy}",
                "size",
                "bytes_per_scale",
            )
        if not isinstance(fixed, int) or fixed < 0:
            self.fault(f"fixed_bytes must be a whole number of at least 0, found {fixed!r}", "size", "fixed_bytes")
        return (per_scale if isinstance(per_scale, int) else 1), (fixed if isinstance(fixed, int) else 0)

    # ---------------------------------------------------------------------------------------------------- tables

    def tables(self, document: Mapping[str, object], defined: Mapping[str, SchemaTable]) -> tuple[Table, ...]:
        """The tables, in load order, held against the schema."""
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
                self.fault(f"table {name} is not in {SCHEMA}.{hint(name, defined)}", "tables", name)
            tables.append(replace(table, columns=columns))
        for name in defined.keys() - entries.keys():
            self.faults.add(SCHEMA, defined[name].line, f"table {name} has no [tables.{name}] in {TOML}")
        self.references(tables)
        return tuple(tables)

    def row_count(self, table: Table, entry: Mapping[str, object], earlier: Iterable[str]) -> Table:
        """The table with how many rows it has."""
        path = ("tables", table.name)
        given = [key for key in _ROWS if key in entry]
        if len(given) != 1:
            self.fault(
                f"table {table.name} needs one of {', '.join(_ROWS)}, found {' and '.join(given) or 'none'}", *path
            )
            return replace(table, fixed_rows=1)
        key, value = given[0], entry[given[0]]
        if key == "rows_per":
            return replace(table, rows_per=self.rows_per(table.name, value, set(earlier)))
        wanted = int if key == "rows" else (int, float)
        least = value >= 0 if key == "rows" and isinstance(value, int) else isinstance(value, int | float) and value > 0
        if isinstance(value, bool) or not isinstance(value, wanted) or not least:
            limit = "a whole number of at least 0" if key == "rows" else "a number above 0"
            self.fault(f"{key} must be {limit}, found {value!r}", *path, key)
            return replace(table, fixed_rows=1)
        return replace(table, fixed_rows=int(value)) if key == "rows" else replace(table, rows_per_scale=float(value))

    def rows_per(self, name: str, value: object, earlier: set[str]) -> tuple[str, int]:
        """The parent table and the rows for each of its rows."""
        path = ("tables", name, "rows_per")
        if not (isinstance(value, dict) and isinstance(value.get("table"), str) and type(value.get("count")) is int):
            self.fault(f'rows_per must be {{ table = "…", count = … }}, found {value!r}', *path)
            return name, 1
        self.unknown_keys(value, ("table", "count"), *path)
        if (parent := value["table"]) not in earlier:
            self.fault(f"rows_per: no table {parent!r} is defined above this one.{hint(parent, earlier)}", *path)
        if value["count"] < 1:
            self.fault(f"count must be at least 1, found {value['count']}", *path)
        return value["table"], value["count"]

    def columns(self, table: Table, entry: Mapping[str, object], tables: Iterable[str]) -> tuple[Column, ...]:
        """The columns of a table."""
        path = ("tables", table.name, "columns")
        entries = entry.get("columns")
        if not isinstance(entries, dict) or not entries:
            self.fault(f"table {table.name} has no columns: [tables.{table.name}.columns]", *path)
            return ()
        found = (self.column(table, name, value, set(tables)) for name, value in entries.items())
        return tuple(column for column in found if column is not None)

    def column(self, table: Table, name: str, value: object, tables: set[str]) -> Column | None:
        """A column with its law; None where it has faults that leave none."""
        path = ("tables", table.name, "columns", name)
        if not isinstance(value, dict) or not isinstance(value.get("law"), str):
            self.fault(f'column {name} must be {{ law = "…", … }}, found {value!r}', *path)
            return None
        law = value["law"]
        if law not in laws.LAWS:
            self.fault(f"column {name}: unknown law {law!r}.{hint(law, laws.LAWS)}", *path)
            return None
        values = {key: laws.epoch_seconds(item) for key, item in value.items() if key not in ("law", "null_share")}
        for text in laws.law_faults(law, values):
            self.fault(f"column {name}: {text}", *path)
        if law in ("parent", "line") and table.rows_per is None:
            self.fault(f"column {name}: law {law!r} needs rows_per on table {table.name}", *path)
        if law == "ref" and isinstance(values.get("table"), str) and values["table"] not in tables:
            self.fault(f"column {name}: unknown table {values['table']!r}.{hint(str(values['table']), tables)}", *path)
        return Column(name, law, values, self.null_share(value, law, *path))

    def null_share(self, value: Mapping[str, object], law: str, *path: str) -> float:
        """The share of values that are NULL."""
        share = value.get("null_share", 0.0)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            self.fault(f"column {path[-1]}: null_share must be 0 to 1, found {share!r}", *path)
            return 0.0
        if share and not laws.LAWS[law].nullable:
            self.fault(f"column {path[-1]}: law {law!r} makes keys, which cannot be NULL", *path)
        return float(share)

    def match_schema(self, name: str, columns: tuple[Column, ...], defined: SchemaTable) -> None:
        """Faults where laws and schema do not fit each other."""
        path = ("tables", name, "columns")
        for column in columns:
            wanted = defined.columns.get(column.name)
            if wanted is None:
                self.fault(
                    f"column {column.name} is not in table {name} of {SCHEMA}.{hint(column.name, defined.columns)}",
                    *path,
                    column.name,
                )
                continue
            made = laws.made_types(column.law, column.parameters)
            if wanted != "other" and not made <= {wanted}:
                found = " and ".join(sorted(made))
                self.fault(
                    f"column {column.name}: law {column.law!r} makes {found}, but {SCHEMA} says {wanted}",
                    *path,
                    column.name,
                )
        for missing in defined.columns.keys() - {column.name for column in columns}:
            self.faults.add(
                SCHEMA, defined.column_lines[missing], f"column {missing} of table {name} has no law in {TOML}"
            )

    def references(self, tables: list[Table]) -> None:
        """A key drawn for another table must exist there: keys 1 to the number of rows, made by the law ``serial``."""
        by_name = {table.name: table for table in tables}
        for table in tables:
            for column in table.columns:
                target = (
                    table.rows_per[0] if column.law == "parent" and table.rows_per else column.parameters.get("table")
                )
                other = by_name.get(str(target))
                if other is None:
                    continue
                path = ("tables", table.name, "columns", column.name)
                keys = [key.name for key in other.columns if key.law == "serial"]
                if not set(other.primary_key) & set(keys):
                    self.fault(
                        f"column {column.name}: table {other.name} has no primary key of law 'serial' to refer to",
                        *path,
                    )
                if other.fixed_rows == 0:
                    self.fault(f"column {column.name}: table {other.name} has no rows to refer to", *path)

    # ---------------------------------------------------------------------------------------------- transactions

    def transactions(
        self, document: Mapping[str, object], given: frozenset[str], schemas: Mapping[str, Schema]
    ) -> tuple[Transaction, ...]:
        """The transactions, their scripts checked."""
        found: list[Transaction] = []
        checked: list[tuple[str, Script]] = []
        for name, entry in self.named_tables(document, "transactions").items():
            path = ("transactions", name)
            self.unknown_keys(entry, ("title", "weight"), *path)
            weight = entry.get("weight")
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < float("inf"):
                self.fault(f"weight must be above 0, found {weight!r}", *path, "weight")
                weight = 1.0
            title = self.typed(document, str, *path, "title") or ""
            text = self.text(f"{name}.sql", f"is missing: transaction {name!r} has no script")
            if text is None:
                continue
            script = check_script(text, given, self.dialect)
            for line, fault in script.faults:
                self.faults.add(f"{name}.sql", line, fault)
            checked.append((f"{name}.sql", script))
            found.append(Transaction(name, title, float(weight), text, script.writes, script.connects))
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
                    if fault := check.fault(statement.piece):
                        self.faults.add(file, statement.piece.line, fault)
