"""Published tables, kept as CSV with their source: what ``tdelta analyze published:NAME`` reads, word for word.

They are CSV files as `tdelta analyze` takes them of anybody, so that what is shown of a published study went through
the same importer as a user's own files. `tdelta.session.studies` takes its figures from here as well.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tdelta.errors import UnknownName

PREFIX = "published:"
"""What an argument of ``tdelta analyze`` begins with that names a table and no file."""

FOLDER = Path(__file__).parents[1] / "studies"


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """One file: its name without ending, what it is of, where it comes from, and its rows by the header's names.

    ``notes`` are the rest of the comments above the header.
    """

    name: str
    title: str
    source: str
    notes: tuple[str, ...]
    rows: tuple[Mapping[str, str], ...]
    path: Path


@cache
def tables() -> tuple[PublishedTable, ...]:
    return tuple(_read(path) for path in sorted(FOLDER.glob("*.csv")))


def table(name: str) -> PublishedTable:
    """The table of that name.

    Raises:
        UnknownName: there is none.
    """
    known = {found.name: found for found in tables()}
    if name not in known:
        raise UnknownName("published table", name, known)
    return known[name]


def _read(path: Path) -> PublishedTable:
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = [line.removeprefix("#").strip() for line in lines if line.startswith("#")]
    (source,) = (comment for comment in comments if comment.startswith("source:"))
    title, *notes = (comment for comment in comments if comment != source)
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return PublishedTable(path.stem, title, source.removeprefix("source:").strip(), tuple(notes), tuple(rows), path)
