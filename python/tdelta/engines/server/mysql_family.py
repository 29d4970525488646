"""Common parts of MariaDB, MySQL and Percona Server: option files, sizes, the user, status counters.

Whoever connects does so through a Unix socket in a folder that nobody else may enter, as a user without a password;
there is no other way in. Nothing here reads or starts anything.
"""

from __future__ import annotations

import dataclasses
import getpass
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from tdelta.engines.base import settings_fault
from tdelta.engines.server import catalog as describing
from tdelta.engines.server.actions import Site
from tdelta.engines.server.backups import ServerTool, Words
from tdelta.engines.server.base import (
    DATABASE,
    LOCK_SECONDS,
    MARK,
    PREFIX,
    DumpEncryption,
    Identity,
    InForce,
    LeftoverSchema,
    NewSchema,
    Probe,
    ReadOnly,
    RestoreTarget,
    Scope,
    ServerBinary,
    ServerEngine,
    ServerSettings,
    SettingsRule,
    Tracing,
    leftover_schemas,
)
from tdelta.engines.server.evidence import COPIES, HALF, SPILL, ExposurePlan, ExposureStep, Settling, rules, steps
from tdelta.engines.server.mysql_profile import NEAREST
from tdelta.engines.server.replicas import Behind, Link, Replication
from tdelta.engines.server.sessions import Ask, Row, by_name, first, literal, one, statements
from tdelta.errors import EnvironmentFault
from tdelta.evidence import FileClass
from tdelta.evidence.markers import MARKER_BYTES, TABLE
from tdelta.measure.effort import IS_BRIEF
from tdelta.messages import Caution, Detail, Refusal
from tdelta.processes.backups import BackupTool
from tdelta.processes.load_generator.connections import MYSQL, Connection
from tdelta.processes.pipelines import Program
from tdelta.processes.servers.recipes import Greeting, Recipe, ServerPaths
from tdelta.processes.workers import Refused

SQL = statements("tdelta.engines.server", "mysql.sql")


def dumps(dumper: Program, client: Program) -> ServerTool:
    """The database as SQL out of one transaction, and the client that runs it."""

    def write(site: Site, _folder: Path, _compresses: bool) -> Words:
        return (dumper.name, *_reach(site), "--single-transaction", "--hex-blob", DATABASE)

    def read(site: Site, _folder: Path) -> Words:
        return (client.name, *_reach(site), DATABASE)

    return ServerTool(BackupTool(f"{dumper.name}: rows as SQL", True, programs=(dumper, client)), write, read)


def _reach(site: Site) -> Words:
    return ("--no-defaults", f"--socket={site.recipe.place.socket}", f"--user={DATABASE}")


Options: TypeAlias = Mapping[str, str | int | Path | None]
"""Settings of an option file; None for one without a value."""

Switches: TypeAlias = Mapping[str, Options]
"""By the part of a scope (``data``, ``log``, …): the settings that switch its encryption on. All are off by default."""

_WORDS = {"ON": "1", "OFF": "0"}

MIB = 1 << 20
LOG_BYTES = (32 if IS_BRIEF else 128) * MIB
"""The redo log: several trials of the quickest writers fit, so that no trial waits for a checkpoint that the size of
the log forces. It counts once for each twin's disk."""

PAGE_BYTES = 16 * 1024
"""A page of InnoDB's, by default."""

LEAST_POOL_BYTES = 8 * MIB
_FREE_SHARE = 64
_LEAST_FREE_PAGES = 100
_MOST_FREE_PAGES = 1024
LOADING_POOL_BYTES = 512 * MIB
_MOST_CHUNKS = 64
_SPARE_CONNECTIONS = 16
_FILES_FOR_EACH_CONNECTION = 2

OPTION_FILE = "server.cnf"
"""The name of a server's option file, in its folder."""

GREETING = Greeting(answer=b"\x0a", at=4)
"""A server that takes connections sends protocol version 10 behind the packet's header of four bytes; one that refuses
sends 255 there (dev.mysql.com/doc/dev/mysql-server, "Protocol::HandshakeV10")."""

USER_SQL = (
    "FLUSH PRIVILEGES;\n"  # a server that is being installed has not read its tables of rights
    f"CREATE USER '{DATABASE}'@'localhost';\n"
    f"GRANT ALL PRIVILEGES ON *.* TO '{DATABASE}'@'localhost' WITH GRANT OPTION;\n"
)

CREATE_SQL = f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"


def client_target(socket: Path, user: str, database: str, folder: Path, port: int = 0) -> RestoreTarget:
    placeholders = {"socket": str(socket), "port": str(port), "user": user, "database": database, "folder": str(folder)}
    options = Connection(MYSQL, user, database, socket).option_file()
    return RestoreTarget(placeholders, {"MYSQL_UNIX_PORT": str(socket)}, options)


def option_file(options: Options) -> str:
    lines = [name if value is None else f"{name}={value}" for name, value in options.items()]
    return "\n".join(["[mysqld]", *lines, ""])


def base_folder(binary: ServerBinary) -> Path:
    """Where the server's own files are: above the folder of the program (``sbin``, ``bin`` or ``libexec``)."""
    return binary.path.parent.parent


def pool_bytes(settings: ServerSettings) -> int:
    """The size of the buffer pool in whole chunks, as the server would round it."""
    least = LOADING_POOL_BYTES if settings.is_loading else LEAST_POOL_BYTES
    wanted = max(settings.cache_bytes, least)
    chunk = chunk_bytes(wanted)
    return -(-wanted // chunk) * chunk


def chunk_bytes(pool: int) -> int:
    """The unit of the buffer pool: whole MiB, so small that rounding does not change a share of the data by much."""
    return max(1, pool // _MOST_CHUNKS // MIB) * MIB


def free_pages(pool: int) -> int:
    """How many pages of the buffer pool InnoDB keeps free (innodb_lru_scan_depth, 100 at least).

    By default 1024 (MySQL) or 1536 (MariaDB, 24 MiB), whatever the pool's size: a pool of 30 MB then holds 5 MB of data
    and not 30, and one that is larger than the data still misses.
    """
    return min(_MOST_FREE_PAGES, max(_LEAST_FREE_PAGES, pool // PAGE_BYTES // _FREE_SHARE))


def shared_options(binary: ServerBinary, place: ServerPaths, settings: ServerSettings) -> Options:
    """Options of every twin of these engines, whatever its cipher.

    Each size is fixed, since a server that chose its own by the machine's memory would be another experiment. Pages go
    past the OS's cache (O_DIRECT), so that what is not in the buffer pool is read and decrypted again; but where twins
    differ in their storage, of which fscrypt buffers such reads silently. Nothing is kept of the pool over a restart.
    Background work runs at a fixed rate on a fixed number of threads.
    """
    pool = pool_bytes(settings)
    connections = settings.connections + _SPARE_CONNECTIONS
    return {
        "basedir": base_folder(binary),
        "user": getpass.getuser(),
        "datadir": place.data,
        "tmpdir": place.temporary,
        "socket": place.socket,
        "pid_file": place.folder / "pid",
        "skip_networking": None,
        "local_infile": "ON",
        "max_connections": connections,
        "back_log": connections,
        "table_open_cache": 4000,
        "open_files_limit": 8192 + _FILES_FOR_EACH_CONNECTION * connections,
        "thread_cache_size": connections,
        "max_prepared_stmt_count": 1_000_000,
        "max_allowed_packet": "64M",
        "character_set_server": "utf8mb4",
        "collation_server": "utf8mb4_bin",
        "innodb_buffer_pool_size": pool,
        "innodb_buffer_pool_chunk_size": chunk_bytes(pool),
        "innodb_lru_scan_depth": free_pages(pool),
        "innodb_buffer_pool_dump_at_shutdown": "OFF",
        "innodb_buffer_pool_load_at_startup": "OFF",
        "innodb_flush_method": "fsync" if settings.is_buffered else "O_DIRECT",
        "innodb_file_per_table": "ON",
        "innodb_io_capacity": 10_000,
        "innodb_io_capacity_max": 20_000,
        "innodb_purge_threads": 1,
        "innodb_read_io_threads": 4,
        "innodb_write_io_threads": 4,
        "innodb_lock_wait_timeout": 50,
        "innodb_doublewrite": "OFF" if settings.is_loading else "ON",
        "innodb_flush_log_at_trx_commit": _flush_log(settings),
    }


_SESSION_MEMORY = ("sort_buffer_size", "join_buffer_size", "tmp_table_size", "max_heap_table_size")


def session_options(settings: ServerSettings) -> Options:
    """Memory of a session's sorts, joins and temporary tables before they go to files, where that is set."""
    return dict.fromkeys(_SESSION_MEMORY, settings.session_bytes) if settings.session_bytes else {}


def binary_log_options(settings: ServerSettings) -> Options:
    """The binary log: rows, flushed with each commit if commits are to reach the disk. Loading writes none."""
    if not settings.has_binlog or settings.is_loading:
        return {"skip_log_bin": None}
    return {
        "log_bin": "binlog",
        "server_id": 1,
        "max_binlog_size": "256M",
        "sync_binlog": 1 if settings.is_durable else 0,
    }


def switched_on(switches: Switches, settings: ServerSettings) -> Options:
    return {
        name: value for part, options in switches.items() if settings.covers(part) for name, value in options.items()
    }


def wanted_switches(switches: Switches, settings: ServerSettings) -> Mapping[str, str]:
    """Every switch with the value that it must have on a twin: what is not switched on is off."""
    on = switched_on(switches, settings)
    every = {name: value for options in switches.values() for name, value in options.items()}
    return {name: str(on.get(name, 0 if isinstance(value, int) else "OFF")) for name, value in every.items()}


def tablespaces_fault(settings: ServerSettings, found: Mapping[str, str]) -> Detail | None:
    """A tablespace that is not encrypted, or that is."""
    plain, encrypted = found["plain_tablespaces"], found["encrypted_tablespaces"]
    if settings.is_encrypted:
        return wrong_count(plain, "tablespaces are not encrypted") if plain != "0" or encrypted == "0" else None
    return None if encrypted == "0" else wrong_count(encrypted, "tablespaces are encrypted")


def wrong_count(count: str, what: str, expected: str = "none") -> Detail:
    return Detail.of("wrong-count", count=count, what=what, expected=expected)


def _flush_log(settings: ServerSettings) -> int:
    """1: the log is flushed at each commit; 2: written then, flushed each second; 0: both each second."""
    if settings.is_loading:
        return 0
    return 1 if settings.is_durable else 2


def connect_options(place: ServerPaths) -> dict[str, object]:
    return {"protocol": "mysql", "socket": str(place.socket), "user": DATABASE}


def counters_sql(table: str, names: Mapping[str, str]) -> str:
    """One query for status counters.

    Args:
        table: where they are, ``information_schema.GLOBAL_STATUS`` or ``performance_schema.global_status``.
        names: the reports' name of each by the server's, in small letters.
    """
    cases = " ".join(f"WHEN '{server}' THEN '{ours}'" for server, ours in names.items())
    listed = ", ".join(f"'{server}'" for server in names)
    return (
        f"SELECT CASE LOWER(VARIABLE_NAME) {cases} END, VARIABLE_VALUE FROM {table}"
        f" WHERE LOWER(VARIABLE_NAME) IN ({listed})"
    )


TRACED = {
    "innodb_buffer_pool_reads": "buffer_reads",
    "innodb_buffer_pool_read_requests": "buffer_requests",
    "innodb_buffer_pool_write_requests": "buffer_write_requests",
    "handler_write": "rows_inserted",
    "handler_update": "rows_updated",
    "handler_delete": "rows_deleted",
}
"""Counters that are read around every statement that is traced."""

COUNTED = {
    "innodb_pages_read": "pages_read",
    "innodb_pages_written": "pages_written",
    "innodb_buffer_pool_reads": "buffer_reads",
    "innodb_buffer_pool_read_requests": "buffer_requests",
    "created_tmp_disk_tables": "temporary_tables",
    "created_tmp_files": "temporary_files",
    "sort_merge_passes": "sort_merge_passes",
    "innodb_data_fsyncs": "data_syncs",
}
"""Counters that are read around every trial; each product has more."""


def tracing(thread: str, table: str, log: str) -> Tracing:
    """The metering of a traced connection; its counters include the work of purge and page cleaners.

    Args:
        thread: a query for the operating system's id of the connection's thread; empty if the server does not show it.
        table: as in `counters_sql`.
        log: the counter of the bytes of the redo log.
    """
    return Tracing(thread, (counters_sql(table, {**TRACED, log: "log_bytes"}),), NEAREST)


def dirty_pages_sql(table: str) -> str:
    """A query for how many pages of the buffer pool are to be written; ``table`` as in `counters_sql`."""
    return f"SELECT VARIABLE_VALUE FROM {table} WHERE VARIABLE_NAME = 'Innodb_buffer_pool_pages_dirty'"


def variables(names: Iterable[str]) -> dict[str, str]:
    return {name: f"SELECT @@global.{name}" for name in names}


SHARED_FACTS = (
    *("version", "innodb_page_size", "innodb_buffer_pool_size", "innodb_lru_scan_depth"),
    *("innodb_flush_method", "innodb_flush_log_at_trx_commit", "innodb_doublewrite", "innodb_io_capacity"),
    *("innodb_io_capacity_max", "innodb_purge_threads", "log_bin", "sync_binlog", "sort_buffer_size"),
    *("join_buffer_size", "tmp_table_size", "max_heap_table_size", "max_connections", "performance_schema"),
    *("character_set_server", "collation_server", "sql_mode"),
)
"""Settings in which twins must agree, read back from each."""


# Pages that InnoDB compressed, of MariaDB and of MySQL: which they are, and what was in them before.
#
# A table whose pages are compressed keeps its logical layout: each page stands where it always did, is shorter, and the
# rest of its place is a hole in the file. Planted rows are not found as bytes where zlib has shifted all by bits; LZ4
# leaves bytes that do not repeat as they are.
#
# Sources: MariaDB, storage/innobase/fil/fil0pagecompress.cc; MySQL, storage/innobase/include/fil0types.h and
# storage/innobase/os/file.cc.

_TYPE_AT = 24
_MYSQL_TYPE, _MYSQL_DATA_AT, _MYSQL_ALGORITHM_AT, _MYSQL_ZLIB = 14, 38, 27, 1
_OLD_TYPE, _OLD_DATA_AT = 34354, 40
"""MariaDB's pages with a checksum of an earlier kind than ``full_crc32``."""

_FULL_CRC32, _FULL_CRC32_DATA_AT = 0x8000, 26
"""The bit of the type by which ``full_crc32``, the usual kind since MariaDB 10.5, marks them."""

_COMPRESSED, _UNCOMPRESSED = "compressed_tables", "uncompressed_tables"


def inflated(page: bytes) -> bytes:
    """A page as it was before zlib compressed it; nothing of one that it did not compress, or that is encrypted."""
    kind = int.from_bytes(page[_TYPE_AT : _TYPE_AT + 2], "big")
    if kind == _MYSQL_TYPE:
        at = _MYSQL_DATA_AT if page[_MYSQL_ALGORITHM_AT] == _MYSQL_ZLIB else 0
    elif kind == _OLD_TYPE:
        at = _OLD_DATA_AT
    else:
        at = _FULL_CRC32_DATA_AT if kind & _FULL_CRC32 else 0
    if not at:
        return b""
    try:
        return zlib.decompressobj().decompress(page[at:], len(page))
    except zlib.error:  # encrypted, or by another algorithm
        return b""


def compression_facts(settings: ServerSettings, options_like: str) -> Mapping[str, str]:
    """Queries for how many of the run's tables are compressed, and how many are not.

    Args:
        settings: the twin's; none are asked for in runs that do not vary compression.
        options_like: how the catalog's options of a table read that is compressed as it should, as a pattern of LIKE.
    """
    if not settings.compression:
        return {}
    looks = {_COMPRESSED: "LIKE", _UNCOMPRESSED: "NOT LIKE"}
    return {name: SQL["compressed"].format(like=f"{how} '{options_like}'") for name, how in looks.items()}


def compression_fault(settings: ServerSettings, found: Mapping[str, str]) -> Detail | None:
    """A table that is compressed and should not be, or that is not; None where compression is not varied."""
    if not settings.compression:
        return None
    compressed, uncompressed = found[_COMPRESSED], found[_UNCOMPRESSED]
    if not settings.is_compressed:
        return None if compressed == "0" else wrong_count(compressed, "tables have compressed pages")
    if uncompressed == "0" and compressed != "0":
        return None
    return wrong_count(uncompressed, f"tables have pages without {settings.compression} compression")


def recompress(settings: ServerSettings, tables: Iterable[str]) -> tuple[str, ...]:
    """Statements by which a server without a default for new tables has those that are there as they should be.

    All twins of a run that varies compression rebuild their tables, so that all are as compact.
    """
    if not settings.compression:
        return ()
    return tuple(
        statement
        for table in tables
        for statement in (
            f"ALTER TABLE `{table}` COMPRESSION = '{settings.compression}'",
            f"OPTIMIZE TABLE `{table}`",
        )
    )


class MySqlCatalog(describing.Catalog):
    """``information_schema``; tables that are not InnoDB's are left out, with the reason.

    No engine of MySQL's encrypts them the same way. Views are no tables and are not mentioned. Columns of tables that
    keep their history, which each server stamps as it loads a row, are not compared, nor found by an index.

    ``analyzes``: the statistics of the tables are brought up to date first, which only tdelta's own may be."""

    sql = statements("tdelta.engines.server", "mysql_catalog.sql")
    kinds = MappingProxyType(
        {
            **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext", "longtext"), describing.TEXT),
            **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint"), describing.INTEGER),
            "decimal": describing.DECIMAL,
            "double": describing.REAL,
        }
    )
    quote = "`"

    def __init__(self, *, analyzes: bool = True) -> None:
        self._analyzes = analyzes

    def refresh_sql(self, schema: str, tables: Sequence[str]) -> str:
        named = (f"{self.quoted(schema)}.{self.quoted(name)}" for name in tables)
        return f"ANALYZE TABLE {', '.join(named)}" if self._analyzes else ""

    def sample(self, table: str, share: float) -> str:
        """By a generator with a fixed seed, in the order of the primary key."""
        chance = "" if share >= 1 else f" WHERE rand({describing.SAMPLE_SEED}) < {share:.9f}"
        return f"FROM {self.quoted(table)}{chance}"

    def turned_differs(self, column: str) -> str:
        """Byte for byte: collations take upper and lower case for the same."""
        return f"CAST({column} AS BINARY) <> CAST(concat(substr({column}, 2), substr({column}, 1, 1)) AS BINARY)"


# Limits of the search: on MariaDB a table that a query makes comes to the disk only beyond Aria's cache (128 MiB by
# default; this one takes 190 MB for a moment): where the cache is larger its class reads "not tested".

_FAT_COPIES = 46
_FAT = 100
"""Rows of 100 markers, 46 for each: 150 MB, which Aria keeps in 190 MB of pages."""


CHANGE_SQL = (
    f"UPDATE {TABLE} SET marker = CONCAT(SUBSTR(marker, {HALF + 1}), SUBSTR(marker, 1, {HALF}))"  # halves stay whole
)
_LOCKS = ("tdelta_sort", "tdelta_table")


def spill() -> tuple[ExposureStep, ...]:
    """READ COMMITTED, or the copy would wait for the row locks of a transaction that changes the markers."""
    return steps(
        "spill",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET SESSION sort_buffer_size = 32768",
        f"CREATE TEMPORARY TABLE {SPILL} (n INT NOT NULL, id INT NOT NULL, marker VARBINARY({MARKER_BYTES}) NOT NULL)"
        " ENGINE=InnoDB",
        f"INSERT INTO {SPILL} WITH RECURSIVE copies(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE"
        f" n < {COPIES}) SELECT n, id, marker FROM copies, {TABLE}",
    )


def held(*small_tables: str) -> tuple[ExposureStep, ...]:
    """A sort and a table on disk, each held by its last statement at a lock that ``control`` has."""
    sort, table = _LOCKS
    return (
        *steps("control", *(f"SELECT GET_LOCK('{name}', 0)" for name in _LOCKS)),
        ExposureStep(
            "spill",
            f"SELECT marker, IF(n = 1 AND id = 1, GET_LOCK('{sort}', 600), 0) FROM {SPILL} ORDER BY n % 7, marker",
            is_held=True,
        ),
        *steps("table", *small_tables),
        ExposureStep(
            "table",
            f"SELECT n FROM (WITH RECURSIVE copies(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE"
            f" n < {_FAT_COPIES}) SELECT n, id, CAST(REPEAT(marker, {_FAT}) AS BINARY({_FAT * MARKER_BYTES})) AS fat"
            f" FROM copies, {TABLE} LIMIT 1000000000) AS fats"
            f" WHERE fat IS NOT NULL AND IF(n = {_FAT_COPIES} AND id = 1, GET_LOCK('{table}', 600), 0) >= 0",
            is_held=True,
        ),
    )


COMMITTED = (
    *steps("snapshot", "START TRANSACTION WITH CONSISTENT SNAPSHOT", f"SELECT COUNT(*) FROM {TABLE}"),
    *steps("writer", "BEGIN", CHANGE_SQL, CHANGE_SQL, "COMMIT"),
)
OPEN = steps("open", "BEGIN", CHANGE_SQL)
RELEASE = steps("control", "SELECT RELEASE_ALL_LOCKS()")
AFTER = (
    *steps("open", "ROLLBACK"),
    *steps("snapshot", "COMMIT"),
    *steps("spill", f"DROP TEMPORARY TABLE {SPILL}"),
)


_SHARES = ("innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct")


def _keep(name: str) -> str:
    return f"SET @tdelta_{name} = @@GLOBAL.{name}"


def _put_back(name: str) -> str:
    return f"SET GLOBAL {name} = @tdelta_{name}"


def flushing(status: str) -> Settling:
    """Pages are written until none is dirty; the page cleaner goes by these shares once a second."""
    return Settling(
        statements=(*map(_keep, _SHARES), *(f"SET GLOBAL {name} = 0" for name in _SHARES)),
        query=f"SELECT VARIABLE_VALUE FROM {status} WHERE VARIABLE_NAME = 'Innodb_buffer_pool_pages_dirty'",
    )


SETTLED = tuple(map(_put_back, reversed(_SHARES)))  # the one must not be above the other
_POOL = "innodb_buffer_pool_size"


def press(*meanwhile: ExposureStep) -> tuple[ExposureStep, ...]:
    """InnoDB writes pages of temporary tables only when it needs their room: a pool too small for the table does it."""
    small = steps("control", _keep(_POOL), f"SET GLOBAL {_POOL} = 6291456")
    return (*small, *meanwhile, *steps("control", _put_back(_POOL)))


FILES = rules(
    (r"(.*/)?#sql-temptable.*", FileClass.DISK_TABLES),
    (r"tmp/mysql_temptable.*", FileClass.DISK_TABLES),
    (r"tmp/.*", FileClass.TEMP),
    (r"(mysql|sys|performance_schema|information_schema)/.*|mysql\.ibd|aria_log.*", FileClass.DICTIONARY),
    (r"ibtmp\d+|#innodb_temp/.*", FileClass.TEMP_TABLES),
    (r"ib_logfile\d+|#innodb_redo/.*", FileClass.REDO),
    (r"undo_?\d+|.*\.ibu", FileClass.UNDO),
    (r".*\.b?dblwr", FileClass.DOUBLEWRITE),
    (r"ibdata\d+", FileClass.SYSTEM),
    (r"[^/]*relay[^/]*\.(\d{6,}|index|info)", FileClass.RELAY),
    (r"[^/]*\.(\d{6,}|index|state)", FileClass.BINLOG),
    (r".*\.(frm|opt|sdi|par|TRG|TRN|cfg)", FileClass.DICTIONARY),
    (r".*/[^/]*\.(ibd|MYD|MYI|MAD|MAI|CSV|CSM|ARZ|ARM)", FileClass.TABLES),
    (r"ddl_recovery.*\.log", FileClass.OTHER),
    (r"[^/]*\.(log|err)", FileClass.LOGS),
)


def exposure_plan(small_tables: str, processes: str, status: str, *meanwhile: ExposureStep) -> ExposurePlan:
    """The plan of a server.

    Args:
        small_tables: has queries make their tables on disk.
        processes: the table with what sessions wait for.
        status: the table of status counters.
        meanwhile: done while the buffer pool is too small.
    """
    return ExposurePlan(
        steps=(*COMMITTED, *spill(), *press(*meanwhile), *held(small_tables), *OPEN),
        held=f"SELECT COUNT(*) FROM {processes} WHERE STATE = 'User lock'",
        settling=flushing(status),
        release=RELEASE,
        after=AFTER,
        settled=SETTLED,
    )


USER = "tdelta_replica"
CONFIRM_MS = 86_400_000
"""Commits wait for a replica however long; whoever waits for the load sees to a replica that is lost."""

_CONNECT_SECONDS = 60
_LOOKS_A_SECOND = 100


@dataclass
class MySqlReplication(Replication):
    """How servers of the family replicate, and what a product calls things.

    A replica is connected by a port of 127.0.0.1, since none can connect by a Unix socket. While the port is open no
    account but the replica's is of any use there: names are not resolved, so that 127.0.0.1 is not ``localhost``. Its
    progress is a file and a position of the primary's log.

    Attributes:
        source: what it calls a primary, and ``replica`` a replica, in upper case.
        change: the statement that has a replica know its primary begins with it, and ends with ``more``.
        position_sql: the query for the primary's log: file and position are the first two columns.
        status_table: where status counters are.
        primary_options: of the primary, beside how it waits for confirmation.
        replica_options: of the replica.
        plugins: files that the primary and the replica load, beside those that their recipes link to.
        replica_files: what a replica must have otherwise than the data that it is a copy of.
    """

    source: str
    replica: str
    change: str
    more: str
    position_sql: str
    status_table: str
    primary_options: Options = field(default_factory=dict)
    replica_options: Options = field(default_factory=dict)
    plugins: tuple[str, ...] = ()
    replica_files: Callable[[ServerPaths], Mapping[Path, str]] = lambda _place: {}
    kept_until_applied: Sequence[str] = ("PURGE BINARY LOGS BEFORE NOW()",)

    @property
    def semisync(self) -> str:
        """Prefix of the primary's settings and counters of confirmation."""
        return f"rpl_semi_sync_{self.source.lower()}"

    def recipes(self, primary: Recipe, replica: Recipe, link: Link) -> tuple[Recipe, Recipe]:
        """The primary listens on a port; the replica has another number, and starts with its replication stopped."""
        listening: Options = {
            "skip_networking": "OFF",
            "bind_address": "127.0.0.1",
            "port": link.port,
            "skip_name_resolve": "ON",
            **self.primary_options,
            f"{self.semisync}_timeout": CONFIRM_MS,
            f"{self.semisync}_wait_point": "AFTER_SYNC",
        }
        follower = dataclasses.replace(replica, files={**replica.files, **self.replica_files(replica.place)})
        options: Options = {"server_id": 2, "relay_log": "relay", **self.replica_options}
        options = {**options, f"skip_{self.replica.lower()}_start": "ON"}
        return (
            _with_options(_with_plugins(primary, self.plugins), listening),
            _with_options(_with_plugins(follower, self.plugins), options),
        )

    def join(self, link: Link) -> None:
        """Make the account, and have the replica begin where the primary's log is now: both hold the same rows.

        Nothing of the account goes to the log.
        """
        user, source = f"'{USER}'@'127.0.0.1'", self.source
        for statement in (
            "SET SESSION sql_log_bin = OFF",
            f"CREATE USER {user} IDENTIFIED BY '{link.password}'",
            f"GRANT REPLICATION SLAVE ON *.* TO {user}",
            "SET SESSION sql_log_bin = ON",
        ):
            self.on_primary.run(statement)
        file, position = self._log_end()
        self.on_replica.run(
            f"{self.change} {source}_HOST = '127.0.0.1', {source}_PORT = {link.port}, {source}_USER = '{USER}',"
            f" {source}_PASSWORD = '{link.password}', {source}_LOG_FILE = '{file}', {source}_LOG_POS = {position},"
            f" {source}_CONNECT_RETRY = 1{self.more}"
        )

    def connect(self, *, confirms: bool) -> None:
        """Switch confirmation, start both threads, and wait until the replica has connected."""
        switch = "ON" if confirms else "OFF"
        self.on_replica.run(f"SET GLOBAL rpl_semi_sync_{self.replica.lower()}_enabled = {switch}")
        self.on_primary.run(f"SET GLOBAL {self.semisync}_enabled = {switch}")
        self.on_replica.run(f"START {self.replica}")
        self._await_connection(confirms=confirms)

    def receive(self) -> None:
        self.on_replica.run(f"START {self.replica} IO_THREAD")

    def apply(self) -> None:
        self.on_replica.run(f"START {self.replica} SQL_THREAD")

    def disconnect(self) -> None:
        self.on_primary.run(f"SET GLOBAL {self.semisync}_enabled = OFF")
        self.on_replica.run(f"STOP {self.replica}")

    def position(self) -> int:
        return self._bytes(*self._log_end())

    def behind(self) -> Behind:
        end, status, source = self.position(), self._status(), self.source.capitalize()
        read = self._bytes(status[f"{source}_Log_File"], status[f"Read_{source}_Log_Pos"])
        return Behind(
            end - read, end - self._bytes(status[f"Relay_{source}_Log_File"], status[f"Exec_{source}_Log_Pos"])
        )

    def await_applied(self, seconds: float) -> bool:
        file, position = self._log_end()
        found = self.on_replica.text(f"SELECT {self.source}_POS_WAIT('{file}', {position}, {seconds})")
        return found != "" and int(found) >= 0

    def fault(self) -> str:
        status = self._status()
        return "; ".join(filter(None, (status["Last_IO_Error"], status["Last_SQL_Error"])))

    def confirmations(self) -> tuple[int, int]:
        return self._counter("yes_tx"), self._counter("no_tx")

    def _await_connection(self, *, confirms: bool) -> None:
        """Wait until the replica receives, and has said that it confirms where it is to."""
        for _ in range(_CONNECT_SECONDS * _LOOKS_A_SECOND):
            is_there = self._status()[f"{self.replica.capitalize()}_IO_Running"] == "Yes"
            if is_there and (not confirms or self._counter("clients") > 0):
                return
            self.on_replica.rows(f"SELECT SLEEP({1 / _LOOKS_A_SECOND})")
        said = self.fault() or "nothing"
        raise EnvironmentFault(Refusal.of("replica-not-connected", seconds=_CONNECT_SECONDS, said=said))

    def _counter(self, name: str) -> int:
        counter = f"{self.semisync.capitalize()}_{name}"
        return self.on_primary.number(
            f"SELECT VARIABLE_VALUE FROM {self.status_table} WHERE VARIABLE_NAME = '{counter}'"
        )

    def _status(self) -> dict[str, str]:
        columns, rows = self.on_replica.rows(f"SHOW {self.replica} STATUS")
        return {name: value or "" for name, value in zip(columns, rows[0], strict=True)}

    def _log_end(self) -> tuple[str, str]:
        _, rows = self.on_primary.rows(self.position_sql)
        return rows[0][0] or "", rows[0][1] or ""

    def _bytes(self, file: str, position: str) -> int:
        """A position in the primary's log, bytes from the beginning of its oldest file that is kept."""
        before = 0
        _, rows = self.on_primary.rows("SHOW BINARY LOGS")
        for row in rows:
            if row[0] == file:
                return before + int(position)
            before += int(row[1] or 0)
        return 0  # of a file that is gone, or of none yet


def _with_plugins(recipe: Recipe, plugins: Sequence[str]) -> Recipe:
    """The recipe with links to these beside the first that it has."""
    links = dict(recipe.links)
    for link, target in [*recipe.links.items()][: 1 if plugins else 0]:
        links |= {link.with_name(name): target.with_name(name) for name in plugins}
    return dataclasses.replace(recipe, links=links)


def _with_options(recipe: Recipe, options: Options) -> Recipe:
    """The recipe with more lines in its option file: what comes later counts."""
    lines = "".join(f"{name}\n" if value is None else f"{name}={value}\n" for name, value in options.items())
    files = {path: f"{text}{lines}" if text.startswith("[mysqld]") else text for path, text in recipe.files.items()}
    return dataclasses.replace(recipe, files=files)


MARIADB = "MariaDB"
_NEEDED = ("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "INDEX", "ALTER")
_GRANT = re.compile(r"""GRANT (?P<rights>.+?) ON (?P<object>\*|`(?:[^`]|``)*`|"(?:[^"]|"")*")\.\* TO """, re.DOTALL)
"""Names are in double quotes where sql_mode has ANSI_QUOTES."""
_REPLICATES = frozenset({"Slave_IO", "Slave_SQL", "Slave_worker", "Connect", "Query"})
_DAY_SECONDS = 86_400
_MARK_CHARACTERS = 43
_WHO = "SELECT CURRENT_USER()"
_ON = frozenset({"ON", "FORCE", "1", "YES"})

_RULE = SettingsRule(
    r"hostname|server_uuid|server_uid|server_id|port|socket|pid_file|basedir|datadir|.*tmpdir|.*_dir|.*_dirs?|plugin_.*"
    r"|.*_file|.*_filename|.*_file_path|.*_basename|.*_index|.*_path|bind_address|report_.*|admin_.*|mysqlx_.*"
    r"|timestamp|pseudo_.*|last_.*|insert_id|identity|rand_seed.*|error_count|warning_count|in_transaction"
    r"|gtid_.*|.*gtid.*pos|have_.*|system_time_zone|uptime|external_user|proxy_user|statement_id|lc_.*"
    r"|.*ssl.*|tls_.*|.*_public_key.*|.*_private_key.*|.*password.*|license|version_.*|log_error.*|debug.*"
    r"|.*encrypt.*|.*keyring.*|file_key_.*|hashicorp_.*|aws_key_.*|early_plugin_load|innodb_version"
    r"|wsrep_.*|.*_data_home_dir|character_sets_dir|secure_file_priv|init_file|slow_query_log_.*|general_log_.*"
    r"|innodb_buffer_pool_load_.*|innodb_.*_now|persisted_globals_load|partial_revokes",
    r"version",
    r"innodb_buffer_pool_size",
    r"innodb_page_size",
    r"innodb_flush_log_at_trx_commit|sync_binlog|innodb_doublewrite|innodb_flush_method|innodb_use_fdatasync"
    r"|innodb_data_file_buffering|innodb_log_file_buffering",
    r"log_bin(_compress.*)?|binlog_format|binlog_row_image|binlog_.*",
    r"innodb_(log_file_size|redo_log_capacity|log_buffer_size|log_files_in_group|log_write_ahead_size)",
    r"innodb_io_capacity.*|innodb_(read|write)_io_threads|innodb_page_cleaners|innodb_purge_threads",
    r"innodb_(adaptive_.*|change_buffering|file_per_table|checksum_algorithm|compression.*|thread_concurrency)",
    r"performance_schema|thread_handling|thread_pool_size|thread_cache_size|table_open_cache.*|max_connections",
    r"query_cache_(type|size)|sort_buffer_size|join_buffer_size|tmp_table_size|max_heap_table_size",
    r"transaction_isolation|tx_isolation|sql_mode|optimizer_.*|autocommit",
    r"innodb_.*",
)


_SESSION = {
    "autocommit": "1",
    "completion_type": "NO_CHAIN",
    "sql_select_limit": "18446744073709551615",
    "sql_big_selects": "1",
    "sql_safe_updates": "0",
    "default_storage_engine": "InnoDB",
    "default_tmp_storage_engine": "InnoDB",
    "time_zone": "+00:00",
}
"""Replace global defaults that would break tdelta's sessions: uncommitted loads that hold locks, answers that are cut
off, tables of engines that nothing encrypts."""

_ISOLATION = "REPEATABLE READ"


def _value(text: str) -> str:
    return text if text.isdigit() else literal(text)


class MySqlFamily(ServerEngine):
    r"""Base of the servers of the family. Each names its switches, and the keeper of its keys.

    Users' servers are asked by ``SHOW`` and ``information_schema``. Rights are read from ``SHOW GRANTS`` with the roles
    in force; a partial revoke (MySQL 8.0.16) is not seen, and the server then says so itself. Names of schemas in
    grants are patterns: ``tdelta\_%`` covers every schema of tdelta's.
    """

    socket_name = "s"
    work_sql = "SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'"
    """Loads have nothing but prepared statements, and nothing else has any."""

    page_size_sql = "SELECT @@global.innodb_page_size"
    encryption_options_sql = SQL["options_of_encryption"]
    switches: Switches
    own_facts: tuple[str, ...]
    """Settings beside `SHARED_FACTS` that twins of this product must agree in."""

    dump_encryption: DumpEncryption

    def keys_setting(self, _settings: ServerSettings) -> str:
        """The plugin or component that keeps an encrypted twin's keys, in the server's words."""
        raise NotImplementedError

    isolation_setting = "tx_isolation"

    rule = _RULE
    replication_sql: tuple[str, ...] = ("SHOW REPLICA STATUS", "SHOW SLAVE STATUS")
    """Statements that show replication, one per spelling; the first that the server accepts is used."""

    replication_right = "REPLICATION CLIENT"

    session_sql: tuple[str, ...] = (
        "SET " + ", ".join(f"SESSION {name} = {_value(value)}" for name, value in _SESSION.items()),
        f"SET SESSION TRANSACTION ISOLATION LEVEL {_ISOLATION}, READ WRITE",
        f"SET SESSION wait_timeout = {_DAY_SECONDS}",
        f"SET SESSION net_write_timeout = {_DAY_SECONDS}",
    )

    long_sql: str = SQL["long"]
    census: tuple[str, ...] = (f"SELECT name AS listed FROM ({SQL['schemas']}) AS every",)
    waiting_sql: tuple[str, ...] = (f"SET SESSION lock_wait_timeout = {LOCK_SECONDS}",)

    def __init__(self, origin: ServerBinary | Identity) -> None:
        super().__init__(origin)
        self.catalog = MySqlCatalog(analyzes=isinstance(origin, ServerBinary))
        self.facts = variables((*SHARED_FACTS, *self.own_facts))
        wanted = {**_SESSION, self.isolation_setting: _ISOLATION.replace(" ", "-")}
        self.in_force = InForce(f"SELECT {', '.join(f'@@SESSION.{name}' for name in wanted)}", wanted)
        reads_only = f"@@SESSION.{self.isolation_setting.replace('isolation', 'read_only')}"
        self.read_only = ReadOnly("SET SESSION TRANSACTION READ ONLY", reads_only, "1")

    def switches_fault(self, settings: ServerSettings, found: Mapping[str, str]) -> Detail | None:
        """The switches that do not read as they should; a server says 1 for ON and 0 for OFF."""
        return settings_fault(found, wanted_switches(self.switches, settings), lambda value: _WORDS.get(value, value))

    def differing_settings(self, settings: ServerSettings) -> tuple[str, ...]:
        if not settings.is_encrypted:
            return ()
        switches = switched_on(self.switches, settings)
        return (self.keys_setting(settings), *(f"{name}={value}" for name, value in switches.items()))

    def restore_target(self, recipe: Recipe, folder: Path) -> RestoreTarget:
        target = client_target(recipe.place.socket, str(recipe.connect["user"]), DATABASE, folder)
        return dataclasses.replace(target, encryption=self.dump_encryption)

    def proof_sql(self, _settings: ServerSettings, pages: int) -> Mapping[str, str]:
        """Have the server encrypt a page so often with AES_ENCRYPT (AES-128-ECB), or only make it."""
        page = f"REPEAT('x', {PAGE_BYTES})"
        return {
            "plain": f"SELECT BENCHMARK({pages}, LENGTH({page}))",
            "encrypted": f"SELECT BENCHMARK({pages}, LENGTH(AES_ENCRYPT({page}, 'no secret')))",
        }

    def standing_faults(self, ask: Ask) -> tuple[Refusal, ...]:
        """Reasons why the server in its present state is no twin: a replica, read-only, part of a cluster."""
        faults = []
        sessions = ask("SHOW PROCESSLIST")
        if any(row.get("user") == "system user" and row.get("command") in _REPLICATES for row in sessions):
            faults.append(Refusal.of("server-unfit", why="it is a replica and would also run the work of its primary"))
        elif self._replicated(ask):
            faults.append(Refusal.of("server-unfit", why="it is a replica whose replication may resume at any time"))
        variables = self.settings(ask)
        if is_on(variables, "read_only") or is_on(variables, "super_read_only"):
            faults.append(Refusal.of("read-only", setting="read_only"))
        if is_on(variables, "wsrep_on") and variables.get("wsrep_cluster_address", ""):
            faults.append(Refusal.of("server-unfit", why="it is a Galera node, which replicates every change"))
        return tuple(faults)

    def disturbances(self, ask: Ask, option: str) -> tuple[Caution, ...]:
        commands = [row.get("command") or "" for row in ask("SHOW PROCESSLIST")]
        found = []
        if self._replicated(ask) is None:
            found.append(Caution.of("replication-unseen", right=self.replication_right).at(option))
        if replicas := sum(command.startswith("Binlog Dump") for command in commands):
            found.append(Caution.of("replicas-read", replicas=replicas).at(option))
        if others := sum(command in ("Query", "Execute") for command in commands) - 1:
            found.append(Caution.of("other-sessions", sessions=others).at(option))
        return tuple(found)

    def missing_grants(self, ask: Ask) -> tuple[str, ...]:
        everywhere = set().union(*(rights for pattern, rights in self._held(ask) if pattern == "*"))
        if everywhere & {"PROCESS", "ALL PRIVILEGES"}:
            return ()
        return (f"GRANT PROCESS ON *.* TO {_account(first(ask(_WHO)))}",)

    def missing_schema_grants(self, ask: Ask, schema: str) -> tuple[str, ...]:
        here = set().union(*(rights for pattern, rights in self._held(ask) if _covers(pattern, schema)))
        lacking = [] if "ALL PRIVILEGES" in here else [right for right in _NEEDED if right not in here]
        if not lacking:
            return ()
        target = r"tdelta\_%" if schema.startswith(PREFIX) else schema.replace("_", r"\_")
        return (f"GRANT {', '.join(lacking)} ON `{target}`.* TO {_account(first(ask(_WHO)))}",)

    def settings(self, ask: Ask) -> Mapping[str, str]:
        return _pairs(ask("SHOW GLOBAL VARIABLES"))

    def probe(self, name: str) -> Probe:
        quoted = literal(name)
        return Probe(
            f"SELECT GET_LOCK({quoted}, 0)",
            f"SELECT IS_USED_LOCK({quoted}) IS NOT NULL",
            f"SELECT RELEASE_LOCK({quoted})",
        )

    def has_schema(self, ask: Ask, schema: str) -> bool:
        """Whether it exists; a schema on which the user has no right at all is not seen."""
        rows = ask(SQL["schemas"])
        return any((row["name"] or "").lower() == schema.lower() for row in rows)

    def own_schemas(self, ask: Ask, *_named: str) -> tuple[LeftoverSchema, ...]:
        """Marked ones; and empty ones with tdelta's name, which were made but not marked."""
        empty = [row["name"] or "" for row in ask(SQL["empty_schemas"])]
        named = [name for name in empty if name.startswith(PREFIX)]
        return leftover_schemas(by_name(ask(SQL["marks"]), "mark"), named)

    def statistics_sql(self, tables: Iterable[str]) -> tuple[str, ...]:
        """Of every table; without histograms, which MariaDB keeps in a schema that is not tdelta's."""
        return tuple(f"ANALYZE TABLE {self.quoted(table)}" for table in tables)

    def data_bytes_sql(self, schema: str) -> str:
        return SQL["data_bytes"].format(schema=literal(schema))

    def drop_sql(self, schema: str) -> str:
        return f"DROP SCHEMA {self.quoted(schema)}"

    def mark_sql(self, schema: NewSchema) -> str:
        return SQL["mark"].format(schema=self.quoted(schema.name), mark=literal(MARK + schema.run_id))

    def memory_sql(self, session_bytes: int) -> tuple[str, ...]:
        return tuple(f"SET SESSION {name} = {session_bytes}" for name in _SESSION_MEMORY)

    def mark_session_sql(self, mark: str) -> str:
        """A lock of the session's own that is named by mark and session."""
        return f"DO GET_LOCK({_session_lock(mark, 'CONNECTION_ID()')}, 0)"

    def marked_sessions(self, ask: Ask, mark: str) -> tuple[str, ...]:
        """Those that hold the lock of their own; every user sees the sessions that are theirs."""
        rows = ask(SQL["marked_sessions"].format(lock=_session_lock(mark, "ID")))
        return tuple(row["id"] or "" for row in rows)

    def end_session_sql(self, session: str) -> str:
        return f"KILL {int(session)}"

    def hurry_sql(self, seconds: int) -> str:
        return f"SET SESSION lock_wait_timeout = {seconds}"

    def _held(self, ask: Ask) -> list[tuple[str, frozenset[str]]]:
        return list(_grants(self._grants(ask)))

    def _replicated(self, ask: Ask) -> bool | None:
        """Whether replication is set up on it, running or not; None where this user may not see that."""
        for statement in self.replication_sql:
            try:
                return bool(ask(statement))
            except Refused as refusal:
                if refusal.kind == "connection":
                    raise
        return None

    def _grants(self, ask: Ask) -> list[str]:
        return [first([row]) for row in ask("SHOW GRANTS")]


def identity_of(engine: str, ask: Ask) -> Identity:
    found = one(ask(SQL["identity"]))
    text = found["version"] or ""
    version = re.match(r"[\d.]+", text)
    return Identity(
        engine=engine,
        product=_product(text, found["comment"] or ""),
        version=version[0].rstrip(".") if version else text,
        user=found["user"] or "",
        machine=found["machine"] or "",
    )


def _product(version: str, comment: str) -> str:
    if "mariadb" in version.lower():
        return MARIADB
    return "Percona Server" if "percona" in comment.lower() else "MySQL"


def _pairs(rows: Iterable[Row]) -> dict[str, str]:
    return {(row["variable_name"] or "").lower(): row["value"] or "" for row in rows}


def is_on(variables: Mapping[str, str], name: str) -> bool:
    return variables.get(name, "OFF").upper() in _ON


def scope_of(name: str, variables: Mapping[str, str], settings: tuple[str, ...], more: str = "") -> Scope:
    """A scope is encrypted if any of its settings is on; a binary log that is not written is not."""
    known = [setting for setting in settings if setting in variables]
    has_files = name != "binlog" or is_on(variables, "log_bin")
    more = more if has_files else "log_bin=OFF, so there is none"
    said = ", ".join(filter(None, [*(f"{setting}={variables[setting]}" for setting in known), more]))
    return Scope(name, has_files and any(is_on(variables, setting) for setting in known), said)


def _grants(lines: Iterable[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """The grants in each line of ``SHOW GRANTS``: the pattern of schemas and the rights."""
    for line in lines:
        if (found := _GRANT.match(line)) is not None:
            rights = frozenset(right.strip().upper() for right in found["rights"].split(","))
            mark = found["object"][0]
            yield found["object"].strip(mark).replace(2 * mark, mark) if mark != "*" else "*", rights


def _covers(pattern: str, schema: str) -> bool:
    if pattern == "*":
        return True
    wild = {"%": ".*", "_": "."}
    pieces = re.findall(r"\\[%_\\]|.", pattern, re.DOTALL)
    made = "".join(wild[piece] if piece in wild else re.escape(piece[-1]) for piece in pieces)
    return re.fullmatch(made, schema, re.IGNORECASE | re.DOTALL) is not None


def _account(user: str) -> str:
    name, _, host = user.rpartition("@")
    return f"'{name}'@'{host}'"


def _session_lock(mark: str, session: str) -> str:
    """The name of a session's lock, within the 64 characters that MySQL allows; ``session`` is SQL for its id."""
    return f"CONCAT({literal(mark[:_MARK_CHARACTERS])}, ' ', {session})"


def table_of(row: Row, schema: str) -> str:
    return re.split(r"#[pP]#", (row["name"] or "").removeprefix(schema + "/"))[0]


def every_table(ask: Ask, schema: str, states: Mapping[str, bool]) -> dict[str, bool | None]:
    """The state of each table of tdelta's schema; None for one that is in no tablespace of its own."""
    rows = ask(SQL["tables"].format(schema=literal(schema)))
    return {name: states.get(name) for row in rows if (name := row["name"] or "")}
