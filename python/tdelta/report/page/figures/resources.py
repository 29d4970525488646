"""Resources per operation, by condition: CPU, bytes, pages, faults, switches. Descriptive.

Sums over the trials of complete blocks, divided by their operations; verdicts on CPU and bytes come from the paired
model and are in the table of the answer. Counters are of every executed operation, times of the recorded ones
(`tdelta.records.Measurement`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from tdelta.document.blocks import Column, Table, columns
from tdelta.document.labels import is_served
from tdelta.document.quantities import MISSING, amounts, share, small_share
from tdelta.document.wording import label
from tdelta.inference.fits import in_complete_blocks
from tdelta.records import Condition, Measurement, RunSettings, Trial

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
    titles = [Column("of one operation"), *(Column(label(c, settings), is_number=True) for c in shown)]
    return Table("CPU, I/O and cache of one operation, over all complete blocks", titles, rows)


def _named(name: str, settings: RunSettings) -> str:
    """A resource of a server says so, where its client's is told apart."""
    return f"server {name}" if name.startswith("CPU") and is_served(settings) else name


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


_PRESSURE = {
    "cpu_some": "a task waited for a CPU",
    "io_some": "a task waited for I/O",
    "memory_some": "a task waited for memory",
    "cpu_busy": "CPU time in which any program ran",
    "steal": "CPU time that the host gave to others",
}


def pressure_table(trials: Iterable[Trial]) -> Table | None:
    """The shares of a block's time in which tasks waited; None if the kernel reported none."""
    blocks: dict[int, list[Mapping[str, float]]] = {}
    for trial in trials:
        blocks.setdefault(trial.block, []).append(trial.measurement.pressure)
    rows = []
    for name, words in _PRESSURE.items():
        known = ([of[name] for of in block if name in of] for block in blocks.values())
        if means := sorted(fmean(block) for block in known if block):
            rows.append((words, small_share(means[len(means) // 2]), small_share(means[-1])))
    caption = "Pressure on the machine: shares of a block's time, including waits of the workload itself"
    return Table(caption, columns("median", "most"), rows) if rows else None
