"""First-order carry-over from an encrypted trial to the trial right after it, as stage 1 finds it.

Blocks are rows of Williams designs, in which every condition follows every other equally often, so that the effects
of a trial and of its predecessor can be separated (Williams 1949; Jones and Kenward 2014, "Design and Analysis of
Cross-Over Trials", chapter 4).

The overhead is of a trial by itself. In production encrypted work follows encrypted work, so what an encrypted trial
leaves to the next one is part of the cost. Stage 1 takes it out of the overhead (`tdelta.inference.noise`); where all
of its 95% interval lies beyond the tolerance, no verdict says that encryption is negligible or within the budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tdelta.inference.decisions import interval_words, percent_words
from tdelta.inference.fits import CostFit
from tdelta.inference.noise import CARRIED_SD, InstanceMeans
from tdelta.messages import Caution, Reason
from tdelta.records import Condition, Decision, RunSettings, Verdict
from tdelta.records.instrument import CarryOver, ShareEffect

_QUANTILE = 1.959964
_LEAST_LEARNT = 0.9  # of the prior's standard deviation: where more of it is left, trials say next to nothing


def carry_over(strata: Sequence[InstanceMeans], conditions: Iterable[Condition]) -> CarryOver:
    """The carry-over in the stratum that knows it best, and what cannot be estimated from these data."""
    unknown = (Reason.of("carry-over-to-itself"), Reason.of("carry-over-course"))
    if all(condition.is_plain for condition in conditions):
        return CarryOver(None, (Reason.of("carry-over-only-plain"), *unknown))
    known = [means for means in strata if 0.0 < means.carried_sd < _LEAST_LEARNT * CARRIED_SD]
    if not known:
        return CarryOver(None, (Reason.of("carry-over-few-trials"), *unknown))
    best = min(known, key=lambda means: means.carried_sd)
    low, median, high = (math.expm1(best.carried + at * best.carried_sd) for at in (-_QUANTILE, 0.0, _QUANTILE))
    return CarryOver(ShareEffect(median, (low, high)), unknown)


def order_effect(fit: CostFit, settings: RunSettings) -> CarryOver | None:
    """The carry-over in a run, as `tdelta plan` shows it; None without comparisons."""
    strata = [fitted.means for fitted, _ in fit.parts]
    known = bool(strata) and all(means.pooled_df > 0 for means in strata)
    return carry_over(strata, settings.conditions) if known else None


def with_carry_over(verdicts: Iterable[Verdict], order: CarryOver | None, settings: RunSettings) -> Iterator[Verdict]:
    """The same primary verdicts; those that work after encrypted work belies are ``undecided``, that reason last."""
    tolerance = settings.tolerance if settings.budget is None else settings.budget
    for verdict in verdicts:
        is_kept_back = verdict.decision in (Decision.NEGLIGIBLE, Decision.WITHIN) and verdict.condition.is_protected
        if is_kept_back and order is not None and _is_beyond(order, tolerance):
            reason = Reason.of("carried-over", **_figures(order))
            verdict = replace(verdict, decision=Decision.UNDECIDED, reasons=(*verdict.reasons, reason))
        yield verdict


def carry_over_cautions(order: CarryOver | None, settings: RunSettings) -> Iterator[Caution]:
    """Which cost the overheads are, where that makes a difference beyond the tolerance."""
    if order is not None and _is_beyond(order, settings.tolerance):
        yield Caution.of("carried-over", **_figures(order))


def _is_beyond(order: CarryOver, tolerance: float) -> bool:
    if order.after_encrypted is None:
        return False
    low, high = order.after_encrypted.interval95
    return low > tolerance or high < -tolerance


def _figures(order: CarryOver) -> dict[str, str]:
    after = order.after_encrypted
    if after is None:
        return {}
    low, high = after.interval95
    return {"effect": percent_words(1.0 + after.share), "interval": interval_words((1.0 + low, 1.0 + high))}
