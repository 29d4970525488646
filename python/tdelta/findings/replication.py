"""Replicas: how fast they apply, how far they are after a load, what they take, and what commits wait for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tdelta import inference
from tdelta.document.blocks import Block, Column, Medium, Paragraph, Table, columns
from tdelta.document.effect import described_cells
from tdelta.document.quantities import MISSING, amounts
from tdelta.document.wording import label
from tdelta.findings.base import FinishedRun, Kind
from tdelta.records import Condition, Estimate, Finding, Measurement, RunResult, Typical
from tdelta.records.trials import APPLY_NS, CPU_NS, LAG_BYTES, LAG_NS, LOG_BYTES, UNCONFIRMED, by_condition

_NOTE = (
    "Medians over the trials, per operation of the workload unless a unit is shown. With the replica stopped, *applies*"
    " is its rate once it has all of the log: a faster workload leaves it behind. Otherwise *lag* is the time from the"
    " end of the workload until all is applied. CPU is the replica's. Changes are ratios of means in the same blocks"
    " and require 16 blocks. Both servers share one machine. Informational."
)
_TITLES = ("response", "load", "applies", "lag", "change", "95% interval", "CPU", "change", "95% interval")
_PAGE_ALONE = (5, 8)


@dataclass(frozen=True, slots=True)
class ReplicationMeasure(Finding):
    """The replica of one condition's primary.

    ``mode`` is the level of ``replication``. ``response_seconds`` is the mean response time per operation,
    ``load_rate`` the operations per second of the load. Where the replica was stopped beside the load (``none``),
    ``apply_rate`` is how many of its operations per second it applied afterwards, which is the highest rate that it
    keeps up with here; else it is None, and ``lag_bytes`` and ``lag_seconds`` are how far the replica was from the end
    of the load, and how long until it had applied all. ``log_bytes`` and ``cpu_seconds`` (of the replica) are per
    operation. ``time_ratio`` is of the time to apply, or of the lag, over the plain twins' of the same blocks,
    ``cpu_ratio`` of the replica's CPU time: None for plain and B/B twins, and of few blocks. ``unconfirmed`` commits
    did not wait for the replica, though they were to.
    """

    FINDING = "replication"

    condition: Condition
    mode: str
    trials: int
    response_seconds: Typical
    load_rate: Typical
    apply_rate: Typical | None
    lag_bytes: Typical | None
    lag_seconds: Typical | None
    log_bytes: Typical
    cpu_seconds: Typical
    time_ratio: Estimate | None
    cpu_ratio: Estimate | None
    unconfirmed: int


def of_run(run: FinishedRun) -> Iterator[ReplicationMeasure]:
    """The replica of every condition whose primary has one; the ratios decide nothing."""
    trials = [trial for trial in run.trials if LOG_BYTES in trial.measurement.engine_counters]
    if not trials:
        return
    by_key = by_condition(trials)
    ratios = inference.described_ratios(trials, run.settings, {"time": _apply_time, "cpu": _count(CPU_NS)})
    for condition in run.settings.conditions:
        if measured := by_key.get(condition.key):
            applied = [m for m in measured if APPLY_NS in m.engine_counters]
            lagged = [m for m in measured if LAG_NS in m.engine_counters]
            yield ReplicationMeasure(
                condition=condition,
                mode=str(condition.level("replication")),
                trials=len(measured),
                response_seconds=Typical.of(m.response_ns / 1e9 for m in measured),
                load_rate=Typical.of(m.operations / max(1, m.elapsed_ns) * 1e9 for m in measured),
                apply_rate=Typical.of_any(
                    m.counted_operations / max(1, m.engine_counters[APPLY_NS]) * 1e9 for m in applied
                ),
                lag_bytes=Typical.of_any(map(_count(LAG_BYTES), lagged)),
                lag_seconds=Typical.of_any(m.engine_counters[LAG_NS] / 1e9 for m in lagged),
                log_bytes=Typical.of(_per_operation(m, LOG_BYTES) for m in measured),
                cpu_seconds=Typical.of(_per_operation(m, CPU_NS) / 1e9 for m in measured),
                time_ratio=ratios.get(("time", condition.key)),
                cpu_ratio=ratios.get(("cpu", condition.key)),
                unconfirmed=sum(m.engine_counters.get(UNCONFIRMED, 0) for m in measured),
            )


def _apply_time(measured: Measurement) -> float:
    return float(measured.engine_counters.get(APPLY_NS, measured.engine_counters.get(LAG_NS, 0)))


def _count(name: str) -> Callable[[Measurement], float]:
    return lambda measured: float(measured.engine_counters.get(name, 0))


def _per_operation(measured: Measurement, counter: str) -> float:
    return measured.engine_counters.get(counter, 0) / max(1, measured.counted_operations)


def blocks(found: Sequence[ReplicationMeasure], result: RunResult) -> Iterator[Block]:
    """A row for each condition; on the page with intervals, and how much log there was."""
    titles = [Column(title, is_number=True, is_brief=at not in _PAGE_ALONE) for at, title in enumerate(_TITLES)]
    rows = [(label(one.condition, result.settings), *_cells(one, result)) for one in found]
    yield Table("Replicas", [Column(""), *titles], rows, name="replicas")
    logs = [
        (label(one.condition, result.settings), _bytes(one.log_bytes), _bytes(one.lag_bytes), f"{one.unconfirmed:,}")
        for one in found
    ]
    of_logs = columns("log per operation", "not applied when the load ended", "commits that did not wait")
    yield Table("The log", of_logs, logs, medium=Medium.PAGE)
    yield Paragraph(_NOTE, "note")


def _cells(one: ReplicationMeasure, result: RunResult) -> tuple[str, ...]:
    return (
        _time(one.response_seconds),
        _rate(one.load_rate),
        _rate(one.apply_rate),
        _time(one.lag_seconds),
        *described_cells(one.time_ratio, result.settings),
        _time(one.cpu_seconds),
        *described_cells(one.cpu_ratio, result.settings),
    )


def _time(of: Typical | None) -> str:
    return MISSING if of is None else amounts((1e6 * of.median,), "µs")[0]


def _rate(of: Typical | None) -> str:
    return MISSING if of is None else f"{of.median:,.0f}/s"


def _bytes(of: Typical | None) -> str:
    return MISSING if of is None else amounts((of.median,), "bytes")[0]


KIND = Kind(ReplicationMeasure, of_run, blocks, "replication", "Replicas")
