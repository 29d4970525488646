"""wrk's output (versions 3 and 4, and wrk2): mean and deviation of latency, percentiles, requests a second.

As ``wrk.c`` prints it, one run after the other in one file. wrk adds latencies for requests that a stall kept from
being sent (``stats_correct``): they are in its mean, and that is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tdelta.errors import ImportFault
from tdelta.importers.csv_columns import TIMES_MS
from tdelta.importers.faults import Problems, half_unit, shown
from tdelta.importers.importer import Belonging, Importer
from tdelta.importers.reading import Source, head_lines
from tdelta.importers.samples import LONGEST_MS
from tdelta.inputs import missing, out_of_range, too_many
from tdelta.messages import Caution
from tdelta.records.conditions import Level
from tdelta.records.observed import Observation, Summary

MOST_RUNS = 1000
_NUMBER = r"(\d{1,12}(?:\.\d{1,6})?)"
_TIME = rf"{_NUMBER}(us|ms|s|m|h)"
_BEGIN = re.compile(rf"Running {_TIME} test @ (?:\w{{1,10}}://)?[^\s/]{{1,200}}(/\S{{0,200}}|)")
"""With the path, without the server, which is another for each condition."""
_CONNECTIONS = re.compile(r"(\d{1,7}) threads and (\d{1,9}) connections")
_LATENCY = re.compile(rf"Latency\s+{_TIME}\s+{_TIME}\s+{_TIME}\s+{_NUMBER}%")
_PERCENTILE = re.compile(rf"{_NUMBER}%\s+{_TIME}$")
_REQUESTS = re.compile(rf"(\d{{1,15}}) requests in {_TIME}, ")
_RATE = re.compile(rf"Requests/sec:\s+{_NUMBER}$")
_ERRORS = re.compile(r"Non-2xx or 3xx responses: (\d{1,15})$")
_SOCKETS = re.compile(r"Socket errors: connect (\d{1,15}), read (\d{1,15}), write (\d{1,15}), timeout (\d{1,15})$")
_MS = {**TIMES_MS, "m": 6e4, "h": 3.6e6}


class Wrk(Importer):
    name = "wrk"

    def recognizes(self, source: Source) -> bool:
        return any(self.is_mark(line.strip()) for line in head_lines(source))

    def is_mark(self, line: str) -> bool:
        return _BEGIN.match(line) is not None

    def has_results(self, source: Source) -> bool:
        return any(_RATE.match(line.strip()) for _, line in source.text_lines())

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        seen: dict[object, int] = {}
        for run in _runs(source, problems):
            key = run.connections
            seen[key] = number = seen.get(key, 0) + 1
            yield from run.observations(belonging.of_run(number, number))
        if not seen and not problems:
            problems.add(missing("'Latency …' and 'Requests/sec: …' of wrk"))


IMPORTERS: tuple[Importer, ...] = (Wrk(),)


@dataclass(slots=True)
class _Run:
    """One run so far; times in ms, with how far off they may be."""

    connections: int | None = None
    settings: dict[str, Level] = field(default_factory=dict)
    mean: tuple[float, float] | None = None
    sd: float = 0.0
    quantiles: dict[float, float] = field(default_factory=dict)
    requests: int = 0
    seconds: float | None = None
    errors: int = 0
    unanswered: int = 0
    rate: str = ""

    def take(self, line: str) -> None:
        if match := _LATENCY.match(line):
            self.mean = float(match[1]) * _MS[match[2]], half_unit(match[1]) * _MS[match[2]]
            self.sd = float(match[3]) * _MS[match[4]]
        elif match := _PERCENTILE.match(line):
            share = round(float(match[1]) / 100, 9)
            if 0 < share < 1 and len(self.quantiles) < 100:
                self.quantiles[share] = float(match[2]) * _MS[match[3]]
        elif match := _CONNECTIONS.match(line):
            self.settings["threads"], self.connections = int(match[1]), int(match[2]) or None
        elif match := _REQUESTS.match(line):
            self.requests, self.seconds = int(match[1]), float(match[2]) * _MS[match[3]] / 1e3
        elif match := _ERRORS.match(line):
            self.errors = int(match[1])
        elif match := _SOCKETS.match(line):
            self.unanswered = sum(map(int, match.groups()))
        elif match := _RATE.match(line):
            self.rate = match[1]

    def observations(self, belonging: Belonging) -> Iterator[Observation]:
        own = belonging.with_level("connections", self.connections).noting(*self._cautions())
        own = own.with_settings(self.settings)
        if self.mean is not None and self.requests:
            mean, rounding = self.mean
            if max(mean, self.sd) > LONGEST_MS:
                raise ImportFault(
                    out_of_range("the latency", f"at most {LONGEST_MS:g} ms", shown(f"{mean:g}"), belonging.file)
                )
            yield Summary(
                own.response_times(),
                own.origin(None, Caution.of("times-corrected")),
                self.requests,
                mean,
                self.sd,
                self.quantiles,
                rounding=rounding,
                duration_seconds=self.seconds,
            )
        yield own.printed_rate(self.rate, seconds=self.seconds)

    def _cautions(self) -> Iterator[Caution]:
        if self.errors:
            yield Caution.of("failed-included", failed=self.errors)
        if self.unanswered:
            yield Caution.of("without-response", requests=self.unanswered)


def _runs(source: Source, problems: Problems) -> Iterator[_Run]:
    """Runs that ended. One that did not is a fault: its figures stand below the others'."""
    run: _Run | None = None
    began = ended = 0
    for number, text in source.text_lines():
        line = text.strip()
        if begin := _BEGIN.match(line):
            if run is not None:
                problems.add(missing("'Requests/sec: …' at the end of this run"), began)
            run, began = _Run(), number
            run.settings["path"] = begin[3] or "/"
        elif run is not None:
            run.take(line)
            if run.rate:
                ended += 1
                if ended > MOST_RUNS:
                    problems.add(too_many("runs in one file", MOST_RUNS), number)
                    return
                yield run
                run = None
    if run is not None:
        problems.add(missing("'Requests/sec: …' at the end of this run"), began)
