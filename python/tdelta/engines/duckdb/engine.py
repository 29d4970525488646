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

import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tdelta.engines.base import settings_fault
from tdelta.engines.duckdb.actions import ACTIONS
from tdelta.engines.duckdb.database import BLOCK_BYTES, CATALOG, CRYPTO_SQL, OF_DATABASE
from tdelta.engines.duckdb.exposure import DuckdbExposure
from tdelta.engines.duckdb.profile import PROFILE
from tdelta.engines.duckdb.twins import DuckdbTwins
from tdelta.engines.embedded.engine import Embedded, EmbeddedSettings
from tdelta.engines.embedded.pricing import Pricing, new_key
from tdelta.engines.embedded.sql import literal
from tdelta.engines.estimates import of_analytic_files
from tdelta.engines.layout import ResourceEstimate, RunLayout
from tdelta.errors import EngineUnavailable, require_known
from tdelta.evidence import FileClass
from tdelta.evidence.headers import Meaning, header_of
from tdelta.lazily import installed_version
from tdelta.measure import effort
from tdelta.messages import Caution, Detail, Refusal
from tdelta.processes import AnyJob, TwinFolder, Worker, WorkloadSpec
from tdelta.records import Condition, Level

PROGRAM = "tdelta.engines.duckdb.worker"
STORAGE_VERSION = "v1.5.0"
"""The format of every twin's file; encryption of a file asks for a new one, and twins share it."""

WITH_TEMP = "+temp"
SCOPES = ("data", WITH_TEMP)
"""The file and its log, which one key encrypts, without and with temporary files."""

_DISTRIBUTION = "duckdb"
_MODULE_DISTRIBUTION = "duckdb-extension-httpfs"
_MODULE_FILE = "httpfs.duckdb_extension"
_INSTALL = "pip install 'tdelta[duckdb]'"
_HEAD_BYTES = 4096
_VERSION_PLACE = 12
"""Where the main header has the version of the storage: eight bytes behind its checksum and magic."""

LOADING_MIB = 1024
"""DuckDB's limit of memory while a file is loaded, whatever the number of rows."""

_FEWEST_PASSES = 3
_PRICING_MIB = 512
"""Room for all blocks that are priced, whatever the twin's queries have."""

_MIB = 1 << 20
_WORKING_MIB = 96
_WORKING_MIB_A_THREAD = 32
"""Working memory of queries. DuckDB has one limit for it and cached blocks, and fails if that is too small."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DuckdbSettings(EmbeddedSettings):
    """The settings of a twin's file and connections.

    ``engine_threads`` are the threads that DuckDB spreads each query over, ``working_mib`` is the memory in which
    queries work. ``scope`` is empty where none was asked for: then temporary files are encrypted on every twin.
    """

    engine_threads: int = 1
    working_mib: int = 0
    scope: str = ""

    @property
    def memory_mib(self) -> int:
        """DuckDB's limit of memory, under which so much of the file stays cached while queries are at work."""
        return self.working_mib + -(-self.cache_bytes // _MIB)

    @property
    def encrypts_temp(self) -> bool:
        return self.scope in ("", WITH_TEMP)


class DuckdbEngine(Embedded):
    profile = PROFILE
    program = PROGRAM
    crypto = "openssl"
    ciphers = CIPHERS
    proof_cipher = "aes-256-gcm"
    checkpoint = f"CHECKPOINT {CATALOG}"
    file_actions = ACTIONS
    has_folders = True
    cools_each_operation = True
    acts_in_worker = True
    install = _INSTALL
    settings_type = DuckdbSettings
    facts = MappingProxyType(
        {
            "version": "SELECT version()",
            "checkpoint_threshold": "SELECT current_setting('checkpoint_threshold')",
            "preserve_insertion_order": "SELECT current_setting('preserve_insertion_order')",
        }
    )
    cipher_queries = MappingProxyType(
        {
            "encrypted": f"SELECT encrypted {OF_DATABASE}",
            "cipher": f"SELECT cipher {OF_DATABASE}",
            "crypto": CRYPTO_SQL,
            "temp_file_encryption": "SELECT current_setting('temp_file_encryption')",
        }
    )

    def version(self) -> str | None:
        return installed_version(_DISTRIBUTION)

    def module_version(self) -> str | None:
        return installed_version(_MODULE_DISTRIBUTION)

    def require(self) -> None:
        duckdb, module = self.version(), self.module_version()
        missing = [name for name, found in ((_DISTRIBUTION, duckdb), (_MODULE_DISTRIBUTION, module)) if found is None]
        if missing:
            raise _missing(", ".join(missing), "not found")
        if duckdb != module:
            found = {"expected": f"duckdb {duckdb}", "found": module}
            raise EngineUnavailable(Refusal.of("version-mismatch", what=_MODULE_DISTRIBUTION, **found))
        self.module_path()

    def module_path(self) -> Path:
        from importlib.metadata import files  # not earlier: it is slow, and workers need none

        for file in files(_MODULE_DISTRIBUTION) or ():
            if file.name == _MODULE_FILE:
                return Path(str(file.locate()))
        raise _missing(_MODULE_FILE, f"missing in {_MODULE_DISTRIBUTION}")

    def versions(self) -> dict[str, str]:
        found = {_DISTRIBUTION: self.version(), _MODULE_DISTRIBUTION: self.module_version()}
        return {name: version for name, version in found.items() if version is not None}

    def identity(self) -> str:
        return ", ".join(f"{name} {version}" for name, version in self.versions().items())

    @staticmethod
    def working_mib(threads: int, engine_threads: int, session_bytes: int = 0) -> int:
        """The memory of all queries at work; ``session_bytes`` is each connection's, 0 where that is not set."""
        usual = _WORKING_MIB + _WORKING_MIB_A_THREAD * max(threads, engine_threads)
        return threads * -(-session_bytes // _MIB) if session_bytes else usual

    @staticmethod
    def engine_threads(cores: int, session_bytes: int) -> int:
        """Over how many threads a query is spread: no more than have room to work in."""
        return min(cores, max(1, session_bytes // _MIB // _WORKING_MIB_A_THREAD)) if session_bytes else cores

    def options(self, path: Path, settings: DuckdbSettings, key: str | None) -> dict[str, object]:
        """How a worker opens the file, and makes one that is not there; temporary files go beside it.

        They hold the key (64 hexadecimal digits), so they go through the worker's pipe and are never printed.
        """
        return {
            "path": str(path),
            "key": key,
            "mode": self.ciphers[settings.cipher].mode,
            "storage_version": STORAGE_VERSION,
            "settings": self._preparing(path, settings),
            "read_only": False,
        }

    def own_settings(self, layout: RunLayout, condition: Condition) -> dict[str, Any]:
        session_bytes = layout.options["session_memory"] or 0
        spread = self.engine_threads(len(os.sched_getaffinity(0)), session_bytes)
        working = self.working_mib(int(condition.level("threads")), spread, session_bytes)
        return {"engine_threads": spread, "working_mib": working, "scope": _scope(layout, condition)}

    def own_values(self, settings: DuckdbSettings) -> Mapping[str, Any]:
        return {"threads": settings.engine_threads, "memory_limit": settings.memory_mib * _MIB}

    def _preparing(self, path: Path, settings: DuckdbSettings) -> list[str]:
        """Statements before attaching: nothing is ever fetched from a network, the module comes from its wheel."""
        encrypts_temp = str(settings.encrypts_temp).lower()
        return [
            "SET autoinstall_known_extensions = false",
            "SET autoload_known_extensions = false",
            f"SET temp_directory = {literal(f'{path}.tmp')}",
            f"LOAD {literal(str(self.module_path()))}",
            *(["SET force_mbedtls_unsafe = true"] if self.ciphers[settings.cipher].is_mbedtls else []),
            f"SET temp_file_encryption = {encrypts_temp}",  # after LOAD: the module encrypts temporary files, too
            *self.statements(settings),
        ]

    def database_threads(self, settings: DuckdbSettings) -> int:
        return settings.engine_threads

    def described(self, settings: DuckdbSettings, facts: Mapping[str, str]) -> str:
        if facts.get("encrypted") != "true":
            return "a plain file" if settings.cipher == "none" else "NOT encrypted"
        return f"{facts['cipher']} by {facts['crypto']}"

    def fault(self, settings: DuckdbSettings, found: Mapping[str, str]) -> Detail | None:
        """How the encryption in force on a twin differs from the one requested; None if it does not.

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

    def cautions(self, settings: DuckdbSettings) -> tuple[Caution, ...]:
        noted = []
        if not settings.is_cold:
            noted.append(Caution.of("one-memory-limit", product="DuckDB", memory_mib=settings.memory_mib))
        if self.ciphers[settings.cipher].is_mbedtls:
            noted.append(Caution.of("software-aes", library="mbedtls", product="DuckDB"))
        return tuple(noted)

    def differing(self, settings: DuckdbSettings) -> tuple[str, ...]:
        """Further options of ``ATTACH``, and whose code encrypts."""
        cipher = self.ciphers[settings.cipher]
        if cipher.mode is None:
            return ()
        given = ("ENCRYPTION_KEY", f"ENCRYPTION_CIPHER {cipher.mode}")
        temp = ("temp_file_encryption",) if settings.scope == WITH_TEMP else ()
        return (*given, *temp, "force_mbedtls_unsafe") if cipher.is_mbedtls else (*given, *temp)

    def option_checks(
        self, options: Mapping[str, Any], levels: Mapping[str, Sequence[Level]]
    ) -> Iterator[Callable[[], object]]:
        scopes = levels.get("scope", () if options["scope"] is None else (options["scope"],))
        yield from (partial(require_known, "scope", str(scope), SCOPES) for scope in scopes)
        yield from super().option_checks(options, levels)

    def covered(self, settings: DuckdbSettings) -> frozenset[FileClass]:
        return frozenset(FileClass) if settings.encrypts_temp else frozenset(FileClass) - {FileClass.TEMP}

    def estimate(self, layout: RunLayout) -> ResourceEstimate:
        return of_analytic_files(self, layout)

    def loading(self, path: Path, settings: DuckdbSettings | None = None, key: str | None = None) -> dict[str, object]:
        """How a worker opens a file to load it, with all CPUs."""
        given = DuckdbSettings("none") if settings is None else settings
        cores = len(os.sched_getaffinity(0))
        given = dataclasses.replace(given, engine_threads=cores, cache_bytes=0, working_mib=LOADING_MIB)
        return self.options(path, given, key)

    def opening(self, path: Path, settings: DuckdbSettings, key: str | None) -> dict[str, Any]:
        return {"options": self.options(path, settings, key), "connections": settings.threads}

    def shows_itself(self, path: Path) -> bool:
        """Whether the main header, which is never encrypted, says that the rest is plain."""
        head = _head(path)
        found = header_of(lambda offset, size: head[offset : offset + size], len(head))
        return found is None or found.meaning is not Meaning.ENCRYPTED

    def file_facts(self, path: Path) -> dict[str, str]:
        version = _head(path)[_VERSION_PLACE : _VERSION_PLACE + 8]
        return {"storage_version": str(int.from_bytes(version, "little"))}

    def exposure(self, worker: Worker, path: Path, needles: Sequence[bytes]) -> DuckdbExposure:
        return DuckdbExposure(worker, path, needles)

    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> DuckdbTwins:
        return DuckdbTwins(self, folder, job, mix)

    def proved_by(self, settings: DuckdbSettings) -> str:
        """None where mbedtls is what encrypts."""
        return "" if self.ciphers[settings.cipher].is_mbedtls else self.proof_cipher

    def proof_files(self, home: Path, cipher: str, settings: DuckdbSettings) -> Mapping[str, object]:
        """For one thread each."""
        levels = {"plain": "none", "encrypted": cipher}
        return self._priced(home, dataclasses.replace(settings, engine_threads=1), levels)

    def pricing(self, home: Path, settings: DuckdbSettings) -> Pricing | None:
        """With as many threads as the twin's queries have.

        None where the bytes that are counted may be those of temporary files in the clear.
        """
        if not settings.encrypts_temp:
            return None
        cipher = self.ciphers[settings.cipher]
        levels = {"plain": "none", "encrypted": settings.cipher, "bare": cipher.without_mac or ""}
        repeats = 1 if cipher.is_mbedtls else effort.BLOCK_REPEATS  # a scan in software is thirty times as long
        mac = "GHASH" if cipher.without_mac is None else "what GCM takes beyond CTR"
        return Pricing(
            files=self._priced(home, settings, levels),
            effort={"passes": _FEWEST_PASSES, "repeats": repeats, "least_seconds": effort.BLOCK_SECONDS},
            facts={
                "page_bytes": BLOCK_BYTES,
                "counted": "blocks",
                "cipher": f"{settings.cipher} of {'mbedtls' if cipher.is_mbedtls else 'OpenSSL'}",
                "mac": mac if cipher.mode == "GCM" else "",
            },
        )

    def _priced(self, home: Path, settings: DuckdbSettings, levels: Mapping[str, str]) -> Mapping[str, object]:
        given = dataclasses.replace(settings, cache_bytes=0, working_mib=_PRICING_MIB)
        return {
            name: self.options(
                home / name, dataclasses.replace(given, cipher=level), new_key() if self.needs_key(level) else None
            )
            for name, level in levels.items()
            if level
        }


def _missing(library: str, fault: str) -> EngineUnavailable:
    return EngineUnavailable(Refusal.of("library-missing", library=library, extra="duckdb", fault=fault))


def _scope(layout: RunLayout, condition: Condition) -> str:
    scope = layout.level(condition, "scope")
    if scope is None:
        return ""
    return "none" if condition.level("cipher") == "none" else str(scope)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES)
