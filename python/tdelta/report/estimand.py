"""Which figure a run's verdicts are of, and where the mean and the typical operation part.

The ratio of means decides. The ratio of typical operations stands beside it, and where the two say different things the
answer has a sentence for it. Results that versions before the ratio of means stored have the typical ratio alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from tdelta.inference.decisions import decide, decide_gate
from tdelta.inference.verdicts import ALL_TRANSACTIONS
from tdelta.records import Condition, Decision, Estimate, Role, RunResult, RunSettings, StallMeasure, Verdict
from tdelta.report.labels import condition_label, metric_name
from tdelta.report.quantities import estimate_text, percent

RATIO_OF_MEANS = "ratio_of_means"
TYPICAL = "typical"


def estimand(result: RunResult) -> str:
    """What the ratios of a run are of: `RATIO_OF_MEANS`, or `TYPICAL` in results of earlier versions."""
    of_mix = (v for v in result.verdicts if v.transaction == ALL_TRANSACTIONS and v.baseline_value)
    return TYPICAL if any(v.typical is None for v in of_mix) else RATIO_OF_MEANS


def earlier_version(result: RunResult) -> str | None:
    """The sentence that an answer of an earlier version needs; None where the figure is the ratio of means."""
    if estimand(result) == RATIO_OF_MEANS:
        return None
    return (
        "This result is of an earlier version: its figures are of the typical operation, which discounts stalls."
        " Measure again for the ratio of means."
    )


def parted(verdict: Verdict, result: RunResult) -> bool:
    """Whether the typical operation and the mean say different things of a primary verdict."""
    if verdict.typical is None or verdict.decision is Decision.UNSOUND:
        return False
    settings = result.settings
    if abs(verdict.ratio.median / verdict.typical.median - 1) > settings.rope:
        return True
    has_stalls = any(measure.stalls for measure in _sides(verdict, result))
    return has_stalls and _decided(verdict.typical, settings) is not _decided(verdict.ratio, settings)


def parting(verdict: Verdict, result: RunResult) -> str:
    """``A typical operation costs +0.4 % response time (…); stalls of the encrypted twin make it +18.0 % in all.``"""
    assert verdict.typical is not None
    settings, bounds = result.settings, (1 - result.settings.rope, 1 + result.settings.rope)
    metric = metric_name(verdict.metric, settings)
    figures = estimate_text(verdict.typical, bounds)
    amount, _, interval = figures.partition(" (")
    is_more = verdict.typical.median >= 1
    what = f"costs {amount} {metric} ({interval}" if is_more else f"changes {metric} by {amount} ({interval}"
    where = f"of {condition_label(verdict.condition, settings)} " if len(result.primary) > 1 else ""
    return (
        f"A typical operation {where}{what}; {_cause(verdict, result)} make it {percent(verdict.ratio.median)} in all."
    )


def odd_trials(result: RunResult, condition: Condition) -> StallMeasure | None:
    """The odd trials of one condition, None where they are not known."""
    return next((measure for measure in result.stalls if measure.condition == condition), None)


def _cause(verdict: Verdict, result: RunResult) -> str:
    """Whose stalls make the difference."""
    plain, own = (odd_trials(result, c) for c in (verdict.baseline, verdict.condition))
    is_slower = verdict.typical is not None and verdict.ratio.median >= verdict.typical.median
    side = own if is_slower else plain
    if verdict.decision is Decision.UNDECIDED and side is not None and side.stalls:
        return "the stalls that were met"
    if side is None or not side.stalls:
        return "odd trials"
    return f"stalls of {_twin(verdict.condition) if is_slower else 'the plain twins'}"


def _twin(condition: Condition) -> str:
    match condition.role:
        case Role.IDENTICAL:
            return "the identical twin"
        case Role.PLANTED:
            return "the planted twin"
        case _:
            return "the encrypted twin"


def _sides(verdict: Verdict, result: RunResult) -> Iterator[StallMeasure]:
    for condition in (verdict.baseline, verdict.condition):
        if (measure := odd_trials(result, condition)) is not None:
            yield measure


def _decided(estimate: Estimate, settings: RunSettings) -> Decision:
    return decide(estimate, settings.rope) if settings.budget is None else decide_gate(estimate, settings.budget)
