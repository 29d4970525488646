"""sysbench 0.4, 0.5, 1.0 and 1.1: what it prints, and the rows of its CSV hook; one run after the other in one file.

Layouts as its sources print them: ``db_driver.c`` and ``sysbench.c`` of 0.5 and 1.0, ``sb_histogram.c`` of 1.0,
``sysbench.lua`` of 1.1 (`report_csv`). Of a run there can be a throughput at each interval, a histogram, and a summary
without a standard deviation, whose mean is the exact sum over the exact count. What is left out is told: errors that
were ignored, a report that is missing, checkpoints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tdelta.errors import ImportFault
from tdelta.importers.belonging import belonging_of
from tdelta.importers.problems import LineFaults, unexpected
from tdelta.importers.protocol import Importer, Naming, Source
from tdelta.importers.reading import excerpt, head_lines
from tdelta.importers.rounding import half_unit
from tdelta.importers.sysbench_run import Run
from tdelta.messages import Caution, Refusal
from tdelta.records.conditions import Level
from tdelta.records.observed import Observation

_NUMBER = r"(\d{1,15}(?:\.\d{1,12})?)"
_BANNER = re.compile(r"sysbench v? ?\d+\.\d+")
_OPTIONS = "Running the test with following options:"
_THREADS = re.compile(r"Number of threads:\s*(\d{1,9})\s*$")
_INTERVAL = re.compile(rf"\[\s*{_NUMBER}s\s*\]\s*(.*)$")
_PROGRESS = re.compile(  # a whole line says the latency, too
    rf"(?:thds|threads):\s*(\d{{1,9}}),?\s*(?:tps|eps):\s*{_NUMBER}[,\s](.*(?:\blat\b|response time).*)$"
)
_QUERIES = re.compile(rf"\s*qps:\s*{_NUMBER}\s|\s*reads:\s*{_NUMBER},\s*writes:\s*{_NUMBER},")
_CSV_HEADER = re.compile(r"time,\s*threads,\s*tps,\s*qps\b", re.IGNORECASE)
_CSV = re.compile(r"\d{1,15}(?:,\d{1,15}(?:\.\d{1,12})?){9}$")
_BAR = re.compile(rf"\s*{_NUMBER} \|\**\s+(\d{{1,18}})\s*$")
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
"""What it prints of the test before it begins."""
_SEVERE = ("FATAL:", "ALERT:")


class Sysbench(Importer):
    name = "sysbench"

    def recognizes(self, source: Source) -> bool:
        """Whether its beginning has what only sysbench prints."""
        lines = [line.strip() for line in head_lines(source)]
        first = next((line for line in lines if line), "")
        if _CSV_HEADER.match(first) or _CSV.match(first):
            return True
        return any(
            line in (_OPTIONS, _BARS, *_REPORTS[:4]) or _BANNER.match(line) or _is_progress(line) for line in lines
        )

    def is_mark(self, line: str) -> bool:
        """Whether a line is of a run: a progress line, or the head of a histogram or of a report."""
        return line in (_BARS, *_REPORTS[:4]) or _is_progress(line)

    def has_results(self, source: Source) -> bool:
        """Whether there is such a line, or a row of the CSV hook."""
        lines = (line.strip() for _, line in source.text_lines())
        return any(self.is_mark(line) or _CSV.match(line) for line in lines)

    def read(self, source: Source, naming: Naming) -> Iterator[Observation]:
        """Its runs, one after the other. Runs at the same number of threads are told apart by their order."""
        belonging = belonging_of(source, self.name, naming)
        reader = _Reader(source)
        seen: dict[object, int] = {}
        for run in reader.runs():
            key = run.threads
            seen[key] = seen.get(key, 0) + 1
            yield from run.observations(belonging.of_run(seen[key], seen[key]))
        reader.faults.raise_if_any()
        if not seen:
            raise ImportFault(Refusal.of("no-progress-lines", lines=reader.lines, said=reader.said).at(source.name))


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self.faults = LineFaults()
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
            self.faults.add(
                unexpected(
                    "'thds: N tps: X qps: Y …' or 'threads: N, tps: X, reads: Y, …'",
                    excerpt(rest),
                    f"{self._source.name}:{number}",
                )
            )
            self._doubtful = None


def _setting(text: str) -> tuple[str, Level] | None:
    found = ((name, pattern.match(text)) for name, pattern in _SETTINGS.items())
    return next(((name, match[1]) for name, match in found if match), None)


def _is_progress(line: str) -> bool:
    interval = _INTERVAL.match(line)
    return interval is not None and _PROGRESS.match(interval[2]) is not None


def _seconds(text: str) -> float | None:
    """When an interval ended, in seconds from the run's start."""
    interval = _INTERVAL.match(text)
    if interval is not None:
        return float(interval[1])
    return float(text.partition(",")[0]) if _CSV.match(text) else None


def _csv_figures(text: str) -> tuple[float, int, float, float]:
    seconds, threads, per_second, queries = text.split(",")[:4]
    return float(seconds), int(float(threads)), float(per_second), float(queries)


IMPORTERS: tuple[Importer, ...] = (Sysbench(),)
