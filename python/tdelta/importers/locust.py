"""Locust's statistics (``--csv PREFIX``): those of the whole test, and their history.

As ``StatsCSV`` of Locust 1 to 2 writes them. The history's own rates are means of ten seconds; its totals are exact, so
throughput and mean response times of each interval are taken from their differences. Locust counts failed requests
as requests, with their times: that is told.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tdelta.errors import ImportFault
from tdelta.importers.belonging import Belonging, belonging_of
from tdelta.importers.intervals import longest_stretch
from tdelta.importers.problems import Problems, number, plain_name, problems_of, shown, whole
from tdelta.importers.protocol import Importer, Naming, Source
from tdelta.importers.reading import head_lines
from tdelta.importers.rounding import half_unit
from tdelta.messages import Caution, Refusal
from tdelta.records.observed import ALL, Figure, Observation, Summary

STATS = "Locust"
HISTORY = "Locust history"
MOST_NAMES = 1000
MOST_READINGS = 1_000_000
_AGGREGATED = ("Aggregated", "Total")
"""The row of all requests, in newer and older versions."""
_STATS_HEADER = ("Type", "Name", "Request Count", "Failure Count")
_HISTORY_HEADER = ("Timestamp", "User Count", "Type", "Name")
_MOST_FAULTY = 100


class StatsImporter:
    """``PREFIX_stats.csv``."""

    name = STATS

    def recognizes(self, source: Source) -> bool:
        """Its header."""
        return tuple(_header(source)[:4]) == _STATS_HEADER

    def read(self, source: Source, naming: Naming) -> Iterator[Observation]:
        """Response times with their percentiles and throughput, of each name and of all."""
        belonging = belonging_of(source, STATS, naming)
        problems = problems_of(source, STATS)
        rows = 0
        for line, row in _rows(source, problems):
            count, mean = whole(row.get("Request Count")), number(row.get("Average Response Time"))
            if count is None or mean is None or mean < 0:
                _not_a_row(problems, line, row)
                continue
            rows += 1
            if rows > MOST_NAMES:
                raise ImportFault(Refusal.of("figures-too-many", most=MOST_NAMES).at(f"{source.name}:{line}"))
            yield from _of_row(row, count, mean, line, belonging)
        if not rows and not problems:
            problems.add(Refusal.of("no-rows-after-header", line=1))
        problems.raise_if_any()


class HistoryImporter:
    """``PREFIX_stats_history.csv``."""

    name = HISTORY

    def recognizes(self, source: Source) -> bool:
        """Its header."""
        return tuple(_header(source)[:4]) == _HISTORY_HEADER

    def read(self, source: Source, naming: Naming) -> Iterator[Observation]:
        """Throughput and mean response times over time: of all, and of each name with ``--csv-full-history``."""
        belonging = belonging_of(source, HISTORY, naming)
        problems = problems_of(source, HISTORY)
        names: dict[str, _Totals] = {}
        readings = 0
        for line, row in _rows(source, problems):
            at, count = number(row.get("Timestamp")), whole(row.get("Total Request Count"))
            mean = number(row.get("Total Average Response Time"))
            if at is None or count is None or mean is None or at < 0 or mean < 0:
                _not_a_row(problems, line, row)
                continue
            readings += 1
            if readings > MOST_READINGS or len(names) > MOST_NAMES:
                raise ImportFault(Refusal.of("intervals-too-many", most=MOST_READINGS).at(f"{source.name}:{line}"))
            totals = names.setdefault(_transaction(row), _Totals())
            totals.take(at, count, mean * count, whole(row.get("Total Failure Count")) or 0)
        problems.raise_if_any()
        found = [one for name, totals in names.items() for one in totals.series(name, belonging)]
        if not found:
            raise ImportFault(Refusal.of("readings-too-few", found=readings).at(source.name))
        yield from found


IMPORTERS: tuple[Importer, ...] = (StatsImporter(), HistoryImporter())


@dataclass(slots=True)
class _Totals:
    """What a name's totals were at each moment: requests, and ms of all of them."""

    seconds: array[float] = field(default_factory=lambda: array("d"))
    counts: array[float] = field(default_factory=lambda: array("d"))
    total_ms: array[float] = field(default_factory=lambda: array("d"))
    failed: int = 0

    def take(self, at: float, count: int, total_ms: float, failed: int) -> None:
        """One more moment."""
        if self.seconds and at <= self.seconds[-1]:
            return  # written twice within a second
        self.seconds.append(at)
        self.counts.append(count)
        self.total_ms.append(total_ms)
        self.failed = failed

    def series(self, name: str, belonging: Belonging) -> Iterator[Observation]:
        """The differences, as far as they are regular and of one test: totals that fall are of another one."""
        steps = range(1, len(self.seconds))
        at = [self.seconds[it] for it in steps]
        lasted = [self.seconds[it] - self.seconds[it - 1] for it in steps]
        counts = [self.counts[it] - self.counts[it - 1] for it in steps]
        times = [self.total_ms[it] - self.total_ms[it - 1] for it in steps]
        if any(it < 0 for it in counts):
            raise ImportFault(Refusal.of("totals-fall", name=shown(name)).at(belonging.file))
        noted = (Caution.of("failed-included", failed=self.failed),) if self.failed else ()
        rates = longest_stretch(at, [count / step for count, step in zip(counts, lasted, strict=True)])
        if rates is not None:
            origin = belonging.origin(None, *noted, *rates.notes)
            yield rates.series(belonging.throughput(name), origin, began=at[0])
        means = [max(time, 0.0) / count if count else 0.0 for time, count in zip(times, counts, strict=True)]
        found = longest_stretch(at, means)
        if found is not None and all(found.values):
            origin = belonging.origin(None, *noted, *found.notes)
            yield found.series(belonging.response_times(name), origin, began=at[0])


def _header(source: Source) -> list[str]:
    return _cells(next(iter(head_lines(source)), ""))


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


def _rows(source: Source, problems: Problems) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Rows by the names of their columns."""
    header: Sequence[str] = ()
    for line, text in source.text_lines():
        if not header:
            header = _cells(text)
            continue
        if not text.strip():
            continue
        cells = _cells(text)
        if len(cells) != len(header):
            problems.add(Refusal.of("not-such-columns", columns=len(header), found=shown(text)), line)
            if problems.count >= _MOST_FAULTY:
                raise problems.fault()
            continue
        yield line, dict(zip(header, cells, strict=True))


def _not_a_row(problems: Problems, line: int, row: Mapping[str, str]) -> None:
    problems.add(Refusal.of("not-a-row-of-locust", found=shown(",".join(row.values()))), line)
    if problems.count >= _MOST_FAULTY:
        raise problems.fault()


def _transaction(row: Mapping[str, str]) -> str:
    """Method and name of a request; ``all`` for the row of all of them."""
    kind, name = row.get("Type", ""), row.get("Name", "")
    if name in _AGGREGATED and kind in ("", "None"):
        return ALL
    return plain_name(f"{kind} {name}") or "unnamed"


def _of_row(row: Mapping[str, str], count: int, mean: float, line: int, belonging: Belonging) -> Iterator[Observation]:
    name = _transaction(row)
    failed = whole(row.get("Failure Count"))
    noted = (Caution.of("failed-included", failed=failed),) if failed else ()
    if not count:
        return
    quantiles = {
        round(float(key[:-1]) / 100, 9): value
        for key, text in row.items()
        if key.endswith("%") and number(key[:-1]) is not None and (value := number(text)) is not None and value >= 0
    }
    kept = {share: value for share, value in sorted(quantiles.items()) if 0 < share < 1}
    if mean > 0:
        rounding = half_unit(row["Average Response Time"])
        yield Summary(
            belonging.response_times(name), belonging.origin(line, *noted), count, mean, None, kept, rounding=rounding
        )
    printed = row.get("Requests/s", "")
    rate = number(printed)
    if rate is not None and rate > 0:
        yield Figure(belonging.throughput(name), belonging.origin(line, *noted), rate, rounding=half_unit(printed))
