"""sysbench 0.4, 0.5, 1.0 and 1.1: what it prints, and the rows of its CSV hook; one run after the other in one file.

Layouts as its sources print them: ``db_driver.c`` and ``sysbench.c`` of 0.5 and 1.0, ``sb_histogram.c`` of 1.0,
``sysbench.lua`` of 1.1 (`report_csv`). Of a run there can be a throughput at each interval, a histogram, and a summary
without a standard deviation, whose mean is the exact sum over the exact count. What is left out is told: errors that
were ignored, a report that is missing, checkpoints.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator
from dataclasses import replace

from tdelta.errors import ImportFault
from tdelta.importers.faults import PRINTED, Problems, half_unit, place
from tdelta.importers.importer import Belonging, Importer
from tdelta.importers.reading import Source, excerpt, head_lines
from tdelta.importers.samples import LONGEST_MS, uneven_steps, usual_step
from tdelta.inputs import out_of_range, too_many, unexpected
from tdelta.messages import Caution, Refusal
from tdelta.records.conditions import Level
from tdelta.records.observed import THROUGHPUT, Binned, Bins, Figure, Group, Observation, Origin, Series, Summary

MOST_INTERVALS = 1_000_000  # eleven days of one second each
MOST_BARS = 4096
QUERIES = "queries"  # the transaction of throughput in queries a second; `all` is in transactions per second

_STEP = 1e8 ** (1 / 1023)
"""Between two values of the histogram: 1024 of them from 0.001 ms to 100 s (``sb_histogram_init``)."""
_ROUNDED = 0.0005
_WHOLE = 0.01  # how far a number of statements may be from a whole one: transactions that the end of the run cut off
_FACTS = {
    "transactions": re.compile(rf"transactions:\s+(\d{{1,18}})\s+\({PRINTED} per sec\.\)"),
    "ignored": re.compile(r"ignored errors:\s+(\d{1,18})"),
    "reconnects": re.compile(r"reconnects:\s+(\d{1,18})"),
    "read": re.compile(r"read:\s+(\d{1,18})$"),
    "write": re.compile(r"write:\s+(\d{1,18})$"),
    "eps": re.compile(rf"events/s \(eps\):\s+{PRINTED}"),
    "seconds": re.compile(rf"(?:total time|time elapsed):\s+{PRINTED}s"),
    "events": re.compile(r"total number of events:\s+(\d{1,18})$"),
    "sum_s": re.compile(rf"total time taken by event execution:\s+{PRINTED}s?$"),
    "avg": re.compile(rf"avg:\s+{PRINTED}(?:ms)?$"),
    "sum": re.compile(rf"sum:\s+{PRINTED}$"),
}
_PERCENTILE = re.compile(rf"(?:approx\.\s+)?(\d{{1,4}})(?:th|st|nd|rd)? percentile:\s+{PRINTED}(?:ms)?$")


class Run:
    def __init__(self) -> None:
        self.threads: int | None = None
        self.cautions: list[Caution] = []
        self.settings: dict[str, Level] = {}
        self.has_checkpoints = False
        self.rounding = 0.0
        """Of throughput in intervals."""
        self._seconds = array("d")
        self._transactions = array("d")
        self._queries = array("d")
        self._most_threads = 0
        self._bars: dict[float, int] = {}
        self._facts: dict[str, tuple[float, ...]] = {}
        self._roundings: dict[str, float] = {}
        """Of the last figure of each fact."""
        self._quantiles: dict[float, float] = {}
        self._in_report = False
        self._line: int | None = None

    @property
    def has_begun(self) -> bool:
        return bool(self._seconds or self._bars or self._in_report)

    @property
    def has_figures(self) -> bool:
        return bool(self._seconds or self._bars or "events" in self._facts or "transactions" in self._facts)

    @property
    def has_ended(self) -> bool:
        return "events" in self._facts and not self.has_checkpoints

    @property
    def last_second(self) -> float | None:
        return self._seconds[-1] if self._seconds else None

    def add_interval(
        self, line: int, file: str, seconds: float, threads: int, per_second: float, queries: float | None
    ) -> None:
        if len(self._seconds) >= MOST_INTERVALS:
            raise ImportFault(too_many("intervals in one run", MOST_INTERVALS, place(file, line)))
        self._seconds.append(seconds)
        self._transactions.append(per_second)
        self._queries.append(math.nan if queries is None else queries)
        self._most_threads = max(self._most_threads, threads)

    def add_bar(self, value_ms: float, count: int, line: int) -> None:
        """One more row of ``--histogram``; rows below 0.03 ms can be printed alike."""
        if count and len(self._bars) < MOST_BARS:
            self._bars[value_ms] = self._bars.get(value_ms, 0) + count
            self._line = self._line or line

    def start_report(self) -> None:
        self._in_report = True

    def take_report_line(self, line: int, text: str) -> None:
        if not self._in_report:
            return
        for name, pattern in _FACTS.items():
            if match := pattern.match(text):
                self._facts[name] = tuple(float(found) for found in match.groups())
                self._roundings[name] = half_unit(match.groups()[-1])
                self._line = line if name == "events" else self._line
                return
        if (match := _PERCENTILE.match(text)) and float(match[2]) <= LONGEST_MS:
            share = float(f"0.{match[1]}") if len(match[1]) > 1 else float(match[1]) / 100
            if 0 < share < 1 and match[1] != "100":
                self._quantiles[share] = float(match[2])

    def observations(self, belonging: Belonging) -> Iterator[Observation]:
        """Observations of the run, whose file and number among runs at as many threads are known.

        Raises `ImportFault`: figures of the report that contradict each other.
        """
        own = belonging.noting(*self.cautions).with_level("threads", self.threads or self._most_threads or None)
        own = own.with_settings(self.settings | self._statements())
        cautions = dict.fromkeys((*own.cautions, *self._left_out()))
        origin = replace(own, cautions=tuple(cautions)).origin()
        for one in self._all_of(own.response_times(), origin):
            yield replace(one, duration_seconds=self._lasted)

    def _all_of(self, timed: Group, origin: Origin) -> Iterator[Observation]:
        summary = None if self.has_checkpoints else self._summary(timed, origin)
        for transaction, values in (("all", self._transactions), (QUERIES, self._queries)):
            if values and not any(math.isnan(value) for value in values):
                yield self._series(_rate_of(timed, transaction), origin, values)
        if self._bars:
            yield Binned(timed, origin, _bins(self._bars))
        if summary is not None:
            yield summary
        if not self.has_checkpoints and (printed := self._per_second()) is not None:
            yield Figure(_rate_of(timed, "all"), origin, printed[0], rounding=printed[1])

    def _statements(self) -> dict[str, Level | None]:
        """Statements of a transaction: as many of a kind in each, unless some were repeated."""
        transactions, ignored = (self._facts.get(name, (0.0,))[0] for name in ("transactions", "ignored"))
        found: dict[str, Level | None] = {}
        for name in ("read", "write"):
            if name in self._facts and transactions:
                each = self._facts[name][0] / transactions
                is_whole = not ignored and abs(each - round(each)) < _WHOLE
                found[f"{name}s a transaction"] = round(each) if is_whole or not each else None
        if found and "write" in self._facts:
            kinds = [name for name in ("read", "write") if self._facts.get(name, (0.0,))[0]]
            found["statements"] = " and ".join(kinds) or None
        return found

    @property
    def _lasted(self) -> float | None:
        if "seconds" in self._facts and not self.has_checkpoints:
            return self._facts["seconds"][0]
        return self.last_second

    def _left_out(self) -> Iterator[Caution]:
        for name, words in (("ignored", "errors were ignored"), ("reconnects", "reconnects")):
            if count := self._facts.get(name, (0.0,))[0]:
                yield Caution.of("counted", count=count, what=words)
        if self.has_checkpoints:
            yield Caution.of("not-used", what="the totals", why="checkpoint reports reset them")
        elif "events" not in self._facts:
            yield Caution.of("report-missing", tool="sysbench")

    def _series(self, group: Group, origin: Origin, values: array[float]) -> Series:
        interval = usual_step(self._seconds, alone=self._seconds[0])
        noted = uneven_steps(self._seconds, interval, slack=0.5 * interval)
        origin = replace(origin, cautions=(*origin.cautions, *noted))
        start = max(0.0, self._seconds[0] - interval)
        return Series(group, origin, interval or 1.0, tuple(values), start, rounding=self.rounding)

    def _summary(self, group: Group, origin: Origin) -> Summary | None:
        """The mean: the sum of all times over their number where both are printed, else what is printed as ``avg``."""
        events = int(self._facts.get("events", (0.0,))[0])
        if not events:
            return None
        average = self._facts.get("avg")
        total_ms = self._facts.get("sum") or tuple(1e3 * it for it in self._facts.get("sum_s", ()))
        if not average and not total_ms:
            return None
        mean = total_ms[0] / events if total_ms else average[0] if average else 0.0
        # Both are rounded to two decimals, the sum of 0.5 to four of a second.
        if average and abs(mean - average[0]) > 0.0051 + 0.01 * average[0]:
            raise ImportFault(
                unexpected(
                    f"times of {events} events with an avg of {average[0]:g} ms",
                    f"{mean:g} ms",
                    place(origin.file, self._line),
                )
            )
        if mean > LONGEST_MS:
            raise ImportFault(
                out_of_range("the mean", f"at most {LONGEST_MS:g} ms", mean, place(origin.file, self._line))
            )
        return Summary(
            group, origin, events, mean, None, dict(self._quantiles), rounding=self._rounding_of_mean(events)
        )

    def _rounding_of_mean(self, events: int) -> float:
        """Of the sum over so many events, or of what is printed as ``avg``; in ms."""
        if "sum" in self._facts:
            return self._roundings["sum"] / events
        if "sum_s" in self._facts:
            return 1e3 * self._roundings["sum_s"] / events
        return self._roundings["avg"]

    def _per_second(self) -> tuple[float, float] | None:
        for name in ("transactions", "eps"):
            if name in self._facts:
                return self._facts[name][-1], self._roundings[name]
        events, seconds = self._facts.get("events", (0.0,))[0], self._facts.get("seconds", (0.0,))[0]
        if not events or not seconds:
            return None
        return events / seconds, events / seconds * self._roundings["seconds"] / seconds


def _rate_of(timed: Group, transaction: str) -> Group:
    return replace(timed, transaction=transaction, metric=THROUGHPUT, unit="/s")


def _bins(bars: dict[float, int]) -> Bins:
    """Edges half a step from each printed value; ``floor(log(x) * mult + 0.5)`` is how values are put to them."""
    edges: list[float] = []
    counts: list[int] = []
    for value, count in sorted(bars.items()):
        half = math.sqrt(_STEP)
        low, high = (value - _ROUNDED) / half, (value + _ROUNDED) * half
        if value > 0.1:  # here rounding to 0.001 is less than a step
            low, high = value / half, value * half
        low = max(low, 1e-6)
        if not edges:
            edges.append(low)
        elif low > edges[-1] * 1.001:
            counts.append(0)
            edges.append(low)
        else:
            edges[-1] = max((edges[-1] * low) ** 0.5, edges[-2] * 1.000001)
        counts.append(count)
        edges.append(max(high, edges[-1] * 1.000001))
    return Bins(tuple(edges), tuple(counts))


_BANNER = re.compile(r"sysbench v? ?\d+\.\d+")
_OPTIONS = "Running the test with following options:"
_THREADS = re.compile(r"Number of threads:\s*(\d{1,9})\s*$")
_INTERVAL = re.compile(rf"\[\s*{PRINTED}s\s*\]\s*(.*)$")
_PROGRESS = re.compile(  # a whole line says the latency, too
    rf"(?:thds|threads):\s*(\d{{1,9}}),?\s*(?:tps|eps):\s*{PRINTED}[,\s](.*(?:\blat\b|response time).*)$"
)
_QUERIES = re.compile(rf"\s*qps:\s*{PRINTED}\s|\s*reads:\s*{PRINTED},\s*writes:\s*{PRINTED},")
_CSV_HEADER = re.compile(r"time,\s*threads,\s*tps,\s*qps\b", re.IGNORECASE)
_CSV = re.compile(r"\d{1,15}(?:,\d{1,15}(?:\.\d{1,12})?){9}$")
_BAR = re.compile(rf"\s*{PRINTED} \|\**\s+(\d{{1,18}})\s*$")
_BARS = "Latency histogram (values are in milliseconds)"
_REPORTS = ("SQL statistics:", "OLTP test statistics:", "General statistics:", "Test execution summary:", "Throughput:")
_SETTINGS = {
    "test": re.compile(r"(?:Doing|Running) (?!the test)(.{1,60}?) test\b"),
    "rate": re.compile(r"Target transaction rate: (\S{1,30})$"),
    "prime numbers up to": re.compile(r"Prime numbers limit: (\d{1,12})$"),
    "block size": re.compile(r"[Bb]lock size:? (\S{1,30})$"),
    "total size": re.compile(r"total size: (\S{1,30})$"),
    "files": re.compile(r"(\d{1,9} files, .{1,30} each)$"),
    "operation": re.compile(r"operation: (\w{1,30})$"),
    "scope": re.compile(r"scope: (\w{1,30})$"),
    "distribution": re.compile(r"Using (\w{1,30}) distribution"),
}
"""Settings of the test, printed before it begins."""
_SEVERE = ("FATAL:", "ALERT:")


class Sysbench(Importer):
    name = "sysbench"

    def recognizes(self, source: Source) -> bool:
        lines = [line.strip() for line in head_lines(source)]
        first = next((line for line in lines if line), "")
        if _CSV_HEADER.match(first) or _CSV.match(first):
            return True
        return any(
            line in (_OPTIONS, _BARS, *_REPORTS[:4]) or _BANNER.match(line) or _is_progress(line) for line in lines
        )

    def is_mark(self, line: str) -> bool:
        return line in (_BARS, *_REPORTS[:4]) or _is_progress(line)

    def has_results(self, source: Source) -> bool:
        lines = (line.strip() for _, line in source.text_lines())
        return any(self.is_mark(line) or _CSV.match(line) for line in lines)

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        reader = _Reader(source, problems)
        seen: dict[object, int] = {}
        for run in reader.runs():
            key = run.threads
            seen[key] = seen.get(key, 0) + 1
            yield from run.observations(belonging.of_run(seen[key], seen[key]))
        problems.raise_if_any()
        if not seen:
            raise ImportFault(Refusal.of("no-progress-lines", lines=reader.lines, said=reader.said).at(source.name))


class _Reader:
    def __init__(self, source: Source, problems: Problems) -> None:
        self._source = source
        self._problems = problems
        self.lines = 0
        self.said = ""
        self._doubtful: tuple[int, str] | None = None
        self._in_bars = False

    def runs(self) -> Iterator[Run]:
        run = Run()
        for number, line in self._source.text_lines():
            self.lines = number
            text = line.strip()
            self._settle()
            if self._starts_anew(run, text):
                if run.has_figures:
                    yield run
                run = Run()
            self._take(run, number, text)
        if self._doubtful is not None:
            run.cautions.append(Caution.of("file-cut-off", line=self._doubtful[0]))
        if run.has_figures:
            yield run

    def _starts_anew(self, run: Run, text: str) -> bool:
        """Another banner; or intervals, after the final report or with their clock set back."""
        if text == _OPTIONS or _BANNER.match(text):
            return run.has_figures or bool(run.cautions)
        seconds = _seconds(text)
        if seconds is None:
            return False
        return run.has_ended or (run.last_second is not None and seconds < run.last_second)

    def _take(self, run: Run, number: int, text: str) -> None:
        if interval := _INTERVAL.match(text):
            self._take_interval(run, number, interval)
        elif _CSV.match(text):
            run.add_interval(number, self._source.name, *_csv_figures(text))
            run.rounding = half_unit(text.split(",")[2])
        elif text == _BARS:
            self._in_bars = True
        elif self._in_bars and (bar := _BAR.match(text)):
            run.add_bar(float(bar[1]), int(bar[2]), number)
        elif match := _THREADS.match(text):
            run.threads = int(match[1])
        elif text.startswith(_SEVERE):
            run.cautions.append(Caution.of("sysbench-reported", said=excerpt(text)))
            self.said = f" (it reported {excerpt(text)})"
        elif text in _REPORTS:
            self._in_bars = False
            run.start_report()
        elif not run.has_begun and (setting := _setting(text)):
            name, said = setting
            run.settings[name] = f"{run.settings[name]}, {said}" if name in run.settings else said
        else:
            run.take_report_line(number, text)

    def _take_interval(self, run: Run, number: int, interval: re.Match[str]) -> None:
        rest = interval[2]
        progress = _PROGRESS.match(rest)
        if progress is not None:
            queries = _QUERIES.match(progress[3])
            found = [float(text) for text in queries.groups() if text] if queries else []
            per_second = sum(found) if found else None
            run.add_interval(
                number, self._source.name, float(interval[1]), int(progress[1]), float(progress[2]), per_second
            )
            run.rounding = half_unit(progress[2])
        elif rest.startswith("Checkpoint report"):
            run.has_checkpoints = True
        elif rest.startswith(("thds:", "threads:")):
            self._doubtful = (number, rest)

    def _settle(self) -> None:
        """A progress line that was not understood is a fault, unless it is the file's last: then it was cut off."""
        if self._doubtful is not None:
            number, rest = self._doubtful
            expected = "'thds: N tps: X qps: Y …' or 'threads: N, tps: X, reads: Y, …'"
            self._problems.add(unexpected(expected, excerpt(rest)), number)
            self._doubtful = None


def _setting(text: str) -> tuple[str, Level] | None:
    found = ((name, pattern.match(text)) for name, pattern in _SETTINGS.items())
    return next(((name, match[1]) for name, match in found if match), None)


def _is_progress(line: str) -> bool:
    interval = _INTERVAL.match(line)
    return interval is not None and _PROGRESS.match(interval[2]) is not None


def _seconds(text: str) -> float | None:
    interval = _INTERVAL.match(text)
    if interval is not None:
        return float(interval[1])
    return float(text.partition(",")[0]) if _CSV.match(text) else None


def _csv_figures(text: str) -> tuple[float, int, float, float]:
    seconds, threads, per_second, queries = text.split(",")[:4]
    return float(seconds), int(float(threads)), float(per_second), float(queries)


IMPORTERS: tuple[Importer, ...] = (Sysbench(),)
