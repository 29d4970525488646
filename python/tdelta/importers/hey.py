"""hey: its output, and its single requests (``hey -o csv``).

As ``report.go`` and ``print.go`` of hey 0.1.4 write them. Times of the report have four decimals of a second, which is
said with them. Its histogram has ten steps between the fastest and the slowest request: too coarse to be one. Requests
without a response have no time in either; responses of 400 and above are left out where they have a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tdelta.errors import ImportFault
from tdelta.importers.faults import Problems, half_unit, number, shown
from tdelta.importers.importer import Belonging, Importer
from tdelta.importers.reading import Source, head_lines
from tdelta.importers.samples import Requests
from tdelta.inputs import missing, unexpected
from tdelta.messages import Caution
from tdelta.records.observed import ALL, Observation, Summary

_HEADER = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset"
_FIRST_ERROR = 400
_NUMBER = r"(\d{1,12}(?:\.\d{1,6})?)"
_TOTAL = re.compile(rf"Total:\s+{_NUMBER} secs$")
_AVERAGE = re.compile(rf"Average:\s+{_NUMBER} secs$")
_RATE = re.compile(rf"Requests/sec:\s+{_NUMBER}$")
_QUANTILE = re.compile(rf"(\d{{1,2}})%+ in {_NUMBER} secs$")
_STATUS = re.compile(r"\[(\d{3})\]\s+(\d{1,15}) responses$")
_UNANSWERED = re.compile(r"\[(\d{1,15})\]\s+\S")
_ERRORS = "Error distribution:"
_MARKS = ("Response time histogram:", "Details (average, fastest, slowest):")


class ReportImporter(Importer):
    name = "hey"

    def recognizes(self, source: Source) -> bool:
        lines = [line.strip() for line in head_lines(source)]
        return any(mark in lines for mark in _MARKS) and any(map(_AVERAGE.match, lines))

    def observations(self, source: Source, belonging: Belonging, _problems: Problems) -> Iterator[Observation]:
        runs = 0
        report = _Report()
        for _, text in source.text_lines():
            line = text.strip()
            if line == "Summary:":
                if report.rate:
                    runs += 1
                    yield from report.observations(belonging.of_run(runs, runs))
                report = _Report()
            report.take(line)
        if report.rate:
            runs += 1
            yield from report.observations(belonging.of_run(runs, runs))
        if not runs:
            raise ImportFault(missing("'Average: …' and 'Requests/sec: …' of hey").at(source.name))


class RowsImporter(Importer):
    name = "hey CSV"

    def recognizes(self, source: Source) -> bool:
        return next(iter(head_lines(source)), "").strip() == _HEADER

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        requests = Requests(source.name)
        width = _HEADER.count(",") + 1
        for line, text in source.text_lines():
            if line == 1 or not text.strip():
                continue
            cells = text.split(",")
            seconds = number(cells[0]) if len(cells) == width else None
            status = number(cells[6]) if seconds is not None else None
            if seconds is None or seconds < 0 or status is None:
                problems.add(unexpected(f"{width} columns with a latency of 0 or more", shown(text)), line)
            elif status >= _FIRST_ERROR:
                requests.failed += 1
            else:
                requests.add(ALL, 1e3 * seconds, line)
        problems.raise_if_any()
        yield from requests.samples(belonging)


IMPORTERS: tuple[Importer, ...] = (ReportImporter(), RowsImporter())


@dataclass(slots=True)
class _Report:
    seconds: float | None = None
    average: str = ""
    rate: str = ""
    quantiles: dict[float, float] = field(default_factory=dict)
    responses: int = 0
    failed: int = 0
    unanswered: int = 0
    in_errors: bool = False

    def take(self, line: str) -> None:
        if line == _ERRORS:
            self.in_errors = True
        elif match := _STATUS.match(line):
            self.responses += int(match[2])
            self.failed += int(match[2]) if int(match[1]) >= _FIRST_ERROR else 0
        elif self.in_errors and (match := _UNANSWERED.match(line)):
            self.unanswered += int(match[1])
        elif match := _QUANTILE.match(line):
            share = int(match[1]) / 100
            if 0 < share < 1:
                self.quantiles[share] = 1e3 * float(match[2])
        elif (match := _AVERAGE.match(line)) and not self.average:
            self.average = match[1]
        elif match := _RATE.match(line):
            self.rate = match[1]
        elif match := _TOTAL.match(line):
            self.seconds = float(match[1])

    def observations(self, belonging: Belonging) -> Iterator[Observation]:
        own = belonging.noting(*self._cautions())
        if self.average and self.responses:
            yield Summary(
                own.response_times(),
                own.origin(),
                self.responses,
                1e3 * float(self.average),
                None,
                self.quantiles,
                rounding=1e3 * half_unit(self.average),
                duration_seconds=self.seconds,
            )
        yield own.printed_rate(self.rate, seconds=self.seconds)

    def _cautions(self) -> Iterator[Caution]:
        if self.failed:
            yield Caution.of("failed-included", failed=self.failed)
        if self.unanswered:
            yield Caution.of("without-response", requests=self.unanswered)
