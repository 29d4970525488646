"""What an operation took of the machine, by condition: CPU, bytes, pages, faults, switches. Descriptive.

Sums over the trials of complete blocks, divided by their operations; verdicts on CPU and bytes come from the paired
model and stand in the table of the answer. Counters are of every executed operation, times of the recorded ones
(`tdelta.records.Measurement`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tdelta.document.blocks import WIDTH, Column, Figure, Table
from tdelta.document.labels import is_served
from tdelta.document.plot import drawing, rect, text, wrapped
from tdelta.document.quantities import MISSING, amounts, share
from tdelta.document.wording import label, listed
from tdelta.inference import in_complete_blocks
from tdelta.records import Condition, Measurement, Role, RunSettings, Trial

_BAR = 14.0
_STEP = 26.0
_TITLE = 34.0
_LABEL = 190.0
_VALUE = 92.0
_LINE = 15.0
_ALIKE = 0.005
_MOST_COLUMNS = 7


@dataclass(frozen=True, slots=True)
class Resource:
    """One line of the table: its name, the unit of its values (of one operation) and how they are read."""

    name: str
    unit: str
    of: Callable[[Sequence[Measurement]], float]


def _sum(measured: Iterable[Measurement], of: Callable[[Measurement], float]) -> float:
    return float(sum(of(m) for m in measured))


def _per_recorded(of: Callable[[Measurement], float]) -> Callable[[Sequence[Measurement]], float]:
    return lambda found: _ratio(_sum(found, of), _sum(found, lambda m: m.operations))


def _per_executed(of: Callable[[Measurement], float]) -> Callable[[Sequence[Measurement]], float]:
    return lambda found: _ratio(_sum(found, of), _sum(found, lambda m: m.counted_operations))


def _switches(of: Callable[[Measurement], float]) -> Callable[[Sequence[Measurement]], float]:
    """Of one operation; NaN where no trial has any of either kind: a database that cannot be looked into."""

    def per_executed(found: Sequence[Measurement]) -> float:
        is_counted = any(m.usage.voluntary_switches or m.usage.involuntary_switches for m in found)
        return _per_executed(of)(found) if is_counted else math.nan

    return per_executed


def _counter(name: str) -> Callable[[Sequence[Measurement]], float]:
    """A counter of the engine an operation; NaN where it has none of that name."""

    def of(found: Sequence[Measurement]) -> float:
        if not any(name in m.engine_counters for m in found):
            return math.nan
        return _per_executed(lambda m: m.engine_counters.get(name, 0))(found)

    return of


def _hit_share(found: Sequence[Measurement]) -> float:
    hits = _sum(found, lambda m: m.engine_counters.get("cache_hits", 0))
    return _ratio(hits, hits + _sum(found, lambda m: m.engine_counters.get("cache_misses", 0)))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


RESOURCES = (
    Resource("CPU, user", "µs", _per_recorded(lambda m: m.usage.cpu_user_seconds * 1e6)),
    Resource("CPU, system", "µs", _per_recorded(lambda m: m.usage.cpu_system_seconds * 1e6)),
    Resource("bytes asked to read", "bytes", _per_executed(lambda m: m.usage.syscall_read_bytes)),
    Resource("bytes asked to write", "bytes", _per_executed(lambda m: m.usage.syscall_written_bytes)),
    Resource("bytes from the device", "bytes", _per_executed(lambda m: m.usage.device_read_bytes)),
    Resource("bytes to the device", "bytes", _per_executed(lambda m: m.usage.device_written_bytes)),
    Resource("page cache hits", "share", _hit_share),
    Resource("pages read", "", _counter("cache_misses")),
    Resource("pages written", "", _counter("cache_writes")),
    Resource("cache spills", "", _counter("cache_spills")),
    Resource("minor faults", "", _per_executed(lambda m: m.usage.minor_faults)),
    Resource("major faults", "", _per_executed(lambda m: m.usage.major_faults)),
    Resource("voluntary switches", "", _switches(lambda m: m.usage.voluntary_switches)),
    Resource("involuntary switches", "", _switches(lambda m: m.usage.involuntary_switches)),
)


def resource_values(trials: Sequence[Trial], settings: RunSettings) -> dict[str, tuple[float, ...]]:
    measured = in_complete_blocks(trials, settings)
    return {key: tuple(resource.of(found) for resource in RESOURCES) for key, found in measured.items()}


def resource_tables(values: Mapping[str, tuple[float, ...]], settings: RunSettings) -> list[Table]:
    """All resources of all conditions, of one operation: one table, or where that would be broad one a stratum."""
    shown = [condition for condition in settings.conditions if condition.key in values]
    if len(shown) <= _MOST_COLUMNS:
        return [_table(values, shown, settings)] if shown else []
    strata = [[c for c in shown if c.stratum == n] for n in dict.fromkeys(c.stratum for c in shown)]
    parts = (of[at : at + _MOST_COLUMNS] for of in strata for at in range(0, len(of), _MOST_COLUMNS))
    return [_table(values, part, settings) for part in parts]


def _table(values: Mapping[str, tuple[float, ...]], shown: Sequence[Condition], settings: RunSettings) -> Table:
    rows = []
    for at, resource in enumerate(RESOURCES):
        cells = [values[condition.key][at] for condition in shown]
        if any(math.isfinite(value) for value in cells):
            rows.append((_named(resource.name, settings), *_written(cells, resource.unit)))
    columns = [Column("of one operation"), *(Column(label(c, settings), is_number=True) for c in shown)]
    return Table("CPU, I/O and cache of one operation, over all complete blocks", columns, rows)


def _named(name: str, settings: RunSettings) -> str:
    """A resource of a server says so, where its client's is told apart."""
    return f"server {name}" if name.startswith("CPU") and is_served(settings) else name


def resource_bars(values: Mapping[str, tuple[float, ...]], settings: RunSettings) -> Figure | None:
    """Bars for CPU and for whatever else of I/O and pages differs between twins; None where nothing was measured."""
    shown = [condition for condition in settings.conditions if condition.key in values]
    found = [chart for chart in _charts(values, shown, settings) if chart.is_known]
    charts = [chart for at, chart in enumerate(found) if at == 0 or chart.differs]
    if not charts:
        return None
    title = "CPU, I/O and pages of one operation"
    description = "; ".join(_words(chart, shown, settings) for chart in charts) + "."
    drawn = _layout(charts, shown, settings, title, description)
    caption = (
        "Sums over all complete blocks, divided by their operations: descriptive, without intervals. Plain twins are"
        " grey. CPU: the full part is user mode, the light part the kernel."
    )
    alike = [f"{chart.name} ({_total_text(chart, 0)})" for chart in found if chart not in charts]
    caption += f" The same on every twin, within half a per cent: {listed(alike)}." if alike else ""
    rows = [
        (label(condition, settings), *(_total_text(chart, at) for chart in found)) for at, condition in enumerate(shown)
    ]
    columns = [Column(""), *(Column(chart.name, is_number=True) for chart in found)]
    return Figure("resources", title, drawn, caption, Table(f"Numbers: {title}", columns, rows, folded=True))


@dataclass(frozen=True, slots=True)
class _Chart:
    """Bars of one quantity: for each condition one part or two."""

    name: str
    unit: str
    parts: tuple[tuple[float, ...], ...]

    @property
    def totals(self) -> list[float]:
        return [sum(parts) for parts in self.parts]

    @property
    def is_known(self) -> bool:
        return all(math.isfinite(total) for total in self.totals) and max(self.totals, default=0.0) > 0

    @property
    def differs(self) -> bool:
        return max(self.totals) - min(self.totals) > _ALIKE * max(self.totals)


def _charts(values: Mapping[str, tuple[float, ...]], shown: Sequence[Condition], settings: RunSettings) -> list[_Chart]:
    at = {resource.name: index for index, resource in enumerate(RESOURCES)}

    def of(*names: str) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(values[c.key][at[name]] for name in names) for c in shown)

    return [
        _Chart(_named("CPU", settings), "µs", of("CPU, user", "CPU, system")),
        _Chart("bytes asked to write", "bytes", of("bytes asked to write")),
        _Chart("pages read into the cache", "", of("pages read")),
        _Chart("pages written from the cache", "", of("pages written")),
    ]


def _layout(
    charts: Sequence[_Chart], shown: Sequence[Condition], settings: RunSettings, title: str, words: str
) -> Markup:
    names = [wrapped(label(c, settings), _LABEL - 12) for c in shown]
    step = _STEP + (_LINE - 4) * (max(map(len, names)) - 1)
    marks: list[Markup] = []
    y = 0.0
    for chart in charts:
        marks.append(text(0.0, y + 18, chart.name, "strong"))
        y += _TITLE
        pixels = (WIDTH - _LABEL - _VALUE) / max(chart.totals)
        for at, condition in enumerate(shown):
            middle = y + step / 2
            first = middle + 4.5 - _LINE * (len(names[at]) - 1) / 2
            marks += [text(0.0, first + _LINE * n, line, "label") for n, line in enumerate(names[at])]
            marks += _bar(chart.parts[at], _LABEL, middle, pixels, condition)
            end = _LABEL + chart.totals[at] * pixels + 8
            marks.append(text(end, middle + 4.5, _total_text(chart, at), "label"))
            y += step
        y += 14
    return drawing(WIDTH, y, title, words, marks, name="resources")


def _bar(parts: Sequence[float], left: float, middle: float, pixels: float, condition: Condition) -> list[Markup]:
    look = "plain-" if condition.role in (Role.BASELINE, Role.AA) else ""
    marks = []
    x = left
    for value, style in zip(parts, ("bar", "bar-second"), strict=False):
        marks.append(rect(x, middle - _BAR / 2, value * pixels, _BAR, f"{look}{style}"))
        x += value * pixels
    return marks


def _total_text(chart: _Chart, at: int) -> str:
    return _written(chart.totals, chart.unit)[at]


def _words(chart: _Chart, shown: Sequence[Condition], settings: RunSettings) -> str:
    values = ", ".join(f"{label(c, settings)} {_total_text(chart, at)}" for at, c in enumerate(shown))
    return f"{chart.name}: {values}"


def _written(values: Sequence[float], unit: str) -> list[str]:
    if unit == "share":
        return [share(value) for value in values]
    if unit:
        return list(amounts(values, unit))
    return [_count(value) for value in values]


def _count(value: float) -> str:
    if not math.isfinite(value):
        return MISSING
    return "0" if value == 0 else f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"
