"""The tail of a comparison: what its runs allow, and why there is none where there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tdelta.inference.observed.pairing import Pair
from tdelta.inference.tails_observed import observed_tails
from tdelta.messages import Caution, Reason
from tdelta.records import (
    RESPONSE_TIME,
    Binned,
    Comparison,
    Figure,
    Observation,
    ObservedTail,
    Samples,
    Series,
    Summary,
)

_KINDS: Mapping[type[object], str] = {Summary: "summaries", Series: "means of intervals", Figure: "bare figures"}


def tail_of(pair: Pair, latency_limit_ms: float | None) -> tuple[ObservedTail | None, Reason | None]:
    """The tail of one comparison. It decides nothing.

    Args:
        pair: what is compared.
        latency_limit_ms: what the user allows a transaction, ms; None where no threshold was given.

    Returns:
        The tail, from the runs that have response times or a histogram, and why there is none though a threshold was
        given. Without a threshold there is one only where the 99th percentiles have an interval.
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
    reasons = dict.fromkeys(
        Caution.of("tail-of-some-runs", runs=side.runs, of=whole.runs, condition=side.condition)
        for c in comparisons
        if c.tail is not None
        for side, whole in ((c.tail.baseline, c.baseline), (c.tail.condition, c.condition))
        if side.runs < whole.runs
    )
    yield from reasons


def _with_bins(runs: Sequence[Observation]) -> list[Samples | Binned]:
    return [run for run in runs if isinstance(run, Samples | Binned)]


def _why_none(pair: Pair) -> Reason:
    sides = ((pair.baseline, pair.baseline_runs), (pair.condition, pair.condition_runs))
    without = {name: runs for name, runs in sides if not _with_bins(runs)}
    kinds = dict.fromkeys(_KINDS[type(run)] for runs in without.values() for run in runs)
    names, found = " and ".join(without), " and ".join(kinds)
    return Reason.of("no-single-times", names=names, conditions=len(without), found=found)
