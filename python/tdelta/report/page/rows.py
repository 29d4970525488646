"""Verdicts as rows of a forest plot, what they are held against, and whether they stand at all."""

from __future__ import annotations

from tdelta.records import Decision, RunResult, RunSettings, Verdict
from tdelta.report.page.figures.forest import Limits, Row, RowStyle
from tdelta.report.page.wording import decided, has_data

UNRELIABLE = "The run is unsound: look here for what went wrong, not for what encryption costs. "
"""What stands before figures that are shown although there is no answer."""


def is_unsound(result: RunResult) -> bool:
    """Whether the run as a whole gives no answer; where only some strata lost theirs, the others keep it."""
    has_failed = result.decision is Decision.UNSOUND or any(check.is_unsound for check in result.validity)
    lost = {v.decision is Decision.UNSOUND for v in result.primary}
    return has_failed and len(lost) <= 1


def verdict_row(verdict: Verdict, name: str) -> Row:
    style = RowStyle.ALARM if verdict.decision is Decision.UNSOUND else RowStyle.JUDGED
    if not has_data(verdict):
        return Row(name, None, "no data", style)
    return Row(name, verdict.ratio, decided(verdict), style, verdict.realised)


def limits_of(settings: RunSettings, *, is_primary: bool = True) -> Limits:
    """What verdicts are held against: the budget decides primary ones only."""
    if is_primary and settings.budget is not None:
        return Limits(budget=1 + settings.budget)
    return Limits(rope=(1 - settings.rope, 1 + settings.rope))
