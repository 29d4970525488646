"""Which class a file of a twin belongs to. Encryption may reach one class and miss another: each counts by itself."""

from __future__ import annotations

from enum import StrEnum


class FileClass(StrEnum):
    """The purpose of a file: the words are the engines' own, and one word is one thing on all engines that have it.

    ``database``, ``wal`` and ``journal`` are what SQLite has. On a server rows lie in ``tables``; ``system tablespace``
    is InnoDB's ``ibdata1`` with all that no other file was made for (MariaDB keeps undo and doublewrite in it),
    ``temp tables`` those that users make, ``on-disk temp tables`` those that queries make, ``temp`` the files of sorts
    and of transactions larger than their buffers. ``storage`` is what lies below the twin's file system where a run
    varies that: an image, or encrypted files. ``dump`` is a logical backup. ``other`` holds no rows by design: shared
    memory, an error stream.
    """

    DATABASE = "database"
    TABLES = "tables"
    SYSTEM = "system tablespace"
    UNDO = "undo"
    DOUBLEWRITE = "doublewrite"
    WAL = "wal"
    REDO = "redo log"
    JOURNAL = "journal"
    BINLOG = "binlog"
    RELAY = "relay log"
    TEMP_TABLES = "temp tables"
    DISK_TABLES = "on-disk temp tables"
    TEMP = "temp"
    DICTIONARY = "dictionary"
    LOGS = "server logs"
    STORAGE = "storage"
    DUMP = "dump"
    OTHER = "other"


_BY_SUFFIX = {"": FileClass.DATABASE, "-wal": FileClass.WAL, "-journal": FileClass.JOURNAL, "-shm": FileClass.OTHER}
_TEMP_PREFIX = "etilqs_"  # how SQLite names temporary files where the system has no unnamed ones


def file_class(name: str, database: str, *, is_unlinked: bool = False, is_stream: bool = False) -> FileClass:
    """The class of a file by its name and that of the database that it belongs to, both without folder.

    `is_unlinked`: it is open and has no name any more, as temporary files do; `is_stream`: it is a standard stream of
    the process that has it open.
    """
    if is_stream:
        return FileClass.OTHER
    if name.startswith(database) and name.removeprefix(database) in _BY_SUFFIX:
        return _BY_SUFFIX[name.removeprefix(database)]
    return FileClass.TEMP if is_unlinked or name.startswith(_TEMP_PREFIX) else FileClass.OTHER
