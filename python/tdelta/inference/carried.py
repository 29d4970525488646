"""An encrypted trial that slows the next one: the overhead is of a trial by itself, and production pays more.

Encrypted work follows encrypted work there, so what an encrypted trial leaves to the next one is part of the cost, and
the interval of a verdict does not have it: in its blocks plain trials follow encrypted ones, too. The estimate
(`tdelta.inference.planning.carryover`) does not correct the overhead; where all of its 95 % interval lies beyond the
tolerance, no verdict says that encryption is negligible or within the budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tdelta.inference.decisions import interval_words, percent_words
from tdelta.messages import Caution, Reason
from tdelta.records import Decision, RunSettings, Verdict
from tdelta.records.carryover import CarryOver


def with_carry_over(verdicts: Iterable[Verdict], order: CarryOver | None, settings: RunSettings) -> Iterator[Verdict]:
    """The same primary verdicts; those that work after encrypted work belies are ``undecided``, that reason last."""
    tolerance = settings.rope if settings.budget is None else settings.budget
    for verdict in verdicts:
        is_kept_back = verdict.decision in (Decision.NEGLIGIBLE, Decision.WITHIN) and verdict.condition.is_protected
        if is_kept_back and order is not None and _is_beyond(order, tolerance):
            reason = Reason.of("carried-over", **_figures(order))
            verdict = replace(verdict, decision=Decision.UNDECIDED, reasons=(*verdict.reasons, reason))
        yield verdict


def carry_over_cautions(order: CarryOver | None, settings: RunSettings) -> Iterator[Caution]:
    """Which cost the overheads are, where that makes a difference beyond the ROPE."""
    if order is not None and _is_beyond(order, settings.rope):
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
