"""Which classes of a server's files each scope of its encryption covers, by engine.

A marker in a class that is covered is a leak, and the run is unsound. In any other class it is what the scope leaves
in the clear: listed, and no fault of the twin. What is said here of MariaDB, MySQL and PostgreSQL on gocryptfs was
found by searching such servers (docs/evidence.md); of Percona Server and pg_tde it was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tdelta.engines.servers import ServerBinary, ServerSettings
from tdelta.evidence.classes import FileClass

Parts = Mapping[str, frozenset[FileClass]]
"""Classes by the part of a scope that covers them; ``all`` holds what no single part has."""


def _parts(**classes: tuple[FileClass, ...]) -> Parts:
    return MappingProxyType({part: frozenset(of) for part, of in classes.items()})


_MARIADB = _parts(
    data=(FileClass.TABLES, FileClass.SYSTEM, FileClass.UNDO, FileClass.DOUBLEWRITE),
    log=(FileClass.REDO,),
    temp=(FileClass.TEMP_TABLES, FileClass.TEMP),
    binlog=(FileClass.BINLOG, FileClass.RELAY),
)
"""Not the tables that queries make on disk: with ``encrypt_tmp_disk_tables`` and ``aria_encrypt_tables`` ON, MariaDB
10.11.19 writes their pages in the clear as soon as Aria's cache is full. Where a version does better, they read "not
found" all the same.
"""

_MYSQL = _parts(
    data=(FileClass.TABLES,),
    log=(FileClass.REDO, FileClass.UNDO, FileClass.DOUBLEWRITE),
    binlog=(FileClass.BINLOG, FileClass.RELAY),
    all=(FileClass.DICTIONARY,),
)
"""Every page that is written passes through the doublewrite file as it is: those of undo, too, so that this file is
free of plaintext only where undo is encrypted (MySQL 9.7.4)."""

_PERCONA = MappingProxyType(
    {
        **_MYSQL,
        "temp": frozenset((FileClass.TEMP_TABLES, FileClass.DISK_TABLES, FileClass.TEMP)),
        "all": frozenset((FileClass.DICTIONARY, FileClass.SYSTEM)),
    }
)
_PG_TDE = _parts(data=(FileClass.TABLES,), log=(FileClass.WAL,))

_BY_PRODUCT: Mapping[str, Parts] = MappingProxyType({"Percona Server": _PERCONA})
_BY_KIND: Mapping[str, Parts] = MappingProxyType({"mariadb": _MARIADB, "mysql": _MYSQL, "postgres": _PG_TDE})
_OUTSIDE = frozenset((FileClass.LOGS, FileClass.OTHER))
"""What may lie outside a data directory."""


def covered(
    binary: ServerBinary, settings: ServerSettings, *, is_folder_encrypted: bool = False
) -> frozenset[FileClass]:
    """The classes of files that a twin's encryption covers; none on a plain one.

    Args:
        binary: the server.
        settings: the twin's.
        is_folder_encrypted: what encrypts is the file system under the data directory.
    """
    if not settings.is_encrypted:
        return frozenset()
    if is_folder_encrypted:
        return frozenset(FileClass) - _OUTSIDE
    parts = _BY_PRODUCT.get(binary.product) or _BY_KIND[binary.kind]
    return frozenset().union(*(classes for part, classes in parts.items() if settings.covers(part)))
