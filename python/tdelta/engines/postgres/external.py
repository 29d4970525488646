"""PostgreSQL servers of users.

Stock PostgreSQL does not know whether the disk beneath it is encrypted, so the user has to say so; with ``pg_tde`` the
server tells. The schema is made in the DSN's database, and marked in the same transaction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tdelta.engines.postgres.catalog import PostgresCatalog
from tdelta.engines.postgres.private import TRACING, counters_of, flushing_of, session_options
from tdelta.engines.postgres.profile import PROFILE
from tdelta.engines.servers import Tracing
from tdelta.engines.shared.external.kind import (
    DATA,
    LOCK_SECONDS,
    MARK,
    Encryption,
    Identity,
    InForce,
    LeftoverSchema,
    NewSchema,
    Probe,
    ReadOnly,
    SchemaSessions,
    Scope,
    SettingsRule,
)
from tdelta.engines.shared.sessions import Ask, first, literal, one
from tdelta.messages import Caution, Refusal

_LEFT_OUT = re.compile(
    r"(.*_file|.*_directory|.*_directories|.*_directory_mode|port|listen_addresses|cluster_name|unix_socket_.*"
    r"|external_pid_file|log_.*|logging_.*|syslog_.*|event_source|application_name|client_.*|search_path|ssl.*|krb_.*"
    r"|gss_.*|transaction_.*|in_hot_standby|primary_.*|recovery_.*|restore_command|archive_command|archive_cleanup_.*"
    r"|promote_trigger.*|hot_standby.*|synchronous_standby_names|bonjour.*|(open_)?pg_tde\..*|encrypt_temp_files|default_table_access_method"
    r"|seed|session_authorization|role|is_superuser|server_version_num|wal_receiver_.*|data_directory_.*|backtrace.*"
    r"|shared_memory_size.*|huge_pages_status|num_os_semaphores|lc_messages|update_process_title)\Z"
)
_IMPORTANT = tuple(
    re.compile(pattern + r"\Z")
    for pattern in (
        r"server_version",
        r"shared_buffers",
        r"block_size|wal_block_size|wal_segment_size|segment_size",
        r"fsync|synchronous_commit|full_page_writes|wal_sync_method|data_checksums|wal_log_hints",
        r"wal_level|wal_compression|archive_mode|max_wal_senders",
        r"max_wal_size|min_wal_size|checkpoint_.*|wal_buffers|commit_delay|commit_siblings",
        r"work_mem|maintenance_work_mem|effective_cache_size|temp_buffers|huge_pages|shared_preload_libraries",
        r"autovacuum.*|bgwriter_.*|backend_flush_after|io_.*|effective_io_concurrency|maintenance_io_concurrency",
        r"max_connections|max_worker_processes|max_parallel_.*|jit.*",
        r"random_page_cost|seq_page_cost|cpu_.*|enable_.*|default_transaction_isolation|lc_.*|server_encoding",
        r"track_.*|pg_stat_statements\..*",
    )
)
_WAITS = ("statement_timeout", "idle_session_timeout", "idle_in_transaction_session_timeout", "transaction_timeout")
_NO_LIMIT = "0"
_SESSION = {
    "TimeZone": "UTC",
    "default_tablespace": "",
    "default_transaction_deferrable": "off",
    "default_transaction_isolation": "read committed",
    "extra_float_digits": "3",
}
"""What a server, a database or a role may have that would make sessions differ from tdelta's on the other server."""

_MACHINE = (
    "CASE WHEN NOT inet_server_addr() <<= '127.0.0.0/8' AND inet_server_addr() <> '::1' THEN host(inet_server_addr())"
    " END"
)
"""The address at which this session reached the server, which names no host where it is a loopback's or none."""

_SYSTEM = "nspname !~ '^pg_' AND nspname <> 'information_schema'"


class PostgresServers:
    rule = SettingsRule(_LEFT_OUT, _IMPORTANT)
    session_sql: tuple[str, ...] = (
        f"SELECT {', '.join(f'set_config({literal(n)}, {literal(v)}, false)' for n, v in _SESSION.items())}",
        f"SELECT set_config(name, {literal(_NO_LIMIT)}, false) FROM pg_settings"
        f" WHERE name IN ({', '.join(literal(name) for name in _WAITS)})",
    )

    waiting_sql: tuple[str, ...] = (f"SET lock_timeout = '{LOCK_SECONDS}s'",)

    def __init__(self, identity: Identity) -> None:
        self.identity = identity

    in_force = InForce(
        f"SELECT {', '.join(f'current_setting({literal(name)}) AS {name}' for name in _SESSION)}"
        f", {', '.join(f'coalesce(current_setting({literal(n)}, true), {literal(_NO_LIMIT)}) AS {n}' for n in _WAITS)}",
        {**_SESSION, **dict.fromkeys(_WAITS, _NO_LIMIT)},
    )

    @property
    def read_only(self) -> ReadOnly:
        asked = "current_setting('default_transaction_read_only')"
        return ReadOnly("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", asked, "on")

    @property
    def catalog(self) -> PostgresCatalog:
        return PostgresCatalog()

    def standing_faults(self, ask: Ask) -> tuple[Refusal, ...]:
        """What makes the server as it stands no twin: a standby, read-only."""
        faults = []
        if first(ask("SELECT pg_is_in_recovery()::text")) == "true":
            faults.append(Refusal.of("server-unfit", why="it is a standby without writes of its own"))
        elif first(ask("SHOW default_transaction_read_only")) == "on":
            faults.append(Refusal.of("read-only", setting="default_transaction_read_only of this user"))
        return tuple(faults)

    def cautions(self, ask: Ask, option: str) -> tuple[Caution, ...]:
        found = []
        if (standbys := first(ask("SELECT count(*)::text FROM pg_stat_replication"))) != "0":
            found.append(Caution.of("replicas-read", replicas=int(standbys)).at(option))
        others = "SELECT count(*)::text FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid()"
        if (active := first(ask(others))) != "0":
            found.append(Caution.of("other-sessions", sessions=int(active)).at(option))
        return tuple(found)

    def missing_grants(self, ask: Ask) -> tuple[str, ...]:
        found = ask(
            "SELECT quote_ident(current_database()) AS base, quote_ident(current_user) AS who,"
            " has_database_privilege(current_database(), 'CREATE')::text AS may"
        )[0]
        return () if found["may"] == "true" else (f"GRANT CREATE ON DATABASE {found['base']} TO {found['who']}",)

    @property
    def tracing(self) -> Tracing:
        """By the process that serves a connection; blocks are told only when its transaction is over."""
        return TRACING

    def memory_sql(self, session_bytes: int) -> tuple[str, ...]:
        """What a session runs so that more than these bytes go to files."""
        return tuple(f"SET {name} = '{value}'" for name, value in session_options(session_bytes).items())

    def encryption(self, ask: Ask) -> Encryption:
        """What ``pg_tde`` or its fork ``open_pg_tde`` says, where one is; else that the server cannot tell."""
        variables = self.settings(ask)
        extension = first(ask("SELECT extname FROM pg_extension WHERE extname IN ('pg_tde', 'open_pg_tde')"))
        if not extension:
            said = "PostgreSQL does not know whether its disk is encrypted"
            return Encryption(
                (Scope(DATA, None, said),),
                can_be_asked=False,
                remedy="--assume-encrypted says that the disk under it is encrypted",
            )
        method, log = variables.get("default_table_access_method", ""), variables.get(f"{extension}.wal_encrypt", "off")
        name = f"{extension}.data_cipher" if f"{extension}.data_cipher" in variables else f"{extension}.cipher"
        cipher, temporary = variables.get(name, "aes_128"), variables.get("encrypt_temp_files")
        return Encryption(
            (
                Scope(DATA, method == "tde_heap", f"default_table_access_method={method}, {name}={cipher}"),
                Scope("log", log == "on", f"{extension}.wal_encrypt={log}"),
                *([Scope("temp", temporary == "on", f"encrypt_temp_files={temporary}")] if temporary else []),
            ),
            can_be_asked=True,
            remedy=f"CREATE EXTENSION {extension}, and a key for this database ({extension}_set_key_using_…)",
        )

    def settings(self, ask: Ask) -> Mapping[str, str]:
        rows = ask("SELECT name, setting || coalesce(' ' || unit, '') AS value FROM pg_settings")
        return {row["name"] or "": row["value"] or "" for row in rows}

    def probe(self, name: str) -> Probe:
        """An advisory lock by the hash of the name, which sessions of all databases see in ``pg_locks``."""
        key = f"hashtext({literal(name)})"
        bits = f"({key}::bigint & 4294967295)::text"  # an oid has no sign
        return Probe(
            f"SELECT pg_try_advisory_lock({key}, {key})",
            "SELECT (count(*) > 0)::int FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2"
            f" AND classid::text = {bits} AND objid::text = {bits}",
            f"SELECT pg_advisory_unlock({key}, {key})",
        )

    def has_schema(self, ask: Ask, schema: str) -> bool:
        """Whether it exists; every user sees all schemas."""
        return bool(ask(f"SELECT 1 AS one FROM pg_namespace WHERE nspname = {literal(schema)}"))

    def make_sql(self, schema: NewSchema) -> tuple[str, ...]:
        name, mark = schema.name, literal(MARK + schema.run_id)
        return (f"""DO $tdelta$ BEGIN CREATE SCHEMA "{name}"; COMMENT ON SCHEMA "{name}" IS {mark}; END $tdelta$""",)

    def sessions(self, schema: NewSchema) -> SchemaSessions:
        """Names without a schema are of tdelta's; with ``pg_tde``, which access method new tables have."""
        path = f'SET search_path TO "{schema.name}"'
        if schema.is_encrypted is None:
            return SchemaSessions(setup=(path,))
        method = "tde_heap" if schema.is_encrypted else "heap"
        return SchemaSessions(setup=(path, f"SET default_table_access_method TO {method}"))

    def own_schemas(self, ask: Ask) -> tuple[LeftoverSchema, ...]:
        rows = ask(
            "SELECT nspname AS name, obj_description(oid, 'pg_namespace') AS mark FROM pg_namespace"
            f" WHERE {_SYSTEM} AND obj_description(oid, 'pg_namespace') LIKE {literal(MARK + '%')} ORDER BY nspname"
        )
        return tuple(LeftoverSchema(row["name"] or "", (row["mark"] or "").removeprefix(MARK)) for row in rows)

    def mark_session_sql(self, mark: str) -> str:
        return f"SET application_name TO {_session_name(mark)}"

    def marked_sessions(self, ask: Ask, mark: str) -> tuple[str, ...]:
        rows = ask(
            f"SELECT pid::text AS id FROM pg_stat_activity WHERE application_name = {_session_name(mark)}"
            " AND usename = current_user AND pid <> pg_backend_pid()"
        )
        return tuple(row["id"] or "" for row in rows)

    def end_session_sql(self, session: str) -> str:
        return f"SELECT pg_terminate_backend({int(session)})"

    def hurry_sql(self, seconds: int) -> str:
        return f"SET lock_timeout TO '{seconds}s'"

    @property
    def counters(self) -> tuple[str, ...]:
        return counters_of(_major(self.identity.version))

    @property
    def flushing(self) -> tuple[str, ...]:
        return flushing_of(_major(self.identity.version))

    def statistics_sql(self, tables: Iterable[str]) -> tuple[str, ...]:
        """Statistics, and the hint bits that a page's first reader would otherwise write in its trial."""
        return tuple(f"VACUUM (FREEZE, ANALYZE) {_quoted(table)}" for table in tables)

    def drop_tables_sql(self, tables: Sequence[str]) -> tuple[str, ...]:
        return (f"DROP TABLE IF EXISTS {', '.join(map(_quoted, tables))}",)

    def data_bytes_sql(self, schema: str) -> str:
        """Tables with their indexes and what they keep out of line."""
        return (
            "SELECT sum(pg_total_relation_size(c.oid))::text FROM pg_class c JOIN pg_namespace n ON n.oid ="
            f" c.relnamespace WHERE c.relkind = 'r' AND n.nspname = {literal(schema)}"
        )

    def drop_sql(self, schema: str) -> str:
        return f'DROP SCHEMA "{schema}" CASCADE'

    def tables(self, ask: Ask, schema: str) -> Mapping[str, bool | None]:
        """By ``pg_tde_is_encrypted``, or its fork's, where it is; None elsewhere."""
        known = "'pg_tde_is_encrypted', 'open_pg_tde_is_encrypted'"
        tell = first(ask(f"SELECT oid::regproc::text FROM pg_proc WHERE proname IN ({known}) LIMIT 1"))
        state = f"{tell}(c.oid::regclass)::text" if tell else "NULL"
        rows = ask(
            f"SELECT c.relname AS name, {state} AS state FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            f" WHERE n.nspname = {literal(schema)} AND c.relkind IN ('r', 'p') ORDER BY c.relname"
        )
        return {row["name"] or "": None if row["state"] is None else row["state"] == "true" for row in rows}


def kind(ask: Ask) -> PostgresServers:
    """Who answers; nothing else speaks its protocol here."""
    asked = "version() AS text, current_setting('server_version') AS version, current_user AS who"
    found = one(ask(f"SELECT {asked}, {_MACHINE} AS machine"))
    version = (found["version"] or "").split(" ")[0]
    product = "Percona Server for PostgreSQL" if "percona" in (found["text"] or "").lower() else "PostgreSQL"
    return PostgresServers(Identity(PROFILE.name, product, version, found["who"] or "", found["machine"] or ""))


def _session_name(mark: str) -> str:
    return literal(mark[:63])


def _major(version: str) -> int:
    """The major version: 15 of ``15.19``, 18 of ``18beta1``."""
    found = re.match(r"\d+", version)
    return int(found[0]) if found else 0


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
