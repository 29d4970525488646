"""PostgreSQL 13 and newer: how a private server is configured and asked.

PostgreSQL itself encrypts nothing at rest. What does is a `Protection` beside this adapter: a gocryptfs mount under the
data directory, a folder that the user has encrypted (`storage`), or Percona's pg_tde (`tde`).

Its tables are cached twice, in ``shared_buffers`` and by the kernel, so a small ``cache_bytes`` alone keeps no page
from memory. What is counted as read is what ``shared_buffers`` did not have; what of that came from the disk, only the
kernel knows.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pwd
import signal
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tdelta.driver.servers.recipes import Command, Greeting, Recipe, ServerPaths
from tdelta.engines.postgres.actions import CONVERSIONS, RESTARTS, tools
from tdelta.engines.postgres.catalog import PostgresCatalog
from tdelta.engines.postgres.evidence import EVIDENCE, WITH_TEMPORARY
from tdelta.engines.postgres.profile import PROFILE
from tdelta.engines.postgres.protection import Configures, Lodges, Mounts, Protection, Proves
from tdelta.engines.postgres.replication import REPLICATION
from tdelta.engines.profile import Profile
from tdelta.engines.servers import (
    DATABASE,
    PageList,
    ServerBinary,
    ServerCipher,
    ServerResources,
    ServerSettings,
    Tracing,
)
from tdelta.engines.shared.evidence import ServerEvidence
from tdelta.engines.shared.private.actions import ServerAction
from tdelta.engines.shared.private.backups import backups
from tdelta.engines.shared.private.replicas import Replication
from tdelta.engines.shared.private.restore import RestoreTarget
from tdelta.engines.shared.settling import Settling
from tdelta.messages import Caution, Detail

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
    "server_version",
    "server_encoding",
    "block_size",
    "wal_segment_size",
    "data_checksums",
    "shared_preload_libraries",
    "max_connections",
    "shared_buffers",
    "huge_pages",
    "work_mem",
    "hash_mem_multiplier",
    "temp_buffers",
    "wal_level",
    "full_page_writes",
    "wal_compression",
    "wal_sync_method",
    "fsync",
    "synchronous_commit",
    "min_wal_size",
    "max_wal_size",
    "checkpoint_timeout",
    "autovacuum",
    "track_io_timing",
    "jit",
    "max_parallel_workers_per_gather",
    "random_page_cost",
    "effective_cache_size",
)


_PAGE_FILE = "tdelta_pages"
_IN_PAGE_FILE = f"current_setting('data_directory') || '/{_PAGE_FILE}'"
_PAGES = (
    "SELECT relfilenode, relblocknumber FROM pg_buffercache WHERE relforknumber = 0"
    " AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_LIMIT = "SET statement_timeout = '50s'"
"""Less than is waited for: the server would go on."""

_PAGE_LIST = PageList(
    file=_PAGE_FILE,
    write=(
        _LIMIT,
        "DO $$ BEGIN IF (SELECT count(*) FROM pg_available_extensions WHERE name IN ('pg_buffercache', 'pg_prewarm'))"
        f" = 2 THEN CREATE EXTENSION pg_buffercache; EXECUTE format('COPY ({_PAGES}) TO %L', {_IN_PAGE_FILE});"
        " DROP EXTENSION pg_buffercache; END IF; END $$",
    ),
    written="SELECT 'done'",
    fetch=(
        _LIMIT,
        "BEGIN",
        "CREATE TEMPORARY TABLE tdelta_pages (file oid, block bigint) ON COMMIT DROP",
        f"DO $$ BEGIN EXECUTE format('COPY tdelta_pages FROM %L', {_IN_PAGE_FILE}); END $$",
        "CREATE EXTENSION pg_prewarm",
        "DO $$ BEGIN PERFORM pg_prewarm(relation, 'buffer', 'main', block, block) FROM (SELECT"
        " pg_filenode_relation(0, file) AS relation, block FROM tdelta_pages) AS pages WHERE relation IS NOT NULL"
        " AND block < pg_relation_size(relation) / current_setting('block_size')::int; END $$",
        "DROP EXTENSION pg_prewarm",
        "COMMIT",
    ),
    fetched="SELECT 'done'",
    done="done",
)
"""Uses two extensions and drops them afterwards. A server installed without them writes no list."""


@dataclass(frozen=True, slots=True)
class PostgresEngine:
    binary: ServerBinary
    protection: Protection

    @property
    def profile(self) -> Profile:
        return PROFILE

    @property
    def evidence(self) -> ServerEvidence:
        return WITH_TEMPORARY if "+temp" in self.scopes else EVIDENCE

    @property
    def ciphers(self) -> Mapping[str, ServerCipher]:
        return self.protection.ciphers

    @property
    def scopes(self) -> tuple[str, ...]:
        return self.protection.scopes

    @property
    def crypto(self) -> str:
        return self.protection.crypto

    @property
    def socket_name(self) -> str:
        """What PostgreSQL's clients expect the socket to be called."""
        return f".s.PGSQL.{_PORT}"

    @property
    def major(self) -> int:
        return int(self.binary.version.split(".", 1)[0])

    @property
    def actions(self) -> Mapping[str, ServerAction]:
        """What can be done to its servers. A base backup holds plain files: only what lies under it encrypts them."""
        is_by_storage = isinstance(self.protection, (Mounts, Lodges))
        made = backups(tools(self.binary.path))
        return {**RESTARTS, **made, **(CONVERSIONS if is_by_storage else {})}

    @property
    def page_list(self) -> PageList:
        return _PAGE_LIST

    @property
    def replication(self) -> Replication:
        return REPLICATION

    def home(self, settings: ServerSettings) -> Path | None:
        """The folder in which such a twin must be made; None: anywhere."""
        return self.protection.home(settings) if isinstance(self.protection, Lodges) else None

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

    def keyed(self, recipe: Recipe, settings: ServerSettings, key: str) -> Recipe:
        """The key is that of a file system under the data directory, where there is one of tdelta's."""
        if not settings.is_encrypted or not isinstance(self.protection, Mounts):
            return recipe
        return dataclasses.replace(recipe, mount=self.protection.mount(recipe.place, settings, key))

    def _initdb(self, place: ServerPaths) -> Command:
        program = self.binary.path.with_name("initdb")
        flags = ("--no-sync", "--data-checksums", "--locale=C.UTF-8", "--encoding=UTF8", "--auth=trust")
        return Command((str(program), "-D", str(place.data), f"--username={_USER}", *flags), as_user=True)

    def _options(self, settings: ServerSettings) -> dict[str, str]:
        return {
            **_FIXED,
            "max_connections": str(settings.connections + _SPARE_CONNECTIONS),
            "shared_buffers": f"{_buffers_bytes(settings) // _KIB}kB",
            "fsync": "off" if settings.is_loading else "on",
            "synchronous_commit": "on" if settings.is_durable and not settings.is_loading else "off",
            **session_options(settings.session_bytes),
            **(self.protection.options(settings) if isinstance(self.protection, Configures) else {}),
        }

    def schema_sql(self, _settings: ServerSettings) -> tuple[str, ...]:
        return (f"CREATE DATABASE {DATABASE} TEMPLATE template0",)

    def before_load_sql(self, settings: ServerSettings) -> tuple[str, ...]:
        """What is run on the new database before tables are made."""
        return self.protection.before_load_sql(settings) if isinstance(self.protection, Configures) else ()

    def after_load_sql(self, _settings: ServerSettings, _tables: Iterable[str]) -> tuple[str, ...]:
        """Statistics of all tables, and the hint bits that a page's first reader would otherwise write in its trial."""
        return ("VACUUM (FREEZE, ANALYZE)", "CHECKPOINT")

    @property
    def facts(self) -> Mapping[str, str]:
        settings = {name: f"SELECT current_setting('{name}', true)" for name in _SHARED_SETTINGS}
        return settings | {"collation": "SELECT datcollate FROM pg_database WHERE datname = current_database()"}

    def cipher_facts(self, settings: ServerSettings) -> Mapping[str, str]:
        return self.protection.facts(settings)

    def cipher_fault(self, settings: ServerSettings, found: Mapping[str, str]) -> Detail | None:
        """What is wrong with the encryption in force; None if it is as asked."""
        return self.protection.fault(settings, found)

    def proof_sql(self, settings: ServerSettings, pages: int) -> Mapping[str, str]:
        """Queries that have 16 KiB encrypted or decrypted so often, and all but that."""
        return self.protection.proof_sql(settings, pages) if isinstance(self.protection, Proves) else {}

    @property
    def catalog(self) -> PostgresCatalog:
        return PostgresCatalog()

    @property
    def schema(self) -> str:
        return "public"

    @property
    def page_size_sql(self) -> str:
        return self.facts["block_size"]

    encryption_options_sql = ""
    """A dump that asks for an access method for its tables is refused by a plain server."""

    def restore_target(self, recipe: Recipe, folder: Path) -> RestoreTarget:
        """By the folder of the socket; a server that another user of the system runs is none of this run's."""
        target = client_target(recipe.place.socket, _USER, DATABASE, folder)
        with contextlib.suppress(KeyError):  # a user without a name, as in some containers
            name = pwd.getpwuid(os.geteuid()).pw_name
            return dataclasses.replace(target, variables={**target.variables, "PGREQUIREPEER": name})
        return target

    @property
    def data_bytes_sql(self) -> str:
        """All tables outside the catalogs, with their indexes and what they keep out of line."""
        return _DATA_BYTES_SQL

    def differing_settings(self, settings: ServerSettings) -> tuple[str, ...]:
        return self.protection.differing(settings)

    def cautions(self, settings: ServerSettings) -> tuple[Caution, ...]:
        return self.protection.cautions(settings)

    @property
    def admin_database(self) -> str:
        return "postgres"

    def encrypts_folder(self, settings: ServerSettings) -> bool:
        """Where a file system lies under the data directory that does."""
        return settings.is_encrypted and isinstance(self.protection, (Mounts, Lodges))

    def can_be_searched(self, settings: ServerSettings) -> bool:
        """A user's folder is shown in the clear by the kernel that decrypts it."""
        return not (settings.is_encrypted and isinstance(self.protection, Lodges))

    @property
    def flushing(self) -> tuple[str, ...]:
        """What each connection of the load runs when a trial has ended, so that `counters` holds all it did."""
        return flushing_of(self.major)

    @property
    def counters(self) -> tuple[str, ...]:
        return counters_of(self.major)

    @property
    def tracing(self) -> Tracing:
        """A connection has a process of its own, which tells of blocks only when its transaction is over."""
        return TRACING

    @property
    def resources(self) -> ServerResources:
        """15: 40 MB on the disk and a log that keeps 256 MB; 20 MB, 17 MB for gocryptfs, and 1.1 MB an idle backend."""
        return ServerResources(320_000_000, 60_000_000, 3_000_000, initialize_seconds=2.0, start_seconds=0.4)

    @property
    def settling(self) -> Settling:
        """A checkpoint writes and syncs all that is dirty before it returns, so there is nothing to wait for."""
        return Settling(statements=("CHECKPOINT",))


_DATA_BYTES_SQL = """
SELECT sum(pg_total_relation_size(pg_class.oid)) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE relkind = 'r' AND nspname = 'public'
""".strip()

_DATABASE_COUNTERS = """
SELECT c.name, c.value::bigint FROM (
  SELECT sum(blks_read) AS blks_read, sum(blks_hit) AS blks_hit, sum(temp_files) AS temp_files,
         sum(temp_bytes) AS temp_bytes, sum(blk_read_time) AS read_ms, sum(blk_write_time) AS write_ms
  FROM pg_stat_database) AS d,
LATERAL (VALUES ('pages_read', blks_read), ('buffer_reads', blks_read), ('buffer_requests', blks_hit + blks_read),
  ('temporary_files', temp_files), ('temporary_bytes', temp_bytes),
  ('read_microseconds', (read_ms * 1000)::numeric), ('write_microseconds', (write_ms * 1000)::numeric)
) AS c (name, value)
""".strip()

_CHECKPOINTER_COUNTERS = "SELECT 'checkpoints', num_timed + num_requested FROM pg_stat_checkpointer"
_BGWRITER_COUNTERS = "SELECT 'checkpoints', checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter"
_BGWRITER_WRITES = "SELECT 'pages_written', buffers_checkpoint + buffers_clean + buffers_backend FROM pg_stat_bgwriter"
_IO_WRITES = "SELECT 'pages_written', sum(writes)::bigint FROM pg_stat_io WHERE object = 'relation'"
_IO_BYTES_WRITES = """
SELECT 'pages_written', (sum(write_bytes) / current_setting('block_size')::int)::bigint
FROM pg_stat_io WHERE object = 'relation'
""".strip()
_LOG_COUNTER = "SELECT 'log_bytes', pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"


TRACING = Tracing("SELECT pg_backend_pid()", (_LOG_COUNTER,), {})
"""A process serves each connection."""


def counters_of(major: int) -> tuple[str, ...]:
    """Queries whose rows are a counter's name and its value, for a major version."""
    return (_DATABASE_COUNTERS, _writing_counters(major), _LOG_COUNTER)


def flushing_of(major: int) -> tuple[str, ...]:
    """What makes a session tell its counts now, for a major version.

    A session adds its counts to the shared ones at most once a second, and an idle one ten seconds later.
    PostgreSQL 14 and older cannot be asked: there the counts of a trial's last half second go to the next.
    """
    return ("SELECT pg_stat_force_next_flush()",) if major >= 15 else ()


def _writing_counters(major: int) -> str:
    checkpoints = _CHECKPOINTER_COUNTERS if major >= 17 else _BGWRITER_COUNTERS
    if major < 16:
        return f"{checkpoints} UNION ALL {_BGWRITER_WRITES}"
    return f"{checkpoints} UNION ALL {_IO_BYTES_WRITES if major >= 18 else _IO_WRITES}"


def session_options(session_bytes: int) -> dict[str, str]:
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
