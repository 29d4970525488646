"""BenchBase (and OLTP-Bench before it): single transactions, readings at intervals, the summary.

Its files are ``*.raw.csv``, ``*.samples.csv``, ``*.results.csv`` (also one for each transaction type) and
``*.summary.json``. What the tool did during its warm-up is in none of them: it records only while it measures. Columns
are found by their names, since forks add some and old versions lack some.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tdelta.importers.faults import Problems, half_unit, number, plain_name, shown, whole
from tdelta.importers.importer import Belonging, Importer, json_object
from tdelta.importers.reading import Source
from tdelta.importers.samples import Gathering, longest_stretch
from tdelta.inputs import missing, out_of_range, unexpected
from tdelta.messages import Caution
from tdelta.records.observed import ALL, Figure, Group, Observation, Summary

SUCCESSFUL = "successful"  # the transactions that goodput counts: those that were not aborted, rejected or failed
LARGEST_SUMMARY_BYTES = 4 * 1024 * 1024
MOST_READINGS = 2_000_000
OF_UNKNOWN_COUNT = Caution.of("count-unknown")
_LONGEST_US = 1e15
_LOWEST_EPOCH = 1e8
_RAW_HEADER = re.compile(r"^\s*transaction type[^,\n]*,[^\n]*\blatency ?\(", re.IGNORECASE)
_READINGS_HEADER = re.compile(r"^\s*time ?\(sec(?:onds)?\),[^\n]*\bthroughput ?\(req", re.IGNORECASE)
_UNITS_MS = {"microseconds": 0.001, "us": 0.001, "milliseconds": 1.0, "millisecond": 1.0, "ms": 1.0}
_UNIT = re.compile(r"\(([a-z]{2,12})\)")
_OF_TRANSACTION = re.compile(r"\.results\.(?P<name>[^.]{1,100})\.csv(?:\.gz)?$")
_SETTINGS = {"Benchmark Type": "benchmark", "scalefactor": "scale factor", "isolation": "isolation"}
"""Settings of the test, by their keys."""
_QUANTILES = {
    "25th percentile latency": 0.25,
    "median latency": 0.5,
    "75th percentile latency": 0.75,
    "90th percentile latency": 0.9,
    "95th percentile latency": 0.95,
    "99th percentile latency": 0.99,
}


class RawImporter(Importer):
    name = "BenchBase raw"

    def recognizes(self, source: Source) -> bool:
        return _RAW_HEADER.match(source.head_text) is not None

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        """The response times of each transaction type; where the load had phases, of each phase."""
        gathered: Gathering[tuple[str, str]] = Gathering(source.name, "transaction types and phases")
        layout: _RawLayout | None = None
        phases: set[str] = set()
        rows = 0
        first = last = ""
        for line, text in source.text_lines():
            if layout is None:
                layout = _raw_layout(text, line, problems)
                problems.raise_if_any()
            elif text:
                rows += _take(text, line, layout, gathered, phases, problems)
                first, last = first or text, text
        if not rows:
            problems.add(missing("a row of a transaction"))
        if len(phases) > 1:
            belonging = belonging.noting(Caution.of("phases", phases=len(phases)))
        if rows:
            began, lasted = _times_of(layout, first, last)
            for samples in gathered.samples(lambda key: _group(key, belonging, len(phases) > 1), belonging.origin()):
                yield replace(samples, started_unix_seconds=began, duration_seconds=lasted)


class ReadingsImporter(Importer):
    """``*.samples.csv`` and ``*.results.csv``: throughput and response times, a row an interval."""

    name = "BenchBase readings"

    def recognizes(self, source: Source) -> bool:
        return _READINGS_HEADER.match(source.head_text) is not None

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        readings = _read_readings(source, problems)
        match = _OF_TRANSACTION.search(source.path.name)
        transaction = plain_name(match["name"]) or ALL if match else ALL
        rates = longest_stretch(readings.seconds, readings.rates, readings.means_ms)
        if rates is not None:
            origin = belonging.origin(None, *rates.notes)
            yield rates.series(belonging.throughput(transaction), origin)
            if any(rates.means):
                yield rates.series_of_means(belonging.response_times(transaction), origin)
        if rates is None and not problems:
            problems.add(out_of_range("the number of readings at regular intervals", "5 or more", len(readings.rates)))


class SummaryImporter(Importer):
    name = "BenchBase summary"

    def recognizes(self, source: Source) -> bool:
        head = source.head_text
        return head.startswith("{") and ('"Latency Distribution"' in head or '"Goodput (requests' in head)

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        document = json_object(source, problems, LARGEST_SUMMARY_BYTES)
        problems.raise_if_any()
        terminals = whole(document.get("terminals"))
        own = belonging.with_level("threads", terminals or None).with_settings(
            {words: plain_name(str(document.get(key, ""))) for key, words in _SETTINGS.items()}
        )
        yield from _summary(document, own, problems)


IMPORTERS: tuple[Importer, ...] = (RawImporter(), ReadingsImporter(), SummaryImporter())


@dataclass(frozen=True, slots=True)
class _RawLayout:
    columns: int
    transaction: int
    latency: int
    phase: int | None
    start: int | None
    ms: float


@dataclass(slots=True)
class _Readings:
    seconds: list[float]
    rates: list[float]
    means_ms: list[float]


def _columns(header: str) -> list[str]:
    return [cell.strip().strip('"').lower() for cell in header.removeprefix("\ufeff").split(",")]


def _column(columns: Sequence[str], start: str) -> int | None:
    return next((index for index, name in enumerate(columns) if name.startswith(start)), None)


def _raw_layout(header: str, line: int, problems: Problems) -> _RawLayout | None:
    """The layout that a header names. Older rows lack the transaction's name: its number stands for it."""
    columns = _columns(header)
    latency = _column(columns, "latency")
    transaction = _column(columns, "transaction name")
    transaction = _column(columns, "transaction type") if transaction is None else transaction
    unit = _UNIT.search(columns[latency]) if latency is not None else None
    ms = _UNITS_MS.get(unit[1]) if unit else None
    if latency is None or transaction is None or ms is None:
        problems.add(unexpected("columns for transaction type and latency in microseconds", shown(header)), line)
        return None
    return _RawLayout(
        len(columns), transaction, latency, _column(columns, "phase id"), _column(columns, "start time"), ms
    )


def _times_of(layout: _RawLayout | None, first: str, last: str) -> tuple[float | None, float | None]:
    """When the first transaction began, and how long it was until the last one did; they are in seconds since 1970."""
    if layout is None or layout.start is None:
        return None, None
    found = [cells[layout.start] if len(cells := text.split(",")) == layout.columns else "" for text in (first, last)]
    began, ended = map(number, found)
    if began is None or ended is None or began < _LOWEST_EPOCH:
        return None, None
    return began, max(ended - began, 0.0)


def _take(
    text: str, line: int, layout: _RawLayout, gathered: Gathering[tuple[str, str]], phases: set[str], problems: Problems
) -> bool:
    cells = text.split(",")
    latency = cells[layout.latency].strip() if len(cells) == layout.columns else ""
    # isdecimal first: it is what ten million rows are
    us = float(latency) if latency.isascii() and latency.isdecimal() and len(latency) < 16 else number(latency)
    name = plain_name(cells[layout.transaction]) if us is not None else None
    phase = cells[layout.phase].strip() if us is not None and layout.phase is not None else ""
    if us is None or not 0 <= us <= _LONGEST_US or name is None or (phase and plain_name(phase) is None):
        problems.add(unexpected(f"{layout.columns} columns with a latency of 0 or more", shown(text)), line)
        return False
    phases.add(phase)
    gathered.add((name, phase), us * layout.ms, line)
    return True


def _group(key: tuple[str, str], belonging: Belonging, has_phases: bool) -> Group:
    name, phase = key
    return (belonging.with_level("phase", phase) if has_phases else belonging).response_times(name)


def _read_readings(source: Source, problems: Problems) -> _Readings:
    """All rows. An interval without requests has -1 for its latencies: 0 here."""
    readings = _Readings([], [], [])
    columns: list[str] = []
    seconds = rate = mean = 0
    ms = 1.0
    for line, text in source.text_lines():
        if not columns:
            columns = _columns(text)
            rate = _column(columns, "throughput") or 0
            mean = _column(columns, "average lat") or _column(columns, "avg_lat") or 0
            unit = _UNIT.search(columns[mean])
            ms = _UNITS_MS.get(unit[1], 0.0) if unit and mean else 0.0
            continue
        if not text:
            continue
        cells = text.split(",")
        values = [number(cells[index]) if len(cells) == len(columns) else None for index in (seconds, rate, mean)]
        if any(value is None for value in values) or len(readings.rates) == MOST_READINGS:
            problems.add(unexpected(f"{len(columns)} numbers of one interval", shown(text)), line)
            continue
        at, throughput, average = (value or 0.0 for value in values)
        readings.seconds.append(at)
        readings.rates.append(max(throughput, 0.0))
        readings.means_ms.append(max(average, 0.0) * ms)
    return readings


def _summary(document: Mapping[str, object], belonging: Belonging, problems: Problems) -> Iterator[Observation]:
    latencies = document.get("Latency Distribution")
    times: dict[str, float] = {}
    roundings: dict[str, float] = {}
    for key, value in latencies.items() if isinstance(latencies, dict) else ():
        unit = _UNIT.search(str(key).lower())
        us = number(value)
        if unit and unit[1] in _UNITS_MS and us is not None and us >= 0:
            times[str(key).lower().partition(" (")[0]] = us * _UNITS_MS[unit[1]]
            roundings[str(key).lower().partition(" (")[0]] = half_unit(str(value)) * _UNITS_MS[unit[1]]
    mean, rounding = times.get("average latency"), roundings.get("average latency", 0.0)
    count = whole(document.get("Measured Requests"))
    quantiles = {share: times[key] for key, share in _QUANTILES.items() if key in times}
    if latencies is not None and not mean:
        problems.add(unexpected("an average latency above 0 in Latency Distribution", shown(latencies)))
    elif mean and count:
        yield Summary(belonging.response_times(), belonging.origin(), count, mean, None, quantiles, rounding=rounding)
    elif mean:
        yield Figure(belonging.response_times(), belonging.origin(None, OF_UNKNOWN_COUNT), mean, rounding=rounding)
    rate = document.get("Throughput (requests/second)")
    if (number(rate) or 0.0) > 0:
        yield belonging.printed_rate(str(rate))
    elif rate is not None:
        problems.add(unexpected("Throughput (requests/second) above 0", shown(rate)))
    good = number(document.get("Goodput (requests/second)"))
    if good is not None and good > 0:
        yield Figure(belonging.throughput(SUCCESSFUL), belonging.origin(), good)
    if rate is None and not mean and not problems:
        problems.add(missing("Latency Distribution or Throughput (requests/second)"))
