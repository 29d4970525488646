"""Which figure a run's verdicts are of, and where the mean and the typical operation part.

The ratio of means decides. The ratio of typical operations stands beside it, and where the two say different things the
answer has a sentence for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tdelta.inference.decisions import decide, decide_gate
from tdelta.records import Condition, Decision, Estimate, Role, RunResult, RunSettings, StallMeasure, Verdict
from tdelta.report.labels import condition_label, metric_name
from tdelta.report.quantities import estimate_text, percent

_SPELLED_OUT = 3


def partings(result: RunResult) -> list[str]:
    """A sentence for each condition whose typical operation and mean part; one for the farthest where they are many."""
    found = [(_gap(v), text) for v in result.primary if (text := parting(v, result)) is not None]
    if len(found) <= _SPELLED_OUT:
        return [text for _, text in found]
    _, farthest = max(found)
    return [f"In {len(found)} conditions, the typical operation and the mean part. {farthest}"]


def parting(verdict: Verdict, result: RunResult) -> str | None:
    """Where they part: "A typical operation costs +0.4 % (…); stalls of the encrypted twin make it +18.0 % in all."."""
    typical, settings = verdict.typical, result.settings
    if typical is None or not _is_parted(verdict, typical, result):
        return None
    metric = metric_name(verdict.metric, settings)
    amount, _, interval = estimate_text(typical, (1 - settings.tolerance, 1 + settings.tolerance)).partition(" (")
    what = f"costs {amount} {metric}" if typical.median >= 1 else f"changes {metric} by {amount}"
    where = f"of {condition_label(verdict.condition, settings)} " if len(result.primary) > 1 else ""
    cause = _cause(verdict, result, is_slower=_gap(verdict) >= 0)
    return f"A typical operation {where}{what} ({interval}; {cause} make it {percent(verdict.ratio.median)} in all."


def _is_parted(verdict: Verdict, typical: Estimate, result: RunResult) -> bool:
    if verdict.decision is Decision.INVALID:
        return False
    if abs(_gap(verdict)) > result.settings.tolerance:
        return True
    has_stalls = any(measure.stalls for measure in _sides(verdict, result))
    return has_stalls and _decided(typical, result.settings) is not _decided(verdict.ratio, result.settings)


def _gap(verdict: Verdict) -> float:
    return 0.0 if verdict.typical is None else verdict.ratio.median / verdict.typical.median - 1


def odd_trials(result: RunResult, condition: Condition) -> StallMeasure | None:
    """The odd trials of one condition, None where they are not known."""
    return next((measure for measure in result.of(StallMeasure) if measure.condition == condition), None)


def _cause(verdict: Verdict, result: RunResult, *, is_slower: bool) -> str:
    side = odd_trials(result, verdict.condition if is_slower else verdict.baseline)
    if side is None or not side.stalls:
        return "odd trials"
    if verdict.decision is Decision.UNDECIDED:
        return "the stalls that were met"
    return f"stalls of {_twin(verdict.condition) if is_slower else 'the plain twins'}"


def _twin(condition: Condition) -> str:
    match condition.role:
        case Role.IDENTICAL:
            return "the identical twin"
        case Role.INJECTED:
            return "the injected twin"
        case _ if condition.level("cipher") == "none":
            return "this condition"
        case _:
            return "the encrypted twin"


def _sides(verdict: Verdict, result: RunResult) -> Iterator[StallMeasure]:
    for condition in (verdict.baseline, verdict.condition):
        if (measure := odd_trials(result, condition)) is not None:
            yield measure


def _decided(estimate: Estimate, settings: RunSettings) -> Decision:
    return decide(estimate, settings.tolerance) if settings.budget is None else decide_gate(estimate, settings.budget)
