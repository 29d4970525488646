"""Tails of what other tools measured: how often a threshold was exceeded, and the 99th percentile, of two conditions.

What a design can bear decides what is said. Of one run a side there is no interval that means anything: transactions of
one run share its effect, and intervals from their number alone cover the truth in 32 to 70 of 100 cases. With three
runs and more on both sides the run is the unit: shares by linearisation and Welch's t, percentiles by a jackknife over
runs. Simulated coverage: ``benches/results/tails.md``. Three runs can agree by chance, so no interval is ever narrower
than what the number of transactions alone would leave open.

Bins are wider than a run's own and may differ from file to file, so nothing is interpolated: of the bin that a limit
or a percentile lies in only its edges are known, and both ends are told. Values are counted from an edge that all runs
of both sides have, or two tools' bins would hold one side to a longer threshold than the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tdelta.inference.observed.pairing import Pair
from tdelta.inference.posterior import FloatArray
from tdelta.inference.quantiles import t_reach
from tdelta.inference.tails import FEWEST, FEWEST_BEYOND, QUANTILE, Shares, variance_of, with_interval
from tdelta.messages import Caution, Reason
from tdelta.records import (
    RESPONSE_TIME,
    Binned,
    Bins,
    Comparison,
    Figure,
    Observation,
    ObservedSide,
    ObservedTail,
    Samples,
    Series,
    Summary,
    TailRatio,
    TailUnit,
)

FEWEST_RUNS = 3  # runs on each side from which on there is an interval
_MASS = 0.95
_NORMAL = 1.96  # sds of a normal that hold 95%

_SAME_EDGE = 0.005
"""Edges this close, as a share, are one: tools print theirs with few digits. Bins are 1.8% wide and more."""

_ENDLESS = Reason.of("percentile-without-end")


@dataclass(frozen=True, slots=True)
class _Run:
    """The bins of one run, of all its files."""

    low: FloatArray  # low, high: shape (n,), edges of each bin, ms
    high: FloatArray
    counts: FloatArray  # shape (n,)

    @property
    def total(self) -> float:
        return float(self.counts.sum())

    def end_of_bin(self, at_ms: float, slack: float = 0.0) -> float:
        """Where the bins end that a time lies in, ms; the time itself where it cuts none."""
        is_cut = (self.low < at_ms * (1.0 - slack)) & (self.high > at_ms * (1.0 + slack))
        return float(self.high[is_cut].max(initial=at_ms))

    def from_edge(self, edge_ms: float) -> float:
        """How many took as long as an edge, which cuts no bin, or longer."""
        is_beyond = (self.low >= edge_ms * (1.0 - _SAME_EDGE)) & (self.high > edge_ms * (1.0 + _SAME_EDGE))
        return float(self.counts[(self.low >= edge_ms) | is_beyond].sum())

    def perhaps_longer(self, threshold_ms: float) -> float:
        """How many took longer than a threshold, if all were at the upper edges of their bins."""
        return float(self.counts[self.high > threshold_ms].sum())


@dataclass(frozen=True, slots=True)
class _Error:
    """How far one side's log figure may be off."""

    between: float  # its variance, by the scatter of runs
    counting: float  # what the number of transactions alone would leave, were they independent: a variance, too
    runs: int


def observed_tails(
    baseline: Sequence[Samples | Binned], condition: Sequence[Samples | Binned], threshold_ms: float | None
) -> ObservedTail:
    """The tails of one condition beside its baseline.

    `baseline`: the baseline's observations of one transaction, in any order; those of the same run are added up;
    `threshold_ms`: what the user allows a transaction, ms; None for the percentile only. Returns both sides' counts and
    percentiles with their quotients, and an interval where there are `FEWEST_RUNS` runs on both sides. Deterministic,
    and never a reason to decide anything. Raises `ValueError`: a side has no observation; there is nothing to compare.
    """
    if not baseline or not condition:
        raise ValueError("tails: expected observations of both conditions, found none of one")
    there, here = _runs(baseline), _runs(condition)
    edge = None if threshold_ms is None else _common_edge((*there, *here), threshold_ms)
    shares = None if edge is None else (_shares(there, edge), _shares(here, edge))
    sides = _side(baseline, there, threshold_ms, edge), _side(condition, here, threshold_ms, edge)
    too_few_runs = _too_few_runs(len(there), len(here))
    no_share = None if edge is None else _no_quotient(sides)
    no_p99 = _no_percentile(sides)
    longer_reason = None if edge is None else no_share or too_few_runs or _too_few_longer(sides)
    p99 = None if no_p99 or too_few_runs else _percentile_ratio(there, here)
    return ObservedTail(
        threshold_ms=threshold_ms,
        counted_from_ms=edge,
        baseline=sides[0],
        condition=sides[1],
        longer_quotient=None if shares is None or no_share else shares[1].share / shares[0].share,
        longer_ratio=None if shares is None or longer_reason else _shares_ratio(*shares),
        p99_quotient=None if no_p99 else _p99_ms(here)[1] / _p99_ms(there)[1],
        p99_ratio=p99,
        longer_reason=longer_reason,
        p99_reason=no_p99 or too_few_runs or (None if p99 is not None else _ENDLESS),
    )


def _too_few_runs(there: int, here: int) -> Reason | None:
    fewest = min(there, here)
    if fewest >= FEWEST_RUNS:
        return None
    runs = "one run" if fewest == 1 else f"{fewest} runs"
    return Reason.of("tail-too-few-runs", runs=runs, fewest=FEWEST_RUNS)


def _no_quotient(sides: Sequence[ObservedSide]) -> Reason | None:
    none = [side.condition for side in sides if not side.longer_at_least]
    return Reason.of("tail-without-ratio", names=" and ".join(none), conditions=len(none)) if none else None


def _too_few_longer(sides: Sequence[ObservedSide]) -> Reason | None:
    fewest = min(side.longer_at_least or 0 for side in sides)
    return None if fewest >= FEWEST else Reason.of("tail-too-few", found=fewest, fewest=FEWEST)


def _no_percentile(sides: Sequence[ObservedSide]) -> Reason | None:
    few = [side for side in sides if side.p99_within_ms is None]
    if few:
        has = " and ".join(f"{side.condition} has {side.count:,}" for side in few)
        needed = round(FEWEST_BEYOND / (1.0 - QUANTILE))
        return Reason.of("no-percentile", needed=needed, found=has)
    ends = [side.p99_within_ms[1] for side in sides if side.p99_within_ms is not None]
    return None if np.isfinite(ends).all() else _ENDLESS


def _runs(observations: Iterable[Samples | Binned]) -> list[_Run]:
    by_run: dict[str, list[Bins]] = {}
    for observation in observations:
        by_run.setdefault(observation.group.run, []).append(observation.bins)
    return [_run(parts) for parts in by_run.values()]


def _run(parts: Sequence[Bins]) -> _Run:
    low, high = (np.concatenate([part.edges[ends] for part in parts]) for ends in (slice(-1), slice(1, None)))
    counts = np.concatenate([np.array(part.counts, dtype=np.float64) for part in parts])
    kept = counts > 0
    return _Run(low[kept], high[kept], counts[kept])


def _common_edge(runs: Sequence[_Run], threshold_ms: float) -> float:
    """The first edge from a threshold on that cuts no full bin of any run, ms; infinite beyond a bin without an end."""
    edge = max(run.end_of_bin(threshold_ms) for run in runs)
    while (further := max(run.end_of_bin(edge, _SAME_EDGE) for run in runs)) > edge:
        edge = further
    return edge


def _side(
    observations: Sequence[Samples | Binned], runs: Sequence[_Run], threshold_ms: float | None, edge_ms: float | None
) -> ObservedSide:
    total = sum(run.total for run in runs)
    has_p99 = total * (1.0 - QUANTILE) >= FEWEST_BEYOND * (1.0 - 1e-9)
    return ObservedSide(
        condition=observations[0].group.condition,
        runs=len(runs),
        count=int(total),
        longer_at_least=None if edge_ms is None else int(sum(run.from_edge(edge_ms) for run in runs)),
        longer_at_most=None if threshold_ms is None else int(sum(run.perhaps_longer(threshold_ms) for run in runs)),
        p99_within_ms=_p99_ms(runs) if has_p99 else None,
    )


def _shares(runs: Sequence[_Run], edge_ms: float) -> Shares:
    return Shares(np.array([run.from_edge(edge_ms) for run in runs]), np.array([run.total for run in runs]))


def _shares_ratio(there: Shares, here: Shares) -> TailRatio:
    """The quotient of shares over runs: each side linearised, and Welch's t for the difference of their logs.

    Of independent transactions a side's share would be binomial.
    """
    errors = [
        _Error(variance_of(side.influence), (1.0 - side.share) / float(side.longer.sum()), len(side.of))
        for side in (there, here)
    ]
    return _welch(here.share / there.share, errors, resolution=0.0)


def _percentile_ratio(there: Sequence[_Run], here: Sequence[_Run]) -> TailRatio | None:
    """The quotient of percentiles of all runs together; the jackknife leaves one run out at a time.

    None where the percentile of some of the runs lies in a bin without an end.
    """
    errors = [error for runs in (there, here) if (error := _percentile_error(runs)) is not None]
    if len(errors) < 2:
        return None
    low, high = zip(_p99_ms(there), _p99_ms(here), strict=True)
    widest = max(float(np.log(end / max(start, 1e-12 * end))) for start, end in zip(low, high, strict=True))
    return _welch(high[1] / high[0], errors, resolution=widest)


def _percentile_error(runs: Sequence[_Run]) -> _Error | None:
    """Of a side's log percentile: the jackknife's variance, and what a binomial number below it would leave.

    None where some percentile has no end.
    """
    without = [_p99_ms([*runs[:left], *runs[left + 1 :]])[1] for left in range(len(runs))]
    off = float(np.sqrt(QUANTILE * (1.0 - QUANTILE) / sum(run.total for run in runs)))
    low, high = (_quantile_ms(runs, QUANTILE + sign * off)[1] for sign in (-1.0, 1.0))
    if not np.isfinite([*without, high]).all():
        return None
    logs = np.log(np.array(without))
    between = (len(runs) - 1.0) / len(runs) * float(((logs - logs.mean()) ** 2).sum())
    return _Error(between, (0.5 * float(np.log(high / low))) ** 2, len(runs))


def _welch(ratio: float, errors: Sequence[_Error], *, resolution: float) -> TailRatio:
    """An interval of a ratio by Welch's t (Biometrika 34, 1947); ``resolution`` (log) is what bins leave open."""
    variance = sum(error.between for error in errors)
    spread = sum(error.between**2 / (error.runs - 1.0) for error in errors)
    fewest = min(error.runs for error in errors) - 1.0
    df = max(fewest, variance**2 / spread) if spread > 0 else fewest
    of_counting = _NORMAL * float(np.sqrt(sum(error.counting for error in errors)))
    half = max(t_reach(df, _MASS) * float(np.sqrt(variance)), of_counting) + resolution
    return with_interval(ratio, half, TailUnit.RUN, sum(error.runs for error in errors))


def _p99_ms(runs: Sequence[_Run]) -> tuple[float, float]:
    return _quantile_ms(runs, QUANTILE)


def _quantile_ms(runs: Sequence[_Run], quantile: float) -> tuple[float, float]:
    """The edges between which a quantile of all runs together lies, ms.

    Values are somewhere in their bins: with all at the lower edges it is least, with all at the upper ones it is at its
    most.
    """
    counts = np.concatenate([run.counts for run in runs])
    ends = []
    for edges in (np.concatenate([run.low for run in runs]), np.concatenate([run.high for run in runs])):
        order = np.argsort(edges, kind="stable")
        reached = np.cumsum(counts[order]) >= min(quantile, 1.0) * counts.sum() * (1.0 - 1e-12)
        ends.append(float(edges[order][int(np.argmax(reached))]))
    return ends[0], ends[1]


_KINDS: Mapping[type[object], str] = {Summary: "summaries", Series: "means of intervals", Figure: "bare figures"}


def tail_of(pair: Pair, latency_limit_ms: float | None) -> tuple[ObservedTail | None, Reason | None]:
    """The tail of one comparison. It decides nothing.

    `latency_limit_ms`: what the user allows a transaction, ms; None where no threshold was given. Returns the tail,
    from the runs that have response times or a histogram, and why there is none though a threshold was given. Without a
    threshold there is one only where the 99th percentiles have an interval.
    """
    metric = pair.key[2]
    if metric != RESPONSE_TIME:
        return None, None if latency_limit_ms is None else Reason.of("not-single-transactions", metric=metric)
    baseline, condition = _with_bins(pair.baseline_runs), _with_bins(pair.condition_runs)
    if not baseline or not condition:
        return None, None if latency_limit_ms is None else _why_none(pair)
    found = observed_tails(baseline, condition, latency_limit_ms)
    return (None if latency_limit_ms is None and found.p99_ratio is None else found), None


def tail_cautions(comparisons: Sequence[Comparison]) -> Iterator[Caution]:
    """Runs that are in a comparison and not in its tail, by condition; each said once."""
    yield from dict.fromkeys(
        Caution.of("tail-of-some-runs", runs=side.runs, of=whole.runs, condition=side.condition)
        for c in comparisons
        if c.tail is not None
        for side, whole in ((c.tail.baseline, c.baseline), (c.tail.condition, c.condition))
        if side.runs < whole.runs
    )


def _with_bins(runs: Sequence[Observation]) -> list[Samples | Binned]:
    return [run for run in runs if isinstance(run, Samples | Binned)]


def _why_none(pair: Pair) -> Reason:
    sides = ((pair.baseline, pair.baseline_runs), (pair.condition, pair.condition_runs))
    without = {name: runs for name, runs in sides if not _with_bins(runs)}
    kinds = dict.fromkeys(_KINDS[type(run)] for runs in without.values() for run in runs)
    names, found = " and ".join(without), " and ".join(kinds)
    return Reason.of("no-single-times", names=names, conditions=len(without), found=found)
