"""Words and short figures that several parts of the page share. Nothing is decided here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime

from tdelta.document.blocks import Cell
from tdelta.document.labels import baseline_label, condition_label, decision_word, surroundings
from tdelta.document.quantities import MISSING, amounts, decimals, interval, multiple, percent, ratio_cells, share
from tdelta.messages.catalogue import WITHOUT_AMOUNT
from tdelta.records import Condition, Decision, Estimate, Role, RunResult, RunSettings, Typical, Verdict
from tdelta.records.history import OverheadChange

_MARKS = {
    Decision.SLOWER: "▲",
    Decision.OVER: "▲",
    Decision.NEGLIGIBLE: "●",
    Decision.WITHIN: "●",
    Decision.FASTER: "▼",
    Decision.UNDECIDED: "?",
    Decision.INVALID: "×",
}


def mark(decision: Decision) -> str:
    return _MARKS[decision]


def decided(verdict: Verdict) -> str:
    """A verdict's decision with its sign: ``▲ slower``."""
    return f"{mark(verdict.decision)}\u00a0{decision_word(verdict.decision, verdict.metric)}"


def overhead(estimate: Estimate, bounds: Sequence[float] = ()) -> str:
    """The median: ``+3.1%``, or ``6.6 x`` where per cent mislead."""
    places = decimals((estimate.median, *estimate.hdi95), bounds)
    return multiple(estimate.median) or percent(estimate.median, places)


def median_text(estimate: Estimate, bounds: Sequence[float] = ()) -> str:
    """The median in per cent, whatever its size, as tables have it."""
    return percent(estimate.median, decimals((estimate.median, *estimate.hdi95), bounds))


def chance(mass: float) -> str:
    """A posterior probability: ``97.2%``, ``> 99.9%``, ``< 0.1%``; never a certainty that is none."""
    if not math.isfinite(mass):
        return MISSING
    if mass > 0.9995:
        return "> 99.9%"
    return "< 0.1%" if mass < 0.0005 else f"{100 * mass:.1f}%"


def points_text(change: OverheadChange) -> str:
    """A difference of overheads in percentage points: ``+10.0 points (95% interval +8.6 … +11.4)``."""
    if not math.isfinite(change.median):
        return MISSING
    ends = (1 + change.hdi95[0], 1 + change.hdi95[1])
    places = decimals((1 + change.median, *ends))
    median = percent(1 + change.median, places).removesuffix("%")
    return f"{median} points (95% interval {interval(ends, places)})"


def quartiles(of: Typical | None) -> str | Cell:
    """A median with its quartiles in brackets, which a terminal has no room for."""
    return MISSING if of is None else Cell(f"{of.median:.3g} ({of.low:.3g} to {of.high:.3g})", brief=f"{of.median:.3g}")


def is_known(estimate: Estimate) -> bool:
    return all(math.isfinite(v) and v > 0 for v in (estimate.median, *estimate.hdi95, *estimate.hdi99))


def has_data(verdict: Verdict) -> bool:
    """Whether a verdict rests on anything measured, and not on its prior alone."""
    return bool(verdict.baseline_value) and is_known(verdict.ratio)


def has_amount(verdict: Verdict) -> bool:
    """Whether enough was measured for a figure."""
    is_little = bool(verdict.reasons) and verdict.reasons[-1].code in WITHOUT_AMOUNT
    return has_data(verdict) and not is_little


def verdict_cells(verdict: Verdict, bounds: Sequence[float]) -> tuple[tuple[str, str], tuple[str, str]]:
    """Both sides, and the change with its interval; of too little measured the plain side and the interval."""
    plain, encrypted = amounts((verdict.baseline_value, verdict.condition_value), verdict.unit)
    changed, ends = ratio_cells(verdict.ratio, tuple(bounds))
    if not has_amount(verdict):
        encrypted = changed = MISSING
    return (plain, encrypted), (changed, ends)


def label(condition: Condition, settings: RunSettings) -> str:
    """A condition as the page calls it; an A/A twin and a baseline with their surroundings."""
    if condition.role is Role.BASELINE:
        return ", ".join((baseline_label(settings), *surroundings(condition, settings)))
    return condition_label(condition, settings)


def limit_words(settings: RunSettings) -> str:
    """The meaning of the shaded band or the dashed line of a figure."""
    if settings.budget is not None:
        return f"dashed line: the budget of {share(settings.budget)}"
    return f"shaded band: the tolerance, ±{share(settings.tolerance)}"


def date_text(unix_seconds: float) -> str:
    """A moment as UTC date and time: ``2026-11-21 23:12 UTC``."""
    return datetime.fromtimestamp(unix_seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def run_words(result: RunResult) -> str:
    """A run in a few words: ``run 20261121-zvwp: sqlite, workload order-entry``."""
    settings = result.settings
    return f"run {settings.run_id}: {settings.engine}, workload {settings.workload}"


UNRELIABLE = "The run is invalid: use this figure for diagnosis only. "
"""Precedes figures that are shown although there is no answer."""


def is_invalid(result: RunResult) -> bool:
    """Whether the run as a whole gives no answer; where only some strata lost theirs, the others keep it."""
    has_failed = result.decision is Decision.INVALID or any(check.is_invalid for check in result.validity)
    lost = {v.decision is Decision.INVALID for v in result.primary}
    return has_failed and len(lost) <= 1
