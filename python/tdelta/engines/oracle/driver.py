"""Oracle databases of users, asked by SQL alone; the statements are in ``queries.sql``.

A schema is a user without authentication, in the tablespace that the DSN names, else in the default one of its user:
that one is encrypted on the encrypted twin. Both may be of one database. Redo, undo and temporary files of an instance
are shared by all its tablespaces; what belongs to an encrypted one is encrypted in them, block by block.

A schema that is converted beside its load has a separate tablespace, named by a hash of its name: names of users may
have 128 bytes, those of tablespaces 30.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tdelta.engines.oracle.profile import PROFILE
from tdelta.engines.oracle.sql_trace import costs
from tdelta.engines.oracle.worker import DRIVER, written
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
    RoutineTracing,
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
from tdelta.measure.space import too_small
from tdelta.messages import Caution, Refusal
from tdelta.processes.backups import EngineAction
from tdelta.processes.workers import Refused

SQL = statements("tdelta.engines.oracle")
_NEEDED = (
    *("CREATE SESSION", "CREATE USER", "DROP USER", "CREATE ANY TABLE", "ALTER ANY TABLE", "DROP ANY TABLE"),
    *("COMMENT ANY TABLE", "SELECT ANY TABLE", "INSERT ANY TABLE", "UPDATE ANY TABLE", "DELETE ANY TABLE"),
    *("CREATE ANY INDEX", "ANALYZE ANY"),
)
_NEEDED_TO_COOL = "ALTER SYSTEM"
_MODES = {MODE: (ONLINE, OFFLINE)}
ACTIONS: Mapping[str, EngineAction] = MappingProxyType(
    {
        ENCRYPT: EngineAction(Change, is_during=True, choices=_MODES),
        REKEY: EngineAction(Change, is_during=True),
        DECRYPT: EngineAction(Change, is_during=True, choices=_MODES),
    }
)
"""Conversions of a tablespace of tdelta's while its load runs: ``ALTER TABLESPACE ... ENCRYPTION``.

Offline is in place, without room for a second copy; there is no other key for an offline tablespace.
"""

_CONVERTED = re.compile(rf"_({'|'.join(ACTIONS)})(_{MODE}_({ONLINE}|{OFFLINE}))?\Z")
"""How the schemas of these are called."""

_ENCRYPTS_ALL = {"tablespace_encryption": "AUTO_ENABLE", "encrypt_new_tablespaces": "ALWAYS"}
"""The parameters, and their values, with which no new tablespace is plain."""

_OLDEST = 18
"""The first release that has users without authentication."""

_LONG_NAMES = (12, 2)
_SHORT_NAME = 30
"""As COMPATIBLE is set, so long may the name of a user be: 30 bytes before 12.2."""

_ROOM = 1.3
"""How many times the bytes of its rows a schema takes at least, and its redo."""

_NEEDED_TO_CONVERT = ("CREATE TABLESPACE", "ALTER TABLESPACE", "DROP TABLESPACE", "ALTER USER")
_HASH_DIGITS = 16
_PRIMARY, _ROOT, _CLUSTER, _ARCHIVED = "PRIMARY", "CDB$ROOT", "TRUE", "ARCHIVELOG"
_DECRYPTED = "NONE"
"""The algorithm of a tablespace that was encrypted once."""

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
"""Settings that an instance, the client's environment or a logon trigger may change, as ``in_force`` reads them; the
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
    r"database: .*|tablespace: .*",
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
    long_sql: str = SQL["long"]
    census: tuple[str, ...] = (SQL["census"],)
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
    routine_tracing = RoutineTracing(SQL["trace_begin"], SQL["trace_end"], SQL["trace_lines"], costs)
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

    def standing_faults(self, ask: Ask) -> Iterator[Refusal]:
        """Reasons why the database is no twin: a standby, a cluster, the root, a tablespace that is being converted."""
        found = one(ask(SQL["role"]))
        if found["role"] != _PRIMARY:
            yield Refusal.of("server-unfit", why="it is a read-only standby")
            return
        if found["mode_of"] != "READ WRITE":
            yield Refusal.of("database-read-only", said=found["mode_of"])
        if found["container"] == _ROOT:
            name = "name the service of a pluggable database in the DSN"
            yield Refusal.of("database-answer", said=f"the service leads to {_ROOT}", fix=name)
        if self._parameters(ask).get("cluster_database") == _CLUSTER:
            why = "it is a cluster (cluster_database=TRUE), whose counters, locks and caches are those of one instance"
            yield Refusal.of("server-unfit", why=why)
        state = self._state(ask, self.place)
        if not state.is_settled:
            yield Refusal.of("encryption-unsettled", said=state.said)
        elif state.is_encrypted and "OPEN" not in (keystores := self._keystores(ask)):
            said = f"tablespace {self.place} is encrypted, and its keystore is {' / '.join(keystores) or 'missing'}"
            fix = "open the keystore, and set a master key where there is none (ADMINISTER KEY MANAGEMENT)"
            yield Refusal.of("database-answer", said=said, fix=fix)

    def schema_faults(self, ask: Ask, schemas: Sequence[str], data_bytes: int) -> Iterator[Refusal]:
        """Names that are too long, conversions that cannot begin, and too little room for the rows of all schemas.

        Of a tablespace the room is that of its files at their largest; the disk under them is not seen.
        """
        parameters = self._parameters(ask)
        if _release(compatible := parameters.get("compatible", "")) < _LONG_NAMES:
            most = f"{_SHORT_NAME} characters, with COMPATIBLE={compatible}; shorten --schema"
            long = [name for name in schemas if len(name) > _SHORT_NAME]
            yield from (Refusal.of("too-large", what=f"schema name {name!r}", most=most) for name in long)
        wrong = [f"{name}={value}" for name, value in _ENCRYPTS_ALL.items() if parameters.get(name) == value]
        if wrong and any(map(_CONVERTED.search, schemas)):
            yield Refusal.of("conflict", one="--vary during=…", other=f"{', '.join(wrong)}: no tablespace begins plain")
        places = {f"tablespace {self.place}": SQL["room"].format(tablespace=literal(self.place))}
        if one(ask(SQL["database_settings"]))["log_mode"] == _ARCHIVED:
            places["the recovery area, where redo is archived,"] = SQL["recovery_room"]
        needed = round(_ROOM * data_bytes * len(schemas))
        for place, query in places.items():
            free = first(ask(query))
            if free and int(float(free)) < needed:
                yield too_small(place, int(float(free)), needed, "or use a smaller --size")

    def disturbances(self, ask: Ask, option: str) -> tuple[Caution, ...]:
        found = []
        if others := int(first(ask(SQL["sessions"])) or 0):
            found.append(Caution.of("other-sessions", sessions=others).at(option))
        if one(ask(SQL["database_settings"]))["log_mode"] == _ARCHIVED:
            found.append(Caution.of("redo-archived").at(option))
        return tuple(found)

    def missing_grants(self, ask: Ask) -> tuple[str, ...]:
        grants = self._lacking(ask, _NEEDED)
        if first(ask(SQL["may_lock"])) == "0":
            return (*grants, f"GRANT EXECUTE ON SYS.DBMS_LOCK TO {self.identity.user}")
        return grants

    def missing_work_grants(self, ask: Ask, works: Collection[str]) -> tuple[str, ...]:
        """It also ends sessions of a run that was killed, which end by themselves once their statement is over."""
        return self._lacking(ask, (_NEEDED_TO_COOL,)) if "cold" in works else ()

    def _lacking(self, ask: Ask, needed: Sequence[str]) -> tuple[str, ...]:
        held = {row["privilege"] for row in ask(SQL["privileges"])}
        lacking = [right for right in needed if right not in held]
        return (f"GRANT {', '.join(lacking)} TO {self.identity.user}",) if lacking else ()

    def encryption(self, ask: Ask) -> Encryption:
        """Of the tablespace where tables go, with the algorithm as the database has it; undo and temporary files."""
        state = self._state(ask, self.place)
        is_encrypted, self._algorithm = state.is_encrypted, state.algorithm if state.is_encrypted else ""
        said = f"{state.said}, keystore {' / '.join(self._keystores(ask)) or 'none'}"
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
        return self._lacking(ask, _NEEDED_TO_CONVERT) if _CONVERTED.search(schema) else ()

    def convert_sql(self, schema: str, *, is_encrypted: bool) -> str:
        """The statement that encrypts the schema's own tablespace with the twin's algorithm, or decrypts it."""
        return _own("convert", schema, mode="ONLINE", how=self._how(is_encrypted=is_encrypted))

    def offline_sql(self, schema: str) -> str:
        return _own("offline", schema)

    def convert_offline_sql(self, schema: str, *, is_encrypted: bool) -> str:
        """The same as `convert_sql`, block by block in the tablespace's files."""
        return _own("convert", schema, mode="OFFLINE", how=self._how(is_encrypted=is_encrypted))

    def online_sql(self, schema: str) -> str:
        return _own("online", schema)

    def _how(self, *, is_encrypted: bool) -> str:
        return f"USING '{self._algorithm}' ENCRYPT" if is_encrypted else "DECRYPT"

    def rekey_sql(self, schema: str) -> str:
        """Another key of the tablespace's own, of the same algorithm; all blocks are encrypted with it."""
        return _own("convert", schema, mode="ONLINE", how=f"USING '{self._algorithm}' REKEY")

    def conversion(self, ask: Ask, schema: str) -> Conversion:
        """How its own tablespace stands; a schema in a tablespace of the user's is not to be converted."""
        tablespace = own_tablespace(schema)
        if first(ask(SQL["own_tablespace"].format(schema=literal(schema), tablespace=literal(tablespace)))) == "0":
            return Conversion(is_encrypted=None, said=f"{schema} has no tablespace of its own", is_possible=False)
        state = self._state(ask, tablespace)
        return Conversion(state.is_encrypted if state.is_settled else None, state.said)

    def _state(self, ask: Ask, tablespace: str) -> _Tablespace:
        """How the catalog has a tablespace, and with which algorithm the database says that it is encrypted."""
        named = literal(tablespace)
        encrypted = one(ask(SQL["tablespace"].format(tablespace=named)))["encrypted"]
        rows = ask(SQL["algorithm"].format(tablespace=named))
        algorithm, status = (rows[0]["algorithm"] or "", rows[0]["status"] or "") if rows else ("", "")
        return _Tablespace(tablespace, encrypted == "YES", "" if algorithm == _DECRYPTED else algorithm, status)

    def settings(self, ask: Ask) -> Mapping[str, str]:
        """The parameters, and what decides whether loads write redo and how their blocks lie."""
        found = dict(self._parameters(ask))
        for of, query in (("database", "database_settings"), ("tablespace", "tablespace_settings")):
            row = one(ask(SQL[query].format(tablespace=literal(self.place))))
            found |= {f"{of}: {name}": value or "" for name, value in row.items()}
        return found

    def _parameters(self, ask: Ask) -> Mapping[str, str]:
        return by_name(ask(SQL["settings"]), "value")

    def _keystores(self, ask: Ask) -> list[str]:
        return [row["status"] or "" for row in ask(SQL["wallet"])]

    def probe(self, name: str) -> Probe:
        """A lock of DBMS_LOCK by the hash of the name, which the session keeps."""
        return Probe(*(SQL[of].format(lock=literal(name)) for of in ("lock_take", "lock_seen", "lock_release")))

    def has_schema(self, ask: Ask, schema: str) -> bool:
        """Whether there is a user of that name; every user sees all."""
        return bool(ask(SQL["has_schema"].format(schema=literal(schema))))

    def make_sql(self, schema: NewSchema) -> tuple[str, ...]:
        """Statements that make the user, and the table whose comment marks it.

        A plain schema where the tablespace is encrypted has one for itself, which tdelta makes.
        """
        name, mark = schema.name, literal(MARK + schema.run_id)
        return (
            SQL["make_schema"].format(schema=name, tablespace=self.quoted(self.place)),
            SQL["make_mark"].format(schema=name),
            SQL["write_mark"].format(schema=name, mark=mark),
            *((_own("make_tablespace", name),) if schema.is_encrypted is False and self._algorithm else ()),
        )

    def sessions(self, schema: NewSchema) -> SchemaSessions:
        return SchemaSessions(setup=(SQL["use_schema"].format(schema=schema.name),))

    def own_schemas(self, ask: Ask, *_named: str) -> tuple[LeftoverSchema, ...]:
        """Marked ones; and those that were made within a day but not marked: schema-only users without objects."""
        named = [row["name"] or "" for row in ask(SQL["unmarked"])]
        return leftover_schemas(by_name(ask(SQL["marks"]), "mark"), named)

    def drop_sql(self, schema: str) -> str:
        """The statement that drops the schema's tablespace, which is empty by then, and then its user and objects."""
        return _own("drop_schema", schema)

    def drop_unmarked_sql(self, schema: str) -> str:
        return SQL["drop_unmarked"].format(schema=schema)

    def tables(self, ask: Ask, schema: str) -> Mapping[str, bool | None]:
        rows = ask(SQL["tables"].format(schema=literal(schema)))
        return {row["name"] or "": row["encrypted"] == "YES" for row in rows}

    def indexes_sql(self, schema: str) -> str:
        return SQL["indexes"].format(schema=literal(schema))

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
        """Statements after which a session no longer waits for locks of definitions."""
        return SQL["hurry"].format(seconds=seconds)

    @classmethod
    def answering(cls, ask: Ask) -> Oracle:
        """Who answers.

        Raises:
            Refused: it is too old, or the user may not read the views that the rest is asked of.
        """
        found = one(ask(SQL["identity"]))
        who = found["who"] or ""
        if _release(found["version"] or "") < (_OLDEST,):
            needs = f"{_OLDEST}c or later, found {found['version']}"
            raise Refused("version", Refusal.of("requires", what=PROFILE.product, needs=needs))
        roles = {row["role"] for row in ask(SQL["roles"])}
        if "SELECT_CATALOG_ROLE" not in roles and first(ask(SQL["sees_views"])) == "0":
            raise Refused("denied", Refusal.of("right-missing", grant=f"GRANT SELECT_CATALOG_ROLE TO {who}"))
        product, machine = found["product"] or PROFILE.product, found["machine"] or ""
        version = first(ask(SQL["update"])) or found["version"] or ""
        identity = Identity(PROFILE.name, product, version, who, machine)
        return cls(identity, one(ask(SQL["default_tablespace"]))["tablespace"] or "")


def own_tablespace(schema: str) -> str:
    return f"TD_{hashlib.sha256(schema.encode()).hexdigest()[:_HASH_DIGITS].upper()}"


def _own(statement: str, schema: str, **more: str) -> str:
    return SQL[statement].format(schema=schema, tablespace=own_tablespace(schema), **more)


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


SERVER = Oracle
driver, listed = reached_only(PROFILE, DRIVER)
