"""Ratios of costs that are described and never judged, fitted as the verdicts' costs are, from the same blocks.

A block in which any trial cost nothing is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tdelta.inference.cautions import FEWEST_BLOCKS
from tdelta.inference.costs import panels
from tdelta.inference.fits import fit_named
from tdelta.inference.posterior import posterior
from tdelta.records import Estimate, Measurement, RunSettings, Trial

Costs = Mapping[str, Callable[[Measurement], float]]
"""By name, what a trial cost."""


def described_ratios(
    trials: Sequence[Trial], settings: RunSettings, costs: Costs, fewest_blocks: int = FEWEST_BLOCKS
) -> dict[tuple[str, str], Estimate]:
    """Ratios of means over the plain twins', of judged conditions in strata with enough blocks; by cost and key."""
    return {
        (name, answer.condition.key): answer.posterior.estimate(settings.tolerance)
        for name, fit in fit_named(panels(trials, settings), costs).items()
        for answer in fit.answers()
        if answer.condition.role.is_judged and int(answer.fitted.blocks.sum()) >= fewest_blocks
    }


def typical_ratios(trials: Sequence[Trial], settings: RunSettings, costs: Costs) -> dict[tuple[str, str], Estimate]:
    """Ratios of typical trials over the plain twins'; by cost and the condition's key."""
    return {
        (name, condition.key): posterior(data).estimate(settings.tolerance)
        for name, fit in fit_named(panels(trials, settings), costs).items()
        for _, condition, data in fit.data()
    }
