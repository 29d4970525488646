r"""Workload folders for a database of the user's own: transactions only, since tables and rows are there already.

``workload.toml`` has ``[transactions.NAME]`` as any workload has, and perhaps ``[keys.NAME]``: a table of sampled keys
(`tdelta.workloads.keys`). There is no ``schema.sql`` and no ``[tables]``. Scripts are given ``:rows_T``, ``:min_T`` and
``:max_T`` of the tables, and ``:keys_NAME``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tdelta import own_folders
from tdelta.errors import StorageFault, UsageError
from tdelta.inputs import conflict, missing, real_path
from tdelta.messages import Refusal
from tdelta.workloads.database import Database
from tdelta.workloads.dialect import GENERIC, Dialect
from tdelta.workloads.faults import shown, unknown
from tdelta.workloads.files import TOML
from tdelta.workloads.folder import SCHEMA, FolderReader, read_by
from tdelta.workloads.keys import key_table_name, key_variables
from tdelta.workloads.model import KeyTable, Workload
from tdelta.workloads.scripts import given_variables

_TOP = ("name", "version", "title", "description", "spills", "keys", "transactions")
_OF_GENERATED_ROWS = ("tables", "size")


def read_user_workload(folder: Path, database: Database, dialect: Dialect = GENERIC) -> Workload:
    """Reads and checks a folder of transactions on a database of the user's, in SQL of that dialect.

    Whether the database takes the statements is for the database to say, later, on a copy. Raises `WorkloadError`: all
    faults of the folder, each with file and line.
    """
    return read_by(_OwnReader(folder, database, dialect))


class _OwnReader(FolderReader):
    is_tried = True

    def __init__(self, folder: Path, database: Database, dialect: Dialect) -> None:
        super().__init__(folder, {})
        self.dialect = dialect
        self.database = database

    def read(self) -> Workload | None:
        if not self.folder.is_dir():
            self.faults.add(str(self.folder), 0, Refusal.of("no-own-folder"))
            return None
        for path in sorted((*self.folder.glob(SCHEMA), *self.folder.glob("schema.*.sql"))):
            self.faults.add(path.name, 0, conflict("a schema", "--database"))
        document = self.document()
        if document is None:
            return None
        for key in document.keys() & set(_OF_GENERATED_ROWS):
            line = next((line for path, line in self.lines.items() if path[0] == key), 0)
            self.faults.add(TOML, line, conflict(f"[{key}]", "--database"))
        self.unknown_keys(document, (*_TOP, *_OF_GENERATED_ROWS))
        keys = self.keys(document)
        given = given_variables(()) | self.database.variables().keys() | key_variables(keys, self.database).keys()
        return Workload(
            name=self.title(document, "name"),
            version=self.typed(document, int, "version") or 0,
            title=self.title(document, "title"),
            description=(self.typed(document, str, "description") or "").strip(),
            tables=(),
            transactions=self.transactions(document, given, {}),
            bytes_per_scale=1,
            fixed_bytes=0,
            keys=keys,
            spills=self.spills(document),
        )

    def keys(self, document: Mapping[str, object]) -> tuple[KeyTable, ...]:
        if "keys" not in document:
            return ()
        found: list[KeyTable] = []
        for name, entry in self.named_tables(document, "keys").items():
            self.unknown_keys(entry, ("table",), "keys", name)
            wanted = self.typed(document, str, "keys", name, "table")
            if wanted is not None and self.has_keys(name, wanted):
                found.append(KeyTable(name, wanted))
        return tuple(found)

    def has_keys(self, name: str, wanted: str) -> bool:
        """Whether that table is there and has keys, and nothing in the database is called as its key table would be."""
        path = ("keys", name, "table")
        table = self.database.table(wanted)
        if table is None:
            self.fault(unknown("table", wanted, self.database.stems, f"{shown(wanted)} of the database"), *path)
        elif table.key is None:
            self.fault(missing(f"a key of table {shown(wanted)}"), *path)
        elif key_table_name(name) in self.database.names:
            self.fault(Refusal.of("key-table-taken", table=key_table_name(name)), *path[:2])
        else:
            return True
        return False


def write_user_workload(workload: Workload, folder: Path, notes: Sequence[str]) -> tuple[Path, ...]:
    """Writes a workload on a user's database as a folder to be edited, and returns the files.

    Raises `UsageError`: the folder is there and not empty; `StorageFault`: it cannot be written.
    """
    texts = {TOML: _toml(workload, notes)} | {f"{t.name}.sql": t.text for t in workload.transactions}
    require_free_folder(folder)
    unfinished = None
    try:
        target = real_path(folder)
        unfinished = target.with_name(f".{target.name}.{os.getpid()}")
        unfinished.mkdir(parents=True)
        for name, text in texts.items():
            (unfinished / name).write_text(text, encoding="utf-8", newline="\n")
        unfinished.rename(target)  # in one step, also over an empty folder: never half of a workload
    except OSError as error:
        if unfinished is not None:
            own_folders.remove(unfinished)
        raise StorageFault(Refusal.of("path-unusable", path=folder, fault=error.strerror)) from error
    return tuple(folder / name for name in texts)


def require_free_folder(folder: Path) -> None:
    """Raises `UsageError`: a workload cannot be written there without writing over something."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(Refusal.of("path-unusable", path=str(folder), fault="it is a file"))
    if folder.is_dir() and any(folder.iterdir()):
        raise UsageError(Refusal.of("path-unusable", path=str(folder), fault="it is not empty"))


def _toml(workload: Workload, notes: Sequence[str]) -> str:
    return "\n".join((*_head(workload), *_key_lines(workload), *_transaction_lines(workload), *_note_lines(notes)))


def _head(workload: Workload) -> Iterator[str]:
    yield "# Edit the weights and the scripts until they are what your application does, then:"
    yield "# tdelta run --database FILE --workload THIS_FOLDER"
    yield "# Scripts are given :rows_T, :min_T and :max_T of each table (docs/your-database.md)."
    yield f"name = {_text(workload.name)}"
    yield f"version = {workload.version}"
    yield f"title = {_text(workload.title)}"
    yield f"description = {_text(workload.description)}"


def _key_lines(workload: Workload) -> Iterator[str]:
    if workload.keys:
        yield ""
        yield "# tdelta makes these tables in each copy: tdelta_key_NAME(n, k1, k2, …), up to 10,000 keys of a table,"
        yield "# evenly spread over it and numbered from 1 to :keys_NAME."
    for key in workload.keys:
        yield f"[keys.{key.name}]"
        yield f"table = {_text(key.table)}"


def _transaction_lines(workload: Workload) -> Iterator[str]:
    total = sum(transaction.weight for transaction in workload.transactions)
    for transaction in workload.transactions:
        yield ""
        yield f"[transactions.{transaction.name}]"
        yield f"title = {_text(transaction.title)}"
        yield f"weight = {transaction.weight!r} # {100 * transaction.weight / total:.1f}% of the transactions"
    yield ""


def _note_lines(notes: Sequence[str]) -> Iterator[str]:
    if notes:
        yield "# Not proposed:"
        yield from (f"# - {_one_line(note)}" for note in notes)
        yield ""


def _text(text: str) -> str:
    """A TOML basic string. JSON's escapes are TOML's, but for DEL, which TOML wants escaped as well."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _one_line(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f]", "?", text)
