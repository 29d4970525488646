"""Figures over time as monitoring has them: a panel of Grafana as CSV (Inspect, Data), or an export of Prometheus.

The first column is ``Time``, a row is a moment, every other column is a series: with its unit in its name
(``latency_ms``, ``tps``), in its cells (``12.3 ms``, ``1.24 K ops/s``), or by ``--unit``. Two series with a word for
plain and for encrypted in their names are conditions; of several others the user chooses one by ``--column``.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tdelta.errors import ImportFault
from tdelta.importers.accumulating import LONGEST_MS
from tdelta.importers.belonging import Belonging
from tdelta.importers.csv_columns import column_index, one_spelling
from tdelta.importers.csv_dialect import Table, chunks_of, is_number, is_over_time, moment, number_of, sniffed
from tdelta.importers.csv_units import Measure, measure_of_unit
from tdelta.importers.intervals import longest_stretch
from tdelta.importers.problems import LineFaults
from tdelta.importers.protocol import Importer, Naming, Source
from tdelta.importers.reading import excerpt, printable, shortened
from tdelta.importers.words import TokenKind, words_of
from tdelta.messages import Caution, Refusal
from tdelta.records.observed import RESPONSE_TIME, Observation

MOST_READINGS = 1_000_000
_SAID = (TokenKind.BASELINE, TokenKind.ENCRYPTED)
_IN_BRACKETS = re.compile(r"[(\[]\s*([^()\[\]]{1,20}?)\s*[)\]]\s*$")
_UNITS = frozenset(("ns", "us", "µs", "ms", "seconds", "milliseconds", "microseconds", "tps", "qps", "rps"))
_WITH_UNIT = re.compile(r"([+-]?[\d.,]{1,40}(?:[eE][+-]?\d{1,3})?)\s*(.{0,40})$")
_SHORT = {"": 1.0, "K": 1e3, "Mil": 1e6, "Bil": 1e9, "k": 1e3, "M": 1e6}
"""What Grafana's short form of numbers multiplies by."""
_EMPTY = frozenset(("", "null", "undefined", "nan", "no data", "-"))
_RATES = frozenset(("ops/s", "req/s", "reqps", "rps", "ops", "qps", "tps", "iops", "rows/s", "wps", "cps"))


class Grafana:
    """The format; see `tdelta.importers.protocol.Importer`."""

    name = "Grafana"
    has_columns = True

    def recognizes(self, source: Source) -> bool:
        """Whether its first column is ``Time``, with moments that go on."""
        try:
            return _table(source) is not None
        except ImportFault:
            return False

    def says_conditions(self, source: Source) -> bool:
        """Whether names of series have a word for plain, and others one for encrypted."""
        table = _table(source)
        return table is not None and bool(_conditions(table.header))

    def read(self, source: Source, naming: Naming) -> Iterator[Observation]:
        """A series for each condition, or the one that is chosen."""
        table = _table(source)
        if table is None:
            raise ImportFault(Refusal.of("not-over-time").at(source.name))
        columns = _columns(table, naming, source)
        measures = {index: _measure(table, index, naming, source) for index in columns}
        readings = _read(source, table, measures)
        for index, condition in columns.items():
            own = Belonging(source.name, self.name, condition, naming.run, naming.levels)
            yield from _series(readings, index, measures[index], own)


IMPORTERS: tuple[Importer, ...] = (Grafana(),)


@dataclass(slots=True)
class _Readings:
    """Moments, and the figures at them by column; a figure that is missing is not a number."""

    seconds: array[float]
    values: Mapping[int, array[float]]


class _Rest:
    """A file behind its first line, ``sep=,`` for Excel; lines keep their numbers."""

    first_line = 2

    def __init__(self, source: Source) -> None:
        self.path, self.name = source.path, source.name
        self._source = source

    @property
    def head(self) -> bytes:
        return self._source.head.partition(b"\n")[2]

    def text_lines(self) -> Iterator[tuple[int, str]]:
        return (it for it in self._source.text_lines() if it[0] > 1)

    def content(self, limit_bytes: int) -> bytes:
        return self._source.content(limit_bytes)


def _behind_separator(source: Source) -> Source:
    return _Rest(source) if source.head.lstrip(b"\xef\xbb\xbf").startswith(b"sep=") else source


def _table(source: Source) -> Table | None:
    """The table, if it is one over time."""
    table = sniffed(_behind_separator(source), "Time")
    return table if table is not None and is_over_time(table) else None


def _conditions(header: Sequence[str]) -> Mapping[int, str]:
    """Columns that are of a condition each; empty where these are not of both kinds."""
    found: dict[int, tuple[TokenKind, str]] = {}
    for index, cell in enumerate(header[1:], 1):
        words = [word for word in words_of(cell) if word.kind in _SAID]
        if len({word.kind for word in words}) == 1:
            found[index] = words[0].kind, "-".join(dict.fromkeys(word.value for word in words))
    if {kind for kind, _ in found.values()} != set(_SAID):
        return {}
    return {index: name for index, (_, name) in found.items()}


def _columns(table: Table, naming: Naming, source: Source) -> Mapping[int, str]:
    """Columns that are read, with their conditions."""
    if naming.column is not None:
        index = column_index(table.header, naming.column)
        if not index:
            listed = excerpt(", ".join(table.header[1:]), 200)
            raise ImportFault(
                Refusal.of("no-such-column", column=naming.column, columns=listed).at(
                    f"{source.name}:{table.header_line}"
                )
            )
        condition = naming.condition or _conditions(table.header).get(index)
        if condition is None:
            raise ImportFault(
                Refusal.of("file-without-condition", format=Grafana.name, name=source.path.name).at(source.name)
            )
        return {index: condition}
    if naming.condition is None:
        conditions = _conditions(table.header)
        twice = [name for name in dict.fromkeys(conditions.values()) if list(conditions.values()).count(name) > 1]
        if twice or not conditions:
            raise _several(table, source)
        return conditions
    if len(table.header) != 2:
        raise _several(table, source)
    return {1: naming.condition}


def _several(table: Table, source: Source) -> ImportFault:
    listed = excerpt(", ".join(table.header[1:]), 200)
    first = shortened(table.header[1].strip())
    return ImportFault(
        Refusal.of("columns-to-choose", columns=listed, first=first).at(f"{source.name}:{table.header_line}")
    )


def _measure(table: Table, index: int, naming: Naming, source: Source) -> Measure:
    """What a column's figures are. Raises ``ImportFault`` where nothing says it."""
    name = table.header[index]
    found = _measure_of_name(name)
    if found is None:
        units = {_WITH_UNIT.match(row[index].strip()) for row in table.rows if len(row) > index}
        words = {match[2].strip() for match in units if match is not None and match[2].strip()}
        said = {it for it in map(_measure_of_cell, words) if it is not None}
        found = next(iter(said)) if len(said) == 1 and len(words) == 1 else None
        if len(said) > 1 or (said and len(words) > 1):
            found = Measure(next(iter(said)).metric, next(iter(said)).unit, 1.0)  # each cell says its own
    found = found or (measure_of_unit(naming.unit) if naming.unit else None)
    if found is None:
        raise ImportFault(
            Refusal.of("series-without-unit", column=shortened(name.strip())).at(f"{source.name}:{table.header_line}")
        )
    return found


def _measure_of_name(cell: str) -> Measure | None:
    """What a series is by its name, where that ends with a unit beyond doubt: ``min`` may be the least of something."""
    if match := _IN_BRACKETS.search(cell):
        return measure_of_unit(match[1])
    last = one_spelling(printable(cell)).rpartition("_")[2]
    return measure_of_unit(last) if last in _UNITS else None


def _measure_of_cell(words: str) -> Measure | None:
    """``ms``, ``K ops/s``: what the words behind a number say."""
    prefix, _, rest = words.partition(" ")
    unit = rest if prefix in _SHORT and rest else words
    return measure_of_unit("/s" if unit.strip().lower() in _RATES else unit)


def _read(source: Source, table: Table, measures: Mapping[int, Measure]) -> _Readings:
    """All moments; a row whose first cell is none is a fault."""
    readings = _Readings(array("d"), {index: array("d") for index in measures})
    faults = LineFaults()
    for lines, rows in chunks_of(_behind_separator(source), table):
        for line, row in zip(lines, rows, strict=True):
            at = moment(row[0])
            values = {index: _value(row[index], measure, table) for index, measure in measures.items()}
            if at is None or any(value is None for value in values.values()):
                found = row[0] if at is None else next(row[index] for index, it in values.items() if it is None)
                faults.add(Refusal.of("not-a-moment", found=excerpt(found)).at(f"{source.name}:{line}"))
                continue
            if len(readings.seconds) >= MOST_READINGS:
                raise ImportFault(Refusal.of("intervals-too-many", most=MOST_READINGS).at(f"{source.name}:{line}"))
            readings.seconds.append(at)
            for index, value in values.items():
                readings.values[index].append(value if value is not None else -1.0)
    faults.raise_if_any()
    return readings


def _value(cell: str, measure: Measure, table: Table) -> float | None:
    """A figure in the unit of results; -1 where there is none; None for what is no figure."""
    text = cell.strip()
    if text.lower() in _EMPTY:
        return -1.0
    scale = measure.scale
    if not is_number(text, table.has_decimal_comma):
        match = _WITH_UNIT.match(text)
        if match is None or not is_number(match[1], table.has_decimal_comma):
            return None
        text, words = match[1], match[2].strip()
        prefix = words.partition(" ")[0]
        factor = _SHORT.get(prefix, 1.0) if prefix != words or prefix in ("K", "Mil", "Bil") else 1.0
        own = _measure_of_cell(words)
        if own is not None and own.metric != measure.metric:
            return None
        scale = (own.scale if own is not None else measure.scale) * factor
    value = number_of(text, table.has_decimal_comma) * scale
    return value if 0 <= value <= LONGEST_MS else None


def _series(readings: _Readings, index: int, measure: Measure, belonging: Belonging) -> Iterator[Observation]:
    """A column's longest stretch without gaps, as it is: what a panel shows may begin and end within a run."""
    known = [it for it, value in enumerate(readings.values[index]) if value >= 0]
    seconds = [readings.seconds[it] for it in known]
    values = [readings.values[index][it] for it in known]
    stretch = longest_stretch(seconds, values)
    group = belonging.response_times() if measure.metric == RESPONSE_TIME else belonging.throughput()
    if stretch is None or (measure.metric == RESPONSE_TIME and not all(stretch.values)):
        raise ImportFault(Refusal.of("readings-too-few", found=len(values)).at(belonging.file))
    noted = (Caution.of("of-monitoring"),)
    yield stretch.series(group, belonging.origin(None, *noted, *stretch.notes), began=seconds[0])
