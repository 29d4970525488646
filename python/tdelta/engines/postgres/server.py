"""PostgreSQL 13 and newer.

PostgreSQL itself encrypts nothing at rest. Other classes of its servers do: on a gocryptfs mount under the data
directory, in a folder that the user has encrypted (`storage`), or with Percona's pg_tde (`tde`).

Its tables are cached twice, in ``shared_buffers`` and by the kernel, so a small ``cache_bytes`` alone keeps no page
from memory. A page counts as read if ``shared_buffers`` did not have it; only the kernel knows which of these came from
the disk.

On servers of users, stock PostgreSQL does not know whether the disk beneath it is encrypted, so the user has to say so;
with ``pg_tde`` the server tells. The schema is made in the DSN's database, and marked in the same transaction.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pwd
import re
import signal
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from tdelta.engines.postgres.actions import RESTARTS, tools
from tdelta.engines.postgres.catalog import PostgresCatalog
from tdelta.engines.postgres.profile import PROFILE
from tdelta.engines.postgres.replication import REPLICATION
from tdelta.engines.server.backups import backups
from tdelta.engines.server.base import (
    DATA,
    DATABASE,
    LOCK_SECONDS,
    MARK,
    PLAIN_SCOPE,
    Encryption,
    Identity,
    InForce,
    LeftoverSchema,
    NewSchema,
    PageList,
    Probe,
    ReadOnly,
    RestoreTarget,
    SchemaSessions,
    Scope,
    ServerBinary,
    ServerEngine,
    ServerResources,
    ServerSettings,
    SettingsRule,
    Tracing,
    leftover_schemas,
)
from tdelta.engines.server.evidence import (
    COPIES,
    HALF,
    SPILL,
    ExposurePlan,
    ServerEvidence,
    Settling,
    parts,
    rules,
    steps,
)
from tdelta.engines.server.sessions import Ask, by_name, first, literal, one, statements
from tdelta.evidence import FileClass
from tdelta.evidence.markers import TABLE
from tdelta.messages import Caution, Detail, Refusal
from tdelta.processes.backups import EngineAction
from tdelta.processes.servers.recipes import Command, Greeting, Recipe, ServerPaths

_CHANGE_SQL = f"UPDATE {TABLE} SET marker = substr(marker, {HALF + 1}) || substr(marker, 1, {HALF})"
_PLAN = ExposurePlan(
    steps=(
        *steps("writer", "BEGIN", _CHANGE_SQL, _CHANGE_SQL, "COMMIT"),
        *steps(
            "spill",
            "SET work_mem = '64kB'",
            "SET temp_buffers = '800kB'",
            f"CREATE TEMPORARY TABLE {SPILL} AS SELECT n, id, marker FROM generate_series(1, {COPIES}) AS n, {TABLE}",
            "BEGIN",
            f"DECLARE {SPILL}_cursor CURSOR FOR SELECT marker FROM {SPILL} ORDER BY n % 7, marker",
            f"FETCH 1 FROM {SPILL}_cursor",
        ),
        *steps("open", "BEGIN", _CHANGE_SQL),
    ),
    settling=Settling(statements=("CHECKPOINT",)),
    release=(),
    after=(*steps("open", "ROLLBACK"), *steps("spill", "COMMIT", f"DROP TABLE {SPILL}")),
)


_OF_USERS = r"(1638[4-9]|1639\d|16[4-9]\d\d|1[7-9]\d{3}|[2-9]\d{4}|\d{6,})"
"""Objects below 16384 are PostgreSQL's own (FirstNormalObjectId, access/transam.h)."""

_FILES = rules(
    (rf"base/\d+/{_OF_USERS}(_fsm|_vm|_init)?(\.\d+)?", FileClass.TABLES),
    (r"tmp/.*|(.*/)?pgsql_tmp.*", FileClass.TEMP),
    (r"(.*/)?t\d+_\d+[^/]*", FileClass.TEMP_TABLES),
    (r"pg_wal/.*", FileClass.WAL),
    (r"(base|global)/.*", FileClass.DICTIONARY),
    (r"pg_tblspc/.*", FileClass.TABLES),
    (r"(log|pg_log)/.*|[^/]*\.log", FileClass.LOGS),
)

PARTS = parts(data=(FileClass.TABLES,), log=(FileClass.WAL,))


EVIDENCE = ServerEvidence(_PLAN, _FILES, {"": PARTS}, _CHANGE_SQL)

_PORT = 5432
"""The name of the socket ends in it; no port is listened on."""

_USER = "postgres"
"""The superuser. Who connects to no database is connected to the one of that name, which initdb makes."""

_KIB = 1024
_LEAST_BUFFERS_BYTES = 128 * _KIB
_PINNED_BYTES = 16 * _KIB
"""Two pages: what a connection may hold in the buffers at once while it follows an index."""

_LEAST_WORK_KIB = 64
_LEAST_TEMP_KIB = 800
_SPARE_CONNECTIONS = 8
"""For tdelta's own questions, beside the load's."""

_LEAST_CONNECTIONS = 64
"""As many as the server has that loads the data: a replica of them does not start with fewer."""

_FIXED = {
    "listen_addresses": "''",
    "unix_socket_permissions": "0700",
    "huge_pages": "off",  # 'try' may succeed on one twin and fail on the next
    "lc_messages": "'C'",
    "timezone": "'UTC'",
    "log_timezone": "'UTC'",
    "datestyle": "'ISO, MDY'",
    "wal_level": "replica",
    "max_wal_senders": "2",  # a base backup takes both, one of them for the log
    "full_page_writes": "on",
    # Each trial ends in a checkpoint; one that falls due by the clock would hit whichever twin happens to run.
    "checkpoint_timeout": "1d",
    "min_wal_size": "256MB",
    "max_wal_size": "2GB",
    # A worker that wakes up within one twin's trial is noise; statistics and hint bits stay as the load left them.
    "autovacuum": "off",
    "track_io_timing": "on",
}

_SHARED_SETTINGS = (
    *("server_version", "server_encoding", "block_size", "wal_segment_size", "data_checksums"),
    *("shared_preload_libraries", "max_connections", "shared_buffers", "huge_pages", "work_mem"),
    *("hash_mem_multiplier", "temp_buffers", "wal_level", "full_page_writes", "wal_compression"),
    *("wal_sync_method", "fsync", "synchronous_commit", "min_wal_size", "max_wal_size", "checkpoint_timeout"),
    *("autovacuum", "track_io_timing", "jit", "max_parallel_workers_per_gather", "random_page_cost"),
    *("effective_cache_size",),
)


SQL = statements("tdelta.engines.postgres")
_LIMIT = "SET statement_timeout = '50s'"
"""Less than is waited for: the server would go on."""

_PAGE_LIST = PageList(
    file="tdelta_pages",
    write=(_LIMIT, SQL["write_pages"]),
    written="SELECT 'done'",
    fetch=(
        _LIMIT,
        "BEGIN",
        "CREATE TEMPORARY TABLE tdelta_pages (file oid, block bigint) ON COMMIT DROP",
        SQL["read_pages"],
        "CREATE EXTENSION pg_prewarm",
        SQL["fetch_pages"],
        "DROP EXTENSION pg_prewarm",
        "COMMIT",
    ),
    fetched="SELECT 'done'",
    done="done",
)
"""Uses two extensions and drops them afterwards. A server installed without them writes no list."""

_RULE = SettingsRule(
    r".*_file|.*_directory|.*_directories|.*_directory_mode|port|listen_addresses|cluster_name|unix_socket_.*"
    r"|external_pid_file|log_.*|logging_.*|syslog_.*|event_source|application_name|client_.*|search_path|ssl.*|krb_.*"
    r"|gss_.*|transaction_.*|in_hot_standby|primary_.*|recovery_.*|restore_command|archive_command|archive_cleanup_.*"
    r"|promote_trigger.*|hot_standby.*|synchronous_standby_names|bonjour.*|(open_)?pg_tde\..*|encrypt_temp_files|default_table_access_method"
    r"|seed|session_authorization|role|is_superuser|server_version_num|wal_receiver_.*|data_directory_.*|backtrace.*"
    r"|shared_memory_size.*|huge_pages_status|num_os_semaphores|lc_messages|update_process_title",
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
_WAITS = ("statement_timeout", "idle_session_timeout", "idle_in_transaction_session_timeout", "transaction_timeout")
_NO_LIMIT = "0"
_SESSION = {
    "TimeZone": "UTC",
    "default_tablespace": "",
    "default_transaction_deferrable": "off",
    "default_transaction_isolation": "read committed",
    "extra_float_digits": "3",
}
"""Settings that a server, a database or a role may have, and that would make sessions differ between the servers."""


class Postgres(ServerEngine):
    profile = PROFILE
    catalog = PostgresCatalog()
    evidence = EVIDENCE
    tracing = Tracing("SELECT pg_backend_pid()", (SQL["log_counter"],), {})
    """Each connection has its own process, which reports its block counts when its transaction ends."""

    facts = MappingProxyType(
        {
            **{name: f"SELECT current_setting('{name}', true)" for name in _SHARED_SETTINGS},
            "collation": "SELECT datcollate FROM pg_database WHERE datname = current_database()",
        }
    )
    schema = "public"
    page_size_sql = facts["block_size"]
    admin_database = "postgres"
    socket_name = f".s.PGSQL.{_PORT}"
    """The name that PostgreSQL's clients expect of the socket."""

    page_list = _PAGE_LIST
    replication = REPLICATION
    resources = ServerResources(320_000_000, 60_000_000, 3_000_000, initialize_seconds=2.0, start_seconds=0.4)
    """15: 40 MB on the disk and a log that keeps 256 MB; 20 MB, 17 MB for gocryptfs, and 1.1 MB an idle backend."""

    settling = Settling(statements=("CHECKPOINT",))
    """A checkpoint writes and syncs all that is dirty before it returns, so there is nothing to wait for."""

    rule = _RULE
    session_sql: tuple[str, ...] = (
        f"SELECT {', '.join(f'set_config({literal(n)}, {literal(v)}, false)' for n, v in _SESSION.items())}",
        f"SELECT set_config(name, {literal(_NO_LIMIT)}, false) FROM pg_settings"
        f" WHERE name IN ({', '.join(literal(name) for name in _WAITS)})",
    )

    long_sql: str = SQL["long"]
    census: tuple[str, ...] = (SQL["census"],)
    waiting_sql: tuple[str, ...] = (f"SET lock_timeout = '{LOCK_SECONDS}s'",)

    in_force = InForce(
        f"SELECT {', '.join(f'current_setting({literal(name)}) AS {name}' for name in _SESSION)}"
        f", {', '.join(f'coalesce(current_setting({literal(n)}, true), {literal(_NO_LIMIT)}) AS {n}' for n in _WAITS)}",
        {**_SESSION, **dict.fromkeys(_WAITS, _NO_LIMIT)},
    )

    read_only = ReadOnly(
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "current_setting('default_transaction_read_only')", "on"
    )

    ciphers: tuple[str, ...] = (PLAIN_SCOPE,)
    scopes: tuple[str, ...] = (PLAIN_SCOPE,)
    """A file system knows nothing of tables and logs. In a run that varies what data directories lie on, whoever makes
    that encrypts."""

    crypto = "none"
    """Whose code encrypts: a value of `tdelta.measure.aes.CryptoKind`, or a name from which nothing can hide AES."""

    conversions: ClassVar[Mapping[str, EngineAction]] = MappingProxyType({})

    def __init__(self, origin: ServerBinary | Identity) -> None:
        super().__init__(origin)
        major = _major(origin.version)
        self.counters = (SQL["database_counters"], _writing_counters(major), SQL["log_counter"])
        # A session adds its counts to the shared ones at most once a second, and an idle one ten seconds later.
        # PostgreSQL 14 and older cannot be asked: there the counts of a trial's last half second go to the next.
        self.flushing = ("SELECT pg_stat_force_next_flush()",) if major >= 15 else ()
        if isinstance(origin, ServerBinary):
            self.actions = {**RESTARTS, **backups(tools(origin.path)), **self.conversions}

    def recipe(self, place: ServerPaths, settings: ServerSettings) -> Recipe:
        """How the server of a twin is made and run.

        Configuration lies outside the data directory, since initdb wants that empty and a copy of it must not bring
        the settings of another twin along.
        """
        program = str(self.binary.path)
        configuration, access = place.folder / "postgresql.conf", place.folder / "pg_hba.conf"
        options = {
            "hba_file": _quoted(str(access)),
            "unix_socket_directories": _quoted(str(place.socket.parent)),
            "port": str(_PORT),
            **self._options(settings),
        }
        return Recipe(
            place=place,
            files={
                configuration: "".join(f"{name} = {value}\n" for name, value in options.items()),
                access: "local all all trust\nlocal replication all trust\n",
            },
            initialize=(self._initdb(place),),
            serve=Command((program, "-D", str(place.data), "-c", f"config_file={configuration}"), as_user=True),
            connect={"protocol": "postgres", "socket": str(place.socket), "user": _USER},
            stop_signal=signal.SIGINT,
            greeting=Greeting(says=_startup_message(), answer=b"R"),
        )

    def _initdb(self, place: ServerPaths) -> Command:
        program = self.binary.path.with_name("initdb")
        flags = ("--no-sync", "--data-checksums", "--locale=C.UTF-8", "--encoding=UTF8", "--auth=trust")
        return Command((str(program), "-D", str(place.data), f"--username={_USER}", *flags), as_user=True)

    def _options(self, settings: ServerSettings) -> dict[str, str]:
        return {
            **_FIXED,
            "max_connections": str(max(_LEAST_CONNECTIONS, settings.connections) + _SPARE_CONNECTIONS),
            "shared_buffers": f"{_buffers_bytes(settings) // _KIB}kB",
            "fsync": "off" if settings.is_loading else "on",
            "synchronous_commit": "on" if settings.is_durable and not settings.is_loading else "off",
            **_session_options(settings.session_bytes),
            **self.more_options(settings),
        }

    def more_options(self, _settings: ServerSettings) -> Mapping[str, str]:
        """Lines of postgresql.conf beside those that all servers have."""
        return {}

    def schema_sql(self, _settings: ServerSettings) -> tuple[str, ...]:
        return (f"CREATE DATABASE {DATABASE} TEMPLATE template0",)

    def after_load_sql(self, _settings: ServerSettings, _tables: Iterable[str]) -> tuple[str, ...]:
        """Statistics of all tables, and the hint bits that a page's first reader would otherwise write in its trial."""
        return ("VACUUM (FREEZE, ANALYZE)", "CHECKPOINT")

    def cipher_facts(self, _settings: ServerSettings) -> Mapping[str, str]:
        return {"file system": SQL["file_system"]}

    def cipher_fault(self, _settings: ServerSettings, _found: Mapping[str, str]) -> Detail | None:
        return None  # it encrypts nothing

    def restore_target(self, recipe: Recipe, folder: Path) -> RestoreTarget:
        """By the folder of the socket; a server that another user of the system runs is none of this run's."""
        target = client_target(recipe.place.socket, _USER, DATABASE, folder)
        with contextlib.suppress(KeyError):  # a user without a name, as in some containers
            name = pwd.getpwuid(os.geteuid()).pw_name
            return dataclasses.replace(target, variables={**target.variables, "PGREQUIREPEER": name})
        return target

    def standing_faults(self, ask: Ask) -> tuple[Refusal, ...]:
        faults = []
        if first(ask("SELECT pg_is_in_recovery()::text")) == "true":
            faults.append(Refusal.of("server-unfit", why="it is a read-only standby"))
        elif first(ask("SHOW default_transaction_read_only")) == "on":
            faults.append(Refusal.of("read-only", setting="default_transaction_read_only of this user"))
        return tuple(faults)

    def disturbances(self, ask: Ask, option: str) -> tuple[Caution, ...]:
        found = []
        if (standbys := first(ask("SELECT count(*)::text FROM pg_stat_replication"))) != "0":
            found.append(Caution.of("replicas-read", replicas=int(standbys)).at(option))
        if (active := first(ask(SQL["others"]))) != "0":
            found.append(Caution.of("other-sessions", sessions=int(active)).at(option))
        return tuple(found)

    def missing_grants(self, ask: Ask) -> tuple[str, ...]:
        found = one(ask(SQL["rights"]))
        return () if found["may"] == "true" else (f"GRANT CREATE ON DATABASE {found['base']} TO {found['who']}",)

    def memory_sql(self, session_bytes: int) -> tuple[str, ...]:
        return tuple(f"SET {name} = '{value}'" for name, value in _session_options(session_bytes).items())

    def encryption(self, ask: Ask) -> Encryption:
        """As ``pg_tde`` or its fork ``open_pg_tde`` tells, where one is; else that the server cannot tell."""
        variables = self.settings(ask)
        extension = first(ask(SQL["extension"]))
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
        return by_name(ask(SQL["settings"]), "value")

    def probe(self, name: str) -> Probe:
        return Probe(*(SQL[of].format(lock=literal(name)) for of in ("lock_take", "lock_seen", "lock_release")))

    def has_schema(self, ask: Ask, schema: str) -> bool:
        """Whether it exists; every user sees all schemas."""
        return bool(ask(f"SELECT 1 AS one FROM pg_namespace WHERE nspname = {literal(schema)}"))

    def make_sql(self, schema: NewSchema) -> tuple[str, ...]:
        return (SQL["make_schema"].format(schema=schema.name, mark=literal(MARK + schema.run_id)),)

    def sessions(self, schema: NewSchema) -> SchemaSessions:
        """Names without a schema are of tdelta's; with ``pg_tde``, which access method new tables have."""
        path = f'SET search_path TO "{schema.name}"'
        if schema.is_encrypted is None:
            return SchemaSessions(setup=(path,))
        method = "tde_heap" if schema.is_encrypted else "heap"
        return SchemaSessions(setup=(path, f"SET default_table_access_method TO {method}"))

    def own_schemas(self, ask: Ask, *_named: str) -> tuple[LeftoverSchema, ...]:
        return leftover_schemas(by_name(ask(SQL["marks"].format(like=literal(MARK + "%"))), "mark"))

    def mark_session_sql(self, mark: str) -> str:
        return f"SET application_name TO {_session_name(mark)}"

    def marked_sessions(self, ask: Ask, mark: str) -> tuple[str, ...]:
        rows = ask(SQL["marked_sessions"].format(mark=_session_name(mark)))
        return tuple(row["id"] or "" for row in rows)

    def end_session_sql(self, session: str) -> str:
        return f"SELECT pg_terminate_backend({int(session)})"

    def hurry_sql(self, seconds: int) -> str:
        return f"SET lock_timeout TO '{seconds}s'"

    def statistics_sql(self, tables: Iterable[str]) -> tuple[str, ...]:
        """Statistics, and the hint bits that a page's first reader would otherwise write in its trial."""
        return tuple(f"VACUUM (FREEZE, ANALYZE) {self.quoted(table)}" for table in tables)

    def data_bytes_sql(self, schema: str) -> str:
        return SQL["data_bytes"].format(schema=literal(schema))

    def drop_sql(self, schema: str) -> str:
        return f'DROP SCHEMA "{schema}" CASCADE'

    def tables(self, ask: Ask, schema: str) -> Mapping[str, bool | None]:
        """By ``pg_tde_is_encrypted``, or its fork's, where it is; None elsewhere."""
        tell = first(ask(SQL["tells_encryption"]))
        state = f"{tell}(c.oid::regclass)::text" if tell else "NULL"
        rows = ask(SQL["tables"].format(state=state, schema=literal(schema)))
        return {row["name"] or "": None if row["state"] is None else row["state"] == "true" for row in rows}

    @classmethod
    def answering(cls, ask: Ask) -> Postgres:
        found = one(ask(SQL["identity"]))
        version = (found["version"] or "").split(" ")[0]
        product = "Percona Server for PostgreSQL" if "percona" in (found["text"] or "").lower() else "PostgreSQL"
        return cls(Identity(PROFILE.name, product, version, found["who"] or "", found["machine"] or ""))


def _writing_counters(major: int) -> str:
    checkpoints = SQL["checkpointer_counters" if major >= 17 else "bgwriter_counters"]
    writes = "bgwriter_writes" if major < 16 else "io_bytes_writes" if major >= 18 else "io_writes"
    return f"{checkpoints} UNION ALL {SQL[writes]}"


def _session_options(session_bytes: int) -> dict[str, str]:
    """One operation's memory and a session's temporary tables; a hash gets no more than a sort."""
    if not session_bytes:
        return {}
    return {
        "work_mem": f"{max(_LEAST_WORK_KIB, session_bytes // _KIB)}kB",
        "hash_mem_multiplier": "1.0",
        "temp_buffers": f"{max(_LEAST_TEMP_KIB, session_bytes // _KIB)}kB",
    }


def _buffers_bytes(settings: ServerSettings) -> int:
    if settings.cache_bytes == 0:
        return _LEAST_BUFFERS_BYTES + _PINNED_BYTES * settings.connections
    return max(_LEAST_BUFFERS_BYTES, settings.cache_bytes)


def _startup_message() -> bytes:
    """Protocol 3.0's first message: a server that is still starting answers with an error, a ready one with ``R``."""
    body = struct.pack("!I", 3 << 16) + b"user\0" + _USER.encode() + b"\0database\0" + _USER.encode() + b"\0\0"
    return struct.pack("!I", len(body) + 4) + body


def client_target(socket: Path, user: str, database: str, folder: Path, port: int = _PORT) -> RestoreTarget:
    """How a user's command finds a server: to PostgreSQL's programs a socket is its folder and a port."""
    host = str(socket.parent)
    return RestoreTarget(
        {"socket": host, "port": str(port), "user": user, "database": database, "folder": str(folder)},
        {"PGHOST": host, "PGPORT": str(port), "PGUSER": user, "PGDATABASE": database},
    )


def _quoted(text: str) -> str:
    """A value as postgresql.conf wants it: within quotes that are doubled inside, backslashes likewise."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _session_name(mark: str) -> str:
    return literal(mark[:63])


def _major(version: str) -> int:
    """The major version: 15 of ``15.19``, 18 of ``18beta1``."""
    found = re.match(r"\d+", version)
    return int(found[0]) if found else 0
