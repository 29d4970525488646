"""Which figures of which condition are held against which of the baseline: what is merged, what is left out and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

import numpy as np

from tdelta.importers.merging import pooled
from tdelta.messages import Caution, Reason
from tdelta.records import (
    ALL,
    RESPONSE_TIME,
    THROUGHPUT,
    Binned,
    Bins,
    Figure,
    Level,
    Observation,
    Origin,
    Samples,
    Series,
    Summary,
)

Key: TypeAlias = tuple[tuple[tuple[str, Level], ...], str, str, str]
"""Levels, transaction, metric, unit: what two conditions must have in common to be compared."""

T = TypeVar("T")

TABLES = frozenset(("CSV", "JSON lines"))
"""Formats in which a file keeps runs that were made whenever they were."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One comparison to be made.

    `beside`: for each of those runs, baseline's first, the throughput over time of the same run; None where there is
    none, or the observation is a series itself.
    """

    key: Key
    baseline: str
    condition: str
    baseline_runs: tuple[Observation, ...]
    condition_runs: tuple[Observation, ...]
    beside: tuple[Series | None, ...]

    @property
    def origins(self) -> tuple[Origin, ...]:
        return tuple({one.origin.file: one.origin for one in self.runs}.values())

    @property
    def runs(self) -> tuple[Observation, ...]:
        return *self.baseline_runs, *self.condition_runs

    @property
    def is_of_one_log_a_side(self) -> bool:
        """Whether all runs of a side stand one behind the other in one log of a tool."""
        files = [{run.origin.file for run in runs} for runs in (self.baseline_runs, self.condition_runs)]
        logs = {run.origin.format for run in self.runs}.isdisjoint(TABLES)
        return logs and max(map(len, files)) == 1 < max(len(self.baseline_runs), len(self.condition_runs))

    @property
    def run_seconds(self) -> list[float | None]:
        return [run_seconds(one, beside) for one, beside in zip(self.runs, self.beside, strict=True)]

    def sides(self, values: Sequence[T]) -> tuple[tuple[T, ...], tuple[T, ...]]:
        split = len(self.baseline_runs)
        return tuple(values[:split]), tuple(values[split:])


@dataclass(frozen=True, slots=True)
class Paired:
    pairs: tuple[Pair, ...]
    left_out: tuple[Caution, ...]


def paired(observations: Iterable[Observation], baseline: str) -> Paired:
    """Hold every condition against the baseline, at the same levels (in any order), transaction, metric and unit."""
    left_out: list[Caution] = []
    table: dict[Key, dict[str, dict[str, list[Observation]]]] = {}
    as_first_seen: dict[frozenset[tuple[str, Level]], tuple[tuple[str, Level], ...]] = {}
    found = _one_row_a_run(tuple(observations))
    for one in found:
        group = one.group
        levels = as_first_seen.setdefault(frozenset(group.levels), group.levels)
        key = (levels, group.transaction, group.metric, group.unit)
        table.setdefault(key, {}).setdefault(group.condition, {}).setdefault(group.run, []).append(one)
    pairs: list[Pair] = []
    rates = _rates(found)
    for key, conditions in table.items():
        runs = {name: _one_each(of, left_out) for name, of in conditions.items()}
        usable = {name: of for name, of in runs.items() if of}
        if baseline not in usable:
            names = ", ".join(conditions)
            left_out.append(Caution.of("not-compared", what=names, why=f"{baseline} has no such figure").at(place(key)))
            continue
        others = [name for name in usable if name != baseline]
        if not others:
            left_out.append(
                Caution.of("not-compared", what=baseline, why="no other configuration has such a figure").at(place(key))
            )
        for name in others:
            sides = _by_file(usable[baseline], usable[name])
            beside = tuple(_beside(one, rates) for side in sides for one in side)
            pairs.append(Pair(key, baseline, name, *sides, beside))
    return Paired(tuple(pairs), tuple(dict.fromkeys(left_out)))


def _one_row_a_run(observations: Sequence[Observation]) -> tuple[Observation, ...]:
    """A report and a log of the same runs as one: where only the report says how many clients there were.

    Runs that one file has without a level, and another file with it, are the same runs where condition and name of all
    of them are, and only one level of it was measured.
    """
    of_levels: dict[frozenset[tuple[str, Level]], dict[tuple[str, str], set[str]]] = {}
    for one in observations:
        names = of_levels.setdefault(frozenset(one.group.levels), {})
        names.setdefault((one.group.condition, one.group.run), set()).add(one.origin.file)
    fuller: dict[frozenset[tuple[str, Level]], frozenset[tuple[str, Level]]] = {}
    for levels, runs in of_levels.items():
        above = [other for other in of_levels if levels < other]
        if len(above) == 1 and all(not files & of_levels[above[0]].get(run, files) for run, files in runs.items()):
            fuller[levels] = above[0]
    named = {frozenset(one.group.levels): one.group.levels for one in observations}
    return tuple(
        replace(one, group=replace(one.group, levels=named[fuller[levels]])) if levels in fuller else one
        for one in observations
        for levels in (frozenset(one.group.levels),)
    )


RunName: TypeAlias = tuple[str, str, frozenset[tuple[str, Level]]]  # condition, run, levels


def run_name(one: Observation) -> RunName:
    return one.group.condition, one.group.run, frozenset(one.group.levels)


def _rates(observations: Iterable[Observation]) -> Mapping[RunName, Mapping[str, Series]]:
    found: dict[RunName, dict[str, Series]] = {}
    for one in observations:
        if isinstance(one, Series) and one.group.is_throughput:
            found.setdefault(run_name(one), {}).setdefault(one.group.transaction, one)
    return found


def _beside(one: Observation, rates: Mapping[RunName, Mapping[str, Series]]) -> Series | None:
    """The throughput over time of the same run: of the same transaction, else of the whole mix."""
    is_of_time = one.group.metric in (RESPONSE_TIME, THROUGHPUT) and not isinstance(one, Series)
    of_run = rates.get(run_name(one), {}) if is_of_time else {}
    return of_run.get(one.group.transaction, of_run.get(ALL))


def run_seconds(observation: Observation, beside: Series | None) -> float | None:
    """How long a run was measured: as its file says, else as long as its series; None where neither is known."""
    if observation.duration_seconds is not None:
        return observation.duration_seconds
    series = observation if isinstance(observation, Series) else beside
    if series is None:
        return None
    return series.duration_seconds or series.starts_at_seconds + series.interval_seconds * len(series.values)


def rounding_of(observation: Observation) -> float:
    """How far off its print, or its clock, leaves a mean, as a share of it: of a series, of the mean of its values."""
    value = merged_value(observation)
    if value <= 0.0:
        return 0.0
    off = observation.rounding / value
    return off / float(np.sqrt(len(observation.values))) if isinstance(observation, Series) else off


def place(key: Key) -> str:
    """A comparison's place in words: ``threads=16, NewOrder, response_time``."""
    levels, transaction, metric, _ = key
    return ", ".join([*(f"{name}={level}" for name, level in levels), transaction, metric])


def strength(observation: Observation) -> int:
    """How much an observation lets a model say: the lower, the more.

    What a tool reports of the whole run comes before its figures over time, which may lack a part of it, and which set
    the width beside it.
    """
    match observation:
        case Samples():
            return 0
        case Binned():
            return 1
        case Summary(sd=float() | int()):
            return 2
        case Summary():
            return 3
        case Figure():
            return 4
        case Series():
            return 5


def _one_each(runs: Mapping[str, Sequence[Observation]], left_out: list[Caution]) -> tuple[Observation, ...]:
    """Of each run its strongest kind of figures, parts of it (a file for each thread) put together.

    None at all where a run has a mean of 0: the others alone would be the slower ones.
    """
    each: list[Observation] = []
    for found in runs.values():
        best = min(map(strength, found))
        alike = [one for one in found if strength(one) == best]
        merged = _with_facts(_merged(alike, left_out), found)
        value = merged_value(merged)
        if not np.isfinite(value) or value <= 0.0:
            group = merged.group
            where = place((group.levels, group.transaction, group.metric, group.unit))
            left_out.append(
                Caution.of("not-compared", what=group.condition, why=f"the mean of run {group.run} is {value:g}").at(
                    where
                )
            )
            return ()
        each.append(merged)
    return tuple(each)


def _by_file(
    baseline: tuple[Observation, ...], condition: tuple[Observation, ...]
) -> tuple[tuple[Observation, ...], tuple[Observation, ...]]:
    """The runs of both sides; where there are several files, those of one file are repetitions and make one run.

    What differs from one day or machine to the next differs between files, and repetitions within one do not show it.
    """
    files = {one.origin.file for one in baseline}, {one.origin.file for one in condition}
    if max(map(len, files)) == 1:
        return baseline, condition
    return tuple(_one_a_file(baseline)), tuple(_one_a_file(condition))


def _one_a_file(runs: Sequence[Observation]) -> Iterator[Observation]:
    of_file: dict[str, list[Observation]] = {}
    for run in runs:
        of_file.setdefault(run.origin.file, []).append(run)
    for repeated in of_file.values():
        yield repeated[0] if len(repeated) == 1 else _repeated(repeated)


def _repeated(runs: Sequence[Observation]) -> Observation:
    """Repetitions as one run: all their values, or the geometric mean of their figures."""
    if all(isinstance(run, Samples) for run in runs) or all(isinstance(run, Binned) for run in runs):
        return _with_facts(_merged(runs, []), runs[:1])
    value = float(np.exp(np.mean([np.log(merged_value(run)) for run in runs])))
    first = runs[0]
    mean = Figure(first.group, first.origin, value, rounding=max(merged_value(run) * rounding_of(run) for run in runs))
    return _with_facts(mean, runs[:1])


def _with_facts(one: Observation, parts: Sequence[Observation]) -> Observation:
    """When it began and how long it took, where only another file of the same run says so."""
    starts = [part.started_unix_seconds for part in parts if part.started_unix_seconds is not None]
    lengths = [part.duration_seconds for part in parts if part.duration_seconds is not None]
    return replace(
        one,
        started_unix_seconds=min(starts, default=None),
        duration_seconds=one.duration_seconds if one.duration_seconds is not None else max(lengths, default=None),
    )


def merged_value(observation: Observation) -> float:
    match observation:
        case Samples():
            return observation.total / observation.count if observation.count else 0.0
        case Binned():
            return moments(observation.bins)[0] if sum(observation.bins.counts) else 0.0
        case Summary():
            return observation.mean
        case Series():
            return observation.mean
        case Figure():
            return observation.value


def _merged(alike: Sequence[Observation], left_out: list[Caution]) -> Observation:
    if len(alike) == 1:
        return alike[0]
    if samples := [one for one in alike if isinstance(one, Samples)]:
        return _merged_samples(samples)
    if binned := [one for one in alike if isinstance(one, Binned)]:
        return replace(binned[0], bins=merged_bins([one.bins for one in binned]))
    if summaries := [one for one in alike if isinstance(one, Summary)]:
        return pooled(summaries)
    first = alike[0]
    for other in alike[1:]:
        line = "" if other.origin.line is None else f":{other.origin.line}"
        left_out.append(
            Caution.of(
                "second-figure", condition=first.group.condition, run=first.group.run, first=first.origin.file
            ).at(f"{other.origin.file}{line}")
        )
    return first


def _merged_samples(parts: Sequence[Samples]) -> Samples:
    """Sums add up; what was before what in time is no longer known, so the stretches are dropped."""
    return replace(
        parts[0],
        count=sum(p.count for p in parts),
        total=sum(p.total for p in parts),
        total_log=sum(p.total_log for p in parts),
        total_squares=sum(p.total_squares for p in parts),
        minimum=min(p.minimum for p in parts),
        maximum=max(p.maximum for p in parts),
        bins=merged_bins([p.bins for p in parts]),
        clusters=(),
        zeros=sum(p.zeros for p in parts),
        rounding=max(p.rounding for p in parts),
    )


def merged_bins(parts: Sequence[Bins]) -> Bins:
    """Histograms as one: on the edges of all of them, less those that would cut a full bin of another."""
    if len({part.edges for part in parts}) == 1:
        return Bins(parts[0].edges, tuple(map(sum, zip(*(part.counts for part in parts), strict=True))))
    spans = [(a, b) for part in parts for a, b, n in zip(part.edges, part.edges[1:], part.counts, strict=False) if n]
    edges = np.unique(np.concatenate([part.edges for part in parts]))
    low, high = np.array(sorted(spans)).T
    furthest = np.maximum.accumulate(high)
    before = np.searchsorted(low, edges, side="left") - 1
    kept = edges[(before < 0) | (furthest[np.maximum(before, 0)] <= edges)]
    counts = np.zeros(len(kept) - 1, dtype=np.int64)
    for part in parts:
        at = np.searchsorted(kept, part.edges[:-1], side="right") - 1
        full = np.array(part.counts) > 0
        np.add.at(counts, at[full], np.array(part.counts)[full])
    return Bins(tuple(map(float, kept)), tuple(map(int, counts)))


def reduced(first: Observation, second: Observation) -> tuple[Observation, Observation]:
    """Two single runs in figures of one kind, the weaker one's, so that one model serves both sides."""
    if isinstance(first, Series) or isinstance(second, Series):
        return first, second
    weaker = max(strength(first), strength(second))
    return _as_weak(first, weaker), _as_weak(second, weaker)


def _as_weak(observation: Observation, weaker: int) -> Observation:
    if strength(observation) >= weaker or weaker not in (1, 2):
        return observation
    group, origin = observation.group, observation.origin
    weak: Observation = observation
    if isinstance(observation, Samples) and weaker == 1:
        weak = Binned(group, origin, observation.bins, rounding=observation.rounding)
    elif isinstance(observation, Samples):
        weak = summarized(observation)
    elif isinstance(observation, Binned):
        weak = Summary(group, origin, sum(observation.bins.counts), *moments(observation.bins))
    return _with_facts(weak, (observation,))


def summarized(samples: Samples) -> Summary:
    mean = samples.total / samples.count
    squares = max(samples.total_squares - samples.count * mean**2, 0.0)
    sd = float(np.sqrt(squares / max(samples.count - 1, 1)))
    weak = Summary(samples.group, samples.origin, samples.count, mean, sd, rounding=samples.rounding)
    return replace(weak, started_unix_seconds=samples.started_unix_seconds, duration_seconds=samples.duration_seconds)


def formats(observations: Iterable[Observation]) -> dict[str, int]:
    files = {(one.origin.format, one.origin.file) for one in observations}
    return dict(Counter(name for name, _ in sorted(files)))


def moments(bins: Bins) -> tuple[float, float]:
    """Mean and sd of a histogram, each value taken to lie in the middle of its bin; open ends count at their edge."""
    edges, counts = np.array(bins.edges), np.array(bins.counts, dtype=np.float64)
    low, high = edges[:-1], np.where(np.isinf(edges[1:]), edges[:-1], edges[1:])
    middle = 0.5 * (low + high)
    mean = float(counts @ middle / counts.sum())
    within = float(counts @ (high - low) ** 2 / counts.sum()) / 12.0
    return mean, float(np.sqrt(max(float(counts @ (middle - mean) ** 2) / counts.sum() + within, (1e-6 * mean) ** 2)))


# Whether two conditions were given the same test, as far as their files say what the test was.
#
# A setting in which runs of one condition differ (a log of three query modes) is a level: such runs are no repetitions
# of one another. One in which a condition's runs agree and differ from the other condition's makes it another test: its
# figures are shown, and decide nothing. What a file does not say of itself may be anything.


@dataclass(frozen=True, slots=True)
class Levelled:
    """Observations whose runs each have all that their files say of the test, and what became a level of it."""

    observations: tuple[Observation, ...]
    cautions: tuple[Caution, ...]


def levelled(observations: Sequence[Observation]) -> Levelled:
    """The settings of each run with all of its figures; those that vary within a condition as levels."""
    of_runs: dict[RunName, dict[str, Level]] = {}
    for one in observations:
        of_runs.setdefault(run_name(one), {}).update(one.origin.settings)
    varying = _varying(of_runs)
    found: list[Observation] = []
    for one in observations:
        settings = of_runs[run_name(one)]
        split = [name for name in varying.get(frozenset(one.group.levels), ()) if name in settings]
        group = replace(one.group, levels=(*one.group.levels, *((name, settings[name]) for name in split)))
        found.append(replace(one, group=group, origin=replace(one.origin, settings=tuple(settings.items()))))
    names = dict.fromkeys(name for of in varying.values() for name in of)
    said = (Caution.of("tests-as-levels", settings=", ".join(names)),) if names else ()
    return Levelled(tuple(found), said)


def _varying(of_runs: Mapping[RunName, Mapping[str, Level]]) -> dict[frozenset[tuple[str, Level]], tuple[str, ...]]:
    """At which levels runs of one condition differ in which settings: as few as tell them apart."""
    places: dict[frozenset[tuple[str, Level]], list[tuple[str, Mapping[str, Level]]]] = {}
    for (condition, _, levels), settings in of_runs.items():
        places.setdefault(levels, []).append((condition, settings))
    return {levels: _telling_apart(runs) for levels, runs in places.items()}


def _telling_apart(runs: Sequence[tuple[str, Mapping[str, Level]]]) -> tuple[str, ...]:
    chosen: list[str] = []
    for name in dict.fromkeys(name for _, settings in runs for name in settings):
        seen: dict[object, set[Level]] = {}
        for condition, settings in runs:
            if name in settings:
                seen.setdefault((condition, *(settings.get(it) for it in chosen)), set()).add(settings[name])
        if any(len(values) > 1 for values in seen.values()):
            chosen.append(name)
    return tuple(chosen)


def difference(pair: Pair) -> Reason | None:
    """The differing test of the two conditions as the files give it; None where nothing differs."""
    words = "; ".join(_differing(pair))
    return Reason.of("tests-differ", settings=words) if words else None


def _differing(pair: Pair) -> Iterator[str]:
    sides = [_said(runs) for runs in (pair.baseline_runs, pair.condition_runs)]
    for name, values in sides[0].items():
        others = sides[1].get(name, values)
        if not values & others:
            yield f"{name} {_listed(values)} of {pair.baseline}, {_listed(others)} of {pair.condition}"


def _said(runs: Sequence[Observation]) -> dict[str, set[Level]]:
    found: dict[str, set[Level]] = {}
    for run in runs:
        for name, value in run.origin.settings:
            found.setdefault(name, set()).add(value)
    return found


def _listed(values: set[Level]) -> str:
    return " and ".join(sorted(map(str, values)))
