"""What HammerDB prints: console logs, ``jobs ID result``, ``timing`` and ``tcount`` as JSON, ``jobs ID summaryjson``.

People keep them in files of their own, or one behind the other in the log of a script: lines and JSON objects are taken
wherever they stand. The k-th result, the k-th timing and the k-th counter belong to the k-th run of the file. All else
is passed over, as a console says much.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from tdelta.importers.hammerdb.figures import (
    FIELDS,
    Result,
    counter_series,
    procedures,
    result_in,
    settings_in,
    throughput,
    timestamp,
    users_in,
)
from tdelta.importers.importer import Belonging, Importer
from tdelta.importers.problems import Problems, number, shown, whole
from tdelta.importers.reading import Source
from tdelta.inputs import missing, too_many, unexpected
from tdelta.messages import Caution, Refusal
from tdelta.records.conditions import Level
from tdelta.records.observed import Observation

# HammerDB's time profile, ``hdbxtprofile.log``: the times of the five procedures, of each virtual user and of all.
#
# HammerDB appends: a file may hold several reports, each a run. Only the summary of all virtual users is taken.

MOST_REPORTS = 1000
MOST_PROCEDURES = 100

_SIGNS_OF_PROFILE = re.compile(
    r"Hammerdb Time Profile Report @|^>>>>> (?:VIRTUAL USER \d|SUMMARY OF \d|PROC: )", re.MULTILINE | re.ASCII
)
_SUMMARY = re.compile(r">>>>> SUMMARY OF (\d{1,6}) ACTIVE VIRTUAL USERS", re.ASCII)
_PROCEDURE = re.compile(r">>>>> PROC: (\S{1,60})")
_FIELD = re.compile(r"([A-Z]{1,5}\d{0,2}): (\S{1,60})", re.ASCII)
_UNITS = {"MIN": "min_ms", "AVG": "avg_ms", "MAX": "max_ms", "TOTAL": "total_ms"}


def is_time_profile(head: str) -> bool:
    return _SIGNS_OF_PROFILE.search(head) is not None


@dataclass(slots=True)
class _Report:
    line: int
    users: int
    rows: dict[str, dict[str, object]] = field(default_factory=dict)


class TimeProfileImporter(Importer):
    name = "HammerDB profile"

    def recognizes(self, source: Source) -> bool:
        return is_time_profile(source.head.decode("utf-8", errors="replace"))

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        reports = _reports(source, problems)
        for position, report in enumerate(reports, 1):
            if not report.rows:
                problems.add(missing("the list of procedures after the summary"), report.line)
            of_run = belonging.of_run(position, len(reports)).with_level("threads", report.users or None)
            yield from procedures(report.rows, of_run, report.line, problems)
        if not reports:
            problems.add(missing("'>>>>> SUMMARY OF … ACTIVE VIRTUAL USERS'"))


def _reports(source: Source, problems: Problems) -> list[_Report]:
    """The summaries of a file; what is of a single virtual user is passed over."""
    reports: list[_Report] = []
    row: dict[str, object] | None = None
    is_summary = False
    for line, text in source.text_lines():
        if match := _SUMMARY.search(text):
            if len(reports) == MOST_REPORTS:
                problems.add(too_many("reports in one file", MOST_REPORTS), line)
                return reports
            reports.append(_Report(line, int(match[1])))
            is_summary, row = True, None
        elif text.startswith(">>>>> VIRTUAL USER") or "Time Profile Report @" in text:
            is_summary, row = False, None
        elif is_summary and (match := _PROCEDURE.search(text)):
            row = _new_row(match[1], reports[-1], line, problems)
        elif row is not None:
            row.update(_fields(text))
    return reports


def _new_row(name: str, report: _Report, line: int, problems: Problems) -> dict[str, object] | None:
    if name in report.rows or len(report.rows) == MOST_PROCEDURES:
        problems.add(Refusal.of("twice", what=f"procedure {shown(name)}, one of at most {MOST_PROCEDURES},"), line)
        return None
    return report.rows.setdefault(name, {})


def _fields(text: str) -> Iterator[tuple[str, object]]:
    """``MIN: 1.251ms`` as the jobs database would name it; a unit that is not ms leaves no number behind."""
    for name, value in _FIELD.findall(text):
        figure = value.removesuffix("%" if name == "RATIO" else "ms")
        if name == "CALLS":
            yield "calls", whole(figure)
        elif name in ("SD", "RATIO"):
            yield {"SD": "sd", "RATIO": "ratio_pct"}[name], figure
        else:
            yield _UNITS.get(name, f"{name.lower()}_ms"), figure


LONGEST_OBJECT = 4 * 1024 * 1024  # characters of one JSON object: a counter reading every ten seconds for months
MOST_OF_A_KIND = 1000
MOST_READINGS = 400_000  # of all counters of a file
_MOST_PROCEDURES = 100

_SIGNS = re.compile(
    r'TEST RESULT : System achieved|"ratio_pct"\s*:|"[\w ]{1,40} tpm"\s*:\s*[{\[]|"hammerdb-job-report-v'
    r"|^HammerDB CLI v\d|^Hammerdb Log @|^Vuser \d+:",
    re.MULTILINE | re.ASCII,
)
_ANSWER = re.compile(r'"(?:elapsed_ms|ratio_pct)"\s*:|"[\w ]{1,40} tpm"\s*:|"hammerdb-job-report-v', re.ASCII)
"""What only an object of ``jobs`` has, even if it is broken."""

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]')
_REMEDY = "print them again (jobs format JSON; jobs ID result, timing or tcount)"


@dataclass(slots=True)
class _Contents:
    results: list[tuple[int, Result, int | None]] = field(default_factory=list)
    settings: list[Mapping[str, Level]] = field(default_factory=list)  # of the test of each result
    seen: set[Result] = field(default_factory=set)
    timings: list[tuple[int, Mapping[str, Mapping[str, object]]]] = field(default_factory=list)
    counters: list[tuple[int, list[tuple[datetime, float]]]] = field(default_factory=list)

    @property
    def runs(self) -> int:
        return max(len(self.results), len(self.timings), len(self.counters))

    @property
    def readings(self) -> int:
        return sum(len(readings) for _, readings in self.counters)

    def users_of(self, run: int) -> int | None:
        return self.results[run][2] if run < len(self.results) else None


class JobsOutputImporter(Importer):
    name = "HammerDB jobs"

    def recognizes(self, source: Source) -> bool:
        head = source.head.decode("utf-8", errors="replace")
        return _SIGNS.search(head) is not None and not is_time_profile(head) and "\0" not in head

    def is_mark(self, line: str) -> bool:
        return "TEST RESULT : System achieved" in line

    def has_results(self, source: Source) -> bool:
        """Whether there is a result, or an answer of ``jobs``; the log of a build has neither."""
        return any(self.is_mark(line) or _ANSWER.search(line) for _, line in source.text_lines())

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        found = _Contents()
        users: int | None = None
        settings: Mapping[str, Level] = {}
        objects = _Objects(problems)
        for line, text in source.text_lines():
            users, settings = users_in(text, users), settings_in(text, settings)
            if "TEST RESULT :" in text:
                _take_result(line, text, users, found, problems)
                found.settings += [settings] * (len(found.results) - len(found.settings))
            complete = objects.add(line, text)
            if complete is not None:
                _take_object(*complete, found, problems)
        objects.end()
        yield from _observations(found, belonging, problems)
        if not problems and not found.runs:
            problems.add(Refusal.of("no-test-result"))


class _Objects:
    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._lines: list[str] = []
        self._begins_at = 0
        self._depth = 0
        self._length = 0

    def add(self, line: int, text: str) -> tuple[int, object] | None:
        """The next line; the object that ends with it and the line it began on."""
        stripped = text.strip()
        if self._depth and stripped == "{":  # no object has such a line inside: the one before was cut off
            self._refuse("another one before its end")
        if not self._depth:
            if not stripped.startswith("{"):
                return None
            self._lines, self._begins_at, self._length = [], line, 0
        self._lines.append(text)
        self._length += len(text)
        self._depth += sum({"{": 1, "}": -1}.get(token, 0) for token in _TOKENS.findall(text))
        if self._length > LONGEST_OBJECT:
            self._refuse("one that is too long")
        elif self._depth <= 0:
            return self._parsed()
        return None

    def end(self) -> None:
        if self._depth:
            self._refuse("the end of the file within it")

    def _parsed(self) -> tuple[int, object] | None:
        text = "\n".join(self._lines)
        self._lines, self._depth = [], 0
        try:
            return self._begins_at, json.loads(text)
        except (ValueError, RecursionError):
            self._note(text, "none")
            return None

    def _refuse(self, found: str) -> None:
        text = "\n".join(self._lines)
        self._lines, self._depth = [], 0
        self._note(text, found)

    def _note(self, text: str, found: str) -> None:
        """A console prints braces of many kinds: only what looks like an answer of ``jobs`` is missed."""
        if _ANSWER.search(text) is not None:
            self._problems.add(unexpected("a whole JSON object", found), self._begins_at)


def _take_result(line: int, text: str, users: int | None, found: _Contents, problems: Problems) -> None:
    result = result_in(text)
    if result is None:
        if "$" not in text:  # the script that prints it, printed
            problems.add(unexpected("System achieved N NOPM from N TPM", shown(text.strip())), line)
    elif result in found.seen:
        return  # the console said it, and the listing of jobs behind it says it again
    elif len(found.results) < MOST_OF_A_KIND:
        found.seen.add(result)
        found.results.append((line, result, users))
    else:
        problems.add(too_many("results in one file", MOST_OF_A_KIND), line)


def _take_object(line: int, document: object, found: _Contents, problems: Problems) -> None:
    if not isinstance(document, dict) or not document:
        return
    if found.runs >= MOST_OF_A_KIND or found.readings > MOST_READINGS:
        problems.add(too_many(f"runs of {MOST_READINGS} readings each", MOST_OF_A_KIND), line)
    elif str(document.get("schema")).startswith("hammerdb-job-report-v"):
        _take_report(line, document, found, problems)
    elif all(isinstance(fields, dict) and "avg_ms" in fields for fields in document.values()):
        found.timings.append((line, _rows(document, line, problems)))
    else:
        for key, readings in document.items():
            if key.lower().endswith(" tpm") and isinstance(readings, dict):
                found.counters.append((line, _readings(list(readings.items()), line, problems)))


def _take_report(line: int, document: Mapping[str, object], found: _Contents, problems: Problems) -> None:
    """``jobs ID summaryjson`` (``hammerdb-job-report-v1``, 2026): all of one run, numbers as numbers."""
    result, times, counter = (_object(document.get(key)) for key in ("result", "response_times", "transaction_count"))
    nopm, tpm = whole(result.get("nopm")), whole(result.get("tpm"))
    if nopm is not None and tpm is not None:
        found.results.append((line, Result(nopm, tpm), whole(result.get("active_virtual_users")) or None))
    else:
        problems.add(unexpected("nopm and tpm", shown(document.get("result"))), line)
    rows = [row for row in _list(times.get("rows")) if isinstance(row, dict)]
    if rows:
        found.timings.append((line, _rows({str(row.get("name")): row for row in rows}, line, problems)))
    for series in _list(counter.get("series")):
        points = [point for point in _list(_object(series).get("points")) if isinstance(point, dict)]
        if points and _object(series).get("metric") == "tpm":
            pairs = [(point.get("timestamp"), point.get("value")) for point in points]
            found.counters.append((line, _readings(pairs, line, problems)))


def _rows(document: Mapping[str, object], line: int, problems: Problems) -> dict[str, dict[str, object]]:
    """The procedures of a timing, without what a stranger may have put beside their figures."""
    if len(document) > _MOST_PROCEDURES:
        problems.add(too_many("procedures", _MOST_PROCEDURES), line)
        return {}
    return {
        name: {key: _short(value) for key, value in fields.items() if key in FIELDS}
        for name, fields in document.items()
        if isinstance(fields, dict)
    }


def _short(value: object) -> object:
    if isinstance(value, str):
        return value[:60]
    return value if isinstance(value, int | float) else None


def _readings(pairs: list[tuple[object, object]], line: int, problems: Problems) -> list[tuple[datetime, float]]:
    """Time and count. Newer ones write ``time: count``; older ones ``count: time``, which loses equal readings."""
    readings = []
    for first, second in pairs:
        at = timestamp(first)
        count = number(second)
        if at is None:
            at, count = timestamp(second), number(first)
        if at is None or count is None or count < 0:
            problems.add(unexpected("a time and a count", shown(f"{first}: {second}"[:100])), line)
        else:
            readings.append((at, count))
    return readings


def _observations(found: _Contents, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
    for run in range(found.runs):
        of_run = belonging.of_run(run + 1, found.runs).with_level("threads", found.users_of(run))
        of_run = of_run.with_settings(found.settings[run] if run < len(found.settings) else {})
        if run < len(found.results):
            line, result, _ = found.results[run]
            yield from throughput(result, of_run, line)
        if run < len(found.counters):
            line, readings = found.counters[run]
            noted = () if run < len(found.results) else (Caution.of("ramp-up-included"),)
            yield from counter_series(readings, of_run, line, *noted)
        if run < len(found.timings):
            line, rows = found.timings[run]
            yield from procedures(rows, of_run, line, problems)


def _object(found: object) -> Mapping[str, object]:
    return found if isinstance(found, dict) else {}


def _list(found: object) -> list[object]:
    return found if isinstance(found, list) else []
