"""ClickHouse within a process, by chDB. What its twins need to be opened; opens nothing itself.

Tables lie on a disk of ClickHouse's. An encrypted one encrypts every file of them with AES in CTR, and no MAC; each
file begins with a header of 64 bytes, which says so and with which key size. The plain twin has the same disk without
encryption. What is not on that disk is in the clear: definitions of tables, and the temporary files of queries.

The configuration, with the key in it, is a file in memory that only the worker has open: given by a statement
(``SETTINGS disk = disk(type = encrypted, key = …)``) the key would be kept in the definition of each table, readable.

Tables are read through the system's page cache, and nothing limits that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from xml.sax.saxutils import escape

from tdelta.engines.clickhouse.messages import ClickhouseRefusal
from tdelta.engines.shared.in_force import settings_fault
from tdelta.errors import EngineUnavailable
from tdelta.messages import Detail

DISTRIBUTIONS = ("chdb", "chdb-core")
DATABASE = "twin"
DISK = "twin"
"""The disk that tables lie on, encrypted or plain; it stands in definitions, which are the same on all twins."""

BELOW = "files"
"""The disk below an encrypted one."""

BLOCK_BYTES = 1 << 16
"""What prices are of: ClickHouse's files have no blocks of one size, and CTR takes as long for each byte."""

FOLDERS = FILES, STATE = "files", "state"
"""Within a twin's folder: what lies on that disk, and what ClickHouse keeps beside it, temporary files among that."""

MEMORY_MIB = 224
"""What a twin takes beside what any analytic engine's worker does: 13 of them at work on two million facts had at most
365 MB each, of which some 240 MB are ClickHouse's own code, which they share."""

_INSTALL = "pip install 'tdelta[clickhouse]'"
_MAGIC = b"ENC"
HEADER_BYTES = 64


@dataclass(frozen=True, slots=True)
class ClickhouseCipher:
    """One level of the factor ``cipher``: ClickHouse's name, the bytes of its key, its number in a file's header.

    Numbers are those of ``FileEncryption::Algorithm`` (src/IO/FileEncryptionCommon.h).
    """

    algorithm: str
    key_bytes: int
    number: int


CIPHERS: Mapping[str, ClickhouseCipher | None] = MappingProxyType(
    {
        "none": None,
        "aes-256-ctr": ClickhouseCipher("AES_256_CTR", 32, 2),
        "aes-192-ctr": ClickhouseCipher("AES_192_CTR", 24, 1),
        "aes-128-ctr": ClickhouseCipher("AES_128_CTR", 16, 0),
    }
)


@dataclass(frozen=True, slots=True)
class ClickhouseSettings:
    """What decides a twin.

    ``threads`` are connections at work at once, ``engine_threads`` the threads that each query is spread over.
    ``is_cold``: before each operation nothing of the twin is in any cache.
    """

    cipher: str
    threads: int
    engine_threads: int
    aes_instructions: str = "on"
    is_cold: bool = False

    @property
    def memory_mib(self) -> int:
        """What a twin's process takes."""
        return MEMORY_MIB


class ClickhouseEngine:
    """How twins are made and opened."""

    name = "clickhouse"
    product = "ClickHouse"
    crypto = "openssl"
    ciphers = CIPHERS
    proof_cipher = "aes-256-ctr"
    install = _INSTALL

    facts: Mapping[str, str] = MappingProxyType(
        {
            "version": "SELECT version()",
            "max_threads": "SELECT value FROM system.settings WHERE name = 'max_threads'",
            "read_method": "SELECT value FROM system.settings WHERE name = 'local_filesystem_read_method'",
            "fsync_after_insert": "SELECT value FROM system.merge_tree_settings WHERE name = 'fsync_after_insert'",
            "use_uncompressed_cache": "SELECT value FROM system.settings WHERE name = 'use_uncompressed_cache'",
        }
    )
    """What to ask a twin about settings that all share, by name."""

    def versions(self) -> dict[str, str]:
        """The wheels that are installed, by name. Imports nothing of them."""
        from importlib.metadata import PackageNotFoundError, version  # not earlier: it is slow, and workers need none

        found = {}
        for name in DISTRIBUTIONS:
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                continue
        return found

    def require(self) -> None:
        """Raise ``EngineUnavailable`` where a wheel is missing."""
        missing = [name for name in DISTRIBUTIONS if name not in self.versions()]
        if missing:
            raise EngineUnavailable(ClickhouseRefusal.of("not-installed", missing=", ".join(missing)))

    def needs_key(self, cipher: str) -> bool:
        """Whether twins of this cipher are opened with a key."""
        return self.ciphers[cipher] is not None

    def key_bytes(self, cipher: str) -> int:
        """The length of this cipher's key; 0 of a plain twin."""
        found = self.ciphers[cipher]
        return 0 if found is None else found.key_bytes

    def options(self, home: Path, settings: ClickhouseSettings, key: str | None) -> dict[str, object]:
        """How a worker opens a twin; they hold the key, so they go through its pipe and are never printed.

        Args:
            home: the folder of the twin, made if it is not there.
            settings: the twin's.
            key: hexadecimal digits, as many as the cipher takes; None for a plain twin.
        """
        cipher = self.ciphers[settings.cipher]
        return {
            "home": str(home),
            "algorithm": None if cipher is None else cipher.algorithm,
            "key": key,
            "threads": settings.engine_threads,
        }

    def cipher_fault(self, settings: ClickhouseSettings, found: Mapping[str, str]) -> Detail | None:
        """What is wrong with the encryption in force on a twin; None if it is as asked for.

        Args:
            settings: what was asked for.
            found: ``is_encrypted`` as ``system.disks`` says it of the disk, ``disks``: those that any table lies on,
                and ``header``: what the headers of all files there say, ``plain`` or by ``header``.
        """
        wanted = self.ciphers[settings.cipher]
        expected = {
            "is_encrypted": "0" if wanted is None else "1",
            "disks": DISK,
            "header": "plain" if wanted is None else _said(wanted.number),
        }
        return settings_fault(found, expected)


def configuration(options: Mapping[str, object]) -> str:
    """The XML that a twin's process is started with. It holds the key: never to be written to a disk.

    Parts are written to the disk when they are made, and go when they are replaced, so that no trial pays for what
    another one left.

    Raises:
        ValueError: a key without a cipher, or a cipher without a key.
    """
    key, algorithm, home = options["key"], options["algorithm"], Path(str(options["home"]))
    if (key is None) is not (algorithm is None):
        raise ValueError("a key and an algorithm: expected both or neither")
    local = f"<type>local</type><path>{escape(str(home / FILES))}/</path>"
    encrypted = (
        f"<{BELOW}>{local}</{BELOW}><{DISK}><type>encrypted</type><disk>{BELOW}</disk>"
        f"<algorithm>{algorithm}</algorithm><key_hex>{key}</key_hex></{DISK}>"
    )
    return (
        f"<clickhouse><path>{escape(str(home / STATE))}/</path>"
        f"<merge_tree><disk>{DISK}</disk><fsync_after_insert>1</fsync_after_insert>"
        "<fsync_part_directory>1</fsync_part_directory><old_parts_lifetime>0</old_parts_lifetime>"
        "<allow_nullable_key>1</allow_nullable_key></merge_tree>"
        "<database_atomic_delay_before_drop_table_sec>0</database_atomic_delay_before_drop_table_sec>"
        f"<storage_configuration><disks>{encrypted if key is not None else f'<{DISK}>{local}</{DISK}>'}</disks>"
        "</storage_configuration></clickhouse>"
    )


def header(home: Path) -> str:
    """What the headers of all files on a twin's disk say: ``plain``, ``cipher N``, or several of these."""
    found = {_file_says(path) for path in (home / FILES).rglob("*") if path.is_file()}
    return " and ".join(sorted(found)) or "nothing"


def _file_says(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(HEADER_BYTES)
    if not head.startswith(_MAGIC) or len(head) < HEADER_BYTES:
        return "plain"
    return _said(int.from_bytes(head[5:7], "little"))


def _said(number: int) -> str:
    return f"cipher {number}"


def literal(value: object) -> str:
    """A value as ClickHouse's SQL writes it."""
    match value:
        case None:
            return "NULL"
        case bytes():
            return f"unhex('{value.hex()}')"
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return repr(value)


def quoted(name: str) -> str:
    """A name as ClickHouse's SQL writes it, whatever is in it."""
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"
