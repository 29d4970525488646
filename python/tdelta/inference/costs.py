"""From trials to the numbers that are compared: complete blocks, and the cost of each trial in them.

A block that lacks a condition says nothing that survives drift, so a stratum uses its complete blocks only; what is
left out is counted, never hidden, and stays in the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tdelta.errors import Defect
from tdelta.inference.posterior import FloatArray
from tdelta.records import Condition, Measurement, Metric, Role, RunSettings, Trial

_US_PER_SECOND = 1e6
_NS_PER_US = 1e3
_LEAST_LEFT = 0.02


@dataclass(frozen=True, slots=True)
class Panel:
    """The complete blocks of one stratum, B blocks of K conditions, and the B/B twins that ran in them.

    Attributes:
        stratum: the stratum's number.
        conditions: K conditions in the design's order, one of them the baseline; B/B twins are not among them.
        trials: B rows of K trials, blocks in order.
        rounds: shape (B,), the round of each block, not decreasing.
        incomplete: blocks left out because a condition is missing or finished no operation.
        twins: the B/B twins that ran in any of these blocks, in the design's order.
        twin_trials: B rows of their trials, None where a twin took no part.
        after_encrypted: round, block and position of each trial of the run that an encrypted twin's came right before.
    """

    stratum: int
    conditions: tuple[Condition, ...]
    trials: tuple[tuple[Trial, ...], ...]
    rounds: NDArray[np.intp]
    incomplete: int
    twins: tuple[Condition, ...] = ()
    twin_trials: tuple[tuple[Trial | None, ...], ...] = ()
    after_encrypted: frozenset[tuple[int, int, int]] = frozenset()

    @property
    def baseline(self) -> Condition:
        """The condition that the others are compared with."""
        return next(c for c in self.conditions if c.role is Role.BASELINE)

    @property
    def round_count(self) -> int:
        """How many rounds have at least one complete block."""
        return len(np.unique(self.rounds))

    @property
    def places(self) -> NDArray[np.intp]:
        """At which place of the stratum's part of its block each trial ran, shape (B, K + twins); 0 for none."""
        rows = [(*row, *more) for row, more in zip(self.trials, self.twin_trials, strict=True)]
        at = np.array([[np.nan if t is None else t.position for t in row] for row in rows], dtype=np.float64)
        return places_among(at.reshape(len(rows), -1))

    @property
    def follows(self) -> FloatArray:
        """1 for each trial that an encrypted twin's came right before, else 0; shape (B, K + twins)."""
        rows = [(*row, *more) for row, more in zip(self.trials, self.twin_trials, strict=True)]
        after = [
            [t is not None and (t.round, t.block, t.position) in self.after_encrypted for t in row] for row in rows
        ]
        return np.array(after, dtype=np.float64).reshape(len(rows), -1)

    @property
    def host_names(self) -> tuple[str, ...]:
        """The hosts on which trials ran, by name; one, without a name, where twins do not change hosts."""
        rows = (*self.trials, *self.twin_trials)
        return tuple(sorted({trial.measurement.host for row in rows for trial in row if trial is not None}))

    @property
    def hosts(self) -> NDArray[np.intp]:
        """On which of `host_names` each trial ran, shape (B, K + twins); -1 for none."""
        number = {name: at for at, name in enumerate(self.host_names)}
        rows = [(*row, *more) for row, more in zip(self.trials, self.twin_trials, strict=True)]
        at = [[-1 if t is None else number[t.measurement.host] for t in row] for row in rows]
        return np.array(at, dtype=np.intp).reshape(len(rows), -1)

    def where(self, *roles: Role) -> NDArray[np.bool_]:
        """Which conditions play one of these roles, shape (K,)."""
        return np.array([c.role in roles for c in self.conditions], dtype=np.bool_)


def places_among(positions: FloatArray) -> NDArray[np.intp]:
    """The order of each row's positions, from 0; those that are NaN are passed over, and 0."""
    order = np.argsort(np.argsort(positions, axis=1), axis=1)
    return np.asarray(np.where(np.isnan(positions), 0, order), dtype=np.intp)


def panels(trials: Iterable[Trial], settings: RunSettings) -> tuple[Panel, ...]:
    """Sort the trials of a run into one panel a stratum, in the order of strata.

    Raises:
        TdeltaError: if a stratum has a judged condition but not exactly one baseline.
    """
    by_stratum: dict[int, list[Condition]] = {}
    for condition in settings.conditions:
        by_stratum.setdefault(condition.stratum, []).append(condition)
    ordered = sorted(trials, key=lambda trial: (trial.round, trial.block, trial.position))
    blocks, after = _by_block(ordered), _after_encrypted(ordered)
    return tuple(
        replace(_panel(stratum, tuple(of), blocks), after_encrypted=after) for stratum, of in sorted(by_stratum.items())
    )


def _after_encrypted(ordered: Sequence[Trial]) -> frozenset[tuple[int, int, int]]:
    """Where an encrypted twin ran right before on that host; a round's warm-up is not stored and counts as plain."""
    return frozenset(
        (later.round, later.block, later.position)
        for earlier, later in pairwise(ordered)
        if not earlier.condition.is_plain
        and earlier.round == later.round
        and earlier.measurement.host == later.measurement.host
    )


def _by_block(trials: Iterable[Trial]) -> dict[tuple[int, int], dict[str, Trial | None]]:
    """The trials of each block, None for those that finished no operation."""
    blocks: dict[tuple[int, int], dict[str, Trial | None]] = {}
    for trial in trials:
        found = trial if trial.measurement.operations > 0 else None
        blocks.setdefault((trial.round, trial.block), {})[trial.condition.key] = found
    return dict(sorted(blocks.items()))


def _panel(
    stratum: int, conditions: tuple[Condition, ...], blocks: Mapping[tuple[int, int], Mapping[str, Trial | None]]
) -> Panel:
    baselines = sum(c.role is Role.BASELINE for c in conditions)
    if baselines != 1:
        raise Defect(f"stratum {stratum}: expected one baseline (cipher none), found {baselines}")
    always = tuple(c for c in conditions if c.role is not Role.BB)
    keys = [c.key for c in always]
    own = {at: [block.get(key) for key in keys] for at, block in blocks.items()}
    complete = {at: tuple(t for t in of if t is not None) for at, of in own.items() if None not in of}
    twins = tuple(
        c for c in conditions if c.role is Role.BB and any(blocks[at].get(c.key) is not None for at in complete)
    )
    return Panel(
        stratum=stratum,
        conditions=always,
        trials=tuple(complete.values()),
        rounds=np.array([round_ for round_, _ in complete], dtype=np.intp),
        incomplete=len(own) - len(complete),
        twins=twins,
        twin_trials=tuple(tuple(blocks[at].get(c.key) for c in twins) for at in complete),
    )


def places(found: Sequence[Panel]) -> dict[int, str]:
    """What to put before a remark on a stratum: ``threads 16, cache 0.1: ``; nothing where there is only one.

    Only factors that differ between strata are named, the cipher not being one of them.
    """
    levels = {panel.stratum: dict(panel.baseline.levels) for panel in found}
    varied = [name for name in next(iter(levels.values()), {}) if len({of.get(name) for of in levels.values()}) > 1]
    named = {
        stratum: ", ".join(f"{name.replace('_', ' ')} {of[name]}" for name in varied if name in of)
        for stratum, of in levels.items()
    }
    return {stratum: f"{name}: " if name else "" for stratum, name in named.items()}


def cost(measurement: Measurement, metric: Metric) -> float:
    """The cost of one operation of a trial, in ``metric.unit`` (microseconds or bytes)."""
    match metric:
        case Metric.RESPONSE_TIME:
            return undelayed_share(measurement) * measurement.response_ns / _NS_PER_US
        case Metric.TIME_WITH_CHECKPOINT:
            if not measurement.checkpoint.ns:
                return 0.0
            total = sum(spans.total_ns for spans in measurement.transactions.values())
            delay = (1.0 - undelayed_share(measurement)) * total
            return (measurement.elapsed_ns - delay + measurement.checkpoint.ns) / measurement.operations / _NS_PER_US
        case Metric.CPU_PER_OPERATION:
            return measurement.cpu_seconds * _US_PER_SECOND / measurement.operations
        case Metric.READ_BYTES_PER_OPERATION:
            return measurement.usage.syscall_read_bytes / measurement.counted_operations
        case Metric.WRITTEN_BYTES_PER_OPERATION:
            return measurement.usage.syscall_written_bytes / measurement.counted_operations


def undelayed_share(measurement: Measurement) -> float:
    """The share of a trial's response time that is left without other programs' keeping the database from a CPU.

    1 where it cannot be told that it was others (`tdelta.driver.answers`). The delay is of the whole recorded stretch,
    a little of which lies between operations, hence the floor.
    """
    total = sum(spans.total_ns for spans in measurement.transactions.values())
    if not measurement.delays.others_delay_ns or not total:
        return 1.0
    return max(_LEAST_LEFT, 1.0 - measurement.delays.others_delay_ns / total)


def transaction_cost(measurement: Measurement, transaction: str) -> float:
    """Mean response time of one transaction type in a trial, microseconds; 0 if it did not run.

    Other programs' delay is known of the trial as a whole, and taken from every type alike.
    """
    spans = measurement.transactions.get(transaction)
    if not spans or not spans.count:
        return 0.0
    return undelayed_share(measurement) * spans.total_ns / spans.count / _NS_PER_US


def plain_shares(panel: Panel, names: Sequence[str]) -> FloatArray:
    """Each transaction type's share of the time of these types on the plain twins, shape (T,)."""
    plain = [t.measurement for row in panel.trials for t in row if t.condition.role in (Role.BASELINE, Role.AA)]
    totals = np.zeros(len(names))
    for one in plain:
        spans = [one.transactions.get(name) for name in names]
        totals += undelayed_share(one) * np.array([0 if of is None else of.total_ns for of in spans])
    return np.asarray(totals / totals.sum(), dtype=np.float64)


def metric_costs(panel: Panel, metric: Metric) -> FloatArray:
    """The cost of every trial, shape (B, K), in ``metric.unit``."""
    return table(panel, lambda measurement: cost(measurement, metric))


def twin_table(panel: Panel, of: Callable[[Measurement], float]) -> FloatArray:
    """What every trial of a B/B twin cost, shape (B, twins); NaN where a twin took no part."""
    rows = [[np.nan if t is None else of(t.measurement) for t in row] for row in panel.twin_trials]
    return np.array(rows, dtype=np.float64).reshape(len(panel.trials), len(panel.twins))


def table(panel: Panel, of: Callable[[Measurement], float]) -> FloatArray:
    """What every trial cost by a function of the caller's, shape (B, K)."""
    rows = [[of(trial.measurement) for trial in row] for row in panel.trials]
    return np.array(rows, dtype=np.float64).reshape(len(panel.trials), len(panel.conditions))


def transactions(found: Sequence[Panel]) -> tuple[str, ...]:
    """The transaction types that ran in any trial, by name; empty where there is only one, which is the mix itself."""
    trials = (trial for panel in found for row in panel.trials for trial in row)
    names = sorted({name for t in trials for name, spans in t.measurement.transactions.items() if spans.count})
    return tuple(names) if len(names) > 1 else ()


def actual_ratio(trials: Iterable[Trial], metric: Metric) -> float | None:
    """The true quotient of an injected twin, from what its own trials spun on purpose; None where it is not known.

    On a server it is the client that spins: that is in the response time, and in no CPU time of the server's.
    """
    found = [trial.measurement for trial in trials]
    is_server = any(m.client_cpu_seconds > 0.0 for m in found)
    match metric:
        case Metric.CPU_PER_OPERATION if is_server:
            return None
        case Metric.CPU_PER_OPERATION:
            injected = sum(m.injected.cpu_ns for m in found) / 1e9
            total = sum(m.cpu_seconds for m in found)
        case Metric.RESPONSE_TIME:
            injected = float(sum(m.injected.elapsed_ns for m in found))
            total = float(sum(s.total_ns for m in found for s in m.transactions.values()))
        case _:
            return None
    return 1.0 + injected / (total - injected) if total > injected else None
