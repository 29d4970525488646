"""Counters of server and client under each condition, and the load's bottleneck. Descriptive, no intervals.

Medians over the trials of complete blocks, the same that the verdicts rest on. Where the time goes: the CPU time of the
server (its whole process tree, background threads and coming to rest included) and of the client over the time of all
threads; what is left, they waited. `bottleneck` has the rule by which that becomes a word.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from markupsafe import Markup

from tdelta import inference
from tdelta.design.actions import NOTHING
from tdelta.document.blocks import WIDTH, Block, Cell, Figure, Line, Medium, Paragraph, Table, columns
from tdelta.document.labels import baseline_label, kind_label, level_text, surroundings
from tdelta.document.plot import drawing, rect, text, wrapped
from tdelta.document.quantities import MISSING, amounts, rate, share, small_count
from tdelta.document.wording import label
from tdelta.engines.registry import profile
from tdelta.findings.base import FOUND, FinishedRun, Kind
from tdelta.messages import Caution
from tdelta.records import Condition, Finding, Measurement, Role, RunResult, RunSettings, Typical

SATURATED = 0.85
"""The share of all CPUs in use from which on CPU is what holds a load back, whatever its threads wait for: the rest is
lost to wake-ups and to the moments in which too few threads are ready."""

ALIKE = 0.01
"""Twins whose caches meet shares of requests farther apart than this are not twins."""


@dataclass(frozen=True, slots=True)
class Counter:
    """A count of one operation, as an engine's trials name it, or the system: stored, exported, shown and documented.

    Attributes:
        title: the heading of its column.
        meaning: a word about it for docs/json.md, where its name does not suffice.
        unit: ``bytes``, or empty for a number.
        is_brief: whether a terminal has room for it.
    """

    name: str
    title: str
    meaning: str = ""
    unit: str = ""
    is_brief: bool = False


COUNTERS = (
    Counter("pages_read", "pages\nread", "into the cache, read ahead included", is_brief=True),
    Counter("pages_written", "pages\nwritten", is_brief=True),
    Counter("pages_encrypted", "pages\nencrypted"),
    Counter("pages_decrypted", "pages\ndecrypted"),
    Counter("log_bytes", "log", "of redo log or WAL", "bytes", is_brief=True),
    Counter("device_read_bytes", "read from\nthe device", unit="bytes"),
    Counter("device_written_bytes", "written to\nthe device", unit="bytes"),
)

_US = 1e6
_REQUESTS, _MISSES = "buffer_requests", "buffer_reads"
_THREADS = "threads"

_NOTE = (
    "Medians over the trials; CPU, pages and log are per operation. Bottleneck: CPU if 85% of the CPUs that the server"
    " may use are busy, else the largest part of the threads' time: CPU of server or client, I/O, or other waiting"
    " (locks, network, scheduling)."
)


class Bottleneck(StrEnum):
    """The resource that limits a load. ``waiting``: locks, network, scheduling."""

    SERVER_CPU = "server CPU"
    CLIENT_CPU = "client CPU"
    IO = "I/O"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class TimeSpent:
    """Where the time of a load's threads goes, medians over trials.

    The shares are of the time of all threads together; those of CPU may come to more than 1 where a server works in the
    background, and ``waiting_share`` is then 0. ``io_share`` is the part of the waiting that the device's requests
    account for at most, ``*_cores`` are CPUs busy on average, ``cores_at_most`` is how many this load could keep busy:
    one for each thread, and no more than there are. The pressures are the shares of the time in which some task of the
    machine was kept waiting (PSI). None stands for what the kernel does not tell.
    """

    server_share: float
    client_share: float
    waiting_share: float
    io_share: float | None
    server_cores: float
    client_cores: float
    cores_at_most: int
    cpu_pressure: float | None
    io_pressure: float | None


@dataclass(frozen=True, slots=True)
class CacheUse:
    """How a server's page cache fared: the share of requests that it could meet, and counts of one operation."""

    hit_ratio: Typical
    requests: float
    misses: float


@dataclass(frozen=True, slots=True)
class ServerMeasures(Finding):
    """Counters of a server and its client under one condition, over the trials that the verdicts rest on. Descriptive.

    ``throughput`` is operations per second, times are µs of one operation. ``cache`` is None where the engine does not
    count requests. ``counted`` are pages and bytes of one operation, medians over trials, of `COUNTERS` those that the
    engine counts.
    """

    FINDING = "servers"

    condition: Condition
    trials: int
    throughput: Typical
    response_us: Typical
    server_cpu_us: Typical
    client_cpu_us: Typical
    time: TimeSpent
    cache: CacheUse | None
    counted: Mapping[str, float]
    bottleneck: Bottleneck


def of_run(run: FinishedRun) -> Iterator[ServerMeasures]:
    """Every condition with complete blocks; nothing of an embedded engine, whose client has no CPU time of its own."""
    if not any(trial.measurement.client_cpu_seconds > 0 for trial in run.trials):
        return
    by_key = inference.in_complete_blocks(run.trials, run.settings)
    for condition in run.settings.conditions:
        if measured := by_key.get(condition.key):
            spent = _spent(measured, int(condition.level(_THREADS)), run.cpus)
            kept_to = condition.get("cores")
            yield ServerMeasures(
                condition=condition,
                trials=len(measured),
                throughput=Typical.of(m.operations / _seconds(m) for m in measured),
                response_us=Typical.of(m.response_ns / 1e3 for m in measured),
                server_cpu_us=Typical.of(m.cpu_seconds * _US / m.operations for m in measured),
                client_cpu_us=Typical.of(m.client_cpu_seconds * _US / m.operations for m in measured),
                time=spent,
                cache=_cache(measured),
                counted={c.name: median for c in COUNTERS if (median := _median(measured, c.name)) is not None},
                bottleneck=bottleneck(spent, run.cpus, None if kept_to is None else int(kept_to)),
            )


def _spent(measured: Sequence[Measurement], threads: int, cpus: int) -> TimeSpent:
    server = statistics.median(m.cpu_seconds / _seconds(m) for m in measured)
    client = statistics.median(m.client_cpu_seconds / _seconds(m) for m in measured)
    waiting = max(0.0, 1.0 - (server + client) / threads)
    io_pressure, in_flight = _pressure(measured, "io_some"), _pressure(measured, "io_in_flight")
    on_io = io_pressure if in_flight is None else in_flight / threads
    return TimeSpent(
        server_share=server / threads,
        client_share=client / threads,
        waiting_share=waiting,
        io_share=None if on_io is None else min(waiting, on_io),
        server_cores=server,
        client_cores=client,
        cores_at_most=min(threads, cpus),
        cpu_pressure=_pressure(measured, "cpu_some"),
        io_pressure=io_pressure,
    )


def _seconds(measured: Measurement) -> float:
    """How long the recorded operations took; never 0, which only a clock that stands still would say."""
    return max(measured.elapsed_ns, 1) / 1e9


def _pressure(measured: Sequence[Measurement], name: str) -> float | None:
    found = [m.pressure[name] for m in measured if name in m.pressure]
    return statistics.median(found) if found else None


def _cache(measured: Sequence[Measurement]) -> CacheUse | None:
    counted = [m for m in measured if m.engine_counters.get(_REQUESTS, 0) > 0 and _MISSES in m.engine_counters]
    if not counted:
        return None
    return CacheUse(
        hit_ratio=Typical.of(
            max(0.0, 1.0 - m.engine_counters[_MISSES] / m.engine_counters[_REQUESTS]) for m in counted
        ),
        requests=statistics.median(m.engine_counters[_REQUESTS] / m.counted_operations for m in counted),
        misses=statistics.median(m.engine_counters[_MISSES] / m.counted_operations for m in counted),
    )


def _median(measured: Sequence[Measurement], name: str) -> float | None:
    """Of one operation; None where nobody counts it."""
    found = [
        count / m.counted_operations
        for m in measured
        if (count := m.engine_counters.get(name, getattr(m.usage, name, None))) is not None
    ]
    return statistics.median(found) if found else None


def bottleneck(spent: TimeSpent, cpus: int, server_cpus: int | None = None) -> Bottleneck:
    """The resource that limits a load.

    If the server keeps more than `SATURATED` of the CPUs busy that it is kept to (``server_cpus``): its CPU. If server
    and client keep more than that of all CPUs busy: the CPU, of whichever uses more. Else the largest
    part of the threads' time: CPU of the server, CPU of the client, I/O, or other waiting. I/O is what the requests in
    flight on the server's device, so many for each thread, account for of the waiting, or where those are not known
    the pressure of I/O.
    """
    if server_cpus is not None and spent.server_cores >= SATURATED * server_cpus:
        return Bottleneck.SERVER_CPU
    if spent.server_cores + spent.client_cores >= SATURATED * cpus:
        return Bottleneck.SERVER_CPU if spent.server_cores >= spent.client_cores else Bottleneck.CLIENT_CPU
    on_io = spent.io_share or 0.0
    parts = {
        Bottleneck.SERVER_CPU: spent.server_share,
        Bottleneck.CLIENT_CPU: spent.client_share,
        Bottleneck.IO: on_io,
        Bottleneck.WAITING: spent.waiting_share - on_io,
    }
    return max(parts, key=lambda part: parts[part])


def cautions(found: Sequence[ServerMeasures], run: FinishedRun) -> Iterator[Caution]:
    """Twins of one stratum whose caches met other shares of the requests than their baseline's.

    Builds may use their caches differently: there it is part of what is compared.
    """
    if run.settings.compares_builds:
        return
    plain = {m.condition.stratum: m for m in found if m.condition.role is Role.BASELINE}
    for measured in found:
        baseline = plain.get(measured.condition.stratum)
        if baseline is None or baseline.cache is None or measured.cache is None:
            continue
        here, there = measured.cache.hit_ratio.median, baseline.cache.hit_ratio.median
        if abs(here - there) > ALIKE:
            yield Caution.of("caches-differ", condition=measured.condition.key, met=here, baseline_met=there)


def lines(found: Sequence[ServerMeasures], result: RunResult) -> Iterator[Line]:
    """The hit ratio of the cache, or the farthest from its baseline and the cause."""
    hits = {one.condition: one.cache.hit_ratio.median for one in found if one.cache is not None}
    plain = {condition.stratum: hit for condition, hit in hits.items() if condition.role is Role.BASELINE}
    judged = [of for of in hits if of.stratum in plain and of.role is not Role.AA]
    apart = {of: hits[of] - plain[of.stratum] for of in judged}
    most = max(apart, key=lambda of: abs(apart[of]), default=None)
    if most is None:
        return
    if abs(apart[most]) > ALIKE and not result.settings.compares_builds:
        kind = kind_label(most, result.settings)
        sides = f"{100 * plain[most.stratum]:.3g}% unencrypted, {100 * hits[most]:.3g}% {kind}"
        yield Line(FOUND, f"cache hits {sides}: {_cause(most, result)}")
    elif len(plain) == 1:
        yield Line(FOUND, f"{100 * min(hits.values()):.3g}% of page requests were met by the cache")


def _cause(of: Condition, result: RunResult) -> str:
    """Why caches with identical work meet different shares of the requests."""
    if of.get("during", NOTHING) != NOTHING:
        return "the operation uses the cache, too"
    settings, name = result.settings, profile(result.settings.engine).cache_setting
    own, data = settings.external_servers, settings.database
    differing = next((one for one in own.differences if one.name == name), None) if own is not None else None
    if differing is not None:
        return f"{name} is {differing.baseline} and {differing.encrypted}"
    if any(caution.code == "cache-unsettled" for caution in result.cautions):
        return "the cache was still filling"
    if own is None or not name:
        return "unknown cause"
    if data is not None and data.in_place:
        return f"unknown cause (same {name}; the layout of your tables or other use of one server may differ)"
    return f"other use of one server (both have the same {name} and data of tdelta)"


_NOTHING = (MISSING, "0", "0 B")


@dataclass(frozen=True, slots=True)
class _Column:
    """A heading and its figure. ``is_brief``: a terminal has it, too."""

    title: str
    of: Callable[[ServerMeasures], str | Cell]
    is_brief: bool = True


def _time(of: Typical) -> Cell:
    low, median, high = amounts((of.low, of.median, of.high), "µs")
    return Cell(f"{median} ({low.split(' ')[0]} to {high.split(' ')[0]})", brief=median)


def _hits(cache: CacheUse | None) -> str | Cell:
    if cache is None:
        return MISSING
    low, median, high = (100 * value for value in (cache.hit_ratio.low, cache.hit_ratio.median, cache.hit_ratio.high))
    return Cell(f"{median:.2f}% ({low:.2f} to {high:.2f})", brief=f"{median:.2f}%")


def _count(counter: Counter) -> Callable[[ServerMeasures], str]:
    def text(measured: ServerMeasures) -> str:
        value = measured.counted.get(counter.name)
        if value is None:
            return MISSING
        return amounts((value,), counter.unit)[0] if counter.unit else small_count(value)

    return text


def _share(value: float | None) -> str:
    return MISSING if value is None else share(round(value, 3))


_COLUMNS = (
    _Column("op/s", lambda m: rate(m.throughput.median)),
    _Column("response", lambda m: _time(m.response_us), is_brief=False),
    _Column("server\nCPU", lambda m: _time(m.server_cpu_us)),
    _Column("client\nCPU", lambda m: _time(m.client_cpu_us)),
    _Column("CPUs\nbusy", lambda m: f"{m.time.server_cores + m.time.client_cores:.2f}"),
    _Column("server", lambda m: _share(m.time.server_share), is_brief=False),
    _Column("client", lambda m: _share(m.time.client_share), is_brief=False),
    _Column("waiting", lambda m: _share(m.time.waiting_share), is_brief=False),
    _Column("of that I/O", lambda m: _share(m.time.io_share), is_brief=False),
    _Column("CPU\npressure", lambda m: _share(m.time.cpu_pressure), is_brief=False),
    _Column("I/O\npressure", lambda m: _share(m.time.io_pressure), is_brief=False),
    _Column("cache\nhits", lambda m: _hits(m.cache)),
    _Column("cache\nmisses", lambda m: MISSING if m.cache is None else small_count(m.cache.misses), is_brief=False),
    *(_Column(counter.title, _count(counter), counter.is_brief) for counter in COUNTERS),
)
"""One that has nothing to say of any server is left out."""


def blocks(found: Sequence[ServerMeasures], result: RunResult) -> Iterator[Block]:
    groups = _groups(found, result)
    measured = [one for group in groups.values() for one in group]
    shown = [column for column in _COLUMNS if any(column.of(one) not in _NOTHING for one in measured)]
    names = dict(zip((one.condition for one in measured), _names(measured, result.settings), strict=True))
    rows: list[tuple[str | Cell, ...]] = []
    for panel, group in groups.items():
        rows += [(panel,)] if panel else []
        rows += [(names[m.condition], *(column.of(m) for column in shown), m.bottleneck.value) for m in group]
    more = [column.title for column in shown if not column.is_brief]
    titles = columns(*(column.title for column in shown), "bottleneck", texts=("bottleneck",), more=more)
    caption = "Numbers: quartiles in brackets; server, client and waiting are shares of the threads' time"
    yield _figure(groups, names, result, Table(caption, titles, rows, folded=True))
    yield Paragraph(_NOTE, "note")


def _groups(found: Iterable[ServerMeasures], result: RunResult) -> dict[str, list[ServerMeasures]]:
    """By what varies beside threads, within it by threads, plain and encrypted beside each other; no A/A twins."""
    shown = [m for m in found if m.condition.role not in (Role.AA, Role.BB)]
    panels = [", ".join(surroundings(m.condition, result.settings, besides=_THREADS)) for m in shown]
    groups: dict[str, list[ServerMeasures]] = {panel: [] for panel in panels}
    for panel, measured in sorted(
        zip(panels, shown, strict=True), key=lambda pair: int(pair[1].condition.level(_THREADS))
    ):
        groups[panel].append(measured)
    return groups


def _names(measured: Sequence[ServerMeasures], settings: RunSettings) -> list[str]:
    """Names of servers within their group: ``16 threads, plain``, ``aes-256, tables only``."""
    plain = baseline_label(settings)
    kinds = [plain if m.condition.role is Role.BASELINE else kind_label(m.condition, settings) for m in measured]
    threads = [m.condition.level(_THREADS) for m in measured]
    if len(set(threads)) == 1:
        return kinds
    return [f"{level_text(_THREADS, of)}, {kind}" for of, kind in zip(threads, kinds, strict=True)]


# The figure. A bar is the time of the CPUs that a load could keep busy, one for each thread and no more than there are:
# the full part worked for the server, the light part for the client, and the empty part waited with the threads.

_BAR, _STEP, _LINE, _HEADING = 14.0, 24.0, 15.0, 34.0
_LABEL, _ASIDE = 200.0, 214.0


def _figure(
    groups: Mapping[str, Sequence[ServerMeasures]], names: Mapping[Condition, str], result: RunResult, table: Table
) -> Figure:
    marks: list[Markup] = []
    y = 0.0
    for panel, group in groups.items():
        if panel:
            marks.append(text(0.0, y + 18, panel, "strong"))
            y += _HEADING
        for measured in group:
            words = wrapped(names[measured.condition], _LABEL - 12)
            height = max(_STEP, _LINE * len(words) + 8)
            marks += _bar(measured, words, y + height / 2)
            y += height
        y += 12
    title = "Where the time of the load goes"
    described = "; ".join(_words(m, result) for group in groups.values() for m in group) + "."
    caption = (
        "A bar is the time of the CPUs that the workload can use. Full: busy for the server; light: for the client;"
        " empty: waiting. The baseline's copies are gray. The word is the bottleneck."
    )
    return Figure("time", title, drawing(WIDTH, y, title, described, marks, name="time"), caption, table, Medium.BOTH)


def _bar(measured: ServerMeasures, words: Sequence[str], middle: float) -> Iterator[Markup]:
    """The busy part of the CPUs; of its own sum, where background threads make that larger."""
    first = middle + 4.5 - _LINE * (len(words) - 1) / 2
    yield from (text(0.0, first + _LINE * at, line, "label") for at, line in enumerate(words))
    look = "plain-" if measured.condition.role is Role.BASELINE else ""
    time, width = measured.time, WIDTH - _LABEL - _ASIDE
    busy = time.server_cores + time.client_cores
    pixels = width / max(float(time.cores_at_most), busy)
    top, server = middle - _BAR / 2, time.server_cores * pixels
    yield rect(_LABEL, top, width, _BAR, "bar-rest")
    yield rect(_LABEL, top, server, _BAR, f"{look}bar")
    yield rect(_LABEL + server, top, time.client_cores * pixels, _BAR, f"{look}bar-second")
    note = f"{measured.bottleneck.value}; {busy:.2f} CPUs busy"
    yield text(WIDTH - _ASIDE + 12, middle + 4.5, note, "label")


def _words(measured: ServerMeasures, result: RunResult) -> str:
    time = measured.time
    return (
        f"{label(measured.condition, result.settings)}: server CPU {_share(time.server_share)}, client CPU"
        f" {_share(time.client_share)}, waiting {_share(time.waiting_share)}, held back by {measured.bottleneck.value}"
    )


KIND = Kind(ServerMeasures, of_run, blocks, "servers", "Servers", lines, cautions)
