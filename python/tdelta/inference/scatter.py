"""The odd trials of each condition, and how much time lies in them. Shown, never decided on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tdelta.inference.fits import PLAIN, CostFit, Fitted, treatment_of
from tdelta.inference.posterior import FloatArray
from tdelta.inference.stalls import events_of
from tdelta.records import Condition, Role, StallMeasure

_HALF = 0.5


def stall_measures(fit: CostFit) -> Iterator[StallMeasure]:
    """The odd trials of the plain twins, then of every judged condition, stratum by stratum."""
    for fitted, _ in fit.parts:
        yield _measure(fitted, fitted.panel.baseline)
        for condition in fitted.free(*PLAIN):
            yield _measure(fitted, condition)


def _measure(fitted: Fitted, condition: Condition) -> StallMeasure:
    is_plain = condition.role is Role.BASELINE
    columns = fitted.plain(*PLAIN) if is_plain else np.array([treatment_of(c) == condition for c in fitted.columns])
    events = events_of(fitted.means, columns)
    there = fitted.means.there[:, columns]
    is_odd = there & (fitted.means.weight[:, columns] < _HALF)
    time: FloatArray = np.where(there, fitted.costs[:, columns], 0.0)
    return StallMeasure(
        condition=condition,
        trials=events.trials,
        down_weighted=int(is_odd.sum()),
        down_weighted_time=float(time[is_odd].sum() / time.sum()) if time.sum() else 0.0,
        stalls=len(events.above),
        stalled_trials=events.stalled,
        stall_cost=events.cost,
        missed_share=events.missed_share,
    )
