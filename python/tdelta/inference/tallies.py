"""What a series of runs with a known truth says of the instrument: false calls, coverage, bias, and how sure that is.

A calibration has a dozen runs, so every share comes with its exact interval. Whether the instrument is called a liar
(`faults`) rests on intervals, never on a bare count: so few runs cannot show a rate of 5%, but they do show 40%.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tdelta.inference.decisions import interval_words
from tdelta.inference.quantiles import clopper_pearson, t_reach
from tdelta.inference.stopping import width
from tdelta.messages import Caution, Reason
from tdelta.messages.checks import AA_CHECK
from tdelta.records import ALL, Counted, Decision, IdenticalTally, InjectedTally, Metric, Role, RunResult, Verdict

NOMINAL_MISSES = 0.05
"""What an interval of 95% may miss."""

FEW_RUNS = 10
_FALSE = (Decision.SLOWER, Decision.FASTER, Decision.INVALID)
_STRICT = 0.99


def counted(hits: Iterable[bool]) -> Counted:
    """So many of so many, with its interval."""
    found = list(hits)
    return Counted(sum(found), len(found), *clopper_pearson(sum(found), len(found)))


def mean_interval(values: Sequence[float], mass: float = 0.95) -> tuple[float, float] | None:
    """The t interval of a mean; None of fewer than two values."""
    if len(values) < 2:
        return None
    half = t_reach(len(values) - 1, mass) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    centre = float(np.mean(values))
    return centre - half, centre + half


def trustworthy(results: Sequence[RunResult]) -> tuple[RunResult, ...]:
    """The runs whose checks held, the A/A check apart: that one is what is counted."""
    return tuple(r for r in results if not _failed(r) and any(v.baseline_value for v in r.primary))


def identical_tally(results: Sequence[RunResult]) -> IdenticalTally:
    """The identical twins that were judged in these runs."""
    verdicts = [v for r in results for v in r.primary if v.condition.role is Role.IDENTICAL]
    logs = [math.log(v.ratio.median) for v in verdicts]
    return IdenticalTally(
        false_calls=counted(v.decision in _FALSE for v in verdicts),
        held=counted(_holds(v, 1.0) for v in verdicts),
        apart=math.sqrt(math.fsum(log**2 for log in logs) / len(logs)) if logs else 0.0,
    )


def injected_tallies(results: Sequence[RunResult], *, is_truth: bool) -> tuple[InjectedTally, ...]:
    """Every injected cost, in response time and in CPU time.

    Args:
        results: the runs.
        is_truth: whether what was actual is the truth of response time: only while no thread waits for another.
    """
    found: dict[tuple[float, Metric], list[Verdict]] = {}
    for verdict in (v for r in results for v in r.verdicts if _is_injected(v)):
        found.setdefault((verdict.condition.injected or 0.0, verdict.metric), []).append(verdict)
    ordered = sorted(found.items(), key=lambda item: (list(Metric).index(item[0][1]), item[0][0]))
    return tuple(
        _injected(injected, metric, verdicts, is_truth=is_truth or metric is Metric.CPU_PER_OPERATION)
        for (injected, metric), verdicts in ordered
    )


def faults(
    results: Sequence[RunResult], identical: IdenticalTally, injected: Iterable[InjectedTally], tolerance: float
) -> Iterator[Reason]:
    """Why the instrument is not to be believed here; nothing where nothing shows that.

    Args:
        results: all runs, those that cannot be trusted among them.
        identical: of the others.
        injected: of the others.
        tolerance: the overhead not cared about: a bias is a fault where it is surely larger.
    """
    broken: dict[str, list[str]] = {}
    for result in results:
        for check, detail in _failed(result):
            broken.setdefault(check, []).append(detail)
    for check, details in broken.items():
        yield Reason.of("check-failed-in-runs", failed=len(details), runs=len(results), check=check, detail=details[0])
    false = identical.false_calls
    if false.of and false.low > NOMINAL_MISSES:
        yield Reason.of("false-calls", count=false.count, of=false.of, interval=_shares(false))
    if _misses(identical.held):
        yield Reason.of("zero-not-held", held=identical.held.count, of=identical.held.of)
    for tally in injected:
        yield from _injected_faults(tally, tolerance)


def tally_cautions(runs: int, injected: Iterable[InjectedTally]) -> Iterator[Caution]:
    """What must be said beside figures of so few runs."""
    if runs < FEW_RUNS:
        false = clopper_pearson(0, runs)[1]
        yield Caution.of("few-calibration-runs", runs=runs, false=false)
    for tally in injected:
        low, high = tally.bias_interval or (0.0, 0.0)
        if tally.is_truth and not low <= 0.0 <= high:
            read = {"points": 100 * abs(tally.bias), "interval": interval_words((1.0 + low, 1.0 + high))}
            too = Caution.of("reads-too-much", **read) if tally.bias > 0 else Caution.of("reads-too-little", **read)
            yield too.at(_name(tally))
        if not tally.is_truth:
            yield Caution.of("injected-is-no-truth").at(_name(tally))


def _injected_faults(tally: InjectedTally, tolerance: float) -> Iterator[Reason]:
    if not tally.is_truth:
        return
    if _misses(tally.held):
        yield Reason.of("cost-not-held", held=tally.held.count, of=tally.held.of).at(_name(tally))
    low, high = tally.bias_interval or (-math.inf, math.inf)
    if low > tolerance or high < -tolerance:
        interval = interval_words((1.0 + low, 1.0 + high))
        beyond = Reason.of("bias-beyond-tolerance", bias=100 * tally.bias, interval=interval, tolerance=tolerance)
        yield beyond.at(_name(tally))


def _injected(injected: float, metric: Metric, verdicts: Sequence[Verdict], *, is_truth: bool) -> InjectedTally:
    known = [(v, v.actual) for v in verdicts if v.actual is not None]
    errors = [v.ratio.median - actual for v, actual in known]
    return InjectedTally(
        injected=injected,
        metric=metric.value,
        is_truth=is_truth,
        actual=float(np.mean([actual for _, actual in known])),
        bias=float(np.mean(errors)),
        bias_interval=mean_interval(errors),
        held=counted(_holds(v, actual) for v, actual in known),
        found=counted(v.ratio.hdi95[0] > 1.0 for v, _ in known),
        width=float(np.median([width(v.ratio) for v, _ in known])),
    )


def _is_injected(verdict: Verdict) -> bool:
    is_mix = verdict.transaction == ALL and verdict.metric in (
        Metric.RESPONSE_TIME,
        Metric.CPU_PER_OPERATION,
    )
    return is_mix and verdict.condition.role is Role.INJECTED and verdict.actual is not None


def _failed(result: RunResult) -> list[tuple[str, str]]:
    return [(v.check, v.detail) for v in result.validity if v.is_invalid and v.code != AA_CHECK]


def _holds(verdict: Verdict, truth: float) -> bool:
    low, high = verdict.ratio.hdi95
    return low <= truth <= high


def _misses(held: Counted) -> bool:
    """Whether coverage is surely below the nominal one: by the 99% interval, since several are looked at."""
    return held.of > 0 and clopper_pearson(held.count, held.of, _STRICT)[1] < 1.0 - NOMINAL_MISSES


def _name(tally: InjectedTally) -> str:
    what = "response time" if tally.metric == Metric.RESPONSE_TIME.value else "CPU per operation"
    return f"injected {100 * tally.injected:g}%, {what}"


def _shares(found: Counted) -> str:
    return f"{100 * found.low:.0f}% to {100 * found.high:.0f}%"
