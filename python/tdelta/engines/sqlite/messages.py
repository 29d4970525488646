"""What is said of SQLite alone: the English, by code."""

from __future__ import annotations

from typing import ClassVar

from tdelta.messages import Refusal

_REFUSALS = {
    "cannot-convert-copy": "the library cannot convert a copy of it to cipher {cipher}: {said}",
    "library-cannot-open": "the library cannot read it: {said}{remedy}",
    "extensions-missing": (
        "it needs extensions that the library under test lacks: {refused}; give a copy without these tables"
    ),
    "quick-check-fails": "quick_check of a copy says: {found}; repair it (sqlite3 FILE .recover) or give a backup",
    "library-cannot-read": "the library cannot read its schema or a table: {said}{remedy}",
    "copy-fails": "a copy of it {otherwise}: {said}{remedy}",
    "database-not-readable": "expected a SQLite database that can be read, found: {why}",
    "database-written-to": (
        "it was written to during each of {tries} attempts to read it: stop the application for a moment, or give a"
        " backup (sqlite3 FILE \".backup 'copy.db'\", or VACUUM INTO 'copy.db')"
    ),
    "database-gone": "expected a SQLite database that can be read, found: it has gone",
    "database-file-not-readable": "{name} cannot be read: {fault}",
    "cannot-copy-database": "cannot copy database {database} to {target}: {fault}; free some space, or use --dir",
    "database-unreadable": "it cannot be read: {fault}",
    "not-a-database-file": "expected a SQLite database, found: {found}",
    "database-empty": "it is empty, so there is nothing to measure",
    "plain-header": "it is encrypted already, but for the header that its key leaves readable: {remedy}",
    "not-plain-sqlite": "expected a plain SQLite database, which begins with {magic!r}, found {found}: {kind}",
    "journal-of-several": (
        "a transaction over several databases was cut short, and its journal is there still: open it once with its"
        " application, which recovers it, or give a backup"
    ),
    "no-table": "it holds no table, so there is nothing to measure",
    "virtual-tables-alone": (
        "it holds no table but virtual ones, whose rows are their module's, so there is nothing to measure"
    ),
    "locks-beside-load": (
        "--vary during={actions}: the file is locked while it is rewritten, so that no transaction goes on beside it;"
        " use --vary work={actions}, which is how long everyone waits"
    ),
    "vacuum-changed-rows": "VACUUM changed rows of the copy: tables {tables}",
}


class SqliteRefusal(Refusal):
    __slots__ = ()
    TEMPLATES: ClassVar = _REFUSALS
