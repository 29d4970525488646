"""How a plain copy of a user's database becomes the file of a twin: by the library's own conversion, told as steps.

Two kinds. SQLite3 Multiple Ciphers encrypts a copy in place (``PRAGMA rekey``); when the cipher keeps another number of
bytes per page than the copy has, it rebuilds the file on the way (`sqlite3_rekey_v2`), to its own number and no other,
so where twins share a larger one, a rebuild with that follows. SQLCipher exports into an attached file
(``sqlcipher_export``), and the plain twin is exported likewise, so that the layouts are the same; the export leaves out
``user_version``, ``application_id`` and ``auto_vacuum``, which are set by hand.

The order ``page_size``, reserve, ``VACUUM`` matters: ``PRAGMA page_size`` forgets the reserve that was asked for. In a
step ``:key`` stands for the key, which is nowhere in here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from tdelta.engines.embedded.sql import literal
from tdelta.errors import UsageError
from tdelta.messages import Refusal

_REKEY = "PRAGMA rekey = :key"


def rewrite(kind: str, change: str, wanted: Target, *, is_encrypted: bool) -> Conversion:
    """How a twin's file is rewritten, by a change of `REWRITES`; without steps every page is written anew."""
    if kind == "sqlcipher" and change != "rekey":
        found = Layout(wanted.page_size, wanted.reserved_bytes)
        return conversion(kind, found, wanted)
    steps: tuple[ConversionStep, ...] = ()
    if is_encrypted and change == "decrypt":
        steps = (ConversionStep("PRAGMA rekey = ''"),)
    elif is_encrypted:
        steps = (*map(ConversionStep, wanted.cipher_pragmas), ConversionStep(_REKEY, is_keyed=True))
    elif change == "decrypt" and wanted.reserved_bytes:
        steps = (ConversionStep(schema="main", reserved_bytes=0), ConversionStep("VACUUM"))
    return Conversion(True, steps)


_ATTACHED = "twin"


@dataclass(frozen=True, slots=True)
class Layout:
    """Properties in a file's header that its twins share. ``auto_vacuum`` is 0 none, 1 full, 2 incremental."""

    page_size: int
    reserved_bytes: int
    auto_vacuum: int = 0
    user_version: int = 0
    application_id: int = 0


@dataclass(frozen=True, slots=True)
class ConversionStep:
    sql: str = ""
    is_keyed: bool = False
    schema: str | None = None
    reserved_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Conversion:
    """The steps, run on a connection to a copy (``is_in_place``) or to the plain file itself, which they only read."""

    is_in_place: bool
    steps: tuple[ConversionStep, ...]

    def as_json(self) -> list[dict[str, object]]:
        return [dataclasses.asdict(step) for step in self.steps]


@dataclass(frozen=True, slots=True)
class Target:
    """The properties of the twin's file to be made.

    ``cipher_pragmas`` choose the cipher and its parameters, the page size among them where the library asks for it
    (none for a plain twin); ``own_reserved_bytes`` is what the cipher keeps of a page by itself, ``reserved_bytes``
    what it is to keep.
    """

    path: str
    page_size: int
    reserved_bytes: int
    is_encrypted: bool = False
    own_reserved_bytes: int = 0
    cipher_pragmas: tuple[str, ...] = ()


def conversion(kind: str, found: Layout, wanted: Target) -> Conversion:
    """How to get from a plain file to a twin's."""
    match kind:
        case "sqlite3mc":
            return Conversion(True, tuple(_rekeyed(found, wanted) if wanted.is_encrypted else _rebuilt(found, wanted)))
        case "sqlcipher":
            return Conversion(False, tuple(_exported(found, wanted)))
        case _ if not wanted.is_encrypted:
            return Conversion(True, tuple(_rebuilt(found, wanted)))
    raise UsageError(Refusal.of("unsupported", what="encrypting --database", by=f"a SQLite library of kind {kind!r}"))


def _rebuilt(found: Layout, wanted: Target) -> Iterator[ConversionStep]:
    if (found.page_size, found.reserved_bytes) == (wanted.page_size, wanted.reserved_bytes):
        return  # the copy was rebuilt when it was made
    yield ConversionStep(f"PRAGMA page_size={wanted.page_size}")
    yield ConversionStep(schema="main", reserved_bytes=wanted.reserved_bytes)
    yield ConversionStep("VACUUM")


def _rekeyed(found: Layout, wanted: Target) -> Iterator[ConversionStep]:
    if found.page_size != wanted.page_size:  # not possible any more once the file is encrypted
        yield ConversionStep(f"PRAGMA page_size={wanted.page_size}")
        yield ConversionStep("VACUUM")
    yield from map(ConversionStep, wanted.cipher_pragmas)
    yield ConversionStep(_REKEY, is_keyed=True)
    if wanted.own_reserved_bytes != wanted.reserved_bytes:
        yield ConversionStep(schema="main", reserved_bytes=wanted.reserved_bytes)
        yield ConversionStep("VACUUM")


def _exported(found: Layout, wanted: Target) -> Iterator[ConversionStep]:
    attach = f"ATTACH DATABASE {literal(wanted.path)} AS {_ATTACHED} KEY "
    if wanted.is_encrypted:
        # Defaults, ahead of the file: once attached, it keeps at least what the usual HMAC takes of a page.
        yield from map(ConversionStep, wanted.cipher_pragmas)
        yield ConversionStep(f"{attach}:key", is_keyed=True)
    else:
        yield ConversionStep(f"{attach}''")
        yield ConversionStep(f"PRAGMA {_ATTACHED}.page_size = {wanted.page_size}")
    yield ConversionStep(schema=_ATTACHED, reserved_bytes=wanted.reserved_bytes)
    yield ConversionStep(f"PRAGMA {_ATTACHED}.journal_mode = OFF")
    yield ConversionStep(f"PRAGMA {_ATTACHED}.auto_vacuum = {found.auto_vacuum}")
    yield ConversionStep(f"SELECT sqlcipher_export('{_ATTACHED}')")
    yield ConversionStep(f"PRAGMA {_ATTACHED}.user_version = {found.user_version}")
    yield ConversionStep(f"PRAGMA {_ATTACHED}.application_id = {found.application_id}")
    yield ConversionStep(f"DETACH DATABASE {_ATTACHED}")
