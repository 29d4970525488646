import re
from collections.abc import Iterable, Mapping, Sequence

from tdelta.engines.shared.external.kind import (
    DATA,
    Encryption,
    Identity,
    LeftoverSchema,
    NewSchema,
    Probe,
    SchemaSessions,
    Scope,
    SettingsRule,
)
from tdelta.engines.shared.sessions import Ask, first, literal


class ToyServer:
    identity = Identity("toyserver", "Toy server", "1", "me")
    session_sql = ()
    in_force = None
    waiting_sql = ()
    rule = SettingsRule(re.compile(r"nothing\Z"))
    counters = ()

    def standing_faults(self, _ask: Ask) -> tuple[str, ...]:
        return ()

    def cautions(self, _ask: Ask, _option: str) -> tuple[str, ...]:
        return ()

    def missing_grants(self, _ask: Ask) -> tuple[str, ...]:
        return ()

    def encryption(self, ask: Ask) -> Encryption:
        is_on = self._is_encrypted(ask)
        return Encryption((Scope(DATA, is_on, f"encrypted={is_on}"),), can_be_asked=False, remedy="encrypt it")

    def settings(self, ask: Ask) -> Mapping[str, str]:
        return {"page_size": first(ask("PRAGMA page_size"))}

    def probe(self, name: str) -> Probe:
        return Probe(
            f"INSERT INTO locks VALUES ({literal(name)})",
            f"SELECT count(*) > 0 FROM locks WHERE name = {literal(name)}",
            f"DELETE FROM locks WHERE name = {literal(name)}",
        )

    def has_schema(self, ask: Ask, schema: str) -> bool:
        return bool(ask(f"SELECT 1 FROM schemas WHERE name = {literal(schema)}"))

    def make_sql(self, schema: NewSchema) -> tuple[str, ...]:
        return (f"INSERT INTO schemas VALUES ({literal(schema.name)}, {literal(schema.run_id)})",)

    def sessions(self, schema: NewSchema) -> SchemaSessions:
        return SchemaSessions(database=schema.name)

    def own_schemas(self, ask: Ask) -> tuple[LeftoverSchema, ...]:
        return tuple(LeftoverSchema(row["name"] or "", row["run"]) for row in ask("SELECT name, run FROM schemas"))

    def drop_sql(self, schema: str) -> str:
        return f"DELETE FROM schemas WHERE name = {literal(schema)}"

    def mark_session_sql(self, mark: str) -> str:
        return f"SELECT {literal(mark)}"

    def marked_sessions(self, _ask: Ask, _mark: str) -> tuple[str, ...]:
        return ()

    def end_session_sql(self, session: str) -> str:
        raise NotImplementedError(session)

    def hurry_sql(self, seconds: int) -> str:
        return f"PRAGMA busy_timeout = {seconds * 1000}"

    def tables(self, ask: Ask, schema: str) -> Mapping[str, bool | None]:
        return {schema: self._is_encrypted(ask)}

    def statistics_sql(self, tables: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"ANALYZE {table}" for table in tables)

    def drop_tables_sql(self, tables: Sequence[str]) -> tuple[str, ...]:
        return tuple(f"DROP TABLE IF EXISTS {table}" for table in tables)

    def data_bytes_sql(self, schema: str) -> str:
        return f"SELECT 200000 FROM schemas WHERE name = {literal(schema)}"

    def _is_encrypted(self, ask: Ask) -> bool:
        return first(ask("SELECT encrypted FROM about")) == "1"


def kind(_ask: Ask) -> ToyServer:
    return ToyServer()
