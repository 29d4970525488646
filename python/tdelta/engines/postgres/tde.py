"""pg_tde, an extension of Percona Server for PostgreSQL: tables, their indexes and the WAL, encrypted by the server.

Written from its documentation and source (version 2.2), and never run: Debian has no server with it. What the server
reads back of itself (`PgTde.facts`) must therefore agree with what was asked before anything is measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tdelta.engines.servers import PLAIN_SCOPE, ServerCipher, ServerSettings
from tdelta.messages import Caution

EXTENSION = "pg_tde"
"""The name of its control file and of its library."""

_PROVING = "pgcrypto"
_PROVIDER, _KEY = "tdelta", "tdelta"
_KEYRING = "../keys/pg_tde.per"
"""`Place.keys` as seen from the data directory, where a server runs: a copied instance finds its own."""

_PLAIN_TABLES = """
SELECT count(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE relkind IN ('r', 'i') AND nspname = 'public' AND pg_tde_is_encrypted(pg_class.oid) IS NOT TRUE
""".strip()


@dataclass(frozen=True, slots=True)
class PgTde:
    """pg_tde with a keyring file, in which the server keeps keys that it draws itself.

    The plain twin is the same server with the same library loaded, and plain tables.
    """

    @property
    def ciphers(self) -> Mapping[str, ServerCipher]:
        """The two that the setting pg_tde.cipher takes."""
        return {
            "none": ServerCipher("no encryption"),
            "aes-128": ServerCipher("pg_tde.cipher = aes_128"),
            "aes-256": ServerCipher("pg_tde.cipher = aes_256"),
        }

    @property
    def scopes(self) -> tuple[str, ...]:
        """It leaves temporary files and catalogs as they are, so ``all`` is tables, indexes and the WAL."""
        return (PLAIN_SCOPE, "data", "+log", "all")

    @property
    def crypto(self) -> str:
        """It calls libcrypto."""
        return "openssl"

    def options(self, settings: ServerSettings) -> Mapping[str, str]:
        """The WAL's encryption needs a key, which is made while the data is loaded: it begins with the next start."""
        options = {"shared_preload_libraries": f"'{EXTENSION}'"}
        if not settings.is_encrypted:
            return options
        return options | {
            "default_table_access_method": "'tde_heap'",
            "pg_tde.cipher": f"'{_cipher(settings)}'",
            "pg_tde.wal_encrypt": _wal(settings),
        }

    def before_load_sql(self, settings: ServerSettings) -> tuple[str, ...]:
        """The extensions on every twin; keys on encrypted ones: one for tables, the same for the WAL."""
        extensions = (f"CREATE EXTENSION {EXTENSION}", f"CREATE EXTENSION {_PROVING}")
        if not settings.is_encrypted:
            return extensions
        keyed = f"'{_KEY}', '{_PROVIDER}'"
        return (
            *extensions,
            f"SELECT pg_tde_add_global_key_provider_file('{_PROVIDER}', '{_KEYRING}')",
            f"SELECT pg_tde_create_key_using_global_key_provider({keyed})",
            f"SELECT pg_tde_set_default_key_using_global_key_provider({keyed})",
            f"SELECT pg_tde_set_server_key_using_global_key_provider({keyed})",
        )

    def proof_sql(self, _settings: ServerSettings, pages: int) -> Mapping[str, str]:
        """AES of the libcrypto that the server's own process has loaded, which is pg_tde's, too."""
        page = "convert_to(repeat(chr(97 + number % 26), 16384), 'SQL_ASCII')"
        encrypted = f"encrypt({page}, '\\x000102030405060708090a0b0c0d0e0f', 'aes-cbc/pad:none')"
        summed = "SELECT sum(length({made})) FROM generate_series(1, {pages}) AS number"
        return {"encrypted": summed.format(made=encrypted, pages=pages), "plain": summed.format(made=page, pages=pages)}

    def facts(self, _settings: ServerSettings) -> Mapping[str, str]:
        """The settings in force, as far as this version knows them, and how many tables it left out."""
        return {
            "pg_tde version": "SELECT pg_tde_version()",
            "pg_tde.cipher": _own_setting("pg_tde.cipher"),
            "pg_tde.wal_encrypt": _own_setting("pg_tde.wal_encrypt"),
            "plain tables and indexes": _PLAIN_TABLES,
        }

    def fault(self, settings: ServerSettings, found: Mapping[str, str]) -> str | None:
        """An encrypted twin must have all its tables encrypted by the cipher asked for, a plain one none."""
        if not settings.is_encrypted:
            return _wrong(found, {"pg_tde.wal_encrypt": "off"})
        wanted = {"pg_tde.cipher": _cipher(settings), "pg_tde.wal_encrypt": _wal(settings)}
        return _wrong(found, wanted | {"plain tables and indexes": "0"})

    def differing(self, settings: ServerSettings) -> tuple[str, ...]:
        """The settings that only encrypted twins have."""
        if not settings.is_encrypted:
            return ()
        options = self.options(settings)
        return tuple(f"{name} = {value}" for name, value in options.items() if name != "shared_preload_libraries")

    def cautions(self, settings: ServerSettings) -> tuple[Caution, ...]:
        """What it was never tried on, and what its log still shows."""
        if not settings.is_encrypted:
            return ()
        return (Caution.of("extension-untried", extension="pg_tde"),)


def _cipher(settings: ServerSettings) -> str:
    return settings.cipher.replace("-", "_")


def _wal(settings: ServerSettings) -> str:
    return "on" if settings.covers("log") and not settings.is_loading else "off"


def _own_setting(name: str) -> str:
    """A setting's value; none for a name that nobody defined: pg_settings leaves out what is merely tolerated."""
    return f"SELECT max(setting) FROM pg_settings WHERE name = '{name}'"


def _wrong(found: Mapping[str, str], wanted: Mapping[str, str]) -> str | None:
    wrong = (f"{name} is {found[name]}, expected {value}" for name, value in wanted.items() if found[name] != value)
    return "; ".join(wrong) or None
