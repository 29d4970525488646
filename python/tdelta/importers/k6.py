"""k6: single requests (``--out json=``, ``--out csv=``) and the summary at the end of a test.

As ``output/json``, ``output/csv`` and ``internal/js/summary`` of k6 0.49 to 2 write them. Of the metrics that a test
has, the duration of HTTP requests is the response time, else that of gRPC calls, else that of whole iterations, which
contain the script's own pauses: that is told. Requests whose response was not the expected one are left out.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tdelta.errors import ImportFault
from tdelta.importers.csv_columns import measure_of_unit
from tdelta.importers.faults import Problems, number, of_object, one_object, shown, whole
from tdelta.importers.importer import Belonging, Importer, Naming, belonging_of, json_object
from tdelta.importers.reading import Source, head_lines
from tdelta.importers.samples import Requests
from tdelta.inputs import unexpected
from tdelta.messages import Caution, Refusal
from tdelta.records.observed import RESPONSE_TIME, Figure, Observation, Summary

DURATIONS = ("http_req_duration", "grpc_req_duration", "iteration_duration")
"""Response times, in ms; the first that a file has is used."""
_COUNTS = {"http_req_duration": "http_reqs", "iteration_duration": "iterations"}
"""The counters of what the durations are of."""
_ITERATIONS = DURATIONS[-1]
_IN_MS = re.compile(r"(?:http_req|grpc_req|ws|browser|iteration|group)_\w+")
"""Metrics of k6 itself whose values are ms; a script's own may be anything."""
_EXPECTED = "{expected_response:true}"
_FAILED = "http_req_failed"
_HEAD = re.compile(r'\{"(?:metric|type|data)":')
_CSV_HEADER = "metric_name,timestamp,metric_value,"
_QUANTILE = re.compile(r"p\((\d{1,2}(?:\.\d{1,6})?)\)", re.ASCII)


class LinesImporter(Importer):
    name = "k6"
    has_columns = True

    def recognizes(self, source: Source) -> bool:
        return is_k6(next((line for line in head_lines(source) if line.strip()), ""))

    def points(self, reader: _Reader) -> Iterator[_Point]:
        return _points(reader)

    def read(self, source: Source, naming: Naming) -> Iterator[Observation]:
        reader = _Reader(source, naming, belonging_of(source, self.name, naming), Problems(source.name))
        yield from reader.observations(self.points(reader))


class RowsImporter(LinesImporter):
    name = "k6 CSV"

    def recognizes(self, source: Source) -> bool:
        return next(iter(head_lines(source)), "").startswith(_CSV_HEADER)

    def points(self, reader: _Reader) -> Iterator[_Point]:
        return _rows(reader)


class SummaryImporter(Importer):
    """The summary at the end: ``--summary-export``, or what ``handleSummary`` was given."""

    name = "k6 summary"
    has_columns = True

    def recognizes(self, source: Source) -> bool:
        head = source.head_text
        return (
            head.startswith("{")
            and '"metrics"' in head
            and not _HEAD.match(head)
            and any(f'"{name}"' in head for name in (*DURATIONS, "vus_max", "data_received"))
        )

    def read(self, source: Source, naming: Naming) -> Iterator[Observation]:
        belonging = belonging_of(source, self.name, naming)
        problems = Problems(source.name)
        document = json_object(source, problems)
        problems.raise_if_any()
        metrics = _metrics(document)
        users = metrics.get("vus_max", {})
        belonging = belonging.with_settings({"virtual users": whole(users.get("max", users.get("value")))})
        lasted = number(of_object(document, "state", "testRunDurationMs"))
        found = [*_summary(metrics, naming, belonging, problems), *_throughput(metrics, belonging)]
        for one in found:
            yield replace(one, duration_seconds=lasted / 1e3 if lasted and lasted > 0 else None)
        if not found and not problems:
            problems.add(
                unexpected(
                    "http_req_duration, grpc_req_duration, iteration_duration or --column METRIC",
                    ", ".join(map(shown, list(metrics)[:10])) or "none",
                )
            )
        problems.raise_if_any()


IMPORTERS: tuple[Importer, ...] = (LinesImporter(), RowsImporter(), SummaryImporter())


def is_k6(line: str) -> bool:
    if _HEAD.match(line) is None:
        return False
    found = one_object(line)
    return found is not None and found.get("type") in ("Metric", "Point") and isinstance(found.get("data"), dict)


@dataclass(frozen=True, slots=True)
class _Point:
    """One value of one metric: ``failed`` where k6 had not expected the response."""

    line: int
    metric: str
    value: float
    unix_seconds: float | None
    kind: str
    failed: bool


@dataclass(slots=True)
class _Reader:
    """Points gathered by metric; which of them is the response time, is known at the end."""

    source: Source
    naming: Naming
    belonging: Belonging
    problems: Problems
    cut_off: int | None = None

    def observations(self, points: Iterator[_Point]) -> Iterator[Observation]:
        found: dict[str, Requests] = {}
        scale = self._scale()
        for point in points:
            requests = found.setdefault(point.metric, Requests(self.source.name))
            if point.failed:
                requests.failed += 1
                continue
            requests.add(point.kind, point.value * scale, point.line)
            if point.unix_seconds is not None:
                requests.span.take(point.unix_seconds)
        self.problems.raise_if_any()
        metric = next((name for name in _wanted(self.naming) if name in found), None)
        if metric is None:
            raise ImportFault(
                Refusal.of(
                    "unknown", kind="metric", found=", ".join(_wanted(self.naming)), hint=" See --column METRIC."
                ).at(self.source.name)
            )
        noted = () if self.cut_off is None else (Caution.of("file-cut-off", line=self.cut_off),)
        yield from found[metric].samples(self.belonging.noting(*_of_iterations(metric), *noted))

    def _scale(self) -> float:
        """The factor that makes values ms. Raises ``ImportFault`` where the unit is not given."""
        column = self.naming.column
        if column is None or _IN_MS.fullmatch(column):
            return 1.0
        measure = measure_of_unit(self.naming.unit or "")
        if measure is None or measure.metric != RESPONSE_TIME:
            raise ImportFault(Refusal.of("metric-without-unit", metric=column).at(self.source.name))
        return measure.scale


def _wanted(naming: Naming) -> tuple[str, ...]:
    return DURATIONS if naming.column is None else (naming.column,)


def _of_iterations(metric: str) -> tuple[Caution, ...]:
    return (Caution.of("whole-iterations"),) if metric == _ITERATIONS else ()


def _points(reader: _Reader) -> Iterator[_Point]:
    """Points of the wanted metrics. Lines of others are not looked into; a last one that is none was cut off."""
    wanted, problems = _wanted(reader.naming), reader.problems
    marks = tuple(f'"{name}"' for name in wanted)
    doubtful: tuple[int, str] | None = None
    for line, text in reader.source.text_lines():
        if not text.strip():
            continue
        if doubtful is not None:
            _not_a_point(problems, *doubtful)
            doubtful = None
        if text.startswith("{") and text.endswith("}") and not any(mark in text for mark in marks):
            continue
        found = one_object(text)
        if found is None:
            doubtful = line, text
        elif found.get("type") == "Point" and found.get("metric") in wanted:
            yield from _point(found, line, problems)
    if doubtful is not None:
        reader.cut_off = doubtful[0]


def _not_a_point(problems: Problems, line: int, found: object) -> None:
    problems.add(unexpected("a k6 point with a number as its value", shown(found)), line)


def _point(found: Mapping[str, object], line: int, problems: Problems) -> Iterator[_Point]:
    value, tags = number(of_object(found, "data", "value")), of_object(found, "data", "tags")
    if value is None:
        _not_a_point(problems, line, of_object(found, "data"))
        return
    yield _Point(
        line,
        str(found["metric"]),
        value,
        _unix_seconds(of_object(found, "data", "time")),
        str(of_object(tags, "name") or ""),
        of_object(tags, "expected_response") == "false",
    )


def _unix_seconds(found: object) -> float | None:
    """An RFC 3339 moment, or seconds (or finer) since 1970."""
    value = number(found)
    if value is not None:
        while value > 1e11:  # ms, µs, ns
            value /= 1e3
        return value if value > 1e8 else None
    try:
        at = datetime.fromisoformat(str(found))
    except ValueError:
        return None
    return at.timestamp() if at.tzinfo is not None else None


def _rows(reader: _Reader) -> Iterator[_Point]:
    """Rows of the wanted metrics; a last one that is none was cut off."""
    lines = reader.source.text_lines()
    header = next(lines, (1, ""))[1].split(",")
    at = {name: header.index(name) for name in ("expected_response", "name") if name in header}
    marks = tuple(f"{name}," for name in _wanted(reader.naming))
    doubtful: tuple[int, str] | None = None
    for line, text in lines:
        if doubtful is not None:
            _not_a_point(reader.problems, *doubtful)
            doubtful = None
        if not text.startswith(marks):
            continue
        cells = _cells(text)
        value = number(cells[2]) if len(cells) == len(header) else None
        if value is None:
            doubtful = line, text
            continue
        expected = cells[at["expected_response"]] if "expected_response" in at else ""
        kind = cells[at["name"]] if "name" in at else ""
        yield _Point(line, cells[0], value, _unix_seconds(cells[1]), kind, expected == "false")
    if doubtful is not None:
        reader.cut_off = doubtful[0]


def _cells(text: str) -> Sequence[str]:
    try:
        return next(csv.reader([text]), [])
    except csv.Error:
        return ()


def _metrics(document: Mapping[str, object]) -> Mapping[str, Mapping[str, object]]:
    """Each metric's figures, in any of the layouts: ``values`` of it, or itself; a list of metrics with names."""
    found = document.get("metrics")
    if found is None:
        found = of_object(document, "results", "metrics")
    if isinstance(found, list):
        found = {str(of_object(it, "name")): it for it in found}
    metrics: dict[str, Mapping[str, object]] = {}
    for name, metric in found.items() if isinstance(found, dict) else ():
        values = of_object(metric, "values")
        figures = values if isinstance(values, dict) else metric
        if isinstance(figures, dict):
            metrics[str(name)] = figures
    return metrics


def _summary(
    metrics: Mapping[str, Mapping[str, object]], naming: Naming, belonging: Belonging, problems: Problems
) -> Iterator[Observation]:
    metric = next((name for name in _wanted(naming) if name in metrics), None)
    if metric is None:
        if naming.column is not None:
            problems.add(Refusal.of("unknown", kind="metric", found=naming.column, hint=" See --column METRIC."))
        return
    figures, count, noted = _of_successful(metric, metrics)
    mean = number(figures.get("avg"))
    if mean is None or mean < 0:
        problems.add(unexpected(f"avg of {metric}, a number of 0 or more", shown(figures.get("avg"))))
        return
    shares = {"med": 0.5} | {
        key: float(match[1]) / 100 for key in figures if (match := _QUANTILE.fullmatch(str(key))) is not None
    }
    quantiles = {
        share: value
        for key, share in sorted(shares.items(), key=lambda it: it[1])
        if 0 < share < 1 and (value := number(figures.get(key))) is not None and value >= 0
    }
    noted = (*noted, *_of_iterations(metric))
    if count:
        yield Summary(belonging.response_times(), belonging.origin(None, *noted), count, mean, None, quantiles)
    else:
        yield Figure(belonging.response_times(), belonging.origin(None, *noted, Caution.of("count-unknown")), mean)


def _of_successful(
    metric: str, metrics: Mapping[str, Mapping[str, object]]
) -> tuple[Mapping[str, object], int | None, tuple[Caution, ...]]:
    """The figures of requests that succeeded, how many they are, and what must be said where failed ones are in it."""
    figures = metrics[metric]
    count = whole(figures.get("count")) or whole(of_object(metrics.get(_COUNTS.get(metric, "")), "count"))
    failures = metrics.get(_FAILED, {})
    failed = whole(failures.get("passes")) if metric == DURATIONS[0] else None  # "failed" was true that often
    if not failed:
        return figures, count, ()
    expected = metrics.get(metric + _EXPECTED)
    if expected is not None and count is not None and count > failed:
        return expected, count - failed, (Caution.of("rows-failed", rows=failed),)
    return figures, count, (Caution.of("failed-included", failed=failed),)


def _throughput(metrics: Mapping[str, Mapping[str, object]], belonging: Belonging) -> Iterator[Figure]:
    for name in _COUNTS.values():
        rate = number(of_object(metrics.get(name), "rate"))
        if rate is not None and rate > 0:
            yield Figure(belonging.throughput(), belonging.origin(), rate)
            return
