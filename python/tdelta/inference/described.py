"""Ratios of costs that are described and never judged, fitted as the verdicts' costs are, from the same blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tdelta.inference.cautions import FEWEST_BLOCKS
from tdelta.inference.costs import panels
from tdelta.inference.fits import fit_named
from tdelta.records import Estimate, Measurement, RunSettings, Trial


def described_ratios(
    trials: Sequence[Trial], settings: RunSettings, costs: Mapping[str, Callable[[Measurement], float]]
) -> dict[tuple[str, str], Estimate]:
    """Each cost over the plain twins', of judged conditions in strata with enough blocks.

    Args:
        trials: of the run.
        settings: the run's.
        costs: by name, what a trial cost; a block in which any trial cost nothing is left out.

    Returns:
        By cost and the condition's key.
    """
    return {
        (name, answer.condition.key): answer.posterior.estimate(settings.rope)
        for name, fit in fit_named(panels(trials, settings), costs).items()
        for answer in fit.answers()
        if answer.condition.role.is_judged and int(answer.fitted.blocks.sum()) >= FEWEST_BLOCKS
    }
