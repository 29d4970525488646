"""What an importer is: it knows a format by its content, and yields observations from one file of it.

An importer reads what strangers wrote: old and new layouts, counts that are wrong, files cut off in the middle. It
yields what can be used and raises one `ImportFault` that names everything it cannot use, with its place; it never
guesses a figure. It holds one piece of a file at a time, whatever the file's size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tdelta.records.conditions import Level
from tdelta.records.observed import Observation


@dataclass(frozen=True, slots=True)
class Naming:
    """What a file's name and folder, or the user, say about all that is in it.

    Attributes:
        condition: its condition; None where the file itself must say (a column of a CSV).
        run: which run of the condition.
        levels: further factors that names show, ``(("threads", 16),)``.
        unit: of figures of which the file says none (``ms``, ``tps``), as the user says it.
        column: where the figures are, as the user says it: a column, a metric, a unit of results.
    """

    condition: str | None
    run: str = "1"
    levels: tuple[tuple[str, Level], ...] = ()
    unit: str | None = None
    column: str | None = None


class Source(Protocol):
    """One file as an importer sees it: uncompressed already, bounded in every direction.

    `text_lines` and `content` raise `ImportFault` where a line is longer than `reading.LONGEST_LINE_BYTES`, where
    what is inflated outgrows its limits (a bomb), where bytes are no UTF-8 text, or where the file ends within gzip.
    """

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def name(self) -> str:
        """As the user named it: what messages and origins say."""

    @property
    def head(self) -> bytes:
        """Its first bytes, at most 64 KiB, uncompressed."""

    def text_lines(self) -> Iterator[tuple[int, str]]:
        """Its lines from the first, numbered from 1, without their ends."""

    def content(self, limit_bytes: int) -> bytes:
        """All of it, where a format cannot be read in pieces (XML, JSON); refused above the limit."""


class View:
    """A file as another text: what its lines have without a prefix, or its rows as a CSV. A subclass gives `head` and
    `text_lines`."""

    first_line = 1
    """The number of the first line; 0 for a CSV's header that the file itself does not have."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.path = source.path
        self.name = source.name

    def content(self, limit_bytes: int) -> bytes:
        return self._source.content(limit_bytes)


class Importer:
    """A format. Those with marks print lines that are known each by itself, wherever they stand in a file."""

    name: str
    """As the result names it: ``sysbench``, ``pgbench log``."""
    has_columns = False
    """Whether files hold several figures, of which the user may choose one (`Naming.column`)."""
    has_conditions = False
    """Whether a column may be the condition."""
    is_per_thread = False
    """Whether each thread of a run writes a file of its own."""

    def recognizes(self, source: Source) -> bool:
        """Whether the content, by its head, is of this format. No two importers may recognize one file."""
        raise NotImplementedError

    def read(self, source: Source, naming: Naming) -> Iterator[Observation]:
        """Observations of the file.

        Raises:
            ImportFault: what was expected, what was found, ``file:line``, and what to do; all faults at once.
        """
        raise NotImplementedError

    def is_mark(self, _line: str) -> bool:
        """Whether a line, without spaces around it, is one that only this tool prints of a run."""
        return False

    def has_results(self, _source: Source) -> bool:
        """Whether a file of this format holds a result at all; logs of a build or of a load do not."""
        return True

    def has_column(self, _source: Source, _column: str) -> bool:
        """Whether it is a table with a column that the user names, though none that is known."""
        return False

    def says_conditions(self, _source: Source) -> bool:
        """Whether the file itself names its conditions."""
        return False
