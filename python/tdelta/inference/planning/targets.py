"""The overheads that a run should decide, and how many rounds that takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from tdelta.inference.assurance import Prediction, right_decision
from tdelta.inference.simulated import FEWEST_ROUNDS
from tdelta.messages import Reason
from tdelta.records.prospects import Attainability, Layout, Point, Target

EFFECTS = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.10)
TOLERANCES = (0.005, 0.01, 0.02)
"""What is shown where nothing is asked for."""

_HEADLINE_TOLERANCE = 0.01
_LOOKS = (3, 4, 5, 7, 10, 14, 20, 28, 40, 56, 80, 120, 170, 240, 340, 480)
_USUAL_ROUNDS, _USUAL_SECONDS = 120, 3600.0
"""How far to look where no time is named: so many rounds, or so long, whichever is more."""


def rounds_to_look_at(layout: Layout, max_seconds: float | None) -> tuple[int, ...]:
    """Numbers of rounds, each about 40% more than the one before, as far as the time allows; 480 at most.

    At least three, which tdelta needs to see the instance effect, unless the time holds fewer; none if not even one.
    """
    if max_seconds is None:
        most = max(_USUAL_ROUNDS, layout.rounds_within(_USUAL_SECONDS))
    else:
        most = layout.rounds_within(max_seconds)
    most = min(most, _LOOKS[-1])
    if most < FEWEST_ROUNDS:
        return tuple(range(most, most + 1)) if most else ()
    return (*(rounds for rounds in _LOOKS if rounds < most), most)


def targets_of(
    effects: Sequence[float],
    tolerances: Sequence[float],
    prediction: Prediction,
    layout: Layout,
    assurance: float,
    *,
    is_budget: bool,
) -> tuple[Target, ...]:
    """Every effect against every tolerance, those asked for or the usual ones, tolerance by tolerance."""
    return tuple(
        _target(effect, tolerance, prediction, layout, assurance, is_budget=is_budget)
        for tolerance in (tolerances or TOLERANCES)
        for effect in (effects or EFFECTS)
    )


def primary_of(effects: Sequence[float], tolerances: Sequence[float]) -> Iterator[tuple[float, float]]:
    """The overheads and tolerances requested; by default none and the smallest usual one above a tolerance."""
    for tolerance in tolerances or (_HEADLINE_TOLERANCE,):
        above = [effect for effect in EFFECTS if effect > 1.25 * tolerance]
        yield from ((effect, tolerance) for effect in effects or (EFFECTS[0], *above[:1]))


def _target(
    effect: float, tolerance: float, prediction: Prediction, layout: Layout, assurance: float, *, is_budget: bool
) -> Target:
    decision = right_decision(effect, tolerance, is_budget=is_budget)
    wrong = prediction.wrong(effect, tolerance, is_budget=is_budget)
    right = np.zeros_like(wrong) if decision is None else prediction.decided(effect, tolerance, decision)
    curve = tuple(
        Point(rounds, layout.seconds(rounds), chance, fault)
        for rounds, chance, fault in zip(prediction.rounds, right.tolist(), wrong.tolist(), strict=True)
    )
    if decision is None:
        return Target(effect, tolerance, None, Attainability.EDGE, None, None, Reason.of("effect-on-edge"), curve)
    rounds = first_reaching(prediction.rounds, right.tolist(), assurance)
    if rounds is None:
        return Target(effect, tolerance, decision, Attainability.TOO_LONG, None, None, _too_long(curve[-1]), curve)
    return Target(effect, tolerance, decision, Attainability.REACHED, rounds, layout.seconds(rounds), None, curve)


def _too_long(last: Point) -> Reason:
    return Reason.of("decided-too-seldom", rounds=last.rounds, share=last.assurance)


def first_reaching(rounds: Sequence[int], chances: Sequence[float], assurance: float) -> int | None:
    """The fewest rounds with that chance, between two looks by a straight line in the rounds' logarithm.

    From the last look at which the chance was smaller: chances are simulated, and a high one early on may be chance.
    """
    if chances[-1] < assurance:
        return None
    below = [index for index, chance in enumerate(chances) if chance < assurance]
    if not below:
        return rounds[0]
    left, right = below[-1], below[-1] + 1
    share = (assurance - chances[left]) / (chances[right] - chances[left])
    between = float(rounds[left] * (rounds[right] / rounds[left]) ** share)
    return math.ceil(between - 1e-9)
