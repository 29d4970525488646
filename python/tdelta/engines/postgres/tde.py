"""pg_tde, an extension of Percona Server for PostgreSQL: tables, their indexes and the WAL, encrypted by the server.

Its fork open_pg_tde, for patched PostgreSQL 16 to 18, has the same functions and settings under its own name, ciphers
of data files apart from those of keys, all of them XTS, and encrypts temporary files. Written from the documentation
and source of pg_tde 2.2 and of open_pg_tde 2.4, and never run: Debian has no server with either. What the server reads
back of itself (`PgTde.cipher_facts`) must therefore agree with what was asked before anything is measured.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tdelta.engines.base import settings_fault
from tdelta.engines.postgres.server import EVIDENCE, PARTS, Postgres
from tdelta.engines.server.base import PLAIN_SCOPE, ServerBinary, ServerSettings
from tdelta.evidence import FileClass
from tdelta.messages import Caution, Detail

EXTENSION, FORK = "pg_tde", "open_pg_tde"
"""The names of their control files and of their libraries; settings and functions begin with them."""

_KEYS = {"aes-128": "aes_128", "aes-256": "aes_256"}
"""Values of ``cipher``, the setting of keys and the WAL."""

_DATA = {"aes-128": "aes_xts", "aes-256": "aes_256_xts"}
"""Values of the fork's ``data_cipher``: XTS alone, since version 2.4 refuses CBC."""

_PROVING = "pgcrypto"
_TEMPORARY = "encrypt_temp_files"
_PROVIDER, _KEY = "tdelta", "tdelta"
_KEYRING = "../keys/pg_tde.per"
"""`ServerPaths.keys` as seen from the data directory, where a server runs: a copied instance finds its own."""

_PLAIN_TABLES = """
SELECT count(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE relkind IN ('r', 'i') AND nspname = 'public' AND {extension}_is_encrypted(pg_class.oid) IS NOT TRUE
""".strip()

_WITH_TEMPORARY = dataclasses.replace(EVIDENCE, parts={"": {**PARTS, "temp": frozenset((FileClass.TEMP,))}})
"""Where temporary files can be encrypted: those of sorts and joins. Temporary tables are relations, left open."""


class PgTde(Postgres):
    """pg_tde with a keyring file, in which the server keeps keys that it draws itself.

    The plain twin is the same server with the same library loaded, and plain tables.

    Args:
        extension: its name, or its fork's.
    """

    crypto = "openssl"

    ciphers = (PLAIN_SCOPE, *_KEYS)

    def __init__(self, binary: ServerBinary, extension: str = EXTENSION) -> None:
        super().__init__(binary)
        self.extension = extension
        self._is_fork = extension == FORK
        if self._is_fork:
            self.evidence = _WITH_TEMPORARY
        temporary = ("+temp",) if self._is_fork else ()
        self.scopes = (PLAIN_SCOPE, "data", "+log", *temporary, "all")
        """Catalogs stay as they are, and temporary files of pg_tde: ``all`` is tables, indexes and the WAL there."""

    def more_options(self, settings: ServerSettings) -> Mapping[str, str]:
        """The WAL's encryption needs a key, which is made while the data is loaded: it begins with the next start."""
        options = {"shared_preload_libraries": f"'{self.extension}'"}
        if not settings.is_encrypted:
            return options
        made = {name: f"'{value}'" for name, value in self._wanted_ciphers(settings).items()}
        return options | {
            "default_table_access_method": "'tde_heap'",
            **made,
            f"{self.extension}.wal_encrypt": _wal(settings),
            **self._wanted_temporary(settings),
        }

    def before_load_sql(self, settings: ServerSettings) -> tuple[str, ...]:
        """The extensions on every twin; keys on encrypted ones: one for tables, the same for the WAL."""
        extensions = (f"CREATE EXTENSION {self.extension}", f"CREATE EXTENSION {_PROVING}")
        if not settings.is_encrypted:
            return extensions
        keyed = f"'{_KEY}', '{_PROVIDER}'"
        return (
            *extensions,
            f"SELECT {self.extension}_add_global_key_provider_file('{_PROVIDER}', '{_KEYRING}')",
            f"SELECT {self.extension}_create_key_using_global_key_provider({keyed})",
            f"SELECT {self.extension}_set_default_key_using_global_key_provider({keyed})",
            f"SELECT {self.extension}_set_server_key_using_global_key_provider({keyed})",
        )

    def proof_sql(self, _settings: ServerSettings, pages: int) -> Mapping[str, str]:
        page = "convert_to(repeat(chr(97 + number % 26), 16384), 'SQL_ASCII')"
        encrypted = f"encrypt({page}, '\\x000102030405060708090a0b0c0d0e0f', 'aes-cbc/pad:none')"
        summed = "SELECT sum(length({made})) FROM generate_series(1, {pages}) AS number"
        return {"encrypted": summed.format(made=encrypted, pages=pages), "plain": summed.format(made=page, pages=pages)}

    def cipher_facts(self, _settings: ServerSettings) -> Mapping[str, str]:
        names = [f"{self.extension}.cipher", f"{self.extension}.wal_encrypt"]
        names += [f"{self.extension}.data_cipher", _TEMPORARY] if self._is_fork else []
        version = (
            f"SELECT extversion FROM pg_extension WHERE extname = '{FORK}'"
            if self._is_fork
            else "SELECT pg_tde_version()"
        )
        return {
            f"{self.extension} version": version,
            **{name: _own_setting(name) for name in names},
            "plain tables and indexes": _PLAIN_TABLES.format(extension=self.extension),
        }

    def cipher_fault(self, settings: ServerSettings, found: Mapping[str, str]) -> Detail | None:
        """An encrypted twin must have all its tables encrypted by the cipher asked for, a plain one none."""
        log = {f"{self.extension}.wal_encrypt": _wal(settings) if settings.is_encrypted else "off"}
        wanted = log | self._wanted_temporary(settings)
        if settings.is_encrypted:
            wanted |= {**self._wanted_ciphers(settings), "plain tables and indexes": "0"}
        return settings_fault(found, wanted)

    def differing_settings(self, settings: ServerSettings) -> tuple[str, ...]:
        if not settings.is_encrypted:
            return ()
        options = self.more_options(settings)
        return tuple(f"{name} = {value}" for name, value in options.items() if name != "shared_preload_libraries")

    def cautions(self, settings: ServerSettings) -> tuple[Caution, ...]:
        """Cautions: versions it was never tried on, and data that its log still shows."""
        if not settings.is_encrypted:
            return ()
        return (Caution.of("extension-untried", extension=self.extension),)

    def _wanted_ciphers(self, settings: ServerSettings) -> dict[str, str]:
        keys = {f"{self.extension}.cipher": _KEYS[settings.cipher]}
        return keys | ({f"{self.extension}.data_cipher": _DATA[settings.cipher]} if self._is_fork else {})

    def _wanted_temporary(self, settings: ServerSettings) -> dict[str, str]:
        """Of the fork, whose patched server has a setting without a prefix for them."""
        if not self._is_fork:
            return {}
        return {_TEMPORARY: "on" if settings.is_encrypted and settings.covers("temp") else "off"}


def _wal(settings: ServerSettings) -> str:
    return "on" if settings.covers("log") and not settings.is_loading else "off"


def _own_setting(name: str) -> str:
    """A setting's value; none for a name that nobody defined: pg_settings leaves out what is merely tolerated."""
    return f"SELECT max(setting) FROM pg_settings WHERE name = '{name}'"
