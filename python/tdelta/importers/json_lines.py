"""JSON lines: an object a line, whose keys are columns as those of a CSV are.

The rules are those of `tdelta.importers.csv_columns`: ``{"condition": "none", "response_ms": 12.4}`` is a row of a
table of samples. The keys of a file's beginning are its columns; objects and lists within an object are not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from tdelta.importers.csv_dialect import csv_line
from tdelta.importers.csv_rows import CsvRows
from tdelta.importers.faults import Problems, one_object, shown
from tdelta.importers.importer import Importer
from tdelta.importers.reading import HEAD_BYTES, Source, View, head_lines
from tdelta.inputs import unexpected

_SEPARATING = re.compile(r"[;,|\t]")
_MOST_KEYS = 200
_OWN = '{"schema":"tdelta.'  # documents of tdelta's, packs among them, are no tables


class JsonLines(CsvRows):
    name = "JSON lines"

    def recognizes(self, source: Source) -> bool:
        return self._may_be(source) and super().recognizes(source)

    def has_column(self, source: Source, column: str) -> bool:
        return self._may_be(source) and super().has_column(source, column)

    def says_conditions(self, source: Source) -> bool:
        return self._may_be(source) and super().says_conditions(source)

    def _opened(self, source: Source) -> Source:
        return _Lines(source)

    @staticmethod
    def _may_be(source: Source) -> bool:
        filled = [line for line in head_lines(source, only_whole=True) if line.strip()]
        if not filled or not filled[0].lstrip().startswith("{") or filled[0].startswith(_OWN):
            return False
        return bool(one_object(filled[0])) and (len(filled) == 1 or one_object(filled[1]) is not None)


IMPORTERS: tuple[Importer, ...] = (JsonLines(),)


class _Lines(View):
    """A file of JSON lines as a CSV whose rows have the numbers of its lines."""

    first_line = 0

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        keys: dict[str, None] = {}
        rows: list[dict[str, object]] = []
        for line in head_lines(source, only_whole=True):
            found = one_object(line)
            if found is not None:
                keys |= dict.fromkeys(found)
            rows.append(found or {})
        self._keys = list(keys)[: _MOST_KEYS + 1]
        self._head = "\n".join((self._header(), *(self._row(it) if it else "" for it in rows)))

    @property
    def head(self) -> bytes:
        """Its first rows; as long as a head if the file's own is, and shorter than one if that is the whole file."""
        text = self._head.encode()
        is_whole = len(self._source.head) < HEAD_BYTES
        return text[: HEAD_BYTES - 1] if is_whole else text[:HEAD_BYTES].ljust(HEAD_BYTES, b"\n")

    def text_lines(self) -> Iterator[tuple[int, str]]:
        """The header, numbered 0, and a row for each line. Raises ``ImportFault`` for lines that are no objects."""
        yield 0, self._header()
        faults = Problems(self.name)
        known = set(self._keys)
        for number, line in self._source.text_lines():
            if not line.strip():
                yield number, ""
                continue
            found = one_object(line)
            if found is None:
                faults.add(unexpected("a JSON object", shown(line)), number)
            elif not known.issuperset(found):
                others = ", ".join(shown(key) for key in found if key not in known)
                faults.add(unexpected("the keys of earlier lines", others[:200]), number)
            elif not faults:
                yield number, self._row(found)
        faults.raise_if_any()

    def _header(self) -> str:
        return csv_line([_SEPARATING.sub("_", key) for key in self._keys])

    def _row(self, found: Mapping[str, object]) -> str:
        return csv_line([_cell(found.get(key)) for key in self._keys])


def _cell(value: object) -> str:
    if value is None or isinstance(value, dict | list):
        return ""
    text = value if isinstance(value, str) else json.dumps(value)
    return " ".join(text.split())
