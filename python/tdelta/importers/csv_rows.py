"""CSV in four layouts: a row a sample, a row a summary, a figure a cell, one column per condition.

Which one it is, the columns say (`tdelta.importers.csv_columns`): ``n`` and ``mean`` make it a table of summaries; a
response time makes it samples, unless no combination of condition, transaction, run and factors comes twice in the
whole of a short file: then it is a table of single figures, as every other one is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tdelta.errors import ImportFault
from tdelta.importers.csv_columns import (
    CONDITION,
    FACTOR,
    Column,
    Part,
    columns_of,
    one_spelling,
    says_conditions,
    throughput_of_whole,
)
from tdelta.importers.csv_dialect import Table, as_name, chunks_of, is_over_time, number_of, sniffed
from tdelta.importers.faults import MOST_SHOWN, Problems, half_unit, place
from tdelta.importers.importer import Importer, Naming
from tdelta.importers.reading import Source, excerpt, printable
from tdelta.importers.samples import LONGEST_MS, MOST_GROUPS, Gathering, no_response_time, too_many_groups
from tdelta.inputs import missing, out_of_range, too_many, unexpected
from tdelta.messages import Caution, Refusal
from tdelta.records.conditions import Level
from tdelta.records.observed import ALL, RESPONSE_TIME, THROUGHPUT, Figure, Group, Observation, Origin, Summary

MOST_FIGURES = 100_000
_FEWEST_ROWS = 5  # with fewer, numbers that differ may be levels
_KIND = "combinations of condition, transaction, run and factors"
_OF_ENCRYPTION = frozenset(("encryption", "cipher", "tde"))
_WITHOUT_CONDITION = missing("the name of the configuration")
_KEYS = (Part.CONDITION, Part.TRANSACTION, Part.RUN, Part.FACTOR)


class CsvRows(Importer):
    name = "CSV"
    has_columns = True
    has_conditions = True
    is_general = True

    def recognizes(self, source: Source) -> bool:
        try:
            table = self._table(source)
        except ImportFault:  # a table, but with numbers that could be read in two ways: `read` says so
            return True
        return table is not None and not is_over_time(table)

    def has_column(self, source: Source, column: str) -> bool:
        try:
            return self._table(source, column) is not None
        except ImportFault:
            return False

    def says_conditions(self, source: Source) -> bool:
        try:
            table = self._table(source)
        except ImportFault:
            return True
        return table is not None and says_conditions(table.header, table.numeric)

    def read(self, source: Source, naming: Naming) -> Iterator[Observation]:
        table = self._table(source, naming.column)
        if table is None:
            raise ImportFault(missing("a header such as condition,response_ms").at(source.name))
        reader = _Reader(self.name, self._opened(source), table, _columns(table, source, naming), naming)
        if reader.naming.condition is None and not reader.of(Part.CONDITION) and not reader.wide:
            raise ImportFault(
                Refusal.of(
                    "no-condition-column",
                    columns=excerpt(", ".join(table.header), 200),
                    known=", ".join(CONDITION),
                    file=source.path.name,
                ).at(place(source.name, table.header_line or None))
            )
        for one in reader.observations():
            yield replace(one, is_encryption=reader.is_encryption)

    def _opened(self, source: Source) -> Source:
        return source

    def _table(self, source: Source, column: str | None = None) -> Table | None:
        return sniffed(self._opened(source), column)


def _columns(table: Table, source: Source, naming: Naming) -> tuple[Column, ...]:
    """The columns; where the user said the condition, a column of that name is a factor as any other.

    Where he said the column of the figures, other numbers of which no two are the same (a time, a size) are no factors.
    """
    found = columns_of(table.header, table.numeric, place(source.name, table.header_line or None), naming)
    if naming.condition is not None:
        found = tuple(replace(it, part=Part.FACTOR) if it.part is Part.CONDITION else it for it in found)
    if naming.column is not None:
        found = tuple(replace(it, part=Part.NOTHING) if _is_of_each_row(it, table) else it for it in found)
    return found


def _is_of_each_row(column: Column, table: Table) -> bool:
    if column.part is not Part.FACTOR or one_spelling(column.name) in FACTOR or not table.numeric[column.index]:
        return False
    cells = [row[column.index] for row in table.rows if column.index < len(row)]
    return len(cells) >= _FEWEST_ROWS and len(set(cells)) == len(cells)


@dataclass
class _Reader:
    format: str
    source: Source
    table: Table
    columns: tuple[Column, ...]
    naming: Naming
    times_seen: Counter[Group] = field(default_factory=Counter)

    def of(self, *parts: Part) -> list[Column]:
        return [column for column in self.columns if column.part in parts]

    def observations(self) -> Iterator[Observation]:
        times = self.of(Part.RESPONSE)
        if self.of(Part.COUNT) and self.of(Part.MEAN):
            yield from self.rows(self.summaries)
        elif times and not self.has_single_figures and not (self.wide and self.of(Part.METRIC)):
            for value in times:
                yield from self.samples(value)
        else:
            yield from self.rows(self.figures)

    @cached_property
    def counting(self) -> tuple[Caution, ...]:
        """Factors by their unknown names that may be runs: whatever else a row is of, they count from 1, each once."""
        keys = [column.index for column in self.of(*_KEYS)]
        factors = [it for it in self.of(Part.FACTOR) if one_spelling(it.name) not in FACTOR]
        if self.of(Part.RUN):
            return ()
        found = []
        for factor in factors:
            counted: dict[tuple[str, ...], list[str]] = {}
            for row in self.table.rows:
                if len(row) == len(self.table.header):
                    place = tuple(row[index].strip() for index in keys if index != factor.index)
                    counted.setdefault(place, []).append(row[factor.index].strip())
            if all(len(it) > 1 and sorted(it) == sorted(map(str, range(1, len(it) + 1))) for it in counted.values()):
                found.append(Caution.of("column-may-count-runs", column=factor.name))
        return tuple(found)

    @property
    def wide(self) -> list[Column]:
        return [column for column in self.columns if column.condition is not None]

    @property
    def is_encryption(self) -> bool:
        return any(one_spelling(it.name) in _OF_ENCRYPTION for it in self.of(Part.CONDITION))

    @property
    def has_single_figures(self) -> bool:
        """Whether no combination of all that tells groups apart comes twice.

        More transactions and levels than `MOST_GROUPS` are ids of single rows, not what figures are of.
        """
        keys = [column.index for column in self.of(*_KEYS)]
        if not keys:
            return self.table.is_whole and len(self.table.rows) <= 1
        telling = [column.index for column in self.of(Part.TRANSACTION, Part.FACTOR)]
        seen: set[tuple[str, ...]] = set()
        places: set[tuple[str, ...]] = set()
        for _, rows in chunks_of(self.source, self.table):
            before = len(seen)
            seen.update(tuple(row[index].strip() for index in keys) for row in rows)
            places.update(tuple(row[index].strip() for index in telling) for row in rows)
            is_again = len(seen) - before < len(rows)
            if is_again or len(places) > MOST_GROUPS or len(seen) > MOST_FIGURES:
                return False
        return True

    def samples(self, value: Column) -> Iterator[Observation]:
        keys = self.of(*_KEYS)
        gathering: Gathering[tuple[str, ...]] = Gathering(self.source.name, _KIND)
        codes: dict[tuple[str, ...], int] = {}
        conditions = [at for at, key in enumerate(keys) if key.part is Part.CONDITION and not self.naming.condition]
        for lines, rows in chunks_of(self.source, self.table):
            columns = list(zip(*rows, strict=True))
            values = self._numbers(columns[value.index], lines) * value.scale
            self._must_be_times(values, lines)
            if not keys:
                gathering.extend((), values, lines[0])
                continue
            found = list(zip(*(columns[key.index] for key in keys), strict=True))
            numbers: dict[tuple[str, ...], int] = {}
            for raw in dict.fromkeys(found):
                key = tuple(as_name(cell, place(self.source.name, lines[0])) for cell in raw)
                if conditions and not key[conditions[0]]:
                    raise ImportFault(_WITHOUT_CONDITION.at(place(self.source.name, lines[found.index(raw)])))
                numbers[raw] = codes.setdefault(key, len(codes))
                if len(codes) > MOST_GROUPS:
                    raise too_many_groups(self.source.name, lines[found.index(raw)], _KIND)
            for key, part in _split(list(map(numbers.__getitem__, found)), list(codes), values):
                gathering.extend(key, part, lines[0])
        if not len(gathering):
            raise self._without_rows()
        groups = {key: self._group(dict(zip(keys, key, strict=True)), value) for key in codes or ((),)}
        unused = tuple(
            Caution.of("not-used", what=f"column {it.name}", why="its rows are single response times")
            for it in self.of(Part.METRIC)
        )
        origin = self._origin()
        yield from gathering.samples(groups.__getitem__, replace(origin, cautions=(*origin.cautions, *unused)))

    def summaries(self, cells: Sequence[str], line: int, faults: Problems) -> Iterator[Observation]:
        (count,), (mean,) = self.of(Part.COUNT), self.of(Part.MEAN)
        sds, quantiles = self.of(Part.SD), self.of(Part.QUANTILE)
        found = {it.index: self._number(cells, it, line, faults) for it in (count, mean, *sds, *quantiles)}
        n, average = found[count.index], found[mean.index]
        if n is not None and (n != int(n) or n < 1):
            faults.add(out_of_range("a count", "1 or more", n), line)
        elif n is not None and average is not None:
            group = self._numbered(self._group({it: cells[it.index].strip() for it in self.of(*_KEYS)}))
            known = {it.quantile: value for it in quantiles if (value := found[it.index]) is not None}
            sd = found[sds[0].index] if sds else None
            printed = self._published(cells, RESPONSE_TIME)
            rounding = self._rounding(cells, mean)
            yield Summary(group, self._origin(line), int(n), average, sd, known, printed, rounding=rounding)
        yield from self._other_figures(cells, line, faults, self.of(Part.METRIC))

    def figures(self, cells: Sequence[str], line: int, faults: Problems) -> Iterator[Observation]:
        yield from self._other_figures(cells, line, faults, self.of(Part.METRIC, Part.RESPONSE, Part.MEAN))

    def rows(self, read: Callable[[Sequence[str], int, Problems], Iterator[Observation]]) -> Iterator[Observation]:
        faults = Problems(self.source.name)
        count = 0
        for lines, rows in chunks_of(self.source, self.table):
            for line, cells in zip(lines, rows, strict=True):
                count += 1
                if count > MOST_FIGURES:
                    raise ImportFault(too_many("rows of figures", MOST_FIGURES, f"{self.source.name}:{line}"))
                named = [as_name(cell, place(self.source.name, line)) for cell in cells]
                if not self.naming.condition and not all(named[it.index] for it in self.of(Part.CONDITION)):
                    faults.add(_WITHOUT_CONDITION, line)
                else:
                    yield from read(named, line, faults)
        faults.raise_if_any()
        if not count:
            raise self._without_rows()

    def _other_figures(
        self, cells: Sequence[str], line: int, faults: Problems, metrics: Sequence[Column]
    ) -> Iterator[Figure]:
        keys = {it: cells[it.index].strip() for it in self.of(*_KEYS)}
        for metric in metrics:
            if not cells[metric.index].strip():
                continue  # a published table has gaps
            value = self._number(cells, metric, line, faults)
            if value is None:
                continue
            group = self._group(keys, metric)
            whole = throughput_of_whole([it for it in self.columns if it.condition == metric.condition])
            if metric.metric == THROUGHPUT and metric is not whole:
                name = metric.name if group.transaction == ALL else f"{group.transaction} ({metric.name})"
                group = Group(group.condition, name, THROUGHPUT, group.unit, group.run, group.levels)
            printed, rounding = self._published(cells, one_spelling(metric.name)), self._rounding(cells, metric)
            yield Figure(self._numbered(group), self._origin(line), value, printed, rounding=rounding)

    def _rounding(self, cells: Sequence[str], column: Column) -> float:
        text = cells[column.index].strip()
        return column.scale * half_unit(text.replace(",", ".") if self.table.has_decimal_comma else text)

    def _group(self, keys: dict[Column, str], metric: Column | None = None) -> Group:
        of = {column.part: text for column, text in keys.items() if text and column.part is not Part.FACTOR}
        factors = [(it.name, _level(text)) for it, text in keys.items() if text and it.part is Part.FACTOR]
        own = {name for name, _ in factors}
        run = of.get(Part.RUN) or self.naming.run
        if Part.RUN in of and self.naming.run != "1":  # of a second file
            run = f"{self.naming.run}.{run}"
        transaction = of.get(Part.TRANSACTION, ALL)
        return Group(
            condition=(metric and metric.condition) or of.get(Part.CONDITION) or self.naming.condition or "",
            transaction=ALL if transaction.lower() == ALL else transaction,
            metric=metric.metric if metric else RESPONSE_TIME,
            unit=metric.unit if metric else "ms",
            run=run,
            levels=(*(it for it in self.naming.levels if it[0] not in own), *factors),
        )

    def _numbered(self, group: Group) -> Group:
        """A row that comes again, where no column says the run, is another run."""
        self.times_seen[group] += 1
        count = self.times_seen[group]
        return group if count == 1 or self.of(Part.RUN) else replace(group, run=f"{group.run}.{count}")

    def _origin(self, line: int | None = None) -> Origin:
        cautions = (*self.table.cautions, *self.counting)
        return Origin(self.source.name, self.format, line, cautions, self.table.source)

    def _published(self, cells: Sequence[str], metric: str) -> str | None:
        """The authors' printed figure: in the column of this metric, else in the one of the row."""
        stems = {metric, metric.rpartition("_")[0]}
        own = [it for it in self.of(Part.PUBLISHED) if it.of in stems and it.of]
        whole = [it for it in self.of(Part.PUBLISHED) if it.of is None]
        return next((printable(cells[it.index].strip()) for it in (*own, *whole) if cells[it.index].strip()), None)

    def _number(self, cells: Sequence[str], column: Column, line: int, faults: Problems) -> float | None:
        """A figure in its unit: finite, not negative. None, and one more fault, where it is none."""
        text = cells[column.index].strip()
        if not text and column.part in (Part.SD, Part.QUANTILE):
            return None
        try:
            value = number_of(text, self.table.has_decimal_comma)
        except ValueError:
            value = -1.0
        if 0.0 <= value <= LONGEST_MS * 1e6:
            return value * column.scale
        faults.add(unexpected(f"a number of 0 or more as {printable(column.name)}", excerpt(text)), line)
        return None

    def _numbers(self, cells: Sequence[str], lines: Sequence[int]) -> NDArray[np.float64]:
        if not self.table.has_decimal_comma:
            try:
                values = np.array(list(map(float, cells)))
                if np.isfinite(values).all() and "_" not in "".join(cells):
                    return values
            except ValueError:
                pass
        found: list[float] = []
        faults = Problems(self.source.name)
        for cell, line in zip(cells, lines, strict=True):
            try:
                found.append(number_of(cell, self.table.has_decimal_comma))
            except ValueError:
                faults.add(no_response_time(excerpt(cell)), line)
        faults.raise_if_any()
        return np.array(found)

    def _must_be_times(self, values: NDArray[np.float64], lines: Sequence[int]) -> None:
        bad = np.flatnonzero(~((values >= 0.0) & (values <= LONGEST_MS)))
        if bad.size:
            first = [(f"{values[at]:g}", place(self.source.name, lines[at])) for at in bad[:MOST_SHOWN].tolist()]
            more = [Refusal.of("more-faults", more=int(bad.size) - MOST_SHOWN)] if bad.size > MOST_SHOWN else []
            raise ImportFault(*(no_response_time(*it) for it in first), *more)

    def _without_rows(self) -> ImportFault:
        return ImportFault(missing(f"a row after the header in line {self.table.header_line}").at(self.source.name))


def _split(
    group_numbers: list[int], names: list[tuple[str, ...]], values: NDArray[np.float64]
) -> Iterator[tuple[tuple[str, ...], NDArray[np.float64]]]:
    numbers = np.array(group_numbers)
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    for part in np.split(order, starts[1:]):
        yield names[int(numbers[part[0]])], values[part]


def _level(text: str) -> Level:
    """``16`` is a number, so that levels sort as numbers do; so is ``0.5``; ``5 GB`` is not."""
    try:
        value = number_of(text, has_decimal_comma=False)
    except ValueError:
        return text
    if not math.isfinite(value):
        return text
    return int(value) if value.is_integer() and "." not in text and abs(value) < 1e15 else value


IMPORTERS: tuple[Importer, ...] = (CsvRows(),)
