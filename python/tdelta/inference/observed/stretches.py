"""Are the response times of a run independent? By the means of its stretches, in time order.

If they are, a stretch of c values has a mean that scatters by sd/sqrt(c), and neighbouring stretches know nothing of
each other. Where the means scatter by clearly more (stalls, warm-up, drift), the gamma likelihood would be too sure:
the mean is then taken from the stretches, as from a throughput series.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tdelta.inference.observed.series import FEWEST_VALUES, SeriesMean, series_mean
from tdelta.records import Samples

_CLEAR_Z = 2.326
"""The 99 % quantile of a normal: one in a hundred runs of independent values is taken for dependent."""


@dataclass(frozen=True, slots=True)
class Dependence:
    """What the stretches say: their mean and its error, and by what factor its variance exceeds independence's."""

    means: SeriesMean
    inflation: float

    @property
    def is_clear(self) -> bool:
        """Whether the excess is more than chance gives, by the chi-square's upper 1 % (Wilson and Hilferty 1931)."""
        part = 2.0 / (9.0 * self.means.df)
        return self.inflation > float((1.0 - part + _CLEAR_Z * np.sqrt(part)) ** 3)


def dependence(samples: Samples) -> Dependence | None:
    """What the stretches of a run say; None where there are too few of them, or they are not alike in length."""
    longest = max((count for count, _ in samples.clusters), default=0)
    whole = [(count, total) for count, total in samples.clusters if 2 * count > longest]
    if len(whole) < FEWEST_VALUES:
        return None
    means = series_mean(np.array([total / count for count, total in whole]))
    average = samples.total / samples.count
    variance = (samples.total_squares - samples.count * average**2) / max(samples.count - 1, 1)
    if means is None or variance <= 0.0:
        return None
    held = float(sum(count for count, _ in whole))
    return Dependence(means, means.standard_error**2 / (variance / held))
