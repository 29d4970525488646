"""MariaDB 10.11 and newer: data at rest encryption with the plugin file_key_management or hashicorp_key_management.

InnoDB encrypts pages when they are written and decrypts them when they are read; the redo log, temporary files and the
binary log each have a switch of their own. The plugin is loaded on encrypted twins only, as on a server whose owner
does without encryption. What the key's length means is less than it says: InnoDB derives a key of 16 bytes for its
pages from any key (docs/engines.md), so the cipher that is observed is reported beside the one asked.
"""

from __future__ import annotations

import dataclasses
import hashlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from tdelta.design.factors import key_latency_ms
from tdelta.engines.base import settings_fault
from tdelta.engines.mariadb.actions import ACTIONS, NEW_KEY
from tdelta.engines.mariadb.profile import PROFILE
from tdelta.engines.server import mysql_family as family
from tdelta.engines.server.base import (
    DATA,
    PLAIN_SCOPE,
    DumpEncryption,
    Encryption,
    NewSchema,
    ServerResources,
    ServerSettings,
)
from tdelta.engines.server.driver import started
from tdelta.engines.server.evidence import SPILL, ServerEvidence, Settling, parts, steps
from tdelta.engines.server.sessions import Ask, literal
from tdelta.errors import UnknownName
from tdelta.evidence import FileClass
from tdelta.messages import Detail, Refusal
from tdelta.processes import key_service
from tdelta.processes.servers.recipes import Command, Recipe, ServerPaths, Service

_STATUS_TABLE = "information_schema.GLOBAL_STATUS"
_REPLICATION = family.MySqlReplication(
    source="MASTER",
    replica="SLAVE",
    change="CHANGE MASTER TO",
    more=", MASTER_USE_GTID = no",
    position_sql="SHOW MASTER STATUS",
    status_table=_STATUS_TABLE,
)

_PLAN = family.exposure_plan(
    "SET SESSION tmp_memory_table_size = 16384, max_heap_table_size = 16384",
    "information_schema.PROCESSLIST",
    "information_schema.GLOBAL_STATUS",
    # Once it finds no room in a pool that shrinks, MariaDB's page cleaner looks for room only and writes no table's
    # page until one is evicted (seen in 10.11.19 with encrypted temporary tables): reading evicts some.
    *steps("spill", f"SELECT COUNT(marker) FROM {SPILL}"),
)

_PARTS = parts(
    data=(FileClass.TABLES, FileClass.SYSTEM, FileClass.UNDO, FileClass.DOUBLEWRITE),
    log=(FileClass.REDO,),
    temp=(FileClass.TEMP_TABLES, FileClass.TEMP),
    binlog=(FileClass.BINLOG, FileClass.RELAY),
)
"""Not the tables that queries make on disk: with ``encrypt_tmp_disk_tables`` and ``aria_encrypt_tables`` ON, MariaDB
10.11.19 writes their pages in the clear as soon as Aria's cache is full. Where a version does better, they read "not
found" all the same.
"""


EVIDENCE = ServerEvidence(_PLAN, family.FILES, {"": _PARTS}, family.CHANGE_SQL, family.inflated)

_PLUGIN, VAULT_PLUGIN = "file_key_management", "hashicorp_key_management"
_VAULT = "vault"
_PLUGIN_FOLDERS = ("lib/mysql/plugin", "lib64/mysql/plugin", "lib/plugin", "lib/*/mariadb*/plugin")
_ALGORITHM = f"{_PLUGIN}_encryption_algorithm"
_CACHING = f"{VAULT_PLUGIN}_caching_enabled"
_INSTALL_PLUGIN = "apt-get install mariadb-plugin-hashicorp-key-management"
_VAULT_OPTIONS = f"[mysqld]\n{VAULT_PLUGIN}_vault_url={{url}}\n{VAULT_PLUGIN}_token={{token}}\n"
_NO_PROXY = {"no_proxy": "127.0.0.1"}
_INSTALLERS = (
    "bin/mariadb-install-db",
    "scripts/mariadb-install-db",
    "scripts/mysql_install_db",
    "bin/mysql_install_db",
)
_STATUS = {
    **family.COUNTED,
    "innodb_num_pages_encrypted": "pages_encrypted",
    "innodb_num_pages_decrypted": "pages_decrypted",
    "innodb_lsn_current": "log_bytes",
    "innodb_encryption_n_temp_blocks_encrypted": "temporary_blocks_encrypted",
    "innodb_encryption_n_temp_blocks_decrypted": "temporary_blocks_decrypted",
    "binlog_bytes_written": "binlog_bytes",
}
_THREAD = "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()"
_INSTALL = ("--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
_NO_OTHERS = "DROP USER 'root'@'127.0.0.1', 'root'@'::1';\n"
"""Accounts without a password that the installer makes, for whoever reaches a port."""

_OWN_OPTIONS: family.Options = {
    "innodb_log_file_size": family.LOG_BYTES,
    "performance_schema": "OFF",
    "binlog_format": "ROW",
}
_SETTLE = (
    "SET GLOBAL innodb_max_purge_lag_wait = 0",
    "SET GLOBAL innodb_log_checkpoint_now = ON",
    "PURGE BINARY LOGS BEFORE NOW()",
)
_FEW_PAGES = 8
_LEAST_ARIA_BYTES = 4 << 20
_PLAIN_TABLESPACES = (
    "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION WHERE ENCRYPTION_SCHEME = 0"
    " OR MIN_KEY_VERSION = 0 OR ROTATING_OR_FLUSHING = 1"
)
_ENCRYPTED_TABLESPACES = (
    "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION WHERE MIN_KEY_VERSION > 0"
)
_AWAIT_ENCRYPTION = (
    f"BEGIN NOT ATOMIC DECLARE looks INT DEFAULT 6000; WHILE ({_PLAIN_TABLESPACES}) > 0 DO"
    " IF looks = 0 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'background encryption has not ended within 600 s';"
    " END IF; DO SLEEP(0.1); SET looks = looks - 1; END WHILE; END"
)
"""One statement that ends when no tablespace waits for InnoDB's encryption threads; they are of encrypted servers."""


_CIPHERS: Mapping[str, tuple[int, str]] = MappingProxyType(
    {
        "aes-128": (32, "AES_CBC"),
        "aes-256": (64, "AES_CBC"),
        "aes-128-ctr": (32, "AES_CTR"),
        "aes-256-ctr": (64, "AES_CTR"),
    }
)
"""Of each the hexadecimal digits of its key, and what the plugin calls the mode."""


_SWITCHES: family.Switches = {
    "data": {
        "innodb_encrypt_tables": "FORCE",
        "innodb_encryption_threads": 4,
        "aria_encrypt_tables": "ON",
    },
    "log": {"innodb_encrypt_log": "ON"},
    "temp": {
        "innodb_encrypt_temporary_tables": "ON",
        "encrypt_tmp_disk_tables": "ON",
        "encrypt_tmp_files": "ON",
    },
    "binlog": {"encrypt_binlog": "ON"},
}


class MariaDb(family.MySqlFamily):
    profile = PROFILE
    evidence = EVIDENCE
    counters = (family.counters_sql(_STATUS_TABLE, _STATUS),)
    tracing = family.tracing(_THREAD, _STATUS_TABLE, "innodb_lsn_current")
    resources = ServerResources(250_000_000, 60_000_000, 400_000, initialize_seconds=2.0, start_seconds=0.3)
    """10.11: 165 MB on the disk, 128 of them the redo log; 50 MB and 64 kB a connection that does nothing."""

    settling = Settling(statements=_SETTLE, query=family.dirty_pages_sql(_STATUS_TABLE), at_most=_FEW_PAGES)
    """Undo records purged, every dirty page written, old binary logs removed.

    The first statement waits for transactions that are open: let none be.
    """

    crypto = "openssl"
    ciphers = (PLAIN_SCOPE, *_CIPHERS)
    actions = ACTIONS
    replication = _REPLICATION
    compressions = ("none", "zlib")
    compresses_new_tables = True
    scopes = (PLAIN_SCOPE, "data", "+log", "+temp", "+binlog", "all")
    switches = _SWITCHES
    own_facts = ("tx_isolation", "innodb_log_file_size", "innodb_buffer_pool_chunk_size", "aria_pagecache_buffer_size")
    rotation_needs = _VAULT
    dump_encryption = DumpEncryption(
        "ENCRYPTED and ENCRYPTION_KEY_ID",
        "sed -E \"s/\\`?(ENCRYPTED|ENCRYPTION_KEY_ID)\\`?='?[A-Z0-9]+'?//gi\"",
        r"ERROR 1005 .*errno: 140",
    )

    replication_sql = ("SHOW ALL SLAVES STATUS",)
    replication_right = "SLAVE MONITOR"
    session_sql = (*family.MySqlFamily.session_sql, "SET SESSION max_statement_time = 0")

    def recipe(self, place: ServerPaths, settings: ServerSettings) -> Recipe:
        option_path, user_path = place.folder / family.OPTION_FILE, place.folder / "user.sql"
        options = {
            **family.shared_options(self.binary, place, settings),
            **_OWN_OPTIONS,
            "secure_file_priv": place.temporary,
            **_session_options(settings),
            **family.binary_log_options(settings),
            **self._encryption(place, settings),
            **_compression(settings),
        }
        defaults = f"--defaults-file={option_path}"
        service = _key_service(place, settings.keys) if _is_served(settings) else None
        included = f"!include {service.ready}\n" if service else ""
        return Recipe(
            place=place,
            files={option_path: family.option_file(options) + included, user_path: family.USER_SQL + _NO_OTHERS},
            initialize=(Command((str(self._installer()), defaults, *_INSTALL, f"--extra-file={user_path}")),),
            serve=Command((*self.binary.launcher, str(self.binary.path), defaults), _NO_PROXY if service else {}),
            connect=family.connect_options(place),
            greeting=family.GREETING,
            service=service,
        )

    def keys_setting(self, settings: ServerSettings) -> str:
        return f"plugin_load_add={VAULT_PLUGIN if _is_served(settings) else _PLUGIN}"

    def key_store_fault(self, keys: str, ciphers: Sequence[str]) -> Refusal | None:
        """The plugin for key services has no cipher modes, and comes in a separate package."""
        if keys == "file":
            return None
        if modes := [cipher for cipher in ciphers if cipher.endswith("-ctr")]:
            return Refusal.of(
                "conflict", one=f"--vary keys={keys}", other=f"cipher {modes[0]} on {self.binary.product}"
            )
        base = family.base_folder(self.binary)
        if not any(list(base.glob(f"{folder}/{VAULT_PLUGIN}.so")) for folder in _PLUGIN_FOLDERS):
            return Refusal.of("plugin-missing", plugin=VAULT_PLUGIN, server=self.binary.path, install=_INSTALL_PLUGIN)
        return None

    def keyed(self, recipe: Recipe, settings: ServerSettings, key: str) -> Recipe:
        """The key goes to a file that only its owner reads."""
        digits, _ = self._cipher(settings)
        lines = _key_lines(digits, key)
        return dataclasses.replace(recipe, files={**recipe.files, _key_file(recipe.place): lines})

    def schema_sql(self, _settings: ServerSettings) -> tuple[str, ...]:
        """The database; what encrypts its tables is set for the whole server."""
        return (family.CREATE_SQL,)

    def after_load_sql(self, settings: ServerSettings, tables: Iterable[str]) -> tuple[str, ...]:
        """Statistics of every table, columns' histograms included; then the end of background encryption."""
        analyzed = (f"ANALYZE TABLE `{table}` PERSISTENT FOR ALL" for table in tables)
        return (*analyzed, *((_AWAIT_ENCRYPTION,) if settings.is_encrypted else ()))

    def cipher_facts(self, settings: ServerSettings) -> Mapping[str, str]:
        facts = family.variables(sorted(family.wanted_switches(self.switches, settings)))
        facts["plain_tablespaces"] = _PLAIN_TABLESPACES
        facts["encrypted_tablespaces"] = _ENCRYPTED_TABLESPACES
        facts |= family.compression_facts(settings, "%`PAGE_COMPRESSED`=''ON''%")
        if settings.is_encrypted:
            facts |= family.variables([_CACHING if _is_served(settings) else _ALGORITHM])
        return facts

    def cipher_fault(self, settings: ServerSettings, found: Mapping[str, str]) -> Detail | None:
        """A switch, the plugin's mode or a tablespace that is not as asked."""
        mode: Mapping[str, str] = {}
        if settings.is_encrypted:
            mode = {_CACHING: "1"} if _is_served(settings) else {_ALGORITHM: self._cipher(settings)[1]}
        return (
            self.switches_fault(settings, found)
            or settings_fault(found, mode, str.upper)
            or family.tablespaces_fault(settings, found)
            or family.compression_fault(settings, found)
        )

    def _cipher(self, settings: ServerSettings) -> tuple[int, str]:
        if settings.keyed_cipher not in _CIPHERS:
            raise UnknownName("cipher of MariaDB", settings.keyed_cipher, self.ciphers)
        return _CIPHERS[settings.keyed_cipher]

    def _encryption(self, place: ServerPaths, settings: ServerSettings) -> family.Options:
        if not settings.keyed_cipher:
            return {}
        _, mode = self._cipher(settings)
        switches = family.switched_on(self.switches, settings)
        if _is_served(settings):
            return {"plugin_load_add": VAULT_PLUGIN, **switches}
        return {
            "plugin_load_add": _PLUGIN,
            "file_key_management_filename": _key_file(place),
            _ALGORITHM: mode,
            **switches,
        }

    def _installer(self) -> Path:
        """The script that makes the data directory, beside the server or where Debian has it."""
        base = family.base_folder(self.binary)
        return next((base / name for name in _INSTALLERS if (base / name).exists()), base / _INSTALLERS[0])

    def encryption(self, ask: Ask) -> Encryption:
        """The encrypted parts by the global variables; a key plugin must be active for any of it."""
        variables = self.settings(ask)
        plugins = ask(
            "SELECT PLUGIN_NAME AS name FROM information_schema.PLUGINS"
            " WHERE PLUGIN_TYPE = 'ENCRYPTION' AND PLUGIN_STATUS = 'ACTIVE'"
        )
        keys = f"keys: {plugins[0]['name']}" if plugins else "no key plugin is active"
        scopes = [
            family.scope_of(DATA, variables, ("innodb_encrypt_tables",), keys),
            family.scope_of("log", variables, ("innodb_encrypt_log",)),
            family.scope_of(
                "temp", variables, ("innodb_encrypt_temporary_tables", "encrypt_tmp_files", "encrypt_tmp_disk_tables")
            ),
            family.scope_of("binlog", variables, ("encrypt_binlog",)),
            family.scope_of("aria", variables, ("aria_encrypt_tables",)),
        ]
        return Encryption(
            tuple(scopes),
            can_be_asked=False,
            remedy="SET GLOBAL innodb_encrypt_tables = ON, with a key plugin (file_key_management)",
        )

    def make_sql(self, schema: NewSchema) -> tuple[str, ...]:
        """Statements that make the schema and mark it; new tables are as `innodb_encrypt_tables` says."""
        return (f"CREATE SCHEMA {self.quoted(schema.name)} CHARACTER SET utf8mb4", self.mark_sql(schema))

    def tables(self, ask: Ask, schema: str) -> Mapping[str, bool | None]:
        """By ``INNODB_TABLESPACES_ENCRYPTION``: a tablespace that is not in it has no encryption header at all."""
        of_schema = f"WHERE NAME LIKE {literal(schema + '/%')}"
        spaces = ask(f"SELECT NAME AS name FROM information_schema.INNODB_SYS_TABLESPACES {of_schema}")
        headers = ask(
            "SELECT NAME AS name, ENCRYPTION_SCHEME AS scheme, MIN_KEY_VERSION AS version"
            f" FROM information_schema.INNODB_TABLESPACES_ENCRYPTION {of_schema}"
        )
        states = {family.table_of(row, schema): False for row in spaces}
        states |= {family.table_of(row, schema): row["scheme"] == "1" and row["version"] != "0" for row in headers}
        return family.every_table(ask, schema, states)

    @classmethod
    def answering(cls, ask: Ask) -> MariaDb | None:
        found = family.identity_of(PROFILE.name, ask)
        return cls(found) if found.product == family.MARIADB else None


def _session_options(settings: ServerSettings) -> family.Options:
    """Tables that queries make on disk go through Aria's cache of all sessions (128 MiB by default)."""
    if not settings.session_bytes:
        return {}
    cache = max(_LEAST_ARIA_BYTES, settings.session_bytes * settings.threads)
    return {**family.session_options(settings), "aria_pagecache_buffer_size": cache}


def _compression(settings: ServerSettings) -> family.Options:
    if not settings.is_compressed:
        return {}
    return {"innodb_compression_default": "ON", "innodb_compression_algorithm": settings.compression}


def _is_served(settings: ServerSettings) -> bool:
    """Whether its keys come from a key service."""
    return settings.keys not in ("", "file")


def _key_service(place: ServerPaths, keys: str) -> Service:
    words = (place.keys, place.socket, key_latency_ms(keys), int(keys == "vault-down"), _VAULT_OPTIONS)
    argv = (sys.executable, "-m", "tdelta.processes.key_service", *map(str, words))
    return Service(Command(argv), place.keys / key_service.OPTIONS)


def _key_file(place: ServerPaths) -> Path:
    return place.keys / key_service.KEYS


def _key_lines(digits: int, key: str) -> str:
    """Key 1 is for data and logs, key 2 for temporary files (mariadb.com/kb, "Encryption Key Management").

    One more is there for tables whose key is changed.
    """
    ours, others = key[:digits], hashlib.sha256(key.encode()).hexdigest()[:digits]
    return f"1;{ours}\n2;{ours}\n{NEW_KEY};{others}\n"


SERVER = MariaDb
driver, listed = started(PROFILE, lambda binary, _options: MariaDb(binary))
