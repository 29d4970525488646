"""YCSB: its output as text or JSON, its status lines, and single operations (``measurementtype=raw``).

As ``TextMeasurementsExporter``, the two JSON exporters, ``StatusThread`` and ``OneMeasurementRaw`` of YCSB 0.17 write
them, one run after the other. Times are in microseconds, of each type of operation; throughput is of all. Of the types
only ``measurementtype=histogram`` prints a variance, and only raw data are single response times. Operations that
failed (``READ-FAILED``) are counted, and are in no figure.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise

from tdelta.errors import ImportFault
from tdelta.importers.faults import LARGEST_JSON_BYTES, Problems, half_unit, number, plain_name, shown, whole
from tdelta.importers.importer import Belonging, Importer
from tdelta.importers.reading import Source, head_lines, printable
from tdelta.importers.samples import LONGEST_MS, Requests, longest_stretch
from tdelta.inputs import missing, unexpected
from tdelta.messages import Caution, Refusal
from tdelta.records.conditions import Level
from tdelta.records.observed import Observation, Summary

MOST_READINGS = 1_000_000
MOST_OPERATIONS = 1000
_MEASURED = re.compile(r"\[([^\]\s]{1,100})\], ([^,]{1,100}), (\S{1,60})$")
_STATUS = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}) \d{1,9} sec: \d{1,18} operations; "
    r"(?P<rate>\d{1,15}(?:[.,]\d{1,9})?) current ops/sec;"
)
"""Java writes the rate with the decimal sign of its user's language."""
_STATUS_MARK = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3} \d{1,9} sec: \d{1,18} operations; ")
_RATE_OF_SOME_KIND = re.compile(r"operations; \S*\d\S* current ops/sec")
"""The first line of a run may have none: ``∞``, ``NaN``."""
_THREADS = re.compile(r"(?:^|\s)-threads (\d{1,6})(?:\s|$)")
_COMMAND = "Command line:"
_PROPERTIES = frozenset(
    (
        "recordcount", "operationcount", "insertstart", "insertcount", "fieldcount", "fieldlength", "minfieldlength",
        "fieldlengthdistribution", "readallfields", "writeallfields", "readproportion", "updateproportion",
        "insertproportion", "scanproportion", "readmodifywriteproportion", "requestdistribution", "insertorder",
        "minscanlength", "maxscanlength", "scanlengthdistribution", "hotspotdatafraction", "hotspotopnfraction",
        "workload",
    )
)  # fmt: skip
"""Of the properties in a command line, those of the load: others name the server, or how results are kept."""
_SHARE_STEP, _SHARE_SLACK = 0.05, 0.01
"""Shares of operations are what a workload asks for, up to chance: workloads ask for whole twentieths."""
_RAW_HEADER = re.compile(r"\S{1,100} latency raw data: op, timestamp\(ms\), latency\(us\)$")
_RAW_ROW = re.compile(r"(\S{1,100}),(\d{1,15}),(\d{1,12})$")
_WHOLE = "OVERALL"
_FAILED = "-FAILED"
_NO_OPERATIONS = re.compile(
    r"OVERALL|TOTAL_GC.*|CLEANUP|THREAD_COUNT|USED_MEM_MB|SYS_LOAD_AVG|GCS(?:_TIME)?|MAX_\w+|MIN_\w+"
)
_QUANTILE = re.compile(r"(\d{1,2}(?:\.\d{1,6})?)(?:th|st|nd|rd)?PercentileLatency\(us\)", re.ASCII)
_MS = 1e-3


class TextImporter(Importer):
    name = "YCSB"

    def recognizes(self, source: Source) -> bool:
        lines = [line.strip() for line in head_lines(source)]
        return any(map(self.is_mark, lines)) and not any(map(_RAW_HEADER.match, lines))

    def is_mark(self, line: str) -> bool:
        return line.startswith(f"[{_WHOLE}], ") or _STATUS_MARK.match(line) is not None

    def has_results(self, source: Source) -> bool:
        return any(self.is_mark(line.strip()) for _, line in source.text_lines())

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        yield from _observations(_runs(source, problems), belonging, problems)


class JsonImporter(Importer):
    """The output of its JSON exporters: an object a figure, in an array or one after the other."""

    name = "YCSB JSON"

    def recognizes(self, source: Source) -> bool:
        head = source.head_text
        return head.startswith(("{", "[")) and re.match(r"\[?\s*\{\s*\"metric\"\s*:\s*\"OVERALL\"", head) is not None

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        run = _Run()
        for metric, measurement, value in _entries(source, problems):
            run.take(metric, measurement, value, None, problems)
        yield from _observations(iter([run]), belonging, problems)


class RawImporter(Importer):
    """``measurementtype=raw``: a row an operation, beside whatever else was printed."""

    name = "YCSB raw"

    def recognizes(self, source: Source) -> bool:
        return any(_RAW_HEADER.match(line.strip()) for line in head_lines(source))

    def observations(self, source: Source, belonging: Belonging, _problems: Problems) -> Iterator[Observation]:
        requests = Requests(source.name, has_whole=False)
        for line, text in source.text_lines():
            row = _RAW_ROW.match(text)
            if row is None or _NO_OPERATIONS.fullmatch(row[1]):
                continue
            requests.span.take(int(row[2]) / 1e3)
            if row[1].endswith(_FAILED):
                requests.failed += 1
            else:
                requests.add(printable(row[1]), int(row[3]) * _MS, line)
        yield from requests.samples(belonging)


IMPORTERS: tuple[Importer, ...] = (TextImporter(), JsonImporter(), RawImporter())


@dataclass(slots=True)
class _Run:
    threads: int | None = None
    settings: dict[str, Level] = field(default_factory=dict)
    operations: dict[str, dict[str, tuple[str, int | None]]] = field(default_factory=dict)
    seconds: array[float] = field(default_factory=lambda: array("d"))
    rates: array[float] = field(default_factory=lambda: array("d"))

    @property
    def has_ended(self) -> bool:
        return _WHOLE in self.operations

    def take(self, operation: str, measurement: str, value: str, line: int | None, problems: Problems) -> None:
        if operation not in self.operations and len(self.operations) >= MOST_OPERATIONS:
            raise ImportFault(Refusal.of("groups-too-many", most=MOST_OPERATIONS, kind="operations").at(problems.file))
        figures = self.operations.setdefault(operation, {})
        if len(figures) < MOST_OPERATIONS or measurement in figures:  # histograms and time series have many more
            figures[measurement] = value, line

    def take_status(self, at: str, rate: str) -> None:
        """One status line. A moment that is none, or is not later, is left out."""
        try:
            moment = datetime.strptime(at, "%Y-%m-%d %H:%M:%S:%f").replace(tzinfo=UTC).timestamp()
        except ValueError:
            return
        if (not self.seconds or moment > self.seconds[-1]) and len(self.seconds) < MOST_READINGS:
            self.seconds.append(moment)
            self.rates.append(float(rate.replace(",", ".")))

    def _mix(self) -> dict[str, Level | None]:
        """The share of each operation, where all are near to what a workload asks for."""
        counts = {
            name: whole(figures.get("Operations", ("", None))[0]) or 0
            for name, figures in self.operations.items()
            if not _NO_OPERATIONS.fullmatch(name) and not name.endswith(_FAILED)
        }
        total = sum(counts.values())
        shares = {name: count / total for name, count in sorted(counts.items()) if count}
        rounded = {name: _SHARE_STEP * round(share / _SHARE_STEP) for name, share in shares.items()}
        is_near = all(abs(share - rounded[name]) <= _SHARE_SLACK for name, share in shares.items())
        words = ", ".join(f"{name} {100 * share:.0f}%" for name, share in rounded.items())
        return {"operations": ", ".join(shares) or None, "mix": words if is_near and words else None}

    def observations(self, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        own = belonging.with_level("threads", self.threads).with_settings(self.settings | self._mix())
        whole_run = self.operations.get(_WHOLE, {})
        printed, line = whole_run.get("Throughput(ops/sec)", ("", None))
        lasted = number(whole_run.get("RunTime(ms)", ("", None))[0])
        seconds = lasted / 1e3 if lasted else None
        if (number(printed) or 0.0) > 0:
            yield own.printed_rate(printed, line, seconds)
        elif printed:
            problems.add(unexpected("Throughput(ops/sec) above 0", shown(printed)), line)
        stretch = longest_stretch(self.seconds, self.rates) if self.seconds else None
        if stretch is not None:
            yield stretch.series(own.throughput(), own.origin(None, *stretch.notes), began=self.seconds[0])
        for operation, figures in self.operations.items():
            if _NO_OPERATIONS.fullmatch(operation) or operation.endswith(_FAILED):
                continue
            failed = whole(self.operations.get(operation + _FAILED, {}).get("Operations", ("0", None))[0]) or 0
            noted = (Caution.of("failed-transactions", transactions=float(failed)),) if failed else ()
            yield from _summary(operation, figures, own.noting(*noted), seconds, problems)


def _settings_of(command: str) -> dict[str, Level]:
    words = command.removeprefix(_COMMAND).split()
    found: dict[str, Level] = {"phase": "load" if "-load" in words else "run"} if words else {}
    for option, value in pairwise(words):
        if option == "-P":
            files = f"{found.get('workload file', '')} {value.rpartition('/')[2]}"
            found["workload file"] = files.strip()
        elif option == "-target":
            found["target"] = value
        elif option == "-p" and value.partition("=")[0] in _PROPERTIES:
            found[value.partition("=")[0]] = value.partition("=")[2]
    return found


def _summary(
    operation: str,
    figures: dict[str, tuple[str, int | None]],
    belonging: Belonging,
    seconds: float | None,
    problems: Problems,
) -> Iterator[Summary]:
    """One type of operation; one that never ran has none."""
    printed, line = figures.get("AverageLatency(us)", ("nothing", None))
    count = whole(figures.get("Operations", ("nothing", None))[0])
    mean = number(printed)
    if count == 0 or printed == "NaN":
        return
    name = plain_name(operation)
    if count is None or mean is None or not 0 <= mean * _MS <= LONGEST_MS or name is None:
        problems.add(unexpected(f"Operations and AverageLatency(us) of {shown(operation)}", shown(printed)), line)
        return
    if mean == 0:
        return
    variance = number(figures.get("LatencyVariance(us)", ("", None))[0])
    sd = None
    if variance is not None and variance > 0 and count > 1:  # of the population
        sd = math.sqrt(variance * count / (count - 1)) * _MS
    found = {
        round(float(match[1]) / 100, 9): value * _MS
        for key, (text, _) in figures.items()
        if (match := _QUANTILE.fullmatch(key)) and (value := number(text)) is not None and value >= 0
    }
    quantiles = {share: value for share, value in sorted(found.items()) if 0 < share < 1}
    yield Summary(
        belonging.response_times(name),
        belonging.origin(line),
        count,
        mean * _MS,
        sd,
        quantiles,
        rounding=half_unit(printed) * _MS,
        duration_seconds=seconds,
    )


def _observations(runs: Iterator[_Run], belonging: Belonging, problems: Problems) -> Iterator[Observation]:
    seen: dict[object, int] = {}
    found = False
    for run in runs:
        seen[run.threads] = position = seen.get(run.threads, 0) + 1
        for one in run.observations(belonging.of_run(position, position), problems):
            found = True
            yield one
    if not found and not problems:
        problems.add(missing("'[OVERALL], Throughput(ops/sec), …' of YCSB"))


def _runs(source: Source, problems: Problems) -> Iterator[_Run]:
    """A run ends where the next one's figures of the whole, its status lines or its command line begin."""
    run = _Run()
    for line, text in source.text_lines():
        stripped = text.strip()
        measured = _MEASURED.match(stripped)
        status = _STATUS.match(stripped)
        is_command = stripped.startswith(_COMMAND)
        threads = _THREADS.search(stripped) if is_command else None
        is_again = measured and measured[1] == _WHOLE and measured[2] in run.operations.get(_WHOLE, {})
        begins = is_again or status or is_command
        if begins and run.has_ended:
            yield run
            run = _Run()
        if measured:
            run.take(measured[1], measured[2], measured[3], line, problems)
        elif status:
            run.take_status(status["at"], status["rate"])
        elif _STATUS_MARK.match(stripped) and _RATE_OF_SOME_KIND.search(stripped):
            problems.add(unexpected("a rate such as 5140.26 before 'current ops/sec'", shown(stripped)), line)
        elif is_command:
            run.threads = int(threads[1]) or None if threads else None
            run.settings = _settings_of(stripped)
    yield run


def _entries(source: Source, problems: Problems) -> Iterator[tuple[str, str, str]]:
    decoder = json.JSONDecoder()
    try:
        text = source.content(LARGEST_JSON_BYTES).decode("utf-8-sig").strip()
        position = 0
        while position < len(text):
            found, position = decoder.raw_decode(text, position)
            while position < len(text) and text[position] in " \r\n\t":
                position += 1
            for entry in found if isinstance(found, list) else [found]:
                fields = (
                    [entry.get(key) for key in ("metric", "measurement", "value")] if isinstance(entry, dict) else []
                )
                if len(fields) != 3 or not isinstance(fields[0], str) or not isinstance(fields[1], str):
                    problems.add(unexpected("metric, measurement and value", shown(entry)))
                    continue
                yield fields[0], fields[1], "NaN" if fields[2] is None else str(fields[2])
    except UnicodeDecodeError as error:
        problems.add(unexpected("UTF-8", f"the byte {error.object[error.start]:#04x}"))
    except json.JSONDecodeError as error:
        problems.add(Refusal.of("invalid", kind="JSON", fault=error.msg), error.lineno)
    except (ValueError, RecursionError):
        problems.add(Refusal.of("invalid", kind="JSON", fault="a number or a nesting that is too long"))
