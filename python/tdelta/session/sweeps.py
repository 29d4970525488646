"""Sweeps over threads or cores in observations of files and in trials of a run: throughput by condition and number."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from tdelta.errors import UsageError
from tdelta.importers.naming import baseline_of
from tdelta.inference.costs import panels, table
from tdelta.messages import Refusal
from tdelta.records import ALL, Measurement, Observation, Role, RunSettings, Trial
from tdelta.records.conditions import Level
from tdelta.records.observed import THROUGHPUT, Figure, Samples, Series, Summary
from tdelta.records.scaling import Axis

_NS_PER_SECOND = 1e9
_MS_PER_SECOND = 1e3
_PLAIN = "plain"
_THREADS = (Axis.THREADS.value, "clients", "users", "vus", "connections", "concurrency")
"""What files call the threads of a closed loop; the first that there is."""

Levels: TypeAlias = tuple[tuple[str, Level], ...]


@dataclass(frozen=True, slots=True)
class ThreadRule:
    """How many threads go with so many cores: one number whatever the cores, or so many per core.

    Attributes:
        fixed: the one number; None where threads grow with cores, or nothing is known of them.
        per_core: how many per core; None where they do not grow, or nothing is known of them.
    """

    fixed: int | None = None
    per_core: Fraction | None = None

    def threads(self, cores: int) -> int | None:
        """With so many cores; None where results do not say."""
        return self.fixed if self.per_core is None else max(1, round(self.per_core * cores))


@dataclass(frozen=True, slots=True)
class Curve:
    """One condition beside the baseline.

    Attributes:
        levels: of what else varies.
        baseline: what the condition is compared with.
        condition: its name.
        rates: operations per second of both, by threads or cores in order.
        rule: the threads of a sweep over cores.
    """

    levels: Levels
    baseline: str
    condition: str
    rates: dict[int, tuple[float, float]]
    rule: ThreadRule


@dataclass(slots=True)
class Sweep:
    """Operations per second by condition and number, all repeats, at one level of what else varies.

    Attributes:
        levels: of what else varies.
        over: what the numbers count.
        rates: by condition and number.
        threads: in a sweep over cores, those that were seen with each number of cores.
    """

    levels: Levels
    over: Axis
    rates: dict[str, dict[int, list[float]]] = field(default_factory=dict)
    threads: dict[int, set[int]] = field(default_factory=dict)

    def add(self, condition: str, at: int, threads: int | None, rates: Iterable[float]) -> None:
        """Take repeats in; rates that are not positive numbers are left out."""
        usable = [rate for rate in rates if np.isfinite(rate) and rate > 0.0]
        self.rates.setdefault(condition, {}).setdefault(at, []).extend(usable)
        if threads is not None:
            self.threads.setdefault(at, set()).add(threads)

    def curves(self, baseline: str) -> Iterator[Curve]:
        """Each condition beside the baseline, at the numbers that both have.

        Raises:
            UsageError: threads of a sweep over cores that follow no rule.
        """
        rule = self._rule() if self.over is Axis.CORES else ThreadRule()
        for name in self.rates:
            if name != baseline:
                both = sorted(n for n in self.rates[name] if self.rates[name][n] and self.rates[baseline].get(n))
                rates = {n: (self._mean(baseline, n), self._mean(name, n)) for n in both}
                yield Curve(self.levels, baseline, name, rates, rule)

    def _mean(self, condition: str, at: int) -> float:
        """The geometric mean of repeats.

        Their standard error is not used: repeats in one instance share what sets it apart from others, so that it
        would be too small. What a cell scatters by is inferred from how cells lie about the curve; so it was validated.
        """
        return float(np.exp(np.mean(np.log(self.rates[condition][at]))))

    def _rule(self) -> ThreadRule:
        if not self.threads:
            return ThreadRule()
        pairs = sorted((cores, n) for cores, found in self.threads.items() for n in found)
        seen, per_core = {n for _, n in pairs}, {Fraction(n, cores) for cores, n in pairs}
        if min(len(seen), len(per_core)) > 1:
            found = ", ".join(f"{n} with {cores}" for cores, n in pairs)
            raise UsageError(Refusal.of("cores-and-threads", where=self._where(), found=found))
        if idle := [f"{n} with {cores}" for cores, n in pairs if n < cores]:
            raise UsageError(Refusal.of("cores-idle", where=self._where(), found=", ".join(idle)))
        return ThreadRule(fixed=seen.pop()) if len(seen) == 1 else ThreadRule(per_core=per_core.pop())

    def _where(self) -> str:
        return "".join(f"{name} {level}: " for name, level in self.levels)


def axis_of(observations: Iterable[Observation]) -> Axis:
    """Cores where results are of several numbers of cores, at none of which threads vary; else threads."""
    threads: dict[Levels, dict[Level, set[Level | None]]] = {}
    for one in observations:
        if (cores := _level(one, Axis.CORES)) is not None:
            threads.setdefault(_rest(one, Axis.CORES), {}).setdefault(cores, set()).add(_level(one, Axis.THREADS))
    are_over_cores = any(len(found) > 1 for found in threads.values())
    varies = any(len(seen) > 1 for found in threads.values() for seen in found.values())
    return Axis.CORES if are_over_cores and not varies else Axis.THREADS


def axis_of_run(settings: RunSettings) -> Axis:
    """Cores where the run varied them and not threads; else threads."""
    levels = [dict(condition.levels) for condition in settings.conditions]
    cores, threads = ({of.get(axis) for of in levels} for axis in (Axis.CORES, Axis.THREADS))
    return Axis.CORES if len(cores) > 1 and len(threads) == 1 else Axis.THREADS


def curves_of_observations(observations: Iterable[Observation], over: Axis, baseline: str | None) -> list[Curve]:
    """Every curve of files, of the whole mix where they have it; a sweep for each level of what else varies.

    Raises:
        UsageError: all that is wrong with numbers of cores and the threads of each.
    """
    usable = [
        (one, rate, at)
        for one in observations
        if (rate := _rate(one)) is not None and (at := _level(one, over)) is not None
    ]
    transactions = {one.group.transaction for one, _, _ in usable}
    mix = ALL if ALL in transactions else min(transactions, default=ALL)
    sweeps: dict[Levels, Sweep] = {}
    odd: dict[str, None] = {}
    for one, rate, at in usable:
        if one.group.transaction != mix:
            continue
        if not isinstance(at, int) or at < 1:
            odd[str(at)] = None
            continue
        levels = _rest(one, over)
        sweeps.setdefault(levels, Sweep(levels, over)).add(one.group.condition, at, _threads(one), [rate])
    faults = [Refusal.of("not-a-number-of", over=over, found=", ".join(odd))] if odd else []
    return _all_curves(((sweep, baseline_of(sweep.rates, baseline)) for sweep in sweeps.values()), faults)


def curves_of_trials(trials: Iterable[Trial], settings: RunSettings, over: Axis) -> list[Curve]:
    """Every curve of a run: baseline and treatments; its A/A, B/B and planted twins are left out.

    Raises:
        UsageError: threads of a sweep over cores that follow no rule.
    """
    found: dict[Levels, Sweep] = {}
    for panel in panels(trials, settings):
        base = dict(panel.baseline.levels)
        if not panel.trials or over not in base:
            continue
        fixed = {name for name in base if len({c.level(name) for c in panel.conditions}) == 1} - {over, Axis.THREADS}
        levels = tuple((name, level) for name, level in panel.baseline.levels if name in fixed)
        sweep = found.setdefault(levels, Sweep(levels, over))
        rates = table(panel, _operations_per_second)
        for at, condition in enumerate(panel.conditions):
            if condition.role in (Role.BASELINE, Role.TREATMENT):
                own = [str(level) for name, level in condition.levels if base[name] != level]
                threads = int(condition.level(Axis.THREADS))
                sweep.add(", ".join(own) or _PLAIN, int(base[over]), threads, rates[:, at])
    return _all_curves(((sweep, _PLAIN) for sweep in found.values()), [])


def _all_curves(sweeps: Iterable[tuple[Sweep, str]], faults: list[Refusal]) -> list[Curve]:
    curves: list[Curve] = []
    for sweep, baseline in sweeps:
        try:
            curves += sweep.curves(baseline)
        except UsageError as error:
            faults += error.refusals
    if faults:
        raise UsageError(*faults)
    return curves


def _level(one: Observation, over: Axis) -> Level | None:
    levels = dict(one.group.levels)
    return levels.get(_name(levels) if over is Axis.THREADS else over)


def _name(levels: Collection[str]) -> str:
    return next((name for name in _THREADS if name in levels), Axis.THREADS.value)


def _rest(one: Observation, over: Axis) -> Levels:
    """The levels that tell sweeps apart: threads belong to a sweep over cores."""
    apart = {over.value, _name(dict(one.group.levels))}
    return tuple((name, level) for name, level in one.group.levels if name not in apart)


def _threads(one: Observation) -> int | None:
    found = _level(one, Axis.THREADS)
    return found if isinstance(found, int) and found >= 1 else None


def _rate(one: Observation) -> float | None:
    """Operations per second; of response times in a closed loop without pauses, threads over their mean."""
    if one.group.metric == THROUGHPUT:
        if isinstance(one, Figure):
            return one.value
        return float(np.mean(one.values)) if isinstance(one, Series) else None
    threads = _threads(one)
    mean_ms = one.mean if isinstance(one, Summary) else one.total / one.count if isinstance(one, Samples) else 0.0
    return _MS_PER_SECOND * threads / mean_ms if threads and one.group.unit == "ms" and mean_ms > 0 else None


def _operations_per_second(measurement: Measurement) -> float:
    return measurement.operations / measurement.elapsed_ns * _NS_PER_SECOND
