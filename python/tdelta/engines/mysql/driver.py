"""MySQL 8.4 and newer, and Percona Server: InnoDB's encryption with the component component_keyring_file.

The keyring component is named in a manifest that the server looks for beside its own program, whose place it takes from
the name it was called by; the component's own configuration lies in the plugin directory. Both would hold for every
server of the machine. So a server of tdelta's is called by a name within its own folder, by way of its dynamic loader,
and has a plugin directory of its own, with links to the two components it needs. Nothing outside the folder is touched.

The server draws its master key itself and keeps it in the keyring file, so a copy of a loaded data directory needs the
keyring file that goes with it. There is no AES with 128 bits.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from tdelta.design.factors import COMPRESSIONS
from tdelta.engines.base import settings_fault
from tdelta.engines.mysql.actions import ACTIONS, PLUGIN
from tdelta.engines.mysql.profile import PROFILE
from tdelta.engines.server import mysql_family as family
from tdelta.engines.server.base import (
    DATA,
    DATABASE,
    PLAIN_SCOPE,
    DumpEncryption,
    Encryption,
    Identity,
    NewSchema,
    PageList,
    ServerBinary,
    ServerResources,
    ServerSettings,
)
from tdelta.engines.server.driver import started
from tdelta.engines.server.evidence import ServerEvidence, Settling, parts
from tdelta.engines.server.sessions import Ask, first, literal
from tdelta.evidence import FileClass
from tdelta.messages import Caution, Detail
from tdelta.processes.servers.recipes import Command, Recipe, ServerPaths
from tdelta.processes.workers import Refused

_UNSEEN = "none that this user may see"

_PLAN = family.exposure_plan(
    "SET SESSION tmp_table_size = 16384, max_heap_table_size = 16384",
    "performance_schema.processlist",
    "performance_schema.global_status",
)

_PARTS = parts(
    data=(FileClass.TABLES,),
    log=(FileClass.REDO, FileClass.UNDO, FileClass.DOUBLEWRITE),
    binlog=(FileClass.BINLOG, FileClass.RELAY),
    all=(FileClass.DICTIONARY,),
)
"""Every page that is written passes through the doublewrite file as it is: those of undo, too, so that this file is
free of plaintext only where undo is encrypted (MySQL 9.7.4)."""

_PERCONA = MappingProxyType(
    {
        **_PARTS,
        "temp": frozenset((FileClass.TEMP_TABLES, FileClass.DISK_TABLES, FileClass.TEMP)),
        "all": frozenset((FileClass.DICTIONARY, FileClass.SYSTEM)),
    }
)

EVIDENCE = ServerEvidence(
    _PLAN, family.FILES, {"": _PARTS, "Percona Server": _PERCONA}, family.CHANGE_SQL, family.inflated
)

_SOURCE, _REPLICA = "semisync_source.so", "semisync_replica.so"
_SHOWN_ANEW = (8, 2)
"""From here on the primary's position has its new name; the old one is gone from 8.4 on."""

_CHECKPOINT_MS = 10
"""How often a replica with several appliers says how far it is; 300 by default, and lags are shorter."""

_SERVER_UUID = "[auto]\nserver-uuid=00000000-0000-4000-8000-000000000002\n"
"""The replica's own: that in the copied data is its primary's."""


def _replication(version: str) -> family.MySqlReplication:
    is_new = tuple(int(part) for part in version.split(".")[:2]) >= _SHOWN_ANEW
    return family.MySqlReplication(
        source="SOURCE",
        replica="REPLICA",
        change="CHANGE REPLICATION SOURCE TO",
        more=", GET_SOURCE_PUBLIC_KEY = 1",
        position_sql="SHOW BINARY LOG STATUS" if is_new else "SHOW MASTER STATUS",
        status_table=_STATUS_TABLE,
        primary_options={"plugin_load_add": _SOURCE},
        replica_options={"plugin_load_add": _REPLICA, "replica_checkpoint_period": _CHECKPOINT_MS},
        plugins=(_SOURCE, _REPLICA),
        replica_files=lambda place: {place.data / "auto.cnf": _SERVER_UUID},
    )


PERCONA = "Percona Server"

_COMPONENT = "component_keyring_file"
_HELPER = "component_reference_cache"
_PLUGIN_FOLDERS = ("lib/mysql/plugin", "lib64/mysql/plugin", "lib/plugin", "lib64/plugin")
_NAME = "mysqld"

_OWN_OPTIONS: family.Options = {
    "innodb_redo_log_capacity": family.LOG_BYTES,
    "innodb_buffer_pool_instances": 1,
    "secure_file_priv": "NULL",
    "mysqlx": "OFF",
    "performance_schema": "ON",
    "performance_schema_consumer_events_statements_cpu": "ON",
    "binlog_expire_logs_seconds": 0,
}

_SWITCHES: family.Switches = {
    "data": {"default_table_encryption": "ON"},
    "log": {"innodb_redo_log_encrypt": "ON", "innodb_undo_log_encrypt": "ON"},
    "binlog": {"binlog_encryption": "ON"},
}
_PERCONA_SWITCHES: family.Switches = {
    **_SWITCHES,
    "temp": {
        "innodb_temp_tablespace_encrypt": "ON",
        "encrypt_tmp_files": "ON",
        "innodb_encrypt_online_alter_logs": "ON",
    },
    "system": {"innodb_sys_tablespace_encrypt": "ON"},
}
"""The settings of each part of a scope; ``system`` is part of ``all`` only. Percona's are as its manual has them
(docs.percona.com/percona-server/8.4, "data at rest encryption"): temporary tables, files of sorts and caches, and those
of index builds. The manual of 8.4 omits the system tablespace's, which that of 8.0 has; the source has a test of it
with a keyring component (percona_innodb.sys_tablespace_encrypt). No Percona server was available to test them."""

_UNTOLD: family.Options = {"loose_percona_telemetry_disable": 1}
"""Percona's server would write what it counts below /usr/local/percona/telemetry
(docs.percona.com/percona-server/8.4/telemetry.html); older ones do not know the option."""

_STATUS_TABLE = "performance_schema.global_status"
_STATUS = {**family.COUNTED, "innodb_os_log_written": "log_bytes"}
_THREAD = "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()"

_STATEMENTS = """
SELECT 'statement_cpu_ns', CAST(SUM(SUM_CPU_TIME) / 1000 AS UNSIGNED)
FROM performance_schema.events_statements_summary_global_by_event_name
UNION ALL SELECT 'statement_elapsed_ns', CAST(SUM(SUM_TIMER_WAIT) / 1000 AS UNSIGNED)
FROM performance_schema.events_statements_summary_global_by_event_name
""".strip()
"""Times of all statements in the server's accounts: without background threads, so less than the process tree's.
The tables have picoseconds."""

_KEYRING = (
    "SELECT COALESCE(MAX(STATUS_VALUE), 'missing') FROM performance_schema.keyring_component_status"
    " WHERE STATUS_KEY = 'Component_status'"
)
_TABLESPACES = (
    f"SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES WHERE NAME LIKE '{DATABASE}/%' AND ENCRYPTION = "
)
_LEFT_PLAIN = (
    f"SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{DATABASE}'"
    " AND CREATE_OPTIONS LIKE '%ENCRYPTION=''N''%' ORDER BY TABLE_NAME"
)
"""Tables that are plain in a schema whose tables are encrypted by default; no other table shows the option."""

_SYSTEM = "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES WHERE NAME IN ('mysql', 'sys/sys_config')"


class MySql(family.MySqlFamily):
    profile = PROFILE
    evidence = EVIDENCE
    resources = ServerResources(330_000_000, 530_000_000, 600_000, initialize_seconds=7.0, start_seconds=1.2)
    """9.7: 240 MB on the disk; 520 MB, most of it the performance schema's, and 340 kB a connection."""

    settling = Settling(statements=("PURGE BINARY LOGS BEFORE NOW()",), query=family.dirty_pages_sql(_STATUS_TABLE))
    """Wait until no page is dirty: an idle server writes them, at the rate of innodb_io_capacity."""

    crypto = "openssl"
    ciphers = (PLAIN_SCOPE, "aes-256")
    actions = ACTIONS
    compressions = COMPRESSIONS
    compresses_new_tables = False
    own_facts = (
        "transaction_isolation",
        "innodb_redo_log_capacity",
        "innodb_buffer_pool_instances",
        "innodb_adaptive_hash_index",
        "innodb_change_buffering",
    )

    def keys_setting(self, _settings: ServerSettings) -> str:
        return _COMPONENT

    dump_encryption = DumpEncryption(
        "ENCRYPTION", "sed \"s/ENCRYPTION='[YN]'//g\"", r"ERROR 318[45] .*", plain_sql=_LEFT_PLAIN
    )

    page_list = PageList(
        file="ib_buffer_pool",
        write=("SET GLOBAL innodb_buffer_pool_dump_pct = 100", "SET GLOBAL innodb_buffer_pool_dump_now = ON"),
        written="SHOW STATUS LIKE 'Innodb_buffer_pool_dump_status'",
        fetch=("SET GLOBAL innodb_buffer_pool_load_now = ON",),
        fetched="SHOW STATUS LIKE 'Innodb_buffer_pool_load_status'",
        done="completed at",
        give_up=("SET GLOBAL innodb_buffer_pool_load_abort = ON",),
    )
    """Not of MariaDB, which leaves out pages of encrypted tables (buf_load, seen in 10.11.19)."""

    isolation_setting = "transaction_isolation"
    session_sql = (*family.MySqlFamily.session_sql, "SET SESSION max_execution_time = 0")

    def __init__(self, origin: ServerBinary | Identity, *, sees_threads: bool = True) -> None:
        super().__init__(origin)
        self.switches = _PERCONA_SWITCHES if origin.product == PERCONA else _SWITCHES
        self.counters = (family.counters_sql(_STATUS_TABLE, _STATUS),)
        parts = [f"+{part}" for part in ("log", "temp", "binlog") if part in self.switches]
        self.scopes = (PLAIN_SCOPE, "data", *parts, "all")  # stock MySQL does not encrypt temporary files
        if isinstance(origin, ServerBinary):
            self.counters += (_STATEMENTS,)
            self.replication = _replication(origin.version)
        self.tracing = family.tracing(_THREAD if sees_threads else "", _STATUS_TABLE, "innodb_os_log_written")

    def recipe(self, place: ServerPaths, settings: ServerSettings) -> Recipe:
        option_path, user_path = place.folder / family.OPTION_FILE, place.folder / "user.sql"
        files = {
            option_path: family.option_file(self._options(place, settings)),
            user_path: family.USER_SQL,
            **(_keyring_files(place) if settings.keyed_cipher else {}),
        }
        command = (*self._program(place), f"--defaults-file={option_path}")
        return Recipe(
            place=place,
            files=files,
            links=self._links(place, settings),
            initialize=(Command((*command, "--initialize-insecure", f"--init-file={user_path}")),),
            serve=Command(command),
            connect=family.connect_options(place),
            greeting=family.GREETING,
        )

    def schema_sql(self, settings: ServerSettings) -> tuple[str, ...]:
        """The database; and where all is to be encrypted, what the server itself keeps."""
        encryption = "Y" if settings.is_encrypted else "N"
        database = f"{family.CREATE_SQL} ENCRYPTION = '{encryption}'"
        if settings.scope != "all":
            return (database,)
        return (
            "ALTER TABLESPACE mysql ENCRYPTION = 'Y'",
            "ALTER TABLE sys.sys_config ENCRYPTION = 'Y'",
            database,
        )

    def after_load_sql(self, settings: ServerSettings, tables: Iterable[str]) -> tuple[str, ...]:
        names = list(tables)
        return family.recompress(settings, names) + tuple(f"ANALYZE TABLE `{table}`" for table in names)

    def cipher_facts(self, settings: ServerSettings) -> Mapping[str, str]:
        return {
            **family.variables(sorted(family.wanted_switches(self.switches, settings))),
            "keyring": _KEYRING,
            "plain_tablespaces": f"{_TABLESPACES}'N'",
            "encrypted_tablespaces": f"{_TABLESPACES}'Y'",
            "encrypted_system_tablespaces": f"{_SYSTEM} AND ENCRYPTION = 'Y'",
            "system_tablespaces": _SYSTEM,
            **family.compression_facts(settings, f'%COMPRESSION="{settings.compression}"%'),
        }

    def cipher_fault(self, settings: ServerSettings, found: Mapping[str, str]) -> Detail | None:
        """A switch, the keyring or a tablespace that is not as asked; with scope ``all`` the server's own, too."""
        return (
            self.switches_fault(settings, found)
            or (settings_fault(found, {"keyring": "Active"}) if settings.is_encrypted else None)
            or family.tablespaces_fault(settings, found)
            or (_system_fault(found) if settings.scope == "all" else None)
            or family.compression_fault(settings, found)
        )

    def cautions(self, settings: ServerSettings) -> tuple[Caution, ...]:
        """How transactions of a run see rows whose tables are copied."""
        return (Caution.of("read-committed", product=self.binary.product),) if settings.becomes else ()

    def _options(self, place: ServerPaths, settings: ServerSettings) -> family.Options:
        return {
            **family.shared_options(self.binary, place, settings),
            **_OWN_OPTIONS,
            **family.session_options(settings),
            **_isolation(settings),
            **self._unpacked_options(),
            **(_UNTOLD if self.binary.product == PERCONA else {}),
            "plugin_dir": _plugins(place),
            **family.binary_log_options(settings),
            **family.switched_on(self.switches, settings),
        }

    def _unpacked_options(self) -> family.Options:
        if self.binary.root is None:
            return {}
        share = family.base_folder(self.binary) / "share" / "mysql"
        return {"lc_messages_dir": share, "character_sets_dir": share / "charsets"}

    def _program(self, place: ServerPaths) -> tuple[str, ...]:
        loader = self.binary.launcher or (str(self.binary.loader),)
        name = str(place.folder / "bin" / _NAME)
        return (loader[0], "--argv0", name, *loader[1:], str(self.binary.path))

    def _links(self, place: ServerPaths, settings: ServerSettings) -> Mapping[Path, Path]:
        base = family.base_folder(self.binary)
        folder = next((base / name for name in _PLUGIN_FOLDERS if (base / name).is_dir()), base / _PLUGIN_FOLDERS[0])
        names = (_HELPER, PLUGIN, *((_COMPONENT,) if settings.keyed_cipher else ()))
        return {_plugins(place) / f"{name}.so": folder / f"{name}.so" for name in names}

    def encryption(self, ask: Ask) -> Encryption:
        """The encrypted parts by the global variables. With a keyring, tables are where the schema asks for it."""
        variables = self.settings(ask)
        plugins = ask(
            "SELECT PLUGIN_NAME AS name FROM information_schema.PLUGINS"
            " WHERE PLUGIN_NAME LIKE 'keyring%' AND PLUGIN_STATUS = 'ACTIVE'"
        )
        component = self._component(ask)
        has_keys = component == "Active" or bool(plugins)
        keys = f"keyring: {component or (plugins[0]['name'] if plugins else _UNSEEN)}"
        scopes = [
            family.scope_of(DATA, variables, ("default_table_encryption",), keys),
            family.scope_of("log", variables, ("innodb_redo_log_encrypt",)),
            family.scope_of("undo", variables, ("innodb_undo_log_encrypt",)),
            family.scope_of("binlog", variables, ("binlog_encryption",)),
        ]
        if "innodb_temp_tablespace_encrypt" in variables:  # Percona Server's
            temporary = ("innodb_temp_tablespace_encrypt", "encrypt_tmp_files", "innodb_encrypt_online_alter_logs")
            scopes.append(family.scope_of("temp", variables, temporary))
            scopes.append(family.scope_of("system", variables, ("innodb_sys_tablespace_encrypt",)))
        return Encryption(
            tuple(scopes),
            can_be_asked=has_keys,
            remedy="a keyring (component_keyring_file or another) must be active; to have it seen: GRANT SELECT ON"
            " performance_schema.keyring_component_status",
        )

    def make_sql(self, schema: NewSchema) -> tuple[str, ...]:
        """Statements that make the schema, its tables encrypted or not by default, and mark it."""
        default = (
            "" if schema.is_encrypted is None else f" DEFAULT ENCRYPTION = '{'Y' if schema.is_encrypted else 'N'}'"
        )
        return (f"CREATE SCHEMA {self.quoted(schema.name)} CHARACTER SET utf8mb4{default}", self.mark_sql(schema))

    def tables(self, ask: Ask, schema: str) -> Mapping[str, bool | None]:
        """By ``INNODB_TABLESPACES``."""
        spaces = ask(
            "SELECT NAME AS name, ENCRYPTION AS encryption FROM information_schema.INNODB_TABLESPACES"
            f" WHERE NAME LIKE {literal(schema + '/%')}"
        )
        return family.every_table(
            ask, schema, {family.table_of(row, schema): row["encryption"] == "Y" for row in spaces}
        )

    def _component(self, ask: Ask) -> str:
        """The keyring component's state; empty before 8.0.24, and where this user may not see it."""
        seen = ask(
            "SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'performance_schema'"
            " AND TABLE_NAME = 'keyring_component_status'"
        )
        state = "SELECT STATUS_VALUE FROM performance_schema.keyring_component_status WHERE STATUS_KEY = "
        return first(ask(state + literal("Component_status"))) if seen else ""

    def _grants(self, ask: Ask) -> list[str]:
        roles = first(ask("SELECT CURRENT_ROLE()"))
        using = "" if roles in ("", "NONE") else f" USING {roles}"
        return [first([row]) for row in ask(f"SHOW GRANTS FOR CURRENT_USER(){using}")]

    @classmethod
    def answering(cls, ask: Ask) -> MySql | None:
        found = family.identity_of(PROFILE.name, ask)
        return cls(found, sees_threads=_sees_threads(ask)) if found.product != family.MARIADB else None


def _sees_threads(ask: Ask) -> bool:
    """Whether the user may see which thread serves a connection, for which it needs a right that a run does not."""
    try:
        return bool(ask(_THREAD))
    except Refused as refusal:
        if refusal.kind == "connection":
            raise
    return False


def _isolation(settings: ServerSettings) -> family.Options:
    """A transaction that began before a table's copy took its place fails at it, unless it may see the newest rows."""
    return {"transaction_isolation": "READ-COMMITTED"} if settings.becomes else {}


def _system_fault(found: Mapping[str, str]) -> Detail | None:
    encrypted = found["encrypted_system_tablespaces"]
    if encrypted == found["system_tablespaces"]:
        return None
    return family.wrong_count(encrypted, "of its own tablespaces are encrypted", "all")


def _plugins(place: ServerPaths) -> Path:
    return place.folder / "plugins"


def _keyring_files(place: ServerPaths) -> dict[Path, str]:
    """The manifest and the component's configuration; the keyring itself is the server's to write."""
    configuration = {"path": str(place.keys / "keyring"), "read_only": False}
    return {
        place.folder / "bin" / f"{_NAME}.my": json.dumps({"components": f"file://{_COMPONENT}"}),
        _plugins(place) / f"{_COMPONENT}.cnf": json.dumps(configuration),
    }


SERVER = MySql
driver, listed = started(PROFILE, lambda binary, _options: MySql(binary))
