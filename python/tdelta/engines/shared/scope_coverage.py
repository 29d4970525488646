"""Which classes of a server's files each scope of its encryption covers.

A marker in a class that is covered is a leak, and the run is unsound. In any other class it is what the scope leaves
in the clear: listed, and no fault of the twin. What is said here of MariaDB, MySQL and PostgreSQL on gocryptfs was
found by searching such servers (docs/evidence.md); of Percona Server and pg_tde it was read.
"""

from __future__ import annotations

from types import MappingProxyType

from tdelta.engines.servers import ServerSettings
from tdelta.engines.shared.evidence import Parts
from tdelta.evidence import FileClass


def parts(**classes: tuple[FileClass, ...]) -> Parts:
    """What each part of a scope covers."""
    return MappingProxyType({part: frozenset(of) for part, of in classes.items()})


_OUTSIDE = frozenset((FileClass.LOGS, FileClass.OTHER))
"""What may lie outside a data directory."""


def covered(parts: Parts, settings: ServerSettings, *, is_folder_encrypted: bool = False) -> frozenset[FileClass]:
    """The classes of files that a twin's encryption covers; none on a plain one.

    Args:
        parts: what each part of a scope covers on this server.
        settings: the twin's.
        is_folder_encrypted: what encrypts is the file system under the data directory.
    """
    if not settings.is_encrypted:
        return frozenset()
    if is_folder_encrypted:
        return frozenset(FileClass) - _OUTSIDE
    return frozenset().union(*(classes for part, classes in parts.items() if settings.covers(part)))
