"""Turso: SQLite's dialect and file format, written anew in Rust, with encryption of pages that it calls experimental.

Pages and the write-ahead log are encrypted with one key; a page keeps nonce and tag in reserved bytes at its end (48
with AEGIS-256, 28 with AES-GCM), so an encrypted file is that much larger, and that is part of what encryption costs.
The header of the file stays clear: a word, a version, and the number of the cipher, which decides how the file is read
whatever is asked for when it is opened. What is not encrypted are temporary files: tables and sorts that do not fit.

The plain twin is the same library without a key. Encryption of the wheel's AEGIS-256 does not use the CPU's AES
instructions; that of its AES-GCM does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tdelta.engines.shared.in_force import settings_fault
from tdelta.engines.turso.messages import TursoRefusal
from tdelta.errors import EngineUnavailable
from tdelta.messages import Detail

DISTRIBUTION = "pyturso"
TEMPORARY = "temporary"
"""The folder of a twin's temporary files, beside its database."""

_INSTALL = "pip install 'tdelta[turso]'"
_MAGIC = b"Turso"
_NUMBER_PLACE = 6
"""Where the header has the number of the cipher: after the word and a byte of version."""


@dataclass(frozen=True, slots=True)
class TursoCipher:
    """One level of the factor ``cipher``: its name there, the bytes of its key, its number in a file's header."""

    library_name: str
    key_bytes: int
    number: int


CIPHERS: Mapping[str, TursoCipher | None] = MappingProxyType(
    {
        "none": None,
        "aegis-256": TursoCipher("aegis256", 32, 3),
        "aes-256-gcm": TursoCipher("aes256gcm", 32, 2),
        "aes-128-gcm": TursoCipher("aes128gcm", 16, 1),
    }
)


@dataclass(frozen=True, slots=True)
class TursoSettings:
    """What decides a twin's file and connections.

    ``cache_bytes`` is shared out among the connections, each of which has a cache of its own. ``is_cold``: for each
    trial the file is opened anew, with nothing of it in the system's cache.
    """

    cipher: str
    threads: int
    cache_bytes: int
    aes_instructions: str = "on"
    is_cold: bool = False


class TursoEngine:
    """How twins are made and opened; opens nothing itself."""

    name = "turso"
    product = "Turso"
    crypto = "own"
    ciphers = CIPHERS
    proof_cipher = "aes-256-gcm"
    """The cipher that uses the AES instructions, where there are some."""

    install = _INSTALL

    facts: Mapping[str, str] = MappingProxyType(
        {
            "version": "SELECT turso_version()",
            "page_size": "PRAGMA page_size",
            "journal_mode": "PRAGMA journal_mode",
            "synchronous": "PRAGMA synchronous",
            "cache_size": "PRAGMA cache_size",
            "encoding": "PRAGMA encoding",
            "temp_store": "PRAGMA temp_store",
        }
    )
    """What to ask a twin about settings that all share, by name."""

    def version(self) -> str | None:
        """The wheel's version; None if it is not installed. Imports nothing of it."""
        from importlib.metadata import PackageNotFoundError, version  # not earlier: it is slow, and workers need none

        try:
            return version(DISTRIBUTION)
        except PackageNotFoundError:
            return None

    def require(self) -> None:
        """Raise ``EngineUnavailable`` where it is not installed."""
        if self.version() is None:
            raise EngineUnavailable(TursoRefusal.of("not-installed"))

    def needs_key(self, cipher: str) -> bool:
        """Whether twins of this cipher are opened with a key."""
        return self.ciphers[cipher] is not None

    def key_bytes(self, cipher: str) -> int:
        """The length of this cipher's key; 0 of a plain twin."""
        found = self.ciphers[cipher]
        return 0 if found is None else found.key_bytes

    def options(self, path: Path, settings: TursoSettings, key: str | None) -> dict[str, object]:
        """How a worker opens the file; they hold the key, so they go through its pipe and are never printed.

        Args:
            path: the file, made if it is not there.
            settings: the twin's.
            key: hexadecimal digits, as many as the cipher takes; None for a plain file.
        """
        cipher = self.ciphers[settings.cipher]
        return {
            "path": str(path),
            "cipher": None if cipher is None else cipher.library_name,
            "key": key,
            "cache_kib": max(1, settings.cache_bytes // (1024 * settings.threads)),
        }

    def cipher_fault(self, settings: TursoSettings, found: Mapping[str, str]) -> Detail | None:
        """What is wrong with the encryption in force on a twin; None if it is as asked for.

        Args:
            settings: what was asked for.
            found: ``cipher`` as the library says it, and ``header``: the number of the cipher that the file's own has,
                or ``plain``.
        """
        wanted = self.ciphers[settings.cipher]
        expected = {
            "cipher": "" if wanted is None else wanted.library_name,
            "header": "plain" if wanted is None else f"cipher {wanted.number}",
        }
        return settings_fault(found, expected)


def header(path: Path) -> str:
    """What the header of a file says: the number of its cipher, or that it is plain."""
    with path.open("rb") as file:
        head = file.read(_NUMBER_PLACE + 1)
    return f"cipher {head[_NUMBER_PLACE]}" if head.startswith(_MAGIC) and len(head) > _NUMBER_PLACE else "plain"
