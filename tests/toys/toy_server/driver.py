from __future__ import annotations

from collections.abc import Mapping, Sequence

from tdelta.engines.server.base import (
    DATA,
    MARK,
    Encryption,
    Identity,
    LeftoverSchema,
    NewSchema,
    Probe,
    Scope,
    ServerEngine,
    SettingsRule,
    leftover_schemas,
)
from tdelta.engines.server.driver import reached_only
from tdelta.engines.server.sessions import Ask, by_name, first, literal

from .profile import PROFILE
from .worker import DRIVER


class ToyServer(ServerEngine):
    profile = PROFILE
    counters = ()
    rule = SettingsRule("encryption")

    @classmethod
    def answering(cls, ask: Ask) -> ToyServer:
        version = first(ask("SELECT sqlite_version() AS version"))
        return cls(Identity(PROFILE.name, PROFILE.product, version, "me"))

    def settings(self, ask: Ask) -> Mapping[str, str]:
        return by_name(ask("SELECT name, value FROM settings"), "value")

    def encryption(self, ask: Ask) -> Encryption:
        said = self.settings(ask)["encryption"]
        return Encryption((Scope(DATA, said == "on", f"encryption={said}"),), can_be_asked=False, remedy="turn it on")

    def probe(self, name: str) -> Probe:
        return Probe(*(f"SELECT {what}({literal(name)}) AS found" for what in ("take", "is_held", "release")))

    def own_schemas(self, ask: Ask, *_named: str) -> tuple[LeftoverSchema, ...]:
        rows = ask("SELECT value ->> 0 AS name, value ->> 1 AS mark FROM json_each(schemas())")
        return leftover_schemas(by_name(rows, "mark"))

    def has_schema(self, ask: Ask, schema: str) -> bool:
        rows = ask(f"SELECT 1 AS found FROM json_each(schemas()) WHERE value ->> 0 = {literal(schema)}")
        return bool(rows)

    def make_sql(self, schema: NewSchema) -> tuple[str, ...]:
        return (f"SELECT make_schema({literal(schema.name)}, {literal(MARK + schema.run_id)})",)

    def drop_sql(self, schema: str) -> str:
        return f"SELECT drop_schema({literal(schema)})"

    def tables(self, ask: Ask, schema: str) -> Mapping[str, bool | None]:
        is_encrypted = self.settings(ask)["encryption"] == "on"
        rows = ask(f"SELECT value AS name FROM json_each(tables({literal(schema)}))")
        return {row["name"] or "": is_encrypted for row in rows}

    def data_bytes_sql(self, schema: str) -> str:
        return f"SELECT size({literal(schema)}) AS bytes"

    def drop_tables_sql(self, tables: Sequence[str]) -> tuple[str, ...]:
        return tuple(f'DROP TABLE IF EXISTS "{table}"' for table in tables)


SERVER = ToyServer
driver, listed = reached_only(PROFILE, DRIVER)
