"""One condition over another that is not its baseline: what the AES instructions save, what a longer key costs.

The same fit as the verdicts', no second one: both thetas come from the same blocks, and what they share (the baseline,
the effects of rounds) cancels. Shown for orientation, never decided on.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tdelta.design.actions import knobs_apart
from tdelta.inference.fits import CostFit
from tdelta.inference.posterior import Mixture, posterior
from tdelta.inference.stalls import Shift
from tdelta.records import Condition, Contrast, Metric, Role


def contrast_data(fit: CostFit) -> Iterator[tuple[str, Condition, Condition, Mixture]]:
    """Every pair of treatments of a stratum that differ in one factor: the factor, the later, the earlier, the data.

    Two settings of one action beside the load differ in one knob, too: what several do together says of none what it
    does.
    """
    for fitted, contrasts in fit.parts:
        conditions = fitted.free(*fit.plain)
        shift = {answer.condition: answer.shift for answer in fit.answers() if answer.fitted is fitted}
        for first, second in itertools.combinations(range(len(conditions)), 2):
            earlier, later = conditions[first], conditions[second]
            factors = _apart(earlier, later)
            is_one = len(factors) == 1 and not _turns_several_knobs(earlier, later)
            if is_one and earlier.role is later.role is Role.TREATMENT:
                yield (
                    factors[0],
                    later,
                    earlier,
                    _of_means(contrasts.between(second, first), shift[later], shift[earlier]),
                )


def _of_means(typical: Mixture, later: Shift, earlier: Shift) -> Mixture:
    """The log ratio of means; that both shifts are over the same plain twins is left out, which widens it."""
    variance = later.variance + earlier.variance
    return replace(typical, means=typical.means + later.mean - earlier.mean, sds=np.sqrt(typical.sds**2 + variance))


def contrasts_of(fit: CostFit, metric: Metric, rope: float) -> Iterator[Contrast]:
    """The contrasts of one metric, stratum by stratum; the ratio's prior is the verdicts', t3(0, 0.5) on its log."""
    for factor, later, earlier, data in contrast_data(fit):
        yield Contrast(factor, later, earlier, metric, posterior(data).estimate(rope))


def _apart(one: Condition, other: Condition) -> Sequence[str]:
    return [name for (name, level), (_, against) in zip(one.levels, other.levels, strict=True) if level != against]


def _turns_several_knobs(one: Condition, other: Condition) -> bool:
    levels = (str(dict(of.levels).get("during", "")) for of in (one, other))
    return knobs_apart(*levels) > 1
