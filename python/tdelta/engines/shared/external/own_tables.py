"""A schema of the user's own on both servers, which is only read.

Nothing is made, changed or removed. Every session of a load is read-only by the server's own word, which it is asked
for as the session opens; what the scripts may hold is checked before. One schema on each server has all its copies: a
control reads the same tables through other connections, so neither cache holds more than the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tdelta.driver.jobs import OwnTablesJob
from tdelta.driver.protocol import Checksums, Tables
from tdelta.engines.shared.describing import describe
from tdelta.engines.shared.external.kind import ReadsOnly
from tdelta.engines.shared.external.schemas import RunSchema
from tdelta.engines.shared.external.twins import BASELINE_PLACE, ENCRYPTED_PLACE, Access, ExternalTwins
from tdelta.engines.shared.sessions import Ask, Row, WorkerSession, asking
from tdelta.errors import Defect, InvalidTwins
from tdelta.messages import Refusal
from tdelta.records import DatabaseFacts
from tdelta.workloads.database import Database, DatabaseTable
from tdelta.workloads.folder import SCHEMA

MOST_COMPARED_BYTES = 256_000_000
"""Of larger schemas only keys are compared: all rows are read several times in a run."""


def reads_own_tables(options: Mapping[str, Any]) -> bool:
    """Whether a run reads tables that are there: a schema is named, and the workload's folder makes none."""
    folder = options["workload"]
    is_own = folder is not None and Path(folder).is_dir() and not (Path(folder) / SCHEMA).exists()
    return options["baseline"] is not None and options["schema"] is not None and is_own


@dataclass(frozen=True, slots=True)
class OwnTables:
    """See `tdelta.driver.user_data.StagedCopy`; here it is no copy."""

    schema: str
    size_bytes: int
    load_seconds: float = 0.0

    def identity(self) -> tuple[str]:
        return (self.schema,)

    def facts(self, database: Database, *, is_proposed: bool) -> DatabaseFacts:
        tables, rows = len(database.tables), database.rows
        return DatabaseFacts(f"schema {self.schema}", self.size_bytes, 0, tables, rows, is_proposed, in_place=True)

    def job(self, tables: Tables, checksums: Checksums) -> OwnTablesJob:
        return OwnTablesJob(tables, checksums)

    def let_go(self) -> None:
        """There is nothing to remove."""


def described(schemas: Mapping[str, RunSchema], access: Access) -> Database:
    """What is in the schema, which has the same tables and as many rows on both servers.

    Raises:
        InvalidTwins: it has not, or there are none.
    """
    found = [_described(schemas[place], access) for place in (BASELINE_PLACE, ENCRYPTED_PLACE)]
    one, other = ({table.name: _shape(table) for table in database.tables} for database in found)
    unlike = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    if unlike:
        raise InvalidTwins(Refusal.of("own-tables-differ", tables=", ".join(unlike)))
    if not one:
        raise InvalidTwins(Refusal.of("own-schema-empty", schema=schemas[BASELINE_PLACE].name))
    return found[0]


def _described(schema: RunSchema, access: Access) -> Database:
    kind = schema.server.kind
    if not isinstance(kind, ReadsOnly):
        raise Defect("refused when the servers were found")
    with schema.server.translated_errors():
        session = WorkerSession(access.options(schema), schema.server.dsn.program, is_external=True)
        try:
            return describe(kind.catalog, _reading(asking(session)), schema.name).database
        finally:
            session.close()


def _reading(ask: Ask) -> Ask:
    """Only queries: whatever a catalog would rather run first, these are not tdelta's tables."""

    def asked(sql: str) -> Sequence[Row]:
        if not sql.startswith("SELECT "):
            raise Defect(f"not a query: {sql}")
        return ask(sql)

    return asked


def _shape(table: DatabaseTable) -> object:
    return [column.name for column in table.columns], table.rows, table.lowest, table.highest


def compared_tables(database: Database, *, has_keys_only: bool) -> Tables:
    """The columns of each table that are compared: all, or its key, without which a table is left out."""
    if not has_keys_only:
        return tuple((table.name, table.stored_columns) for table in database.tables)
    return tuple((table.name, table.key.names) for table in database.tables if table.key is not None)


class OwnTablesTwins(ExternalTwins):
    """Connections to tables that are there already."""

    def _fill(self, place: str) -> None:
        self._kept(place, 0.0)
