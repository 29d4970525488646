"""SQLite3 Multiple Ciphers, the embedded engine: every cipher of one library, against the same library without a key.

Facts behind the table: the CBC ciphers have no MAC and reserve nothing; chacha20 and ascon128 keep 32 bytes a page for
nonce and tag, aegis 64, sqlcipher 80 (IV and HMAC-SHA512). A page's reserved bytes can be raised on any of them, the
plain one included, before the first page is written; that makes the twins' files equal in size and page count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from tdelta.errors import UnknownName, UsageError

_MAGIC = b"SQLite format 3\x00"


@dataclass(frozen=True, slots=True)
class Cipher:
    """One level of the factor ``cipher``: the library's name for it, and the bytes it reserves at a page's end."""

    library_name: str | None
    reserved_bytes: int


@dataclass(frozen=True, slots=True)
class TwinSettings:
    """What decides a twin's file and connections. ``cache_bytes`` is shared out among the connections."""

    cipher: str
    page_size: int
    journal_mode: str
    synchronous: str
    reserved_bytes: int
    threads: int
    cache_bytes: int
    temp_store: str = "default"


class SqliteEngine:
    """How twins of this engine are made and opened. Opens nothing itself."""

    name = "sqlite"
    dialect = "sqlite"
    ciphers: Mapping[str, Cipher] = {
        "none": Cipher(None, 0),
        "aes-128": Cipher("aes128cbc", 0),
        "aes-256": Cipher("aes256cbc", 0),
        "chacha20": Cipher("chacha20", 32),
        "aegis": Cipher("aegis", 64),
        "ascon128": Cipher("ascon128", 32),
        "sqlcipher": Cipher("sqlcipher", 80),
    }
    synchronous_levels = ("off", "normal", "full", "extra")
    temp_stores = ("default", "file", "memory")
    cipher_queries: Mapping[str, str] = {"cipher": "PRAGMA cipher"}
    """What to ask an open twin about its cipher. It tells the cipher that was chosen, with a key or without."""

    def version(self) -> str | None:
        """The installed library's version, or None if it is not installed."""
        try:
            return version("apsw-sqlite3mc")
        except PackageNotFoundError:
            return None

    def check_ciphers(self, ciphers: Iterable[str]) -> None:
        """Raise ``UnknownName`` for the first cipher this engine does not have."""
        for cipher in ciphers:
            if cipher not in self.ciphers:
                raise UnknownName("cipher", cipher, self.ciphers)

    def check_synchronous(self, level: str) -> None:
        """Raise ``UnknownName`` for a level of ``PRAGMA synchronous`` that does not exist."""
        if level not in self.synchronous_levels:
            raise UnknownName("synchronous level", level, self.synchronous_levels)

    def check_temp_store(self, place: str) -> None:
        """Raise ``UnknownName`` for a place of temporary tables and sorts that does not exist."""
        if place not in self.temp_stores:
            raise UnknownName("temporary store", place, self.temp_stores)

    def cipher_fault(self, cipher: str, found: Mapping[str, str]) -> str | None:
        """What is wrong with the cipher in force on a twin; None if it is the one asked for.

        Args:
            cipher: the level asked for.
            found: the answers to `cipher_queries`, and under ``header`` how its file begins: ``plain`` or ``hidden``.
        """
        library_name = self.ciphers[cipher].library_name
        if library_name is None:
            return None if found["header"] == "plain" else "its file does not begin as a plain database does"
        if found["cipher"].lower() != library_name:
            return f"the library says {found['cipher'] or 'nothing'} and not {library_name}"
        return (
            None
            if found["header"] == "hidden"
            else f"the library says {library_name}, and its file begins as a plain one"
        )

    def reserved_bytes(self, ciphers: Iterable[str], policy: str) -> dict[str, int]:
        """Reserved bytes a page for each cipher: the most that any needs (``equal``), or its own (``natural``)."""
        natural = {cipher: self.ciphers[cipher].reserved_bytes for cipher in ciphers}
        match policy:
            case "natural":
                return natural
            case "equal":
                return dict.fromkeys(natural, max(natural.values()))
            case _:
                raise UsageError(f"--reserve {policy!r}: expected equal or natural")

    def create_options(self, path: str, settings: TwinSettings, key: str | None) -> dict[str, object]:
        """Options by which a worker makes and loads a file, without a journal: a failed load is thrown away."""
        pragmas = [f"PRAGMA page_size={settings.page_size}", "PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF"]
        options = self._options(path, settings, key, [*pragmas, "PRAGMA cache_size=-65536"])
        return options | {"create": True, "reserve": settings.reserved_bytes}

    def open_options(self, path: str, settings: TwinSettings, key: str | None) -> dict[str, object]:
        """Options by which a worker opens a loaded file for trials. The same pragmas on every twin."""
        kibibytes = max(1, settings.cache_bytes // (1024 * settings.threads))
        pragmas = [
            f"PRAGMA journal_mode={settings.journal_mode}",
            f"PRAGMA synchronous={settings.synchronous}",
            f"PRAGMA cache_size=-{kibibytes}",
            "PRAGMA mmap_size=0",
        ]
        if settings.temp_store != "default":
            pragmas.append(f"PRAGMA temp_store={settings.temp_store}")
        return self._options(path, settings, key, pragmas)

    def _options(self, path: str, settings: TwinSettings, key: str | None, pragmas: list[str]) -> dict[str, object]:
        library_name = self.ciphers[settings.cipher].library_name
        cipher_pragmas = [f"PRAGMA cipher='{library_name}'"] if library_name else []
        return {"path": path, "cipher_pragmas": cipher_pragmas, "key": key, "pragmas": pragmas}

    @staticmethod
    def needs_key(cipher: str) -> bool:
        """Whether twins of this cipher are opened with a key."""
        return cipher != "none"

    @staticmethod
    def looks_plain(head: bytes) -> bool:
        """Whether a file that begins like this is a plain SQLite database."""
        return head.startswith(_MAGIC)
