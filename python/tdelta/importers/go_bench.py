"""Go benchmarks: the lines of ``go test -bench``, a line a repetition (``-count``).

The format is Go's own (golang.org/design/14313-benchmark-format): a name, the number of iterations, pairs of a value
and its unit. A line is a mean over its iterations, without a deviation. Repetitions within a file are no runs: the file
is one, and they are its values, which is told. ``/key=value`` in a name is a level, or the condition
(``/cipher=none``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from tdelta.errors import ImportFault
from tdelta.importers.accumulating import LONGEST_MS
from tdelta.importers.csv_columns import CONDITION, TIMES_MS
from tdelta.importers.importer import Belonging, Importer, Naming
from tdelta.importers.problems import LARGEST, Problems, half_unit, number, plain_name, shown, whole
from tdelta.importers.reading import Source, head_lines
from tdelta.inputs import too_many
from tdelta.messages import Caution, Refusal
from tdelta.records.conditions import Level
from tdelta.records.observed import Figure, Observation, Summary

MOST_LINES = 100_000
_LINE = re.compile(r"Benchmark(?P<name>[^\sa-z]\S{0,500}|)\s+(?P<count>\d{1,15})\s+(?P<rest>\S.*)$")
_PROCESSORS = re.compile(r"-(\d{1,4})$")
_TIME = re.compile(r"(ns|us|µs|ms|s|sec)/op")
_COSTS = ("B/op", "allocs/op")  # what ``-benchmem`` adds: shown, and not decided on
_LEVEL = "gomaxprocs"
_SETTING = re.compile(r"(goos|goarch|pkg|cpu): (\S.{0,199})$")
"""Lines above those of the benchmarks: whose they are, and of which machine."""


class GoBenchmarks(Importer):
    name = "Go benchmarks"
    has_columns = True

    def recognizes(self, source: Source) -> bool:
        return any(map(self.is_mark, head_lines(source)))

    def is_mark(self, line: str) -> bool:
        match = _LINE.match(line)
        return match is not None and bool(_figures(match["rest"]))

    def has_results(self, source: Source) -> bool:
        return any(self.is_mark(line) for _, line in source.text_lines())

    def says_conditions(self, source: Source) -> bool:
        lines = [match for line in head_lines(source) if (match := _LINE.match(line))]
        return bool(lines) and all(_Name.of(match["name"]).condition for match in lines)

    def read(self, source: Source, naming: Naming) -> Iterator[Observation]:
        problems = Problems(source.name, self.name)
        lines = 0
        found: dict[tuple[Belonging, str], list[_Repetition]] = {}
        settings: dict[str, Level | None] = {}
        for number_of_line, text in source.text_lines():
            if setting := _SETTING.match(text):
                settings[setting[1]] = plain_name(setting[2])
                continue
            match = _LINE.match(text)
            figures = _figures(match["rest"]) if match else {}
            if match is None or not figures:
                continue
            lines += 1
            if lines > MOST_LINES:
                raise ImportFault(too_many("rows of figures", MOST_LINES, f"{source.name}:{number_of_line}"))
            name = _Name.of(match["name"])
            condition = naming.condition or name.condition
            if condition is None:
                problems.add(Refusal.of("benchmark-without-condition", found=shown(text)), number_of_line)
                continue
            belonging = Belonging(source.name, self.name, condition, naming.run, naming.levels)
            if naming.condition is not None and name.condition is not None:
                belonging = belonging.with_level(name.key, name.condition)
            for key, level in name.levels:
                belonging = belonging.with_level(key, level)
            repetition = _Repetition(number_of_line, whole(match["count"]) or 0, figures)
            found.setdefault((belonging.with_settings(settings), name.text), []).append(repetition)
        most = max(map(len, found.values()), default=0)
        noted = (Caution.of("repetitions-in-process", most=most),) if most > 1 else ()
        used = [
            one
            for (belonging, name_text), repetitions in found.items()
            for one in _observations(belonging.noting(*noted), name_text, repetitions, naming.column)
        ]
        yield from used
        if not used and not problems:
            asked = naming.column or "ns/op"
            units = dict.fromkeys(unit for of in found.values() for one in of for unit in one.figures)
            problems.add(
                Refusal.of(
                    "unknown",
                    kind="column",
                    found=repr(asked),
                    hint=f" Expected one of {shown(', '.join(units) or 'none')} (--column).",
                )
            )
        problems.raise_if_any()


IMPORTERS: tuple[Importer, ...] = (GoBenchmarks(),)


@dataclass(frozen=True, slots=True)
class _Name:
    """A benchmark's name, cut: ``Insert/cipher=none/rows=10-8``."""

    text: str
    condition: str | None
    key: str
    levels: tuple[tuple[str, Level], ...]

    @classmethod
    def of(cls, name: str) -> _Name:
        processors = _PROCESSORS.search(name)
        whole_name = name if processors is None else name[: processors.start()]
        parts: list[str] = []
        condition, of_condition = None, ""
        levels: list[tuple[str, Level]] = []
        for part in whole_name.split("/"):
            key, equals, text = part.partition("=")
            value = plain_name(text)
            if not equals or value is None or plain_name(key) is None:
                parts.append(part)
            elif key.lower() in CONDITION and condition is None:
                condition, of_condition = value, key
            else:
                as_number = number(value)
                levels.append((key, int(as_number) if as_number is not None and as_number.is_integer() else value))
        if processors is not None:
            levels.append((_LEVEL, int(processors[1])))
        return cls(plain_name("/".join(parts)) or "Benchmark", condition, of_condition, tuple(dict(levels).items()))


def _figures(rest: str) -> dict[str, str]:
    """Values as printed by their units; empty where the rest of a line is none."""
    words = rest.split()
    if len(words) % 2 or not 2 <= len(words) <= 200:
        return {}
    found = {unit: value for value, unit in zip(words[::2], words[1::2], strict=True)}
    return found if all(_is_figure(value) for value in found.values()) else {}


def _is_figure(value: str) -> bool:
    found = number(value)
    return found is not None and 0 <= found <= LARGEST


@dataclass(frozen=True, slots=True)
class _Repetition:
    line: int
    count: int
    figures: Mapping[str, str]


def _observations(
    belonging: Belonging, name: str, repetitions: Sequence[_Repetition], column: str | None
) -> Iterator[Observation]:
    """The figures of a benchmark that are wanted: those of the unit that the user says, else the time and its costs.

    Its repetitions are one run: their mean, and how far they scatter.
    """
    line = repetitions[0].line
    for unit in dict.fromkeys(unit for one in repetitions for unit in one.figures):
        time = _TIME.fullmatch(unit)
        wanted = unit == column if column is not None else time is not None or unit in _COSTS
        printed = [one.figures[unit] for one in repetitions if unit in one.figures]
        values = [float(text) for text in printed]
        if not wanted or not all(values):
            continue
        mean, rounding = fmean(values), max(map(half_unit, printed))
        if time is not None:
            scale = TIMES_MS[time[1]]
            if max(values) * scale <= LONGEST_MS and all(one.count for one in repetitions):
                group = belonging.response_times(name)
                several = len(values) > 1
                count = len(values) if several else repetitions[0].count
                sd = scale * stdev(values) if several and max(values) > min(values) else None
                yield Summary(group, belonging.origin(line), count, scale * mean, sd, rounding=scale * rounding)
        elif unit.endswith(("/s", "/sec")):
            yield Figure(belonging.throughput(name), belonging.origin(line), mean, rounding=rounding)
        elif plain_name(unit) is not None:
            group = replace(belonging.response_times(name), metric=unit, unit="")
            yield Figure(group, belonging.origin(line), mean, rounding=rounding)
