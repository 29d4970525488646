"""What a conversion leaves in the clear: rows that are there, and rows that were deleted before it.

The rows that are there are the run's markers (`tdelta.evidence.markers`). Those that were deleted are of a table of
tdelta's own: they are written to its file, and then deleted, so that whole pages of it are free. After the conversion
every file of the server is searched for both.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tdelta.driver.acting import DELETED, THERE, left
from tdelta.engines.shared.file_classes import FileRules
from tdelta.engines.shared.private.actions import Site
from tdelta.engines.shared.server_files import ServerFiles
from tdelta.engines.shared.sessions import AdminConnection
from tdelta.engines.shared.settling import Settling
from tdelta.evidence import TABLE, TwinFile, search

DELETED_TABLE = "tdelta_deleted"
"""Where those are that were deleted; a few stay."""

_ROWS, _FILLER, _STAY, _APART = 512, 900, 8, 16
_NEEDLE_BYTES = 16
_LOOK_AGAIN_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class RemainsSql:
    """How a server is asked for them.

    Attributes:
        rules: which file is what.
        hexadecimal: a column of bytes as hexadecimal digits, ``{}`` being its name.
        literal: bytes, ``{}`` being hexadecimal digits.
        bytes_type: the type of a column of so many bytes, ``{}``.
        settle: has what was deleted purged, and everything written to the files, one after another.
        settled: statements that undo what that changed.
    """

    rules: FileRules
    hexadecimal: str
    literal: str
    bytes_type: str
    settle: tuple[Settling, ...]
    settled: tuple[str, ...] = ()


class Remains:
    def __init__(self, site: Site, sql: RemainsSql, session: AdminConnection) -> None:
        self._sql = sql
        self._session = session
        self._halt = site.halt
        self._files = ServerFiles(sql.rules, site.recipe.place, site.server.pids, site.recipe.mount)
        evidence = site.engine.evidence
        self._inflate = evidence.inflating(is_compressed=site.settings.is_compressed)
        self._needles: Mapping[str, Sequence[bytes]] = {}

    def plant(self) -> None:
        """Note the rows that are there; make others, have them written, and delete all but a few."""
        self.remove()
        markers = [secrets.token_bytes(_NEEDLE_BYTES) for _ in range(_ROWS)]
        of_bytes, literal = self._sql.bytes_type.format(_NEEDLE_BYTES), self._sql.literal
        rows = ", ".join(f"({n}, {literal.format(row.hex())}, REPEAT('x', {_FILLER}))" for n, row in enumerate(markers))
        for statement in (
            f"CREATE TABLE {DELETED_TABLE} (id INT PRIMARY KEY, marker {of_bytes} NOT NULL, filler VARCHAR({_FILLER}))",
            f"INSERT INTO {DELETED_TABLE} VALUES {rows}",
        ):
            self._session.run(statement)
        self._settle()
        self._session.run(f"DELETE FROM {DELETED_TABLE} WHERE id >= {_STAY}")
        self._settle()
        marker = self._sql.hexadecimal.format("marker")
        there = self._session.rows(f"SELECT {marker} FROM {TABLE} WHERE id % {_APART} = 0")[1]
        self._needles = {
            THERE: [bytes.fromhex(str(row[0]))[:_NEEDLE_BYTES] for row in there],
            DELETED: markers[_STAY::_APART],
        }

    def _settle(self) -> None:
        """As far as the server comes to rest; a page that is still in memory is one that a search does not find."""
        for one in self._sql.settle:
            for statement in one.statements:
                self._session.run(statement)
            until = time.monotonic() + one.seconds
            while one.query and self._number(one.query) > one.at_most and time.monotonic() < until:
                self._halt.pause(_LOOK_AGAIN_SECONDS)
                if self._halt.is_asked:
                    return
        for statement in self._sql.settled:
            self._session.run(statement)

    def _number(self, query: str) -> int:
        return int(self._session.rows(query)[1][0][0] or 0)

    def search(self, copy: Sequence[TwinFile] = ()) -> dict[str, int]:
        """The markers found in each class of files, by kind of row; each class that the server has is named.

        Args:
            copy: files of a copy of the database, which are searched as well.
        """
        found: dict[str, int] = {}
        for which, needles in self._needles.items():
            counts: Counter[str] = Counter()
            for one in search([*self._files.files(), *copy], needles, self._inflate):
                counts[one.file_class.value] += one.markers_found
            found |= {left(which, name): count for name, count in counts.items()}
        return found

    def remove(self) -> None:
        self._session.run(f"DROP TABLE IF EXISTS {DELETED_TABLE}")
