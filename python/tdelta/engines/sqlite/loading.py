"""How a SQLite library takes this project's client in, in a worker: from its wheel, or from any shared library's path.

The library loads the module `tdelta._native` as an extension and hands it its own table of functions; from then on the
client calls that library and no other. That works once in a process, since the table is global to it.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from tdelta import _native

_ENTRY = "sqlite3_tdelta_init"
_OPEN_READ_WRITE_CREATE = 0x2 | 0x4
_NEEDED = (
    "sqlite3_open_v2",
    "sqlite3_close",
    "sqlite3_errmsg",
    "sqlite3_enable_load_extension",
    "sqlite3_load_extension",
)
_PROBE_KEY = f"x'{'0' * 64}'"
"""SQLCipher names its provider of cryptography on a connection with a key only; this one protects nothing."""


class Loaded(NamedTuple):
    """A library with the client in it. ``connection`` is the one that loaded it, kept open; ``file`` is its code."""

    file: Path
    connection: object


def load_library(spec: str = "sqlite3mc") -> Loaded:
    """Have a library load the client: ``sqlite3mc``, ``sqlcipher``, or a SQLite shared library by its path."""
    return _by_wheel(spec, *_WHEELS[spec]) if spec in _WHEELS else _by_path(spec)


def library_facts() -> dict[str, str]:
    """Facts that the loaded library reports about itself.

    ``kind`` is a key of `tdelta.engines.sqlite.libraries.KINDS`, ``crypto`` as a library has it, ``version`` its
    own, ``text`` all of it for people.
    """
    sqlite = f"SQLite {_ask('SELECT sqlite_version()')}"
    facts = {"kind": "sqlite", "crypto": "none", "version": sqlite, "text": sqlite}
    if multiple_ciphers := _ask("SELECT sqlite3mc_version()"):
        facts = {"kind": "sqlite3mc", "crypto": "own", "version": multiple_ciphers}
        facts["text"] = f"{multiple_ciphers}, {sqlite}"
    elif cipher_version := _ask("PRAGMA cipher_version"):
        provider = _ask("PRAGMA cipher_provider", key=_PROBE_KEY)
        provider_version = _ask("PRAGMA cipher_provider_version", key=_PROBE_KEY)
        facts = {"kind": "sqlcipher", "crypto": provider, "version": f"SQLCipher {cipher_version}"}
        facts["text"] = f"SQLCipher {cipher_version}, {sqlite}, {provider_version}"
    return facts


def library_digest(loaded: Loaded) -> str:
    import hashlib  # not earlier: only who asks for it takes the time

    with loaded.file.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _ask(sql: str, key: str | None = None) -> str:
    """The library's answer to one question, empty if it does not understand it."""
    with closing(_native.SqliteTwin(json.dumps({"path": ":memory:", "create": True, "key": key}), 1)) as twin:
        try:
            return twin.text(sql)
        except _native.NativeError:
            return ""


def _refused(name: str, why: str) -> _native.NativeError:
    return _native.NativeError("library", f"--library {name}: {why}")


def _by_wheel(name: str, distribution: str, module_name: str, code_name: str) -> Loaded:
    module, code = _imported(name, module_name, distribution), importlib.import_module(code_name)
    connection = module.Connection(":memory:")
    try:
        connection.enable_load_extension(True)
        connection.execute("SELECT load_extension(?, ?)", (_native.__file__, _ENTRY)).fetchall()
    except module.Error as error:
        raise _refused(name, str(error)) from error
    return Loaded(Path(str(code.__file__)), connection)


_WHEELS = {
    "sqlite3mc": ("apsw-sqlite3mc", "apsw", "apsw"),
    "sqlcipher": ("sqlcipher3", "sqlcipher3.dbapi2", "sqlcipher3._sqlite3"),
}
"""By library: the wheel, its module, and the one that is the library's code."""


def _imported(name: str, module: str, distribution: str) -> Any:
    try:
        return importlib.import_module(module)  # not earlier: one library a process, and none where none is asked for
    except ImportError as error:
        raise _refused(name, f"{error}; pip install {distribution}") from error


def _by_path(path: str) -> Loaded:
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise _refused(path, f"expected a SQLite shared library, found: {error}") from error
    missing = [name for name in _NEEDED if not hasattr(library, name)]
    if missing:
        found = f"found no {', '.join(missing)} in it"
        raise _refused(path, f"expected a SQLite shared library that can load extensions, {found}")
    connection = ctypes.c_void_p()
    code = library.sqlite3_open_v2(b":memory:", ctypes.byref(connection), _OPEN_READ_WRITE_CREATE, None)
    why = _said(library, connection) if code else _load_into(library, connection)
    if why:
        library.sqlite3_close(connection)
        raise _refused(path, f"it could not load tdelta's client: {why}")
    return Loaded(Path(path), (library, connection))


def _load_into(library: ctypes.CDLL, connection: ctypes.c_void_p) -> str:
    """Have the library load the client; empty, or what it says against it."""
    library.sqlite3_enable_load_extension(connection, 1)
    message = ctypes.c_char_p()
    file = os.fsencode(_native.__file__)
    code = library.sqlite3_load_extension(connection, file, _ENTRY.encode(), ctypes.byref(message))
    if not code:
        return ""
    return message.value.decode(errors="replace") if message.value else _said(library, connection)


def _said(library: ctypes.CDLL, connection: ctypes.c_void_p) -> str:
    library.sqlite3_errmsg.restype = ctypes.c_char_p
    text: bytes = library.sqlite3_errmsg(connection) or b"it does not say why"
    return text.decode(errors="replace")
