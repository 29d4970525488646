"""The embedded engine: every cipher of one SQLite library, against the same library without a key.

A page's reserved bytes can be raised on any twin, the plain one included, before the first page is written; that makes
the twins' files equal in size and page count. SQLCipher turns ``secure_delete`` on with the key (SQLite3 Multiple
Ciphers' wheel has it on anyway); here it is on everywhere, or the plain twin would be spared what is no encryption.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tdelta.design.actions import NOTHING, parse_action
from tdelta.design.factors import DEFAULT_PAGE_SIZE
from tdelta.engines.base import Build, Template, settings_fault
from tdelta.engines.embedded.engine import Embedded, EmbeddedSettings
from tdelta.engines.embedded.pricing import Pricing, new_key
from tdelta.engines.embedded.twins import EmbeddedTwins
from tdelta.engines.layout import RunLayout
from tdelta.engines.sqlite.actions import actions_of
from tdelta.engines.sqlite.conversion import Conversion, Layout, Target, conversion, rewrite
from tdelta.engines.sqlite.exposure import SqliteExposure
from tdelta.engines.sqlite.libraries import PASSPHRASE, RAW, SQLITE3MC, Cipher, Library
from tdelta.engines.sqlite.messages import SqliteRefusal
from tdelta.engines.sqlite.profile import PROFILE
from tdelta.engines.sqlite.user_file import CopiedTwins, FileCopy, UserFile
from tdelta.errors import UsageError
from tdelta.measure import effort
from tdelta.messages import Detail, Refusal
from tdelta.processes import AnyJob, DatabaseJob, TwinFolder, Worker, WorkloadSpec
from tdelta.records import Condition, Level

_MAGIC = b"SQLite format 3\x00"
_STATUS = "cipher_status"
WORKER = "tdelta.engines.sqlite.worker"

_LEAST_USABLE_BYTES = 480
"""Of a page, beside reserved bytes (https://sqlite.org/fileformat.html, "reserved bytes per page")."""

_SMALLEST_PRICED_PAGE = 1024
"""In shorter pages a row and what is reserved leave no room for one another."""

_PROOF_PAGE_BYTES = 4096
_PROOF_PAGES, _PRICED_PAGES = 512, 2048
"""Priced files are larger than a second-level cache."""

LIBRARY = "library"
"""The factor whose levels are libraries."""

CHECKPOINT = "PRAGMA wal_checkpoint(TRUNCATE)"
_UNSAFE = (("synchronous", "off"),)
"""For files that nobody needs after a crash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinSettings(EmbeddedSettings):
    """The settings of a twin's file and connections, among which its cache is shared out.

    ``key_kind`` is ``passphrase`` or ``raw``. ``library`` is which of several it is, by the level of the factor of that
    name; empty in runs with one.
    """

    page_size: int = DEFAULT_PAGE_SIZE
    journal_mode: str = "wal"
    reserved_bytes: int = 0
    key_kind: str = PASSPHRASE
    library: str = ""


class SqliteEngine(Embedded):
    """SQLite with one library, or with several that a run compares by their versions. Opens nothing itself."""

    profile = PROFILE
    program = WORKER
    checkpoint = CHECKPOINT
    settings_type = TwinSettings
    facts = MappingProxyType(
        {name: f"PRAGMA {name}" for name in ("page_size", "page_count", "encoding", "auto_vacuum")}
    )

    def __init__(
        self, library: Library = SQLITE3MC, compared: Mapping[str, SqliteEngine] = MappingProxyType({})
    ) -> None:
        self.library = library
        self._compared = compared
        names = {name for cipher in self.ciphers.values() for name in cipher.in_force}
        self.cipher_queries = {name: f"PRAGMA {name}" for name in sorted(names)}
        self.file_actions = actions_of(library)
        # The cost of a page is mostly AES: an HMAC beside it would hide much of what is to be shown.
        self.proof_cipher = "aes-256-no-hmac" if "aes-256-no-hmac" in self.ciphers else "aes-256"
        # Of a library by path ciphers are those of OpenSSL's shared library; wheels carry their ciphers within.
        self.times_calls = self.crypto == "openssl" and library.distribution is None

    def of(self, settings: TwinSettings) -> SqliteEngine:
        return self._compared.get(settings.library, self)

    @property
    def product(self) -> str:
        return self.library.product

    def versions_compared(self) -> Mapping[str, Mapping[str, Build]]:
        libraries = {name: engine.library for name, engine in self._compared.items()}
        builds = {name: Build(one.identity(), partial(str, one.sha256)) for name, one in libraries.items()}
        return {LIBRARY: builds} if builds else {}

    def versions(self) -> dict[str, str]:
        if self._compared:
            return {"libraries": " and ".join(self._compared)}
        return self.library.versions()

    def identity(self) -> str:
        return "; ".join(engine.library.identity() for engine in self._compared.values() or (self,))

    @property
    def ciphers(self) -> Mapping[str, Cipher]:
        return self.library.ciphers

    @property
    def crypto(self) -> str:
        return self.library.crypto

    def check_cipher(self, cipher: str) -> None:
        if cipher not in self.ciphers and not self.library.key_kinds:
            raise UsageError(Refusal.of("plain-library", engine="SQLite", cipher=cipher, library=self.library.name))
        super().check_cipher(cipher)

    def key_kind(self, asked: str | None, *, connects: bool) -> str:
        """How twins get their keys: as asked, else as the library does it best.

        Where opening connections is part of the work (``connects``) that is a passphrase, as applications give it.
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

    def recorded_key(self, asked: str | None, *, connects: bool) -> str | None:
        return self.key_kind(asked, connects=connects) if len(self.library.key_kinds) > 1 else asked

    def fault(self, settings: TwinSettings, found: Mapping[str, str]) -> Detail | None:
        cipher, is_hidden = settings.cipher, found["header"] == "hidden"
        wanted = dict(self.ciphers[cipher].in_force)
        if not found.get(_STATUS):  # SQLCipher 4.5 has no such pragma; the others speak of a keyed file alone
            wanted.pop(_STATUS, None)
        if fault := settings_fault(found, wanted, str.lower):
            return fault
        if is_hidden == (cipher != "none"):
            return None
        words = "not unencrypted" if is_hidden else "unencrypted at its beginning"
        return Detail.of("file-unlike-cipher", cipher=cipher, found=words)

    def option_checks(
        self, options: Mapping[str, Any], levels: Mapping[str, Sequence[Level]]
    ) -> Iterator[Callable[[], object]]:
        yield partial(self.key_kind, options["key"], connects=False)
        yield partial(self._check_beside, levels, has_own_rows=options["database"] is not None)
        yield from super().option_checks(options, levels)

    def _check_beside(self, levels: Mapping[str, Sequence[Level]], *, has_own_rows: bool) -> None:
        """Say why most does not go on beside a load, and nothing beside that on a user's rows."""
        beside = {parse_action(str(level)).name for level in levels.get("during", ()) if level != NOTHING}
        if beside and has_own_rows:
            raise UsageError(Refusal.of("conflict", one="--database", other="--vary during=…"))
        if wrong := sorted(beside - self.actions("during").keys()):
            raise UsageError(SqliteRefusal.of("locks-beside-load", actions=",".join(wrong)))

    def own_settings(self, layout: RunLayout, condition: Condition) -> dict[str, Any]:
        return {
            "page_size": int(condition.get("page_size", _page_size(layout))),
            "reserved_bytes": self._reserved_bytes(layout),
            "key_kind": self.key_kind(layout.options["key"], connects=layout.connects),
            "library": str(condition.get(LIBRARY, "")),
        }

    def own_values(self, settings: TwinSettings) -> Mapping[str, Any]:
        kibibytes = max(1, settings.cache_bytes // (1024 * settings.threads))
        return {"journal_mode": settings.journal_mode, "cache_size": -kibibytes, "secure_delete": 1}

    def template(self, settings: TwinSettings) -> Template:
        words = f"{settings.cipher}, pages of {settings.page_size} bytes"
        if settings.library:
            return Template((settings.cipher, settings.page_size, settings.library), f"{words}, {settings.library}")
        return Template((settings.cipher, settings.page_size), words)

    def page_size(self, settings: TwinSettings) -> int | None:
        return settings.page_size if self.needs_key(settings.cipher) else None

    def described(self, settings: TwinSettings, facts: Mapping[str, str]) -> str:
        if settings.cipher == "none":
            return "a plain file"
        return ", ".join(f"{name} {facts[name]}" for name in self.ciphers[settings.cipher].in_force)

    def differing(self, settings: TwinSettings) -> tuple[str, ...]:
        """The cipher itself, by the name it has here: its settings are in the check of the cipher in force."""
        return (f"cipher {settings.cipher}",) if self.needs_key(settings.cipher) else ()

    def check_layout(self, layout: RunLayout) -> None:
        kinds = {self.settings(layout, condition, 0) for condition in layout.conditions}
        narrow = sorted({k.page_size for k in kinds if k.page_size - k.reserved_bytes < _LEAST_USABLE_BYTES})
        if narrow:
            kept = max(kind.reserved_bytes for kind in kinds)
            found = {"page_size": narrow[0], "usable": narrow[0] - kept, "reserved": kept}
            raise UsageError(Refusal.of("narrow-page", least=_LEAST_USABLE_BYTES, **found))

    def _reserved_bytes(self, layout: RunLayout) -> int:
        """The most that a cipher of the run needs, or the user's file keeps."""
        own = layout.copy.layout.reserved_bytes if isinstance(layout.copy, FileCopy) else 0
        return max(own, self.reserved_bytes(layout.ciphers))

    def reserved_bytes(self, ciphers: Iterable[str]) -> int:
        """Reserved bytes per page, the same on every twin: the most that any of the ciphers needs."""
        return max(self.ciphers[cipher].reserved_bytes for cipher in ciphers)

    def making(self, path: Path, settings: TwinSettings, key: str | None) -> dict[str, Any]:
        """Without a journal: a failed load is thrown away."""
        pragmas = [f"PRAGMA page_size={settings.page_size}", "PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF"]
        pragmas += ["PRAGMA cache_size=-65536", "PRAGMA secure_delete=1"]
        return self._request(path, settings, key, pragmas, create=True, reserve=settings.reserved_bytes)

    def opening(self, path: Path, settings: TwinSettings, key: str | None) -> dict[str, Any]:
        """The same pragmas on every twin."""
        pragmas = [*self.statements(settings), "PRAGMA mmap_size=0"]
        return self._request(path, settings, key, pragmas) | {"connections": settings.threads}

    def trying(self, path: Path, layout: Layout, cache_bytes: int, most_bytes: int) -> dict[str, Any]:
        """The request to open a plain copy to try transactions on, which does not grow beyond ``most_bytes``.

        With a journal: what is refused for lack of space is undone, and the next transaction meets a whole file.
        """
        settings = TwinSettings("none", cache_bytes=cache_bytes, given=_UNSAFE, journal_mode="truncate")
        request = self.opening(path, settings, None)
        request["options"]["pragmas"].append(f"PRAGMA max_page_count={most_bytes // layout.page_size}")
        return request

    def conversion(self, path: str, settings: TwinSettings, found: Layout) -> Conversion:
        wanted = self._target(path, settings, is_encrypted=self.needs_key(settings.cipher))
        return conversion(self.library.kind, found, wanted)

    def rewrite(self, change: str, path: str, settings: TwinSettings, *, is_encrypted: bool) -> Conversion:
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

    def converting(self, path: Path) -> dict[str, Any]:
        """The request to open a plain copy to work on it, without a journal: a failed one is thrown away.

        Leaving the journal mode of the original comes first; it is what folds a write-ahead log in. Temporary files are
        files: the library would rebuild a large database in memory otherwise. Files may be made, because an attached
        file is opened as this one is, and SQLCipher exports into a new one.
        """
        pragmas = ["PRAGMA journal_mode=DELETE", "PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF"]
        pragmas += ["PRAGMA temp_store=FILE", "PRAGMA cache_size=-65536"]
        return self._request(path, TwinSettings("none"), None, pragmas, create=True)

    def reading(self, path: Path, settings: TwinSettings, key: str | None) -> dict[str, Any]:
        return self._request(path, settings, key, ["PRAGMA journal_mode=OFF", "PRAGMA cache_size=-65536"])

    def _request(
        self, path: Path, settings: TwinSettings, key: str | None, pragmas: list[str], **more: object
    ) -> dict[str, Any]:
        given, cipher = self.given_key(settings, key), self._cipher_pragmas(settings)
        options = {"path": str(path), "cipher_pragmas": cipher, "key": given, "pragmas": pragmas, **more}
        return {"library": self.library.name, "options": options, "connections": 1}

    def given_key(self, settings: TwinSettings, key: str | None) -> str | None:
        """A key as the library is given it: to derive its own from, or in its notation of one that is used as it is."""
        is_raw = key is not None and settings.key_kind == RAW
        return f"x'{key}'" if is_raw else key  # https://www.zetetic.net/sqlcipher/sqlcipher-api/#key

    def _cipher_pragmas(self, settings: TwinSettings) -> list[str]:
        return _of_page(self.ciphers[settings.cipher].pragmas, settings)

    def shows_itself(self, path: Path) -> bool:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC

    def exposure(self, worker: Worker, path: Path, needles: Sequence[bytes]) -> SqliteExposure:
        return SqliteExposure(worker, path, needles)

    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> EmbeddedTwins:
        kind = CopiedTwins if isinstance(job, DatabaseJob) else EmbeddedTwins
        return kind(self, folder, job, mix)

    def user_file(self, file: Path) -> UserFile:
        return UserFile(self, file)

    def proof_files(self, home: Path, cipher: str, _settings: object) -> Mapping[str, object]:
        """Equal but for the cipher, with next to no cache."""
        settings = TwinSettings(
            cipher=cipher,
            cache_bytes=1024,
            given=_UNSAFE,
            page_size=_PROOF_PAGE_BYTES,
            journal_mode="delete",
            reserved_bytes=self.reserved_bytes(("none", cipher)),
            key_kind=self.key_kind(None, connects=False),
        )
        return {name: self._priced(home / name, settings, name, _PROOF_PAGES) for name in ("plain", "encrypted")}

    def pricing(self, home: Path, settings: TwinSettings) -> Pricing | None:
        """None for pages too short to tell."""
        if settings.page_size < _SMALLEST_PRICED_PAGE:
            return None
        given = dataclasses.replace(
            settings,
            journal_mode="off",
            given=_UNSAFE,
            threads=1,
            key_kind=self.key_kind(None, connects=False),
        )
        cipher = self.ciphers[settings.cipher]
        names = ["plain", "encrypted", *(["bare"] if cipher.without_mac is not None else [])]
        return Pricing(
            files={name: self._priced(home / name, given, name, _PRICED_PAGES) for name in names},
            effort={"passes": effort.PASSES},
            facts={
                "page_bytes": settings.page_size,
                # SQLite3 Multiple Ciphers encrypts below the pager (a VFS), whatever goes to a file or comes from one,
                # copies into the log included; SQLCipher encrypts a page once, between the cache and all files, and a
                # checkpoint copies it as it is.
                "counted": "bytes" if self.library.kind == "sqlite3mc" else "cache",
                "cipher": f"{cipher.library_name} of {self.library.product}",
                "mac": cipher.mac,
            },
        )

    def _priced(self, path: Path, settings: TwinSettings, name: str, pages: int) -> Mapping[str, object]:
        """How a worker makes and opens one file whose pages it times; see `tdelta.engines.sqlite.worker`."""
        key = None if name == "plain" else new_key()
        settings = dataclasses.replace(settings, cipher="none") if key is None else settings
        cipher = self.ciphers[settings.cipher]
        pragmas = _of_page((cipher.without_mac or ()) if name == "bare" else cipher.pragmas, settings)
        small = dataclasses.replace(settings, cache_bytes=1024)
        large = dataclasses.replace(settings, cache_bytes=4 * pages * settings.page_size)
        options = {
            "create": self.making(path, settings, key)["options"],
            "reading": self.opening(path, small, key)["options"],
            "writing": self.opening(path, large, key)["options"],
        }
        sizes = {"pages": pages, "page_bytes": settings.page_size, "reserved_bytes": settings.reserved_bytes}
        files = {name: {**values, "cipher_pragmas": pragmas} for name, values in options.items()}
        return {"library": self.library.name, **sizes, **files}


def _of_page(pragmas: Iterable[str], settings: TwinSettings) -> list[str]:
    return [text.format(page_size=settings.page_size) for text in pragmas]


def _page_size(layout: RunLayout) -> int:
    own = layout.copy.layout.page_size if isinstance(layout.copy, FileCopy) else DEFAULT_PAGE_SIZE
    asked: int | None = layout.options["page_size"]
    return own if asked is None else asked
