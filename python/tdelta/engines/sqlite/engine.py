"""The embedded engine: every cipher of one SQLite library, against the same library without a key.

A page's reserved bytes can be raised on any twin, the plain one included, before the first page is written; that makes
the twins' files equal in size and page count. SQLCipher turns ``secure_delete`` on with the key (SQLite3 Multiple
Ciphers' wheel has it on anyway); here it is on everywhere, or the plain twin would be spared what is no encryption.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from tdelta.engines.shared.in_force import settings_fault
from tdelta.engines.sqlite.conversion import Conversion, Layout, Rewrite, Target, conversion, rewrite
from tdelta.engines.sqlite.libraries import PASSPHRASE, RAW, SQLITE3MC, Cipher, Library
from tdelta.engines.sqlite.profile import DIALECT
from tdelta.errors import UnknownName, UsageError
from tdelta.messages import Detail, Refusal

_MAGIC = b"SQLite format 3\x00"
_STATUS = "cipher_status"
_SECURE_DELETE = "PRAGMA secure_delete=ON"
WORKER = "tdelta.engines.sqlite.worker"
"""What its workers run."""

_SMALLEST_PAGE = 512
_MOST_RESERVED_THERE = 32
"""SQLite needs 480 bytes of a page for itself (https://sqlite.org/fileformat.html, "reserved bytes per page")."""


@dataclass(frozen=True, slots=True)
class TwinSettings:
    """What decides a twin's file and connections.

    ``cache_bytes`` is shared out among the connections. ``key_kind`` is ``passphrase`` or ``raw``.
    ``is_cold``: for each trial the file is opened anew, with nothing of it in the system's cache. ``library`` is which
    of several it is, by the level of the factor of that name; empty in runs with one.
    """

    cipher: str
    page_size: int
    journal_mode: str
    synchronous: str
    reserved_bytes: int
    threads: int
    cache_bytes: int
    aes_instructions: str = "on"
    key_kind: str = PASSPHRASE
    temp_store: str = "default"
    is_cold: bool = False
    library: str = ""


class SqliteEngine:
    """How twins of this engine are made and opened, with one library. Opens nothing itself."""

    name = "sqlite"
    dialect = DIALECT
    synchronous_levels = ("off", "normal", "full", "extra")
    temp_stores = ("default", "file", "memory")

    def __init__(self, library: Library = SQLITE3MC) -> None:
        self.library = library

    @property
    def ciphers(self) -> Mapping[str, Cipher]:
        return self.library.ciphers

    @property
    def crypto(self) -> str:
        return self.library.crypto

    @property
    def proof_cipher(self) -> str:
        """The cipher whose cost a page is mostly AES: an HMAC beside it would hide much of what is to be shown."""
        return "aes-256-no-hmac" if "aes-256-no-hmac" in self.ciphers else "aes-256"

    @property
    def encrypts_what_is_moved(self) -> bool:
        """Whether it encrypts below the pager, whatever goes to a file or comes from one, copies into the log included.

        SQLite3 Multiple Ciphers does (a VFS); SQLCipher encrypts a page once, between the cache and all files, and a
        checkpoint copies it as it is.
        """
        return self.library.kind == "sqlite3mc"

    def cipher_words(self, cipher: str) -> str:
        """What a price is of, for people: ``aes256cbc of SQLite3 Multiple Ciphers``."""
        return f"{self.ciphers[cipher].library_name} of {self.library.product}"

    def pragmas_without_mac(self, settings: TwinSettings) -> list[str]:
        """What is set ahead of the key for this cipher without its MAC; empty where it has no such form."""
        pragmas = self.ciphers[settings.cipher].without_mac or ()
        return [text.format(page_size=settings.page_size) for text in pragmas]

    def version(self) -> str | None:
        """The library's version, or None if it is not installed."""
        return self.library.installed_version()

    def check_ciphers(self, ciphers: Iterable[str]) -> None:
        """Raise ``UsageError`` for the first cipher this library does not have."""
        for cipher in ciphers:
            if cipher in self.ciphers:
                continue
            if not self.library.key_kinds:
                raise UsageError(Refusal.of("plain-library", engine="SQLite", cipher=cipher, library=self.library.name))
            raise UnknownName("cipher", cipher, self.ciphers)

    def check_synchronous(self, level: str) -> None:
        """Raise ``UnknownName`` for a level of ``PRAGMA synchronous`` that does not exist."""
        if level not in self.synchronous_levels:
            raise UnknownName("synchronous level", level, self.synchronous_levels)

    def check_reserved(self, ciphers: Iterable[str], page_size: int) -> None:
        """Raise ``UsageError`` where pages of this size cannot hold what the ciphers reserve."""
        reserved = self.reserved_bytes(ciphers)
        if page_size == _SMALLEST_PAGE and reserved > _MOST_RESERVED_THERE:
            most = _MOST_RESERVED_THERE
            found = {"page_size": page_size, "reserved": reserved, "most": most}
            raise UsageError(Refusal.of("smallest-page", engine="SQLite", **found))

    def key_kind(self, asked: str | None, *, connects: bool) -> str:
        """How twins get their keys: as asked, else as the library does it best.

        Args:
            asked: ``passphrase``, ``raw``, or None for the default.
            connects: whether opening connections is part of the work; then the key is a passphrase, as applications
                give it.

        Raises:
            UsageError: the library takes no such key.
        """
        kinds = self.library.key_kinds
        if asked is None:
            return PASSPHRASE if connects or not kinds else kinds[0]
        if not kinds:
            raise UsageError(Refusal.of("key-without-cipher", engine="SQLite", key=asked, library=self.library.name))
        if asked not in kinds:
            has = {"product": self.library.product, "kinds": " or ".join(kinds)}
            raise UsageError(Refusal.of("key-kind", other="sqlcipher", key=asked, **has))
        return asked

    def has_choice_of_keys(self) -> bool:
        return len(self.library.key_kinds) > 1

    @property
    def calls_openssl(self) -> bool:
        """Whether ciphers are OpenSSL's shared library: of a library by path; wheels carry their ciphers within."""
        return self.crypto == "openssl" and self.library.distribution is None

    def check_temp_store(self, place: str) -> None:
        """Raise ``UnknownName`` for a place of temporary tables and sorts that does not exist."""
        if place not in self.temp_stores:
            raise UnknownName("temporary store", place, self.temp_stores)

    @property
    def cipher_queries(self) -> Mapping[str, str]:
        names = {name for cipher in self.ciphers.values() for name in cipher.in_force}
        return {name: f"PRAGMA {name}" for name in sorted(names)}

    def cipher_fault(self, cipher: str, found: Mapping[str, str]) -> Detail | None:
        """What is wrong with the cipher in force on a twin; None if it is the one asked for.

        Args:
            found: the answers to `cipher_queries`, and under ``header`` how its file begins: ``plain`` or ``hidden``.
        """
        if self.ciphers[cipher].library_name is None:
            return (
                None
                if found["header"] == "plain"
                else Detail.of("file-unlike-cipher", cipher="none", found="not unencrypted")
            )
        wanted = dict(self.ciphers[cipher].in_force)
        if not found.get(_STATUS):  # SQLCipher 4.5 has no such pragma; the others speak of a keyed file alone
            wanted.pop(_STATUS, None)
        if fault := settings_fault(found, wanted, str.lower):
            return fault
        return (
            None
            if found["header"] == "hidden"
            else Detail.of("file-unlike-cipher", cipher=cipher, found="unencrypted at its beginning")
        )

    def reserved_bytes(self, ciphers: Iterable[str]) -> int:
        """Reserved bytes per page, the same on every twin: the most that any of the ciphers needs."""
        return max(self.ciphers[cipher].reserved_bytes for cipher in ciphers)

    def create_options(self, path: str, settings: TwinSettings, key: str | None) -> dict[str, object]:
        """Options by which a worker makes and loads a file, without a journal: a failed load is thrown away.

        Args:
            key: 64 hexadecimal digits; None for a plain file.
        """
        pragmas = [f"PRAGMA page_size={settings.page_size}", "PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF"]
        options = self._options(path, settings, key, [*pragmas, "PRAGMA cache_size=-65536", _SECURE_DELETE])
        return options | {"create": True, "reserve": settings.reserved_bytes}

    def open_options(self, path: str, settings: TwinSettings, key: str | None) -> dict[str, object]:
        """Options by which a worker opens a loaded file for trials. The same pragmas on every twin.

        Args:
            key: as for `create_options`.
        """
        kibibytes = max(1, settings.cache_bytes // (1024 * settings.threads))
        pragmas = [
            f"PRAGMA journal_mode={settings.journal_mode}",
            f"PRAGMA synchronous={settings.synchronous}",
            f"PRAGMA cache_size=-{kibibytes}",
            "PRAGMA mmap_size=0",
            _SECURE_DELETE,
        ]
        if settings.temp_store != "default":
            pragmas.append(f"PRAGMA temp_store={settings.temp_store}")
        return self._options(path, settings, key, pragmas)

    def trying_options(self, path: str, settings: TwinSettings, most_bytes: int) -> dict[str, object]:
        """Options by which a worker opens a copy to try transactions on, which does not grow beyond ``most_bytes``.

        With a journal: what is refused for lack of space is undone, and the next transaction meets a whole file.
        """
        journaled = dataclasses.replace(settings, journal_mode="truncate")
        options = self.open_options(path, journaled, None)
        limit = f"PRAGMA max_page_count={most_bytes // settings.page_size}"
        return options | {"pragmas": [*cast(list[str], options["pragmas"]), limit]}

    def conversion(self, path: str, settings: TwinSettings, found: Layout) -> Conversion:
        wanted = self._target(path, settings, is_encrypted=self.needs_key(settings.cipher))
        return conversion(self.library.kind, found, wanted)

    def rewrite(self, change: str, path: str, settings: TwinSettings, *, is_encrypted: bool) -> Rewrite:
        """How a twin's file is encrypted, gets another key or is decrypted; into ``path`` if that makes a new file."""
        wanted = self._target(path, settings, is_encrypted=is_encrypted and change != "decrypt")
        return rewrite(self.library.kind, change, wanted, is_encrypted=is_encrypted)

    def _target(self, path: str, settings: TwinSettings, *, is_encrypted: bool) -> Target:
        return Target(
            path=path,
            page_size=settings.page_size,
            reserved_bytes=settings.reserved_bytes,
            is_encrypted=is_encrypted,
            own_reserved_bytes=self.ciphers[settings.cipher].reserved_bytes,
            cipher_pragmas=tuple(self._cipher_pragmas(settings)),
        )

    def conversion_options(self, path: str) -> dict[str, object]:
        """Options by which a worker opens a plain copy to work on it, without a journal: a failed one is thrown away.

        Leaving the journal mode of the original comes first; it is what folds a write-ahead log in. Temporary files are
        files: the library would rebuild a large database in memory otherwise. Files may be made, because an attached
        file is opened as this one is, and SQLCipher exports into a new one.
        """
        pragmas = ["PRAGMA journal_mode=DELETE", "PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF"]
        pragmas += ["PRAGMA temp_store=FILE", "PRAGMA cache_size=-65536"]
        return {"path": path, "create": True, "cipher_pragmas": [], "key": None, "pragmas": pragmas}

    def reading_options(self, path: str, settings: TwinSettings, key: str | None) -> dict[str, object]:
        """Options by which a worker opens a converted file to read it, before any twin is made of it."""
        return self._options(path, settings, key, ["PRAGMA journal_mode=OFF", "PRAGMA cache_size=-65536"])

    def _options(self, path: str, settings: TwinSettings, key: str | None, pragmas: list[str]) -> dict[str, object]:
        given = self.given_key(settings, key)
        return {"path": path, "cipher_pragmas": self._cipher_pragmas(settings), "key": given, "pragmas": pragmas}

    def given_key(self, settings: TwinSettings, key: str | None) -> str | None:
        """A key as the library is given it: to derive its own from, or in its notation of one that is used as it is."""
        return _raw(key) if key is not None and settings.key_kind == RAW else key

    def _cipher_pragmas(self, settings: TwinSettings) -> list[str]:
        return [text.format(page_size=settings.page_size) for text in self.ciphers[settings.cipher].pragmas]

    @staticmethod
    def needs_key(cipher: str) -> bool:
        return cipher != "none"

    @staticmethod
    def looks_plain(head: bytes) -> bool:
        return head.startswith(_MAGIC)


def _raw(key: str) -> str:
    """SQLCipher's notation of a key that is used as it is (https://www.zetetic.net/sqlcipher/sqlcipher-api/#key)."""
    return f"x'{key}'"
