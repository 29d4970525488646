"""pgbench's report and progress lines (PostgreSQL 9.4 to 19), one run after the other in one file.

As ``printResults`` and ``printProgressReport`` in ``pgbench.c`` print them, behind debug lines (``-d``) or not. The
report's standard deviation is that of the population, to three decimals of a millisecond. Without ``-P``, ``-R`` or
``-L`` its mean is computed from the run's length and counts failed transactions too; that is told. Such a mean is
clients over throughput, and taken from there, with all of its digits: three decimals of 0.065 ms are worth 0.8%.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tdelta.errors import ImportFault
from tdelta.importers.faults import PRINTED, Problems, half_unit, place
from tdelta.importers.importer import Belonging, Importer
from tdelta.importers.pgbench_log import PgbenchAggregates, PgbenchLog
from tdelta.importers.reading import Source, excerpt, head_lines, printable
from tdelta.importers.samples import LONGEST_MS, uneven_steps, usual_step
from tdelta.inputs import out_of_range, too_many, unexpected
from tdelta.messages import Caution, Refusal
from tdelta.records.conditions import Level
from tdelta.records.observed import ALL, RESPONSE_TIME, Figure, Group, Observation, Origin, Series, Summary

MOST_INTERVALS = 1_000_000
_MOST_FAULTS = 20
_EPOCH = 1e8  # seconds of a progress line above this are since 1970 (``--progress-timestamp``)
_CONNECTING = 0.02  # the mean counts the time to connect, throughput does not: so much apart, they are still of one run
MOST_SCRIPTS = 128  # pgbench itself takes no more (``MAX_SCRIPTS``)
_COUNT = r"(\d{1,18})"
_PROGRESS = re.compile(rf"progress: {PRINTED}(?: s)?, {PRINTED} tps\b(?:, lat {PRINTED} ms\b)?")
_TYPE = re.compile(r"transaction type: (.{1,200})$")
_SCRIPT = re.compile(r"SQL script \d{1,4}: (.{1,200})$")
_TPS = re.compile(rf"tps = {PRINTED} \((without|excluding|including)\b")
_FACTS = {
    "processed": re.compile(rf"(?:- )?number of transactions actually processed: {_COUNT}"),
    "transactions": re.compile(rf"- {_COUNT} transactions \("),
    "script_tps": re.compile(rf"- .*\btps = {PRINTED}\)"),
    "mean": re.compile(rf"(?:- )?latency average\s?[=:] {PRINTED} ms(?! \(including)"),
    "mean_of_all": re.compile(rf"latency average\s?[=:] {PRINTED} ms \(including failures\)"),
    "sd": re.compile(rf"(?:- )?latency stddev\s?[=:] {PRINTED} ms"),
    "failed": re.compile(rf"(?:- )?number of failed transactions: {_COUNT}"),
    "skipped": re.compile(rf"(?:- )?number of transactions skipped: {_COUNT}"),
    "clients": re.compile(r"number of clients: (\d{1,9})$"),
    "retries": re.compile(rf"total number of retries: {_COUNT}"),
    "seconds": re.compile(r"duration: (\d{1,9}) s$"),
}
_SETTINGS = {
    "transaction type": _TYPE,
    "scaling factor": re.compile(r"scaling factor: (\d{1,9})$"),
    "partition method": re.compile(r"partition method: (\w{1,30})$"),
    "partitions": re.compile(r"partitions: (\d{1,9})$"),
    "query mode": re.compile(r"query mode: (\w{1,30})$"),
    "threads": re.compile(r"number of threads: (\d{1,9})$"),
    "tries": re.compile(r"maximum number of tries: (\d{1,9})$"),
    "latency limit, ms": re.compile(r"number of transactions above the (\d{1,9}(?:\.\d{1,3})?) ms latency limit"),
}
"""Settings of the test; ``-C`` and ``-R`` show in other lines."""
_PACED = "rate limit schedule lag"
_WEIGHT = re.compile(r"- weight: (\d{1,9})")
_RECONNECTING = "(including reconnection times"
_ABORTED = "Run was aborted"
_MARKS = re.compile(
    r"transaction type: |progress: [\d.]+(?: s)?, |tps = [\d.]+ \(|number of transactions actually proc"
)


class PgbenchReport(Importer):
    name = "pgbench"

    def recognizes(self, source: Source) -> bool:
        return any(map(self.is_mark, head_lines(source)))

    def is_mark(self, line: str) -> bool:
        return _MARKS.match(line) is not None

    def has_results(self, source: Source) -> bool:
        return any(self.is_mark(line.strip()) for _, line in source.text_lines())

    def observations(self, source: Source, belonging: Belonging, _problems: Problems) -> Iterator[Observation]:
        seen: dict[object, int] = {}
        lines = 0
        run = _Run()
        doubtful: list[tuple[int, str]] = []
        for number, text in source.text_lines():
            lines = number
            line = text.strip()
            if run.is_ended_by(line):
                yield from _distinguished(run, seen, belonging)
                run = _Run()
            if line.startswith("progress: ") and not _PROGRESS.match(line):
                doubtful = [*doubtful[:_MOST_FAULTS], (number, line)]
            run.take(number, line, source.name)
        if doubtful and doubtful[-1][0] == lines:
            doubtful.pop()
            run.cut_off = lines
        yield from _distinguished(run, seen, belonging)
        if doubtful:
            raise ImportFault(
                *(
                    unexpected("'progress: 5.0 s, 1234.5 tps, …'", excerpt(line), place(source.name, number))
                    for number, line in doubtful
                )
            )
        if not seen:
            aborted = ": the run was aborted" if run.aborted else ""
            raise ImportFault(Refusal.of("neither-progress-nor-report", lines=lines, aborted=aborted).at(source.name))


@dataclass(slots=True)
class _Section:
    """The report of the whole, or of one script: facts by name, how they are rounded, and the line of the first."""

    facts: dict[str, float] = field(default_factory=dict)
    rounding: dict[str, float] = field(default_factory=dict)
    line: int | None = None
    weight: int = 1

    def count(self) -> int:
        if "processed" in self.facts:
            return int(self.facts["processed"])
        found = self.facts.get("transactions", 0.0) - self.facts.get("failed", 0.0) - self.facts.get("skipped", 0.0)
        return max(0, int(found))


class _Run:
    def __init__(self) -> None:
        self.aborted = False
        self.cut_off: int | None = None
        self._whole = _Section()
        self._scripts: dict[str, _Section] = {}
        self._section = self._whole
        self._seconds = array("d")
        self._per_second = array("d")
        self._means = array("d")
        self._roundings = [0.0, 0.0]
        self._tps: dict[str, str] = {}
        self._has_report = False
        self._settings: dict[str, Level] = {}
        self._is_paced = False
        self._connects_anew = False

    @property
    def has_figures(self) -> bool:
        return bool(self._seconds or self._tps)

    @property
    def clients(self) -> int:
        return int(self._whole.facts.get("clients", 0.0))

    def is_ended_by(self, line: str) -> bool:
        """Whether a line begins another run: a banner, a report after a report, a clock set back."""
        if line.startswith(("pgbench (", "starting vacuum")) or _TYPE.match(line):
            return self._has_report
        progress = _PROGRESS.match(line)
        if progress is None:
            return False
        return self._has_report or bool(self._seconds and float(progress[1]) < self._seconds[-1])

    def take(self, number: int, line: str, file: str) -> None:
        if progress := _PROGRESS.match(line):
            if len(self._seconds) >= MOST_INTERVALS:
                raise ImportFault(too_many("progress lines in one run", MOST_INTERVALS, place(file, number)))
            self._seconds.append(float(progress[1]))
            self._per_second.append(float(progress[2]))
            self._means.append(float(progress[3]) if progress[3] else math.nan)
            self._roundings = [half_unit(progress[2]), half_unit(progress[3] or "")]
        elif setting := _setting(line):
            self._has_report = self._has_report or bool(_TYPE.match(line))
            self._settings.setdefault(*setting)
        elif line.startswith(_PACED):
            self._is_paced = True
        elif script := _SCRIPT.match(line):
            name = printable(script[1])
            if len(self._scripts) >= MOST_SCRIPTS and name not in self._scripts:
                raise ImportFault(too_many("scripts", MOST_SCRIPTS, place(file, number)))
            self._section = self._scripts.setdefault(name, _Section())
        elif weight := _WEIGHT.match(line):
            self._section.weight = int(weight[1])
        elif tps := _TPS.match(line):
            self._tps[tps[2]] = tps[1]
            self._connects_anew = self._connects_anew or _RECONNECTING in line
        elif _ABORTED in line:
            self.aborted = True
        else:
            for name, pattern in _FACTS.items():
                if match := pattern.match(line):
                    self._section.facts.setdefault(name, float(match[1]))
                    self._section.rounding.setdefault(name, half_unit(match[1]))
                    self._section.line = self._section.line or number

    def observations(self, belonging: Belonging) -> Iterator[Observation]:
        own = belonging.with_level("clients", self.clients or None).with_settings(self._said())
        for one in self._all_of(own.throughput(), own.origin(None, *self._cautions())):
            yield replace(one, started_unix_seconds=self._started, duration_seconds=self._lasted)

    def _all_of(self, rate: Group, origin: Origin) -> Iterator[Observation]:
        if self._seconds:
            yield from self._series(rate, origin)
        if self._tps:
            yield Figure(rate, origin, float(self._printed_tps), rounding=half_unit(self._printed_tps))
        yield from self._section_of(ALL, self._whole, rate, origin)
        for name, section in self._scripts.items():
            yield from self._section_of(name, section, rate, origin)
            if "script_tps" in section.facts:
                group = replace(rate, transaction=name)
                yield Figure(group, origin, section.facts["script_tps"], rounding=section.rounding["script_tps"])

    def _said(self) -> dict[str, Level | None]:
        if not self._has_report:
            return {}
        scripts = (f"{name.rpartition('/')[2]} ({it.weight})" for name, it in self._scripts.items())
        connects = "yes" if self._connects_anew else "no" if "without" in self._tps else None
        return {
            **self._settings,
            "scripts": ", ".join(scripts) or None,
            "connects for each transaction": connects,
            "paced (--rate)": "yes" if self._is_paced else "no",
        }

    @property
    def _printed_tps(self) -> str:
        return self._tps.get("without") or self._tps.get("excluding") or self._tps.get("including", "0")

    @property
    def _started(self) -> float | None:
        """Since 1970, with ``--progress-timestamp``."""
        if not self._seconds or self._seconds[0] <= _EPOCH:
            return None
        return self._seconds[0] - self._interval

    @property
    def _lasted(self) -> float | None:
        if "seconds" in self._whole.facts:
            return self._whole.facts["seconds"]
        tps, count = float(self._printed_tps), self._whole.count()
        if tps and count:
            return count / tps
        return len(self._seconds) * self._interval if self._seconds else None

    @property
    def _interval(self) -> float:
        found = usual_step(self._seconds, alone=self._seconds[0])
        return found if 0 < found <= _EPOCH else 1.0

    def _section_of(self, name: str, section: _Section, like: Group, origin: Origin) -> Iterator[Summary]:
        mean = section.facts.get("mean", section.facts.get("mean_of_all"))
        count = section.count()
        if mean is None or not count:
            return
        if mean > LONGEST_MS or section.facts.get("sd", 0.0) > LONGEST_MS:
            raise ImportFault(
                out_of_range(
                    "the latency", f"at most {LONGEST_MS:g} ms", excerpt(f"{mean:g}"), place(origin.file, section.line)
                )
            )
        rounding = section.rounding.get("mean", section.rounding.get("mean_of_all", 0.0))
        sd = section.facts.get("sd")
        if sd is None and section is self._whole and "mean" in section.facts:
            mean, rounding = self._with_all_digits(mean, rounding)
        if sd is not None:
            # Of the population, pgbench's is; the sample's is a little larger.
            sd = sd * math.sqrt(count / (count - 1)) if count > 1 else None
        group = Group(like.condition, name, run=like.run, levels=like.levels)
        yield Summary(group, origin, count, mean, sd, rounding=rounding)

    def _with_all_digits(self, mean: float, rounding: float) -> tuple[float, float]:
        """A mean computed from the run's length as clients over throughput, where that is the same but for rounding."""
        tps = float(self._printed_tps)
        if not tps or not self.clients:
            return mean, rounding
        exact = 1e3 * self.clients / tps
        if abs(exact - mean) > rounding + _CONNECTING * mean:
            return mean, rounding
        return exact, exact * half_unit(self._printed_tps) / tps

    def _series(self, group: Group, origin: Origin) -> Iterator[Series]:
        interval = self._interval
        uneven = uneven_steps(self._seconds, interval, slack=0.5 * interval)
        origin = replace(origin, cautions=(*origin.cautions, *uneven))
        start = 0.0 if self._started is not None else max(0.0, self._seconds[0] - interval)
        of_rate, of_time = self._roundings
        yield Series(group, origin, interval, tuple(self._per_second), start, rounding=of_rate)
        counts = tuple(rate * interval for rate in self._per_second)
        means = tuple(mean if count else 0.0 for mean, count in zip(self._means, counts, strict=True))
        if not any(map(math.isnan, means)) and max(means) <= LONGEST_MS:
            times = replace(group, metric=RESPONSE_TIME, unit="ms")
            yield Series(times, origin, interval, means, start, counts, rounding=of_time)

    def _cautions(self) -> Iterator[Caution]:
        facts = self._whole.facts
        if self.aborted:
            yield Caution.of("run-aborted")
        for name, words in (("failed", "transactions failed"), ("skipped", "transactions were skipped")):
            if facts.get(name):
                yield Caution.of("counted", count=facts[name], what=words)
        if "mean_of_all" in facts:
            yield Caution.of("mean-with-failed")
        elif "mean" in facts and "sd" not in facts:
            yield Caution.of("mean-by-length")
        if self.cut_off is not None:
            yield Caution.of("file-cut-off", line=self.cut_off)
        if not self._has_report:
            yield Caution.of("report-missing", tool="pgbench")


def _setting(line: str) -> tuple[str, Level] | None:
    for name, pattern in _SETTINGS.items():
        if match := pattern.match(line):
            said = match[1].rpartition("/")[2] if pattern is _TYPE and not match[1].startswith("<") else match[1]
            return name, int(said) if said.isdecimal() else said
    return None


def _distinguished(run: _Run, seen: dict[object, int], belonging: Belonging) -> Iterator[Observation]:
    if run.has_figures:
        seen[run.clients] = number = seen.get(run.clients, 0) + 1
        yield from run.observations(belonging.of_run(number, number))


IMPORTERS: tuple[Importer, ...] = (PgbenchReport(), PgbenchLog(), PgbenchAggregates())
