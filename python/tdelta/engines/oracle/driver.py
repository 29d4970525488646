"""Oracle databases of users, asked by SQL alone; the statements are in ``queries.sql``.

A schema is a user without authentication, in the tablespace that the DSN names, else in the default one of its user:
that one is encrypted on the encrypted twin. Both may be of one database. Redo, undo and temporary files of an instance
are shared by all its tablespaces; what belongs to an encrypted one is encrypted in them, block by block.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tdelta.engines.oracle.profile import PROFILE
from tdelta.engines.oracle.worker import DRIVER, written
from tdelta.engines.server.actions import ServerAction
from tdelta.engines.server.base import (
    DATA,
    LOCK_SECONDS,
    MARK,
    Conversion,
    ConvertsSchemas,
    Encryption,
    Identity,
    InForce,
    LeftoverSchema,
    NewSchema,
    Probe,
    SchemaSessions,
    Scope,
    ServerBinary,
    SettingsRule,
    Tracing,
    leftover_schemas,
)
from tdelta.engines.server.driver import reached_only
from tdelta.engines.server.schema_actions import DECRYPT, ENCRYPT, MODE, OFFLINE, ONLINE, REKEY, Change
from tdelta.engines.server.sessions import Ask, by_name, first, literal, one, statements
from tdelta.messages import Caution, Refusal
from tdelta.processes.workers import Refused

SQL = statements("tdelta.engines.oracle")
_NEEDED = (
    *("CREATE SESSION", "CREATE USER", "DROP USER", "CREATE ANY TABLE", "ALTER ANY TABLE", "DROP ANY TABLE"),
    *("COMMENT ANY TABLE", "SELECT ANY TABLE", "INSERT ANY TABLE", "UPDATE ANY TABLE", "DELETE ANY TABLE"),
    *("CREATE ANY INDEX", "ANALYZE ANY", "ALTER SYSTEM"),
)
_MODES = {MODE: (ONLINE, OFFLINE)}
ACTIONS: Mapping[str, ServerAction] = MappingProxyType(
    {
        ENCRYPT: ServerAction(Change, is_during=True, choices=_MODES),
        REKEY: ServerAction(Change, is_during=True),
        DECRYPT: ServerAction(Change, is_during=True, choices=_MODES),
    }
)
"""What goes on with a tablespace of tdelta's while its load runs: ``ALTER TABLESPACE ... ENCRYPTION``.

Offline is in place, without room for a second copy; there is no other key for an offline tablespace.
"""

_CONVERTED = re.compile(rf"_({'|'.join(ACTIONS)})(_{MODE}_({ONLINE}|{OFFLINE}))?\Z")
"""How the schemas of these are called; a name that ends like this by chance has no tablespace made for it."""

_NEEDED_TO_CONVERT = ("CREATE TABLESPACE", "ALTER TABLESPACE", "DROP TABLESPACE", "ALTER USER")
_PRIMARY = "PRIMARY"
_NORMAL = "NORMAL"
"""The status of a tablespace that is not being encrypted, decrypted or given another key."""

_SET = {
    "nls_language": "AMERICAN",
    "nls_territory": "AMERICA",
    "nls_numeric_characters": ".,",
    "nls_date_format": "YYYY-MM-DD HH24:MI:SS",
    "nls_timestamp_format": "YYYY-MM-DD HH24:MI:SS.FF",
    "nls_sort": "BINARY",
    "nls_comp": "BINARY",
    "nls_length_semantics": "CHAR",
    "time_zone": "+00:00",
}
"""What an instance, the client's surroundings or a logon trigger may have otherwise, as ``in_force`` reads it; the
isolation level, which is set as well, cannot be read."""

_CLIENT_INFO_CHARACTERS = 64
_PLAN_HASH = re.compile(r"Plan hash value: (\d+)")
_PLAN_STEP = re.compile(r"\|[* ]*\d+ *\|([^|]+)\|([^|]*)\|")
_SESSION = re.compile(r"\d+,\d+\Z")
_RULE = SettingsRule(
    r".*_dest|.*_dest_\d+|.*_dest_state_\d+|.*_name|.*_names|.*_file|.*_files|.*_dir|db_domain|instance_.*|.*listener.*"
    r"|dispatchers|wallet_root|tde_configuration|tablespace_encryption.*|encrypt_new_tablespaces|.*_location|spfile"
    r"|dg_broker_.*|log_archive_.*|fal_.*|service_.*|local_.*|remote_listener|thread|undo_tablespace|processor_group.*",
    r"sga_.*|db_cache_size|memory_.*|pga_.*|db_.*_cache_size|inmemory_size",
    r"db_block_size|db_block_checking|db_block_checksum",
    r"filesystemio_options|disk_asynch_io|db_writer_processes|log_buffer|fast_start_.*",
    r"cpu_count|parallel_.*|resource_manager_.*",
    r"optimizer_.*|cursor_sharing|session_cached_cursors|open_cursors|statistics_level",
    r"commit_.*|compatible|processes|sessions",
)


@dataclass(frozen=True, slots=True)
class _Tablespace:
    """A tablespace: ``algorithm`` and ``status`` are the database's own account of its encryption, where it has one."""

    name: str
    is_encrypted: bool
    algorithm: str
    status: str

    @property
    def is_settled(self) -> bool:
        return self.status in ("", _NORMAL) and (bool(self.algorithm) or not self.is_encrypted)

    @property
    def said(self) -> str:
        by = f", {self.algorithm or 'of no algorithm that V$ENCRYPTED_TABLESPACES has'}" if self.is_encrypted else ""
        status = "" if self.status in ("", _NORMAL) else f", status {self.status}"
        return f"tablespace {self.name} encrypted={'YES' if self.is_encrypted else 'NO'}{by}{status}"


class Oracle(ConvertsSchemas):
    profile = PROFILE
    shared = "buffer cache, redo, undo, temporary files and background processes"

    schema_actions = ACTIONS
    rule = _RULE
    executed_sql: str = SQL["executed"]
    converts_in_statement = True
    session_sql: tuple[str, ...] = (SQL["session_format"], SQL["session_zone"], SQL["session_isolation"])
    in_force = InForce(SQL["in_force"], _SET)
    waiting_sql: tuple[str, ...] = (SQL["hurry"].format(seconds=LOCK_SECONDS),)
    counters: tuple[str, ...] = (SQL["counters"], SQL["temporary_counters"], SQL["block_counters"])
    cpu_sql: str = SQL["cpu"]
    cooling_sql: tuple[str, ...] = (SQL["checkpoint"], SQL["flush_cache"])

    def __init__(self, origin: ServerBinary | Identity, tablespace: str) -> None:
        super().__init__(origin)
        self.place = tablespace
        self._algorithm = ""

    def within(self, ask: Ask, place: str) -> Oracle:
        """Another tablespace of the same database, by its name as it is or in upper case."""
        known = sorted(row["tablespace"] or "" for row in ask(SQL["tablespaces"]))
        found = next((name for name in (place, place.upper()) if name in known), None)
        if found is None:
            expected = f" Expected one of {', '.join(known)}."
            raise Refused("unknown_database", Refusal.of("unknown", kind="tablespace", found=place, hint=expected))
        return Oracle(self.identity, found)

    tracing = Tracing(
        thread="",
        counters=(SQL["traced_counters"], SQL["traced_cpu"], SQL["traced_rows"]),
        nearest=PROFILE.headings,
        session=SQL["session_id"],
        statements=SQL["traced_statements"],
    )
    explained_sql: str = SQL["explained"]

    def explain_sql(self, statement: str) -> str:
        return SQL["explain"].format(statement=written(statement))

    def plan(self, rows: Sequence[Sequence[str | None]]) -> Mapping[str, object]:
        """The hash of the plan, and its steps for people; names of schemas are in neither."""
        lines = [row[0] or "" for row in rows]
        value = next((found[1] for line in lines if (found := _PLAN_HASH.match(line))), "")
        steps = [found.groups() for line in lines if (found := _PLAN_STEP.match(line))]
        return {
            "PLAN_HASH_VALUE": value,
            "steps": [{"operation": " ".join(filter(None, map(str.strip, step)))} for step in steps],
        }

    def memory_sql(self, session_bytes: int) -> tuple[str, ...]:
        """Work areas of a session by hand, and so large."""
        return (
            SQL["memory_manual"],
            SQL["memory_sort"].format(bytes=session_bytes),
            SQL["memory_hash"].format(bytes=session_bytes),
        )

    def standing_faults(self, ask: Ask) -> tuple[Refusal, ...]:
        """What makes the database as it stands no twin: a standby, read-only, a tablespace that is being converted."""
        found = one(ask(SQL["role"]))
        if found["role"] != _PRIMARY:
            return (Refusal.of("server-unfit", why="it is a read-only standby"),)
        faults = [] if found["mode_of"] == "READ WRITE" else [Refusal.of("database-read-only", said=found["mode_of"])]
        state = self._state(ask, self.place)
        return (*faults, *(() if state.is_settled else (Refusal.of("encryption-unsettled", said=state.said),)))

    def disturbances(self, ask: Ask, option: str) -> tuple[Caution, ...]:
        others = int(first(ask(SQL["sessions"])) or 0)
        return (Caution.of("other-sessions", sessions=others).at(option),) if others else ()

    def missing_grants(self, ask: Ask) -> tuple[str, ...]:
        held = {row["privilege"] for row in ask(SQL["privileges"])}
        lacking = [right for right in _NEEDED if right not in held]
        grants = [f"GRANT {', '.join(lacking)} TO {self.identity.user}"] if lacking else []
        if first(ask(SQL["may_lock"])) == "0":
            grants.append(f"GRANT EXECUTE ON SYS.DBMS_LOCK TO {self.identity.user}")
        return tuple(grants)

    def encryption(self, ask: Ask) -> Encryption:
        """Of the tablespace where tables go, with the algorithm as the database has it; undo and temporary files."""
        state = self._state(ask, self.place)
        is_encrypted, self._algorithm = state.is_encrypted, state.algorithm
        wallet = " / ".join(row["status"] or "" for row in ask(SQL["wallet"])) or "none"
        said = f"{state.said}, keystore {wallet}"
        others = {row["contents"]: row["encrypted"] for row in ask(SQL["others_encrypted"])}
        log = "redo of an encrypted tablespace is encrypted with it" if is_encrypted else "redo is as the tablespace is"
        return Encryption(
            (
                Scope(DATA, is_encrypted, said),
                Scope("log", is_encrypted, log),
                *(
                    Scope(
                        name, others.get(contents) == "YES", f"{contents} encrypted={others.get(contents, 'unknown')}"
                    )
                    for name, contents in (("undo", "UNDO"), ("temp", "TEMPORARY"))
                ),
            ),
            can_be_asked=False,
            remedy="name a tablespace that is ENCRYPTION USING 'AES256' ENCRYPT in the DSN (?tablespace=NAME), or make"
            f" it the default of {self.identity.user}",
        )

    def missing_schema_grants(self, ask: Ask, schema: str) -> tuple[str, ...]:
        """Of a schema that is converted: it has a tablespace for itself, which tdelta makes."""
        if not _CONVERTED.search(schema):
            return ()
        held = {row["privilege"] for row in ask(SQL["privileges"])}
        lacking = [right for right in _NEEDED_TO_CONVERT if right not in held]
        return (f"GRANT {', '.join(lacking)} TO {self.identity.user}",) if lacking else ()

    def convert_sql(self, schema: str, *, is_encrypted: bool) -> str:
        """What encrypts the schema's own tablespace, by the algorithm of the encrypted twin's, or decrypts it."""
        return SQL["convert"].format(schema=schema, mode="ONLINE", how=self._how(is_encrypted=is_encrypted))

    def offline_sql(self, schema: str) -> str:
        return SQL["offline"].format(schema=schema)

    def convert_offline_sql(self, schema: str, *, is_encrypted: bool) -> str:
        """The same as `convert_sql`, block by block in the tablespace's files."""
        return SQL["convert"].format(schema=schema, mode="OFFLINE", how=self._how(is_encrypted=is_encrypted))

    def online_sql(self, schema: str) -> str:
        return SQL["online"].format(schema=schema)

    def _how(self, *, is_encrypted: bool) -> str:
        return f"USING '{self._algorithm}' ENCRYPT" if is_encrypted else "DECRYPT"

    def rekey_sql(self, schema: str) -> str:
        """Another key of the tablespace's own, of the same algorithm; all blocks are encrypted with it."""
        return SQL["convert"].format(schema=schema, mode="ONLINE", how=f"USING '{self._algorithm}' REKEY")

    def conversion(self, ask: Ask, schema: str) -> Conversion:
        """How its own tablespace stands; a schema in a tablespace of the user's is not to be converted."""
        if first(ask(SQL["own_tablespace"].format(schema=literal(schema)))) == "0":
            return Conversion(is_encrypted=None, said=f"{schema} has no tablespace of its own", is_possible=False)
        state = self._state(ask, schema.upper())
        return Conversion(state.is_encrypted if state.is_settled else None, state.said)

    def _state(self, ask: Ask, tablespace: str) -> _Tablespace:
        """How the catalog has a tablespace, and with which algorithm the database says that it is encrypted."""
        named = literal(tablespace)
        encrypted = one(ask(SQL["tablespace"].format(tablespace=named)))["encrypted"]
        rows = ask(SQL["algorithm"].format(tablespace=named))
        algorithm, status = (rows[0]["algorithm"] or "", rows[0]["status"] or "") if rows else ("", "")
        return _Tablespace(tablespace, encrypted == "YES", algorithm, status)

    def settings(self, ask: Ask) -> Mapping[str, str]:
        return by_name(ask(SQL["settings"]), "value")

    def probe(self, name: str) -> Probe:
        """A lock of DBMS_LOCK by the hash of the name, which the session keeps."""
        return Probe(*(SQL[of].format(lock=literal(name)) for of in ("lock_take", "lock_seen", "lock_release")))

    def has_schema(self, ask: Ask, schema: str) -> bool:
        """Whether there is a user of that name; every user sees all."""
        return bool(ask(SQL["has_schema"].format(schema=literal(schema))))

    def make_sql(self, schema: NewSchema) -> tuple[str, ...]:
        """What makes the user, and the table whose comment marks it.

        A plain schema where the tablespace is encrypted has one for itself, which tdelta makes.
        """
        name, mark = schema.name, literal(MARK + schema.run_id)
        return (
            SQL["make_schema"].format(schema=name, tablespace=self.quoted(self.place)),
            SQL["make_mark"].format(schema=name),
            SQL["write_mark"].format(schema=name, mark=mark),
            *(
                (SQL["make_tablespace"].format(schema=name),)
                if schema.is_encrypted is False and self._algorithm
                else ()
            ),
        )

    def sessions(self, schema: NewSchema) -> SchemaSessions:
        return SchemaSessions(setup=(SQL["use_schema"].format(schema=schema.name),))

    def own_schemas(self, ask: Ask, *_named: str) -> tuple[LeftoverSchema, ...]:
        """Marked ones; and empty ones with tdelta's name, which were made but not marked."""
        named = [row["name"] or "" for row in ask(SQL["unmarked"])]
        return leftover_schemas(by_name(ask(SQL["marks"]), "mark"), named)

    def drop_sql(self, schema: str) -> str:
        """What removes the user with all that is in it, and then the tablespace that was made for it, empty by now."""
        return SQL["drop_converted" if _CONVERTED.search(schema) else "drop_schema"].format(schema=schema)

    def tables(self, ask: Ask, schema: str) -> Mapping[str, bool | None]:
        rows = ask(SQL["tables"].format(schema=literal(schema)))
        return {row["name"] or "": row["encrypted"] == "YES" for row in rows}

    def statistics_sql(self, tables: Iterable[str]) -> tuple[str, ...]:
        return tuple(SQL["statistics"].format(table=literal(table)) for table in tables)

    def drop_tables_sql(self, tables: Sequence[str]) -> tuple[str, ...]:
        """One after another; one that is not there is none to drop."""
        return tuple(SQL["drop_table"].format(table=table) for table in tables)

    def data_bytes_sql(self, schema: str) -> str:
        return SQL["data_bytes"].format(schema=literal(schema))

    def mark_session_sql(self, mark: str) -> str:
        return SQL["mark_session"].format(mark=literal(mark[:_CLIENT_INFO_CHARACTERS]))

    def marked_sessions(self, ask: Ask, mark: str) -> tuple[str, ...]:
        rows = ask(SQL["marked_sessions"].format(mark=literal(mark[:_CLIENT_INFO_CHARACTERS])))
        return tuple(row["id"] or "" for row in rows)

    def end_session_sql(self, session: str) -> str:
        if not _SESSION.match(session):
            raise Refused("protocol", Refusal.of("unexpected", expected="a column SID,SERIAL#", found=session))
        return SQL["end_session"].format(session=session)

    def hurry_sql(self, seconds: int) -> str:
        """What has a session wait no longer for locks of definitions."""
        return SQL["hurry"].format(seconds=seconds)

    @classmethod
    def answering(cls, ask: Ask) -> Oracle:
        """Who answers.

        Raises:
            Refused: the user may not read the views that the rest is asked of.
        """
        found = one(ask(SQL["identity"]))
        who = found["who"] or ""
        roles = {row["role"] for row in ask(SQL["roles"])}
        if "SELECT_CATALOG_ROLE" not in roles and first(ask(SQL["sees_views"])) == "0":
            raise Refused("denied", Refusal.of("right-missing", grant=f"GRANT SELECT_CATALOG_ROLE TO {who}"))
        product, version, machine = found["product"] or PROFILE.product, found["version"] or "", found["machine"] or ""
        identity = Identity(PROFILE.name, product, version, who, machine)
        return cls(identity, one(ask(SQL["default_tablespace"]))["tablespace"] or "")


SERVER = Oracle
driver, listed = reached_only(PROFILE, DRIVER)
