"""HammerDB's TPROC-C results: logs, and what ``jobs ID`` prints: ``result``, ``timing``, ``tcount``, ``summaryjson``.

People keep them in files of their own, or one behind the other in the log of a script: lines and JSON objects are taken
wherever they stand. The k-th result, the k-th timing and the k-th counter belong to the k-th run of the file: NOPM and
TPM as throughput a second, the transaction counter as a series of it, the five procedures as summaries. All else is
passed over, as a console says much.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tdelta.importers.accumulating import Printed, is_possible, sd_limits
from tdelta.importers.importer import Belonging, Importer
from tdelta.importers.intervals import longest_stretch
from tdelta.importers.problems import Problems, half_unit, number, plain_name, shown, whole
from tdelta.importers.reading import Source
from tdelta.inputs import out_of_range, too_many, unexpected
from tdelta.messages import Caution, Refusal
from tdelta.records.conditions import Level
from tdelta.records.observed import Figure, Observation, Series, Summary

NEW_ORDERS = "new orders"  # the transaction that NOPM counts; TPM counts all, as the database does
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
_MINUTE_SECONDS = 60.0
_OF_COUNT = 0.5 / _MINUTE_SECONDS  # how NOPM and TPM, whole numbers a minute, are rounded
_RESULT = re.compile(
    r"TEST RESULT : System achieved (?:(?P<nopm>\d{1,15}) NOPM from (?P<tpm>\d{1,15}) |"
    r"(?P<old_tpm>\d{1,15}) [^\"]{1,40}? TPM at (?P<old_nopm>\d{1,15}) NOPM)",
    re.ASCII,
)
_QUANTILES = {"p25_ms": 0.25, "p50_ms": 0.5, "p75_ms": 0.75, "p95_ms": 0.95, "p99_ms": 0.99}
_FIELDS = {"calls", "min_ms", "avg_ms", "max_ms", "total_ms", "elapsed_ms", "sd", "ratio_pct", *_QUANTILES}
_ROUNDING_MS = 0.001
_MS_PER_CLICK = (1e-7, 1e-2)
"""A click of Tcl's clock can be 0.1 ns to 10 µs. It is a microsecond on most machines."""
_ONE_USER = 0.02  # the ratio of one user's procedure is its share of the elapsed time, to this precision
_USERS = re.compile(r"(\d{1,6}) Active Virtual Users configured", re.ASCII)
_MINUTES = {
    "ramp-up, min": re.compile(r"Beginning rampup time of (\d{1,6}) min", re.ASCII),
    "measured, min": re.compile(r"Timing test period of (\d{1,6}) in min", re.ASCII),
}
"""The console's lines about a run before it begins."""


@dataclass(slots=True)
class _Contents:
    results: list[tuple[int, Result, int | None, Mapping[str, Level]]] = field(default_factory=list)
    seen: set[Result] = field(default_factory=set)
    timings: list[tuple[int, Mapping[str, Mapping[str, object]]]] = field(default_factory=list)
    counters: list[tuple[int, list[tuple[datetime, float]]]] = field(default_factory=list)

    @property
    def runs(self) -> int:
        return max(len(self.results), len(self.timings), len(self.counters))

    @property
    def readings(self) -> int:
        return sum(len(readings) for _, readings in self.counters)


class HammerDB(Importer):
    name = "HammerDB jobs"

    def recognizes(self, source: Source) -> bool:
        return _SIGNS.search(source.head_text) is not None and b"\0" not in source.head

    def is_mark(self, line: str) -> bool:
        return "TEST RESULT : System achieved" in line

    def has_results(self, source: Source) -> bool:
        """Whether there is a result, or an answer of ``jobs``; the log of a build has neither."""
        return any(self.is_mark(line) or _ANSWER.search(line) for _, line in source.text_lines())

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        found = _Contents()
        users: int | None = None
        settings: dict[str, Level] = {}
        objects = _Objects(problems)
        for line, text in source.text_lines():
            if match := _USERS.search(text):
                users = int(match[1]) or None
            settings = settings | {name: int(it[1]) for name, said in _MINUTES.items() if (it := said.search(text))}
            if "TEST RESULT :" in text:
                _take_result(line, text, users, settings, found, problems)
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


def _take_result(
    line: int, text: str, users: int | None, settings: Mapping[str, Level], found: _Contents, problems: Problems
) -> None:
    result = result_in(text)
    if result is None:
        if "$" not in text:  # the script that prints it, printed
            problems.add(unexpected("System achieved N NOPM from N TPM", shown(text.strip())), line)
    elif result in found.seen:
        return  # the console said it, and the listing of jobs behind it says it again
    elif len(found.results) < MOST_OF_A_KIND:
        found.seen.add(result)
        found.results.append((line, result, users, settings))
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
        found.results.append((line, Result(nopm, tpm), whole(result.get("active_virtual_users")) or None, {}))
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
        name: {key: _short(value) for key, value in fields.items() if key in _FIELDS}
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
        at = _timestamp(first)
        count = number(second)
        if at is None:
            at, count = _timestamp(second), number(first)
        if at is None or count is None or count < 0:
            problems.add(unexpected("a time and a count", shown(f"{first}: {second}"[:100])), line)
        else:
            readings.append((at, count))
    return readings


IMPORTERS: tuple[Importer, ...] = (HammerDB(),)


def _observations(found: _Contents, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
    for run in range(found.runs):
        of_run = belonging.of_run(run + 1, found.runs)
        if run < len(found.results):
            line, result, users, settings = found.results[run]
            of_run = of_run.with_level("threads", users).with_settings(settings)
            yield from _throughput(result, of_run, line)
        if run < len(found.counters):
            line, readings = found.counters[run]
            noted = () if run < len(found.results) else (Caution.of("ramp-up-included"),)
            yield from _counter_series(readings, of_run, line, *noted)
        if run < len(found.timings):
            line, rows = found.timings[run]
            yield from _procedures(rows, of_run, line, problems)


def _object(found: object) -> Mapping[str, object]:
    return found if isinstance(found, dict) else {}


def _list(found: object) -> list[object]:
    return found if isinstance(found, list) else []


@dataclass(frozen=True, slots=True)
class Result:
    nopm: int
    tpm: int


def result_in(text: str) -> Result | None:
    """The result in a line: ``128176 NOPM from 298394 MariaDB TPM``, or ``298394 MariaDB TPM at 128176 NOPM``."""
    found = _RESULT.search(text)
    if found is None:
        return None
    return Result(int(found["nopm"] or found["old_nopm"]), int(found["tpm"] or found["old_tpm"]))


def _throughput(result: Result, belonging: Belonging, line: int) -> Iterator[Figure]:
    """NOPM and TPM, a second. A counter that could not be read is 0, and is no figure."""
    if result.nopm:
        yield Figure(
            belonging.throughput(NEW_ORDERS), belonging.origin(line), result.nopm / _MINUTE_SECONDS, rounding=_OF_COUNT
        )
    if result.tpm:
        yield Figure(belonging.throughput(), belonging.origin(line), result.tpm / _MINUTE_SECONDS, rounding=_OF_COUNT)


def _counter_series(
    readings: Sequence[tuple[datetime, float]], belonging: Belonging, line: int, *cautions: Caution
) -> Iterator[Series]:
    """The transaction counter (a minute) as a series of transactions per second, unless it is too short."""
    in_order = sorted(readings)
    if not in_order:
        return
    begin = in_order[0][0]
    seconds = [(at - begin).total_seconds() for at, _ in in_order]
    stretch = longest_stretch(seconds, [count / _MINUTE_SECONDS for _, count in in_order])
    if stretch is not None:
        origin, began = belonging.origin(line, *cautions, *stretch.notes), begin.replace(tzinfo=UTC).timestamp()
        yield stretch.series(belonging.throughput(), origin, began=began, rounding=_OF_COUNT)


def _timestamp(found: object) -> datetime | None:
    """A time as HammerDB writes it, ``2026-05-20 07:23:06``; None for anything else."""
    try:
        return datetime.strptime(found.strip(), "%Y-%m-%d %H:%M:%S") if isinstance(found, str) else None
    except ValueError:
        return None


def _procedures(
    rows: Mapping[str, Mapping[str, object]], belonging: Belonging, line: int, problems: Problems
) -> Iterator[Observation]:
    """The times of procedures by their names at HammerDB, ``NEWORD``.

    Of each are given ``calls``, ``min_ms``, ``avg_ms``, ``max_ms``, ``p99_ms`` …, ``sd``: numbers, or strings of them.
    """
    for name, fields in rows.items():
        named = plain_name(name)
        if named is None:
            problems.add(unexpected("the name of a procedure", shown(name)), line)
            continue
        calls = whole(fields.get("calls"))
        mean, minimum, maximum = (number(fields.get(f"{key}_ms")) for key in ("avg", "min", "max"))
        if calls is None or mean is None or minimum is None or maximum is None or mean <= 0 or minimum < 0:
            found = {key: fields.get(key) for key in ("calls", "min_ms", "avg_ms", "max_ms")}
            problems.add(unexpected(f"calls, min, avg and max of {shown(name)} as numbers", shown(found)), line)
            continue
        quantiles = {
            share: value
            for key, share in _QUANTILES.items()
            if (value := number(fields.get(key))) is not None and value >= 0
        }
        printed = Printed(calls, mean, minimum, maximum, quantiles, _ROUNDING_MS)
        if calls and not printed.is_consistent:
            between = f"between min and max ({minimum} and {maximum})"
            problems.add(out_of_range(f"avg of {shown(name)}", between, mean), line)
        elif calls:
            sd, doubts = usable_sd(number(fields.get("sd")), printed)
            origin = belonging.origin(line, *doubts, *_one_user(fields))
            rounding = half_unit(str(fields.get("avg_ms")))
            yield Summary(belonging.response_times(named), origin, calls, mean, sd, quantiles, rounding=rounding)


def usable_sd(sd: float | None, printed: Printed) -> tuple[float | None, tuple[Caution, ...]]:
    """The standard deviation if it can only be in ms, and what must be said if it cannot, or need not, be.

    Until April 2026 HammerDB printed it in clicks of a clock, whose length it does not print. The other figures bound
    it: in clicks it is usually a thousand times too large, and told from ms beyond doubt.
    """
    if sd is None or sd <= 0 or printed.count < 3:  # HammerDB writes 0 for fewer than three calls
        return None, ()
    if not is_possible(sd, printed):
        said = f"a standard deviation of {sd:g} ms"
        return None, (Caution.of("not-used", what=said, why="probably clicks (HammerDB before April 2026)"),)
    smallest, largest = sd_limits(printed)
    shortest_click, longest_click = _MS_PER_CLICK
    if sd * longest_click >= smallest and sd * shortest_click <= largest:
        said = f"a standard deviation of {sd:g}"
        return None, (Caution.of("not-used", what=said, why="ms, or clicks (HammerDB before April 2026)"),)
    return sd, ()


def _one_user(fields: Mapping[str, object]) -> tuple[Caution, ...]:
    """Until HammerDB 5.0 the summary held the last virtual user's figures; its ratio shows it."""
    total, elapsed, ratio = (number(fields.get(key)) for key in ("total_ms", "elapsed_ms", "ratio_pct"))
    if not total or not elapsed or not ratio or abs(100 * total / elapsed / ratio - 1) > _ONE_USER:
        return ()
    return (Caution.of("of-one-user"),)
