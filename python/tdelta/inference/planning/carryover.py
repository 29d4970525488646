"""What an encrypted trial leaves to the trial right after it: first-order carry-over, as stage 1 finds it.

Blocks are rows of Williams designs, in which every condition follows every other equally often, so that a trial's
predecessor can be told from the trial itself (Williams 1949; Jones and Kenward 2014, "Design and Analysis of Cross-Over
Trials", chapter 4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tdelta.inference.noise import CARRIED_SD
from tdelta.inference.planning.runs import StratumNoise
from tdelta.messages import Reason
from tdelta.records.prospects import CarryOver, ShareEffect

_QUANTILE = 1.959964
_LEAST_LEARNT = 0.9
"""Of the prior's standard deviation: where more of it is left, trials say next to nothing."""


def carry_over(strata: Sequence[StratumNoise]) -> CarryOver:
    """The carry-over in the stratum that knows it best.

    Returns:
        The estimate, and what cannot be estimated from these data.
    """
    unknown = (
        Reason.of("unexplained", what="effect of a copy on its own next trial", why="no copy runs twice in a row"),
        Reason.of("unexplained", what="how fast that effect fades within a trial", why="each trial has one figure"),
    )
    if not any(not c.is_plain for one in strata for c in one.run.settings.conditions):
        return CarryOver(
            None,
            (
                Reason.of(
                    "unexplained",
                    what="effect of an encrypted trial on the next one",
                    why="only unencrypted copies ran",
                ),
                *unknown,
            ),
        )
    known = [one.means for one in strata if 0.0 < one.means.carried_sd < _LEAST_LEARNT * CARRIED_SD]
    if not known:
        return CarryOver(
            None,
            (
                Reason.of(
                    "unexplained",
                    what="effect of an encrypted trial on the next one",
                    why="too few trials, or too noisy",
                ),
                *unknown,
            ),
        )
    best = min(known, key=lambda means: means.carried_sd)
    low, median, high = (math.expm1(best.carried + at * best.carried_sd) for at in (-_QUANTILE, 0.0, _QUANTILE))
    return CarryOver(ShareEffect(median, (low, high)), unknown)
