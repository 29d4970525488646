"""SQLite3 Multiple Ciphers, the embedded engine: every cipher of one library, against the same library without a key.

Facts behind the table: the CBC ciphers have no MAC and reserve nothing; chacha20 and ascon128 keep 32 bytes a page for
nonce and tag, aegis 64, sqlcipher 80 (IV and HMAC-SHA512). A page's reserved bytes can be raised on any of them, the
plain one included, before the first page is written; that makes the twins' files equal in size and page count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from tdelta.engines.conversion import Conversion, Layout, Target, conversion
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


class SqliteEngine:
    """How twins of this engine are made and opened. Opens nothing itself."""

    name = "sqlite"
    dialect = "sqlite"
    kind = "sqlite3mc"
    """Whose conversion makes a twin of a database that is there (`tdelta.engines.conversion`)."""
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
        return self._options(path, settings, key, pragmas)

    def conversion(self, path: str, settings: TwinSettings, found: Layout) -> Conversion:
        """How a plain copy of that layout becomes the file of a twin at ``path``."""
        cipher = self.ciphers[settings.cipher]
        wanted = Target(
            path=path,
            page_size=settings.page_size,
            reserved_bytes=settings.reserved_bytes,
            is_encrypted=self.needs_key(settings.cipher),
            own_reserved_bytes=cipher.reserved_bytes,
            cipher_pragmas=tuple(self._cipher_pragmas(settings)),
        )
        return conversion(self.kind, found, wanted)

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
        return {"path": path, "cipher_pragmas": self._cipher_pragmas(settings), "key": key, "pragmas": pragmas}

    def _cipher_pragmas(self, settings: TwinSettings) -> list[str]:
        library_name = self.ciphers[settings.cipher].library_name
        return [f"PRAGMA cipher='{library_name}'"] if library_name else []

    @staticmethod
    def needs_key(cipher: str) -> bool:
        """Whether twins of this cipher are opened with a key."""
        return cipher != "none"

    @staticmethod
    def looks_plain(head: bytes) -> bool:
        """Whether a file that begins like this is a plain SQLite database."""
        return head.startswith(_MAGIC)
