"""What MariaDB, MySQL and Percona Server have in common: option files, sizes, the user, status counters.

Whoever connects does so through a Unix socket in a folder that nobody else may enter, as a user without a password;
there is no other way in. Nothing here reads or starts anything.
"""

from __future__ import annotations

import dataclasses
import getpass
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from tdelta.driver.backups import BackupTool
from tdelta.driver.load_generator.connections import MYSQL, Connection
from tdelta.driver.programs import Program
from tdelta.driver.servers.recipes import Greeting, Recipe, ServerPaths
from tdelta.engines.servers import DATABASE, ServerBinary, ServerSettings
from tdelta.engines.shared.in_force import settings_fault
from tdelta.engines.shared.mysql_catalog import MySqlCatalog
from tdelta.engines.shared.private.actions import Site
from tdelta.engines.shared.private.backups import ServerTool, Words
from tdelta.engines.shared.private.restore import DumpEncryption, RestoreTarget
from tdelta.measure.effort import IS_BRIEF
from tdelta.messages import Detail


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


class MysqlFamily:
    """What the adapters of the family have in common. Each says which switches it has, and what keeps its keys."""

    socket_name = "s"
    admin_database = ""
    switches: Switches
    own_facts: tuple[str, ...]
    """Settings beside `SHARED_FACTS` that twins of this product must agree in."""

    dump_encryption: DumpEncryption
    keys_setting: str
    """What is loaded on encrypted twins to keep their keys, in the server's words."""

    def __init__(self, binary: ServerBinary) -> None:
        self.binary = binary

    @property
    def facts(self) -> Mapping[str, str]:
        return variables((*SHARED_FACTS, *self.own_facts))

    def switches_fault(self, settings: ServerSettings, found: Mapping[str, str]) -> Detail | None:
        return switch_fault(wanted_switches(self.switches, settings), found)

    def differing_settings(self, settings: ServerSettings) -> tuple[str, ...]:
        if not settings.is_encrypted:
            return ()
        switches = switched_on(self.switches, settings)
        return (self.keys_setting, *(f"{name}={value}" for name, value in switches.items()))

    @property
    def work_sql(self) -> str:
        """How many prepared statements were executed: loads have nothing else, and nothing else has any."""
        return "SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'"

    @property
    def catalog(self) -> MySqlCatalog:
        return MySqlCatalog()

    @property
    def schema(self) -> str:
        return DATABASE

    @property
    def page_size_sql(self) -> str:
        return self.facts["innodb_page_size"]

    def restore_target(self, recipe: Recipe, folder: Path) -> RestoreTarget:
        target = client_target(recipe.place.socket, str(recipe.connect["user"]), DATABASE, folder)
        return dataclasses.replace(target, encryption=self.dump_encryption)

    @property
    def encryption_options_sql(self) -> str:
        where = f"TABLE_SCHEMA = '{DATABASE}' AND CREATE_OPTIONS LIKE '%ENCRYPT%'"
        return f"SELECT TABLE_NAME FROM information_schema.TABLES WHERE {where} ORDER BY TABLE_NAME"

    @property
    def data_bytes_sql(self) -> str:
        """How large the tables are with their indexes; the statistics that it reads are gathered after loading."""
        return DATA_BYTES_SQL

    def proof_sql(self, _settings: ServerSettings, pages: int) -> Mapping[str, str]:
        """Have the server encrypt a page so often with AES_ENCRYPT (AES-128-ECB), or only make it."""
        page = f"REPEAT('x', {PAGE_BYTES})"
        return {
            "plain": f"SELECT BENCHMARK({pages}, LENGTH({page}))",
            "encrypted": f"SELECT BENCHMARK({pages}, LENGTH(AES_ENCRYPT({page}, 'no secret')))",
        }


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
    """What every twin of these engines is given, whatever its cipher.

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


def session_options(settings: ServerSettings) -> Options:
    """What a session's sorts, joins and temporary tables have before they go to files, where that is set."""
    names = ("sort_buffer_size", "join_buffer_size", "tmp_table_size", "max_heap_table_size")
    return dict.fromkeys(names, settings.session_bytes) if settings.session_bytes else {}


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


def switch_fault(wanted: Mapping[str, str], found: Mapping[str, str]) -> Detail | None:
    """The switches that do not read as they should; a server says 1 for ON and 0 for OFF."""
    return settings_fault(found, wanted, lambda value: _WORDS.get(value, value))


def tablespaces_fault(settings: ServerSettings, found: Mapping[str, str]) -> Detail | None:
    """A tablespace that is not encrypted, or that is."""
    if not settings.is_encrypted:
        encrypted = found["encrypted_tablespaces"]
        return (
            None
            if encrypted == "0"
            else Detail.of("wrong-count", count=encrypted, what="tablespaces are encrypted", expected="none")
        )
    if found["plain_tablespaces"] != "0" or found["encrypted_tablespaces"] == "0":
        return Detail.of(
            "wrong-count", count=found["plain_tablespaces"], what="tablespaces are not encrypted", expected="none"
        )
    return None


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
"""What is read around every statement that is traced."""


def dirty_pages_sql(table: str) -> str:
    """A query for how many pages of the buffer pool are to be written; ``table`` as in `counters_sql`."""
    return f"SELECT VARIABLE_VALUE FROM {table} WHERE VARIABLE_NAME = 'Innodb_buffer_pool_pages_dirty'"


def variables(names: Iterable[str]) -> dict[str, str]:
    return {name: f"SELECT @@global.{name}" for name in names}


DATA_BYTES_SQL = (
    f"SELECT SUM(DATA_LENGTH + INDEX_LENGTH) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{DATABASE}'"
)

SHARED_FACTS = (
    "version",
    "innodb_page_size",
    "innodb_buffer_pool_size",
    "innodb_lru_scan_depth",
    "innodb_flush_method",
    "innodb_flush_log_at_trx_commit",
    "innodb_doublewrite",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_purge_threads",
    "log_bin",
    "sync_binlog",
    "sort_buffer_size",
    "join_buffer_size",
    "tmp_table_size",
    "max_heap_table_size",
    "max_connections",
    "performance_schema",
    "character_set_server",
    "collation_server",
    "sql_mode",
)
"""What twins must agree in, read back from each."""
