"""Tails of what other tools measured: how often a threshold was exceeded, and the 99th percentile, of two conditions.

What a design can bear decides what is said. Of one run a side there is no interval that means anything: transactions of
one run share its luck, and intervals from their number alone hold the truth 32 to 70 times in 100. With three runs and
more on both sides the run is the unit: shares by linearisation and Welch's t, percentiles by a jackknife over runs.
Their simulated coverage is in ``docs/tails.md``.

Bins are wider than a run's own and may differ from file to file, so nothing is interpolated: of the bin that a limit
or a percentile lies in only its edges are known, and both ends are told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tdelta.inference.percentiles import FEWEST_BEYOND, QUANTILE
from tdelta.inference.posterior import FloatArray
from tdelta.inference.student import t_reach
from tdelta.records import Binned, ObservedSide, ObservedTail, Samples, TailRatio, TailUnit

FEWEST_RUNS = 3
"""Runs on each side from which on there is an interval."""

_MASS = 0.95


@dataclass(frozen=True, slots=True)
class _Run:
    """The bins of one run, of all its files.

    Attributes:
        low, high: shape (n,), edges of each bin, ms.
        counts: shape (n,).
    """

    low: FloatArray
    high: FloatArray
    counts: FloatArray

    @property
    def total(self) -> float:
        return float(self.counts.sum())

    def longer(self, threshold_ms: float, *, surely: bool) -> float:
        """How many were surely longer than a threshold, or may have been."""
        edge = self.low if surely else self.high
        beyond = edge >= threshold_ms if surely else edge > threshold_ms
        return float(self.counts[beyond].sum())


def observed_tails(
    baseline: Sequence[Samples | Binned], condition: Sequence[Samples | Binned], threshold_ms: float | None
) -> ObservedTail:
    """The tails of one condition beside its baseline.

    Args:
        baseline: the baseline's observations of one transaction, in any order; those of the same run are added up.
        condition: the condition's, of the same transaction.
        threshold_ms: what the user allows a transaction, ms; None to be told the percentile only.

    Returns:
        Both sides' counts and percentiles with their quotients, and an interval where there are `FEWEST_RUNS` runs on
        both sides. Deterministic, and never a reason to decide anything.

    Raises:
        ValueError: a side has no observation; there is nothing to compare.
    """
    if not baseline or not condition:
        raise ValueError("tails: expected observations of both conditions, found none of one")
    there, here = _runs(baseline), _runs(condition)
    sides = _side(baseline, there, threshold_ms), _side(condition, here, threshold_ms)
    has_runs = min(len(there), len(here)) >= FEWEST_RUNS
    has_longer = threshold_ms is not None and all(side.longer_at_least for side in sides)
    has_p99 = all(side.p99_within_ms is not None and np.isfinite(side.p99_within_ms[1]) for side in sides)
    longer = _shares_ratio(there, here, threshold_ms) if threshold_ms is not None and has_longer and has_runs else None
    return ObservedTail(
        threshold_ms=threshold_ms,
        baseline=sides[0],
        condition=sides[1],
        longer_quotient=_share(here, threshold_ms) / _share(there, threshold_ms) if has_longer else None,
        longer_ratio=longer,
        p99_quotient=_p99_ms(here)[1] / _p99_ms(there)[1] if has_p99 else None,
        p99_ratio=_percentile_ratio(there, here) if has_p99 and has_runs else None,
        reason="" if has_runs else _reason(len(there), len(here)),
    )


def _reason(there: int, here: int) -> str:
    fewest = min(there, here)
    runs = "one run" if fewest == 1 else f"{fewest} runs"
    return (
        f"no interval: {runs} of a condition cannot tell its luck from the condition's own;"
        f" it takes {FEWEST_RUNS} runs of each"
    )


def _runs(observations: Iterable[Samples | Binned]) -> list[_Run]:
    """Observations by run, in the order in which runs are first seen."""
    by_run: dict[str, list[Samples | Binned]] = {}
    for observation in observations:
        by_run.setdefault(observation.group.run, []).append(observation)
    return [_run(parts) for parts in by_run.values()]


def _run(parts: Iterable[Samples | Binned]) -> _Run:
    low: list[float] = []
    high: list[float] = []
    counts: list[int] = []
    for part in parts:
        low += part.bins.edges[:-1]
        high += part.bins.edges[1:]
        counts += part.bins.counts
        if isinstance(part, Samples) and part.zeros:  # the clock was too coarse to tell them from 0
            low.append(0.0)
            high.append(part.minimum)
            counts.append(part.zeros)
    kept = np.array(counts, dtype=np.float64) > 0
    edges = (np.array(low, dtype=np.float64)[kept], np.array(high, dtype=np.float64)[kept])
    return _Run(*edges, np.array(counts, dtype=np.float64)[kept])


def _side(observations: Sequence[Samples | Binned], runs: Sequence[_Run], threshold_ms: float | None) -> ObservedSide:
    total = sum(run.total for run in runs)
    surely, perhaps = (
        int(sum(run.longer(threshold_ms, surely=surely) for run in runs)) if threshold_ms is not None else None
        for surely in (True, False)
    )
    return ObservedSide(
        condition=observations[0].group.condition,
        runs=len(runs),
        count=int(total),
        longer_at_least=surely,
        longer_at_most=perhaps,
        p99_within_ms=_p99_ms(runs) if total * (1.0 - QUANTILE) >= FEWEST_BEYOND * (1.0 - 1e-9) else None,
    )


def _share(runs: Sequence[_Run], threshold_ms: float | None) -> float:
    """The share that was surely longer; NaN without a threshold."""
    if threshold_ms is None:
        return float("nan")
    return sum(run.longer(threshold_ms, surely=True) for run in runs) / sum(run.total for run in runs)


def _shares_ratio(there: Sequence[_Run], here: Sequence[_Run], threshold_ms: float) -> TailRatio:
    """The quotient of shares over runs: each side linearised, and Welch's t for the difference of their logs."""
    terms = [_log_share_error(runs, threshold_ms) for runs in (there, here)]
    ratio = _share(here, threshold_ms) / _share(there, threshold_ms)
    return _welch(ratio, terms, resolution=0.0)


def _log_share_error(runs: Sequence[_Run], threshold_ms: float) -> tuple[float, int]:
    """The variance of a side's log share, and its runs."""
    longer = np.array([run.longer(threshold_ms, surely=True) for run in runs])
    of = np.array([run.total for run in runs])
    influence = (longer - longer.sum() / of.sum() * of) / longer.sum()
    return len(runs) / (len(runs) - 1.0) * float((influence**2).sum()), len(runs)


def _percentile_ratio(there: Sequence[_Run], here: Sequence[_Run]) -> TailRatio | None:
    """The quotient of percentiles of all runs together; the jackknife leaves one run out at a time.

    None where the percentile of some of the runs lies in a bin without an end.
    """
    terms = [_log_p99_error(runs) for runs in (there, here)]
    if not all(np.isfinite(variance) for variance, _ in terms):
        return None
    low, high = zip(_p99_ms(there), _p99_ms(here), strict=True)
    widest = max(float(np.log(end / max(start, 1e-12 * end))) for start, end in zip(low, high, strict=True))
    return _welch(high[1] / high[0], terms, resolution=widest)


def _log_p99_error(runs: Sequence[_Run]) -> tuple[float, int]:
    """The jackknife's variance of a side's log percentile, and its runs."""
    without = [_p99_ms([*runs[:left], *runs[left + 1 :]])[1] for left in range(len(runs))]
    if not np.isfinite(without).all():
        return float("inf"), len(runs)
    logs = np.log(np.array(without))
    return (len(runs) - 1.0) / len(runs) * float(((logs - logs.mean()) ** 2).sum()), len(runs)


def _welch(ratio: float, terms: Sequence[tuple[float, int]], *, resolution: float) -> TailRatio:
    """An interval of a ratio by Welch's t (Biometrika 34, 1947); ``resolution`` (log) is what bins leave open."""
    variance = sum(of for of, _ in terms)
    spread = sum(of**2 / (runs - 1.0) for of, runs in terms)
    fewest = min(runs for _, runs in terms) - 1.0
    df = max(fewest, variance**2 / spread) if spread > 0 else fewest
    half = t_reach(df, _MASS) * float(np.sqrt(variance)) + resolution
    ends = float(ratio * np.exp(-half)), float(ratio * np.exp(half))
    return TailRatio(ratio, ends, TailUnit.RUN, sum(runs for _, runs in terms))


def _p99_ms(runs: Sequence[_Run]) -> tuple[float, float]:
    """The edges between which the 99th percentile of all runs together lies, ms.

    Values are somewhere in their bins: with all at the lower edges it is least, with all at the upper ones it is at its
    most.
    """
    counts = np.concatenate([run.counts for run in runs])
    ends = []
    for edges in (np.concatenate([run.low for run in runs]), np.concatenate([run.high for run in runs])):
        order = np.argsort(edges, kind="stable")
        reached = np.cumsum(counts[order]) >= QUANTILE * counts.sum() * (1.0 - 1e-12)
        ends.append(float(edges[order][int(np.argmax(reached))]))
    return ends[0], ends[1]
