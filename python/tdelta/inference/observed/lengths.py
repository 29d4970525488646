"""Runs of unequal length: a load that slows for hours is another load after four minutes.

Where every run has a series, all are cut to the length of the shortest, so that the same first part is compared. Where
one has none, the comparison is kept from deciding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tdelta.inference.observed.pairing import Pair
from tdelta.inference.observed.series import FEWEST_VALUES
from tdelta.records import Observation, Series

UNEQUAL = 1.5
"""The longest run over the shortest: beyond it runs are unequal in length."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """The lengths of both sides' runs, shortest and longest, seconds."""

    baseline: tuple[float, float]
    condition: tuple[float, float]

    @property
    def is_unequal(self) -> bool:
        """Whether the longest run is far longer than the shortest."""
        return self.longest > UNEQUAL * self.shortest

    @property
    def shortest(self) -> float:
        """Of all runs."""
        return min(self.baseline[0], self.condition[0])

    @property
    def longest(self) -> float:
        """Of all runs."""
        return max(self.baseline[1], self.condition[1])


def lengths_of(pair: Pair) -> Lengths | None:
    """How long the runs of a comparison are; None where one does not say."""
    seconds = pair.run_seconds
    known = [length for length in seconds if length is not None and length > 0.0]
    if len(known) < len(seconds):
        return None
    baseline, condition = pair.sides(known)
    return Lengths((min(baseline), max(baseline)), (min(condition), max(condition)))


def same_part(pair: Pair, lengths: Lengths) -> Pair | None:
    """The comparison with every series cut to the shortest; None where a run has no series, or too little of one."""
    cut = [_first_part(run, beside, lengths.shortest) for run, beside in zip(pair.runs, pair.beside, strict=True)]
    whole = [run for run in cut if run is not None]
    if len(whole) < len(cut):
        return None
    baseline, condition = pair.sides(whole)
    return replace(pair, baseline_runs=baseline, condition_runs=condition, beside=(None,) * len(whole))


def _first_part(run: Observation, beside: Series | None, seconds: float) -> Series | None:
    series = run if isinstance(run, Series) else beside
    if series is None or (series.group.metric, series.group.transaction) != (run.group.metric, run.group.transaction):
        return None
    count = round((seconds - series.starts_at_seconds) / series.interval_seconds)
    return series.first(count) if count >= FEWEST_VALUES else None
