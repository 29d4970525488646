"""Packs among the files of ``tdelta analyze``: a run of tdelta's, read as the results of any other tool are.

A pack says its conditions itself. Each instance of a condition is one of its runs: rounds are, and so are A/A and B/B
twins, which repeat a condition. How trials of a block are paired is left out, since no other tool's results have it:
the run's own answer (`tdelta show`) knows it, and has the narrower interval.

A pack is a stranger's file: `tdelta.store.pack` turns it into records or refuses it, and figures that no run has are
refused here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from tdelta.design.layout import COMPARED, PLAIN
from tdelta.errors import Defect, ImportFault, StoreError
from tdelta.importers.accumulating import LEAST_MS, LONGEST_MS, MOST_GROUPS, MOST_STRETCHES, Accumulator
from tdelta.importers.protocol import Naming, Source
from tdelta.inference.histograms import Counts, bin_of, decode, longest_ns, merged, shortest_ns
from tdelta.messages import Refusal
from tdelta.records import ALL, Condition, Level, Role, RunSettings, Trial
from tdelta.records.observed import Figure, Group, Observation, Origin, Samples
from tdelta.store.pack import is_beginning, unpacked

_TRANSACTIONS = "tx:"
_CPU = "cpu"
_NS_PER_MS, _US_PER_SECOND = 1e6, 1e6
_REPEATING = {Role.AA: "A/A twin", Role.BB: "B/B twin"}
_MOST_PARTS = 64
_LAST_BIN = bin_of(3_600 * 10**9)
_NEAR = 2e-3
"""A histogram of three digits has the exact total but for a thousandth; more, and it is of other times."""


class PackImporter:
    """The format; see `tdelta.importers.protocol.Importer`."""

    name = "tdelta pack"

    def recognizes(self, source: Source) -> bool:
        """Whether its first line begins as that of a pack."""
        return is_beginning(source.head)

    def says_conditions(self, source: Source) -> bool:
        """Every pack does."""
        del source
        return True

    def read(self, source: Source, naming: Naming) -> Iterator[Observation]:
        """Response times of the mix and of each transaction type, throughput and CPU time, by condition and instance.

        A condition that the user gives a name stands in front of those of the pack.
        """
        try:
            with unpacked(source.path) as (store, run_id):
                yield from list(_observations(store.settings(run_id), store.iter_trials(run_id), source, naming))
        except StoreError as error:
            raise ImportFault(*error.refusals) from error


PACKS = PackImporter()


@dataclass(slots=True)
class _Times:
    """The response times of one transaction type in one instance so far, trial by trial."""

    count: int = 0
    total_ns: int = 0
    parts: list[Counts] = field(default_factory=list)
    trials: list[tuple[int, float]] = field(default_factory=list)

    def add(self, count: int, total_ns: int, parts: Sequence[Counts]) -> None:
        """One more trial's."""
        self.count += count
        self.total_ns += total_ns
        self.parts = [*self.parts, *parts] if len(self.parts) < _MOST_PARTS else [merged([*self.parts, *parts])]
        self.trials.append((count, total_ns / _NS_PER_MS))

    @property
    def mean_ms(self) -> float:
        """Exact."""
        return self.total_ns / self.count / _NS_PER_MS

    def observed(self, group: Group, origin: Origin) -> Observation | None:
        """As samples, where the histograms are of these times; else the mean alone. None where there are no times."""
        if self.count == 0:
            return None
        if not LEAST_MS <= self.mean_ms <= LONGEST_MS:
            raise ValueError(f"a mean response time of {self.mean_ms:g} ms")
        return self._samples(group, origin) or Figure(group=group, origin=origin, value=self.mean_ms)

    def _samples(self, group: Group, origin: Origin) -> Samples | None:
        all_of_them = merged(self.parts)
        if all_of_them.total != self.count or self.count < 2:
            return None
        middle_ms = (shortest_ns(all_of_them.bins) + longest_ns(all_of_them.bins)) / (2 * _NS_PER_MS)
        about_ms = float((middle_ms * all_of_them.counts).sum())
        exact_ms = self.total_ns / _NS_PER_MS
        if abs(about_ms / exact_ms - 1.0) > _NEAR:
            return None
        accumulator = Accumulator()
        accumulator.extend_counted(middle_ms * (exact_ms / about_ms), all_of_them.counts)
        samples = accumulator.samples(group, origin)
        return None if samples is None else replace(samples, clusters=_stretches(self.trials))


@dataclass(slots=True)
class _Instance:
    """What one instance of a condition did so far."""

    times: dict[str, _Times] = field(default_factory=dict)
    operations: int = 0
    elapsed_ns: int = 0
    cpu_seconds: float = 0.0

    def add(self, trial: Trial) -> None:
        """One more trial."""
        measured = trial.measurement
        histograms = {
            name.removeprefix(_TRANSACTIONS): _decoded(payload)
            for name, payload in measured.histograms.items()
            if name.startswith(_TRANSACTIONS)
        }
        done = {name: spans for name, spans in measured.transactions.items() if spans.count > 0}
        for name, spans in done.items():
            part = [histograms[name]] if name in histograms else []
            self._of(name).add(spans.count, spans.total_ns, part)
        if done:
            counts, totals = zip(*((spans.count, spans.total_ns) for spans in done.values()), strict=True)
            self._of(ALL).add(sum(counts), sum(totals), [histograms[name] for name in done if name in histograms])
        self.operations += measured.operations
        self.elapsed_ns += measured.elapsed_ns
        self.cpu_seconds += measured.cpu_seconds

    def _of(self, transaction: str) -> _Times:
        return self.times.setdefault(transaction, _Times())

    def observed(self, group: Group, origin: Origin) -> Iterator[Observation]:
        """All of it."""
        types = [name for name in self.times if name != ALL]
        for name, times in self.times.items():
            if name == ALL or len(types) > 1:
                found = times.observed(replace(group, transaction=name), origin)
                if found is not None:
                    yield found
        if self.operations > 0 and self.elapsed_ns > 0:
            rate = 1e9 * self.operations / self.elapsed_ns
            yield _figure(replace(group, metric="throughput", unit="/s"), origin, rate)
        if self.operations > 0 and self.cpu_seconds > 0:
            used = _US_PER_SECOND * self.cpu_seconds / self.operations
            yield _figure(replace(group, metric=_CPU, unit="µs"), origin, used)


def _decoded(payload: bytes) -> Counts:
    try:
        found = decode(payload)
    except Defect as error:
        raise ValueError(str(error)) from error
    if found.bins.size and int(found.bins[-1]) > _LAST_BIN:
        raise ValueError("a histogram with times of more than an hour")
    return found


def _figure(group: Group, origin: Origin, value: float) -> Figure:
    if not 0.0 < value <= LONGEST_MS:
        raise ValueError(f"{group.metric} of {value:g}{group.unit}")
    return Figure(group=group, origin=origin, value=value)


def _observations(
    settings: RunSettings, trials: Iterator[Trial], source: Source, naming: Naming
) -> Iterator[Observation]:
    instances: dict[tuple[Condition, str], _Instance] = {}
    for trial in trials:
        if trial.measurement.operations <= 0:
            continue
        key = (replace(trial.condition, role=_repeated(trial.condition)), _run_of(trial, naming))
        instances.setdefault(key, _Instance()).add(_sound(trial))
        if len(instances) > MOST_GROUPS:
            raise ImportFault(Refusal.of("groups-too-many", most=MOST_GROUPS, kind="instances").at(source.name))
    plain = {one.stratum: dict(one.levels) for one in settings.conditions if one.role is Role.BASELINE}
    origin = Origin(source.name, PackImporter.name)
    found = False
    for (condition, run), instance in instances.items():
        name = _named(condition, plain.get(condition.stratum, {}))
        group = Group(
            condition=name if naming.condition is None else f"{naming.condition} {name}",
            run=run,
            levels=(*naming.levels, *_factors(condition, settings)),
        )
        for one in instance.observed(group, origin):
            found = True
            yield one
    if not found:
        raise ImportFault(Refusal.of("pack-without-trials").at(source.name))


def _sound(trial: Trial) -> Trial:
    """The trial, whose sums can be made: a stranger's numbers may be such as no clock gives."""
    measured = trial.measurement
    totals = [number for spans in measured.transactions.values() for number in (spans.count, spans.total_ns)]
    for number in (measured.operations, measured.elapsed_ns, measured.cpu_seconds, *totals):
        if not (0 <= number < 1 << 62):  # NaN is not, either
            raise ValueError(f"a trial with {number:g}")
    return trial


def _repeated(condition: Condition) -> Role:
    """The part of what a twin repeats: A/A twins are more instances of the baseline, B/B twins of their condition."""
    if condition.role not in _REPEATING:
        return condition.role
    return Role.BASELINE if condition.role is Role.AA else Role.TREATMENT


def _run_of(trial: Trial, naming: Naming) -> str:
    twin = f", {_REPEATING[trial.condition.role]}" if trial.condition.role in _REPEATING else ""
    return f"{naming.run}, round {trial.round + 1}{twin}"


def _named(condition: Condition, plain: dict[str, Level]) -> str:
    """What a condition is called: the levels in which it differs from its baseline."""
    if condition.role is Role.BASELINE:
        return PLAIN
    if condition.role is Role.PLANTED:
        return f"planted {100 * (condition.planted or 0.0):.12g}%"
    if condition.role is Role.IDENTICAL:
        return condition.role.value
    differing = [
        str(level) if factor in ("cipher", "scope", "storage") else f"{factor}={level}"
        for factor, level in condition.levels
        if factor in COMPARED and level != plain.get(factor)
    ]
    return " ".join(differing) or condition.key


def _factors(condition: Condition, settings: RunSettings) -> tuple[tuple[str, Level], ...]:
    """The factors of its stratum that the run varies."""
    levels: dict[str, set[Level]] = {}
    for one in settings.conditions:
        for factor, level in one.levels:
            levels.setdefault(factor, set()).add(level)
    return tuple(
        (factor, level)
        for factor, level in condition.levels
        if factor not in COMPARED and len(levels.get(factor, ())) > 1
    )


def _stretches(trials: Sequence[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """Counts and sums of trials in their order, neighbours put together where there are too many."""
    step = math.ceil(len(trials) / MOST_STRETCHES)
    parts = [trials[at : at + step] for at in range(0, len(trials), step)]
    return tuple((sum(count for count, _ in part), math.fsum(total for _, total in part)) for part in parts)
