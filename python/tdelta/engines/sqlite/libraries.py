"""The SQLite libraries that can be tested: two by name, from the wheels their users install, and any other by its path.

What a library encrypts with depends on its kind. SQLite3 Multiple Ciphers has seven levels; its CBC ciphers have no MAC
and reserve nothing, chacha20 and ascon128 keep 32 bytes per page for nonce and tag, aegis 64, sqlcipher 80 (IV and
HMAC-SHA512). SQLCipher has AES-256-CBC with or without an HMAC behind it: an IV of 16 bytes and the HMAC, rounded up to
whole AES blocks. Its settings are given as the library's defaults, ahead of the key, since what `PRAGMA key` reserves
by the defaults then in force is never taken back. Plain SQLite has no cipher at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tdelta.lazily import installed_version

PASSPHRASE = "passphrase"  # noqa: S105 - the name of a way, and no key
"""A key that the library derives its own from: what applications do, once for each connection."""

RAW = "raw"
"""A key that is used as it is. Opening a connection then costs no derivation."""


@dataclass(frozen=True, slots=True)
class Cipher:
    """One level of the factor ``cipher``.

    ``library_name`` is the library's own name for it, ``reserved_bytes`` what it keeps at a page's end, ``pragmas``
    what is set ahead of the key (``{page_size}`` stands for the page size in bytes), ``in_force`` what pragmas tell of
    a connection on which it is in force, by their names. ``mac`` names what authenticates a page, empty where nothing
    does, and ``without_mac`` what is set ahead of the key for the same cipher without it; None where it has none, or
    where cipher and MAC are one.
    """

    library_name: str | None
    reserved_bytes: int
    pragmas: tuple[str, ...] = ()
    in_force: Mapping[str, str] = field(default_factory=dict)
    mac: str = ""
    without_mac: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class LibraryKind:
    """Common properties of libraries of one kind. The first of ``key_kinds`` is the default."""

    product: str
    ciphers: Mapping[str, Cipher]
    key_kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Library:
    """One library under test.

    ``name`` is what ``--library`` takes: the name of a wheel's library, or an absolute path. ``crypto`` says whose code
    encrypts: ``own`` (the library's, which asks CPUID for AES instructions), ``openssl`` or another provider's name, or
    ``none``. ``distribution`` is the wheel it comes from; ``version`` and ``sha256`` are known of a library by path,
    once it has been asked.
    """

    name: str
    kind: str
    crypto: str
    distribution: str | None = None
    version: str | None = None
    sha256: str | None = None

    @property
    def ciphers(self) -> Mapping[str, Cipher]:
        return KINDS[self.kind].ciphers

    @property
    def product(self) -> str:
        return KINDS[self.kind].product

    @property
    def key_kinds(self) -> tuple[str, ...]:
        """How it can be given a key; empty if it takes none."""
        return KINDS[self.kind].key_kinds

    @property
    def install(self) -> str:
        return f"pip install {self.distribution}" if self.distribution else ""

    def installed_version(self) -> str | None:
        """The version of its wheel, or its own; None if its wheel is not installed. Imports nothing."""
        return self.version if self.distribution is None else installed_version(self.distribution)

    def versions(self) -> dict[str, str]:
        found = self.installed_version()
        return {} if self.distribution is None or found is None else {self.distribution: found}

    def identity(self) -> str:
        where = self.distribution or self.name
        digest = f", sha256 {self.sha256}" if self.sha256 else ""
        return f"{where} {self.installed_version()}{digest}"


def _multiple_ciphers(library_name: str, reserved_bytes: int, mac: str = "") -> Cipher:
    pragmas = (f"PRAGMA cipher='{library_name}'",)
    bare = (*pragmas, "PRAGMA hmac_use=0") if mac.startswith("HMAC") else None
    return Cipher(library_name, reserved_bytes, pragmas, {"cipher": library_name}, mac, bare)


def _sqlcipher(hmac: str | None, reserved_bytes: int) -> Cipher:
    """AES-256-CBC with that HMAC behind each page, or with none."""
    size = "PRAGMA cipher_default_page_size={page_size}"
    bare = (size, "PRAGMA cipher_default_use_hmac=OFF")
    reported = {"cipher_status": "1", "cipher": "AES-256-CBC", "cipher_use_hmac": "1" if hmac else "0"}
    if hmac is None:
        return Cipher("aes-256-cbc", reserved_bytes, bare, reported)
    pragmas = (size, "PRAGMA cipher_default_use_hmac=ON", f"PRAGMA cipher_default_hmac_algorithm={hmac}")
    mac = hmac.replace("_", "-")
    return Cipher("aes-256-cbc", reserved_bytes, pragmas, reported | {"cipher_hmac_algorithm": hmac}, mac, bare)


_PLAIN = Cipher(None, 0)

KINDS: Mapping[str, LibraryKind] = {
    "sqlite3mc": LibraryKind(
        "SQLite3 Multiple Ciphers",
        {
            "none": _PLAIN,
            "aes-128": _multiple_ciphers("aes128cbc", 0),
            "aes-256": _multiple_ciphers("aes256cbc", 0),
            "chacha20": _multiple_ciphers("chacha20", 32, "Poly1305"),
            "aegis": _multiple_ciphers("aegis", 64, "AEGIS"),
            "ascon128": _multiple_ciphers("ascon128", 32, "Ascon"),
            "sqlcipher": _multiple_ciphers("sqlcipher", 80, "HMAC-SHA512"),
        },
        (PASSPHRASE,),
    ),
    "sqlcipher": LibraryKind(
        "SQLCipher",
        {
            "none": _PLAIN,
            "aes-256": _sqlcipher("HMAC_SHA512", 80),
            "aes-256-no-hmac": _sqlcipher(None, 16),
            "aes-256-hmac-sha1": _sqlcipher("HMAC_SHA1", 48),
            "aes-256-hmac-sha256": _sqlcipher("HMAC_SHA256", 48),
        },
        (RAW, PASSPHRASE),
    ),
    "sqlite": LibraryKind("SQLite", {"none": _PLAIN}),
}
"""Every kind of library by its name."""

SQLITE3MC = Library("sqlite3mc", "sqlite3mc", "own", "apsw-sqlite3mc")
SQLCIPHER = Library("sqlcipher", "sqlcipher", "openssl", "sqlcipher3")

WHEELS: Mapping[str, Library] = MappingProxyType({library.name: library for library in (SQLITE3MC, SQLCIPHER)})
"""The libraries that come in wheels, by the names that ``--library`` takes; the default first."""
