"""Refusals about SQLite alone: the English, by code."""

from __future__ import annotations

from typing import ClassVar

from tdelta.messages import Refusal

_REFUSALS = {
    "cannot-convert-copy": "the library cannot convert a copy to cipher {cipher}: {said}",
    "library-cannot-read": "the library cannot read it: {said}{remedy}",
    "copy-fails": "a copy of it {otherwise}: {said}{remedy}",
    "extensions-missing": "extensions missing in the library under test: {refused}; use a copy without these tables",
    "quick-check-fails": "quick_check of a copy reports: {found}; repair it (sqlite3 FILE .recover) or use a backup",
    "database-written-to": (
        "it was changed during each of {tries} attempts to read it: stop the application for a moment, or use a backup"
        " (sqlite3 FILE \".backup 'copy.db'\", or VACUUM INTO 'copy.db')"
    ),
    "plain-header": "it is already encrypted except for its header: {remedy}",
    "journal-of-several": (
        "the journal of an incomplete transaction over several databases exists: open the file once with its"
        " application to recover it, or use a backup"
    ),
    "locks-beside-load": (
        "--vary during={actions}: SQLite locks the file, so no transaction runs at that time; use --vary work={actions}"
    ),
    "vacuum-changed-rows": "VACUUM changed rows of the copy: tables {tables}",
}


class SqliteRefusal(Refusal):
    __slots__ = ()
    TEMPLATES: ClassVar = _REFUSALS
