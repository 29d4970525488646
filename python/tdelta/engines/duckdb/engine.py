"""DuckDB: an embedded analytic engine. What its twins need to be opened; opens nothing itself.

DuckDB encrypts blocks of 256 KiB and its write-ahead log, with AES-256 in GCM or CTR. Its own code (mbedtls) only reads
encrypted files; what writes them is OpenSSL, out of the extension httpfs, which must be of the very version of DuckDB.
``force_mbedtls_unsafe`` has mbedtls do all of it, in software: a level to see what AES costs without the CPU's
instructions, and not one to use, since its random numbers are not a cryptographer's.

The plain twin is the same DuckDB with the same module loaded and the same storage version, and no key. Temporary files
are encrypted on every twin, the plain one included, unless a scope is asked for: an owner sets that by hand, and by
default they are left in the clear beside an encrypted database.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tdelta.engines.duckdb.profile import PROFILE
from tdelta.engines.shared.in_force import settings_fault
from tdelta.errors import EngineUnavailable, UnknownName
from tdelta.messages import Detail, Refusal

STORAGE_VERSION = "v1.5.0"
"""The format of every twin's file; encryption of a file asks for a new one, and twins share it."""

PLAIN_SCOPE = "none"
"""The scope of a plain twin where encrypted ones have one."""

WITH_TEMP = "+temp"
SCOPES = ("data", WITH_TEMP)
"""The file and its log, which one key encrypts, without and with temporary files."""

_DISTRIBUTION = "duckdb"
_MODULE_DISTRIBUTION = "duckdb-extension-httpfs"
_MODULE_FILE = "httpfs.duckdb_extension"
_INSTALL = "pip install 'tdelta[duckdb]'"
_MIB = 1 << 20
_WORKING_MIB = 96
_WORKING_MIB_A_THREAD = 32
"""What queries work in, beside cached blocks: DuckDB has one limit for both, and fails where it is too small."""


@dataclass(frozen=True, slots=True)
class DuckdbCipher:
    """One level of the factor ``cipher``: the mode by DuckDB's name, and whether mbedtls computes it.

    ``mode`` is None for a plain file. ``without_mac`` is the level that has the same cipher and no MAC; None where it
    has none itself, and of OpenSSL's GCM, whose code is another than its CTR's, and was seen to be twice as fast.
    """

    mode: str | None
    is_mbedtls: bool = False
    without_mac: str | None = None


CIPHERS: Mapping[str, DuckdbCipher] = MappingProxyType(
    {
        "none": DuckdbCipher(None),
        "aes-256-gcm": DuckdbCipher("GCM"),
        "aes-256-ctr": DuckdbCipher("CTR"),
        "aes-256-gcm-mbedtls": DuckdbCipher("GCM", is_mbedtls=True, without_mac="aes-256-ctr-mbedtls"),
        "aes-256-ctr-mbedtls": DuckdbCipher("CTR", is_mbedtls=True),
    }
)


@dataclass(frozen=True, slots=True)
class DuckdbSettings:
    """What decides a twin's file and connections.

    ``threads`` are connections at work at once, ``engine_threads`` the threads that DuckDB spreads each query over.
    ``memory_mib`` is its limit of memory, for cached blocks and for what queries work in. ``is_cold``: the file is
    attached anew before each operation, with nothing of it in any cache. ``scope`` is empty where none was asked for:
    then temporary files are encrypted on every twin.
    """

    cipher: str
    threads: int
    engine_threads: int
    memory_mib: int
    aes_instructions: str = "on"
    is_cold: bool = False
    scope: str = ""

    @property
    def encrypts_temp(self) -> bool:
        return self.scope in ("", WITH_TEMP)


class DuckdbEngine:
    name = "duckdb"
    product = "DuckDB"
    dialect = PROFILE.dialect
    crypto = "openssl"
    ciphers = CIPHERS
    proof_cipher = "aes-256-gcm"
    install = _INSTALL

    facts: Mapping[str, str] = MappingProxyType(
        {
            "version": "SELECT version()",
            "threads": "SELECT current_setting('threads')",
            "memory_limit": "SELECT current_setting('memory_limit')",
            "checkpoint_threshold": "SELECT current_setting('checkpoint_threshold')",
            "preserve_insertion_order": "SELECT current_setting('preserve_insertion_order')",
        }
    )
    """What to ask a twin about settings that all share, by name."""

    def version(self) -> str | None:
        """DuckDB's version; None if it is not installed. Imports nothing."""
        return _version(_DISTRIBUTION)

    def module_version(self) -> str | None:
        """The version of the module that brings OpenSSL; None if it is not installed."""
        return _version(_MODULE_DISTRIBUTION)

    def require(self) -> None:
        """See that all is there that twins need.

        Raises:
            EngineUnavailable: a wheel is missing, or the two are not of one version.
        """
        duckdb, module = self.version(), self.module_version()
        missing = [name for name, found in ((_DISTRIBUTION, duckdb), (_MODULE_DISTRIBUTION, module)) if found is None]
        if missing:
            raise EngineUnavailable(
                Refusal.of("library-missing", library=", ".join(missing), extra="duckdb", fault="not found")
            )
        if duckdb != module:
            raise EngineUnavailable(
                Refusal.of(
                    "version-mismatch", what="duckdb-extension-httpfs", expected=f"duckdb {duckdb}", found=module
                )
            )
        self.module_path()

    def module_path(self) -> Path:
        """The file of the module, within its wheel.

        Raises:
            EngineUnavailable: the wheel has none.
        """
        from importlib.metadata import files  # not earlier: it is slow, and workers need none

        for file in files(_MODULE_DISTRIBUTION) or ():
            if file.name == _MODULE_FILE:
                return Path(str(file.locate()))
        raise EngineUnavailable(
            Refusal.of(
                "library-missing",
                library="httpfs.duckdb_extension",
                extra="duckdb",
                fault="missing in duckdb-extension-httpfs",
            )
        )

    def versions(self) -> dict[str, str]:
        found = {_DISTRIBUTION: self.version(), _MODULE_DISTRIBUTION: self.module_version()}
        return {name: version for name, version in found.items() if version is not None}

    def identity(self) -> str:
        """What must be the same when a run is resumed."""
        return ", ".join(f"{name} {version}" for name, version in self.versions().items())

    def check_cipher(self, cipher: str) -> None:
        """Raise ``UnknownName`` for a cipher that it does not have."""
        if cipher not in self.ciphers:
            raise UnknownName("cipher", cipher, self.ciphers)

    @staticmethod
    def memory_mib(cache_bytes: int, threads: int, engine_threads: int, session_bytes: int = 0) -> int:
        """The limit of memory under which ``cache_bytes`` of blocks can stay cached beside the queries' work.

        ``session_bytes`` is what each connection has for that; 0 where that is not set.
        """
        usual = _WORKING_MIB + _WORKING_MIB_A_THREAD * max(threads, engine_threads)
        working = threads * -(-session_bytes // _MIB) if session_bytes else usual
        return working + -(-cache_bytes // _MIB)

    @staticmethod
    def engine_threads(cores: int, session_bytes: int) -> int:
        """Over how many threads a query is spread: no more than have room to work in."""
        return min(cores, max(1, session_bytes // _MIB // _WORKING_MIB_A_THREAD)) if session_bytes else cores

    def needs_key(self, cipher: str) -> bool:
        return self.ciphers[cipher].mode is not None

    def options(self, path: Path, settings: DuckdbSettings, key: str | None, **more: object) -> dict[str, object]:
        """How a worker opens the file; they hold the key, so they go through its pipe and are never printed.

        Args:
            path: the file, made if it is not there. Temporary files go beside it.
            key: 64 hexadecimal digits; None for a plain file.
            **more: ``read_only`` where it is True, ``encrypts_temp`` where it is not as the settings say.
        """
        cipher = self.ciphers[settings.cipher]
        return {
            "path": str(path),
            "key": key,
            "mode": cipher.mode,
            "is_mbedtls": cipher.is_mbedtls,
            "storage_version": STORAGE_VERSION,
            "module": str(self.module_path()),
            "threads": settings.engine_threads,
            "memory_mib": settings.memory_mib,
            "temporary": f"{path}.tmp",
            "encrypts_temp": settings.encrypts_temp,
            "read_only": False,
            **more,
        }

    def cipher_fault(self, settings: DuckdbSettings, found: Mapping[str, str]) -> Detail | None:
        """What is wrong with the encryption in force on a twin; None if it is as asked for.

        Args:
            found: ``encrypted`` and ``cipher`` as ``duckdb_databases()`` tells them, ``crypto`` (``openssl``,
                ``mbedtls`` or ``none``: whose code encrypts), ``temp_file_encryption``, and ``header``: what the file's
                own says, ``plain`` or ``hidden``.
        """
        wanted = self.ciphers[settings.cipher]
        expected = {
            "encrypted": "false" if wanted.mode is None else "true",
            "cipher": wanted.mode or "",
            "crypto": "mbedtls" if wanted.is_mbedtls else "openssl",
            "temp_file_encryption": str(settings.encrypts_temp).lower(),
            "header": "plain" if wanted.mode is None else "hidden",
        }
        return settings_fault(found, expected, str.lower)


def _version(distribution: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version  # not earlier: it is slow, and workers need none

    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
