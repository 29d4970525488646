"""Which standard deviations are possible, given what else a tool prints.

Tools get units wrong (HammerDB wrote clicks for years) and count other transactions than they average. A standard
deviation that cannot belong to the minimum, mean, maximum and quantiles beside it is not used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

_RELATIVE_SLACK = 0.01


@dataclass(frozen=True, slots=True)
class Printed:
    """What a tool prints of one transaction type, in ms; quantiles by their share, ``{0.95: 4.1}``.

    ``rounding_ms`` is how far off each may be.
    """

    count: int
    mean: float
    minimum: float
    maximum: float
    quantiles: Mapping[float, float]
    rounding_ms: float

    @property
    def is_consistent(self) -> bool:
        """Whether the mean lies between minimum and maximum."""
        return self.minimum - self.rounding_ms <= self.mean <= self.maximum + self.rounding_ms


def sd_limits(printed: Printed) -> tuple[float, float]:
    """The smallest and the largest standard deviation that values with such figures can have.

    Above: the variance is at most ``(max - mean)(mean - min)`` (Bhatia and Davis, *A Better Bound on the Variance*,
    Amer. Math. Monthly 107, 2000). Below: a share w of values at least d beyond the mean makes the variance at least
    ``d² w / (1 - w)`` (Cantelli's inequality), for every quantile and for the one value that is the extreme.
    """
    n, mean, slack = printed.count, printed.mean, printed.rounding_ms
    if n < 2:
        return 0.0, 0.0
    above = max(printed.maximum + slack - mean, 0.0) * max(mean - printed.minimum + slack, 0.0) * n / (n - 1)
    beyond = [(printed.maximum - mean, 1 / n), (mean - printed.minimum, 1 / n)]
    for share, quantile in printed.quantiles.items():
        # A tool may count one value more or less as beyond its quantile.
        beyond.append((quantile - mean, 1 - share - 1 / n) if quantile > mean else (mean - quantile, share - 1 / n))
    below = max((max(d - slack, 0.0) ** 2 * w / (1 - w) for d, w in beyond if 0 < w < 1), default=0.0)
    return math.sqrt(below), math.sqrt(above)


def is_possible(sd: float, printed: Printed) -> bool:
    """Whether values in ms with such figures can have that standard deviation."""
    smallest, largest = sd_limits(printed)
    slack = printed.rounding_ms
    return smallest * (1 - _RELATIVE_SLACK) - slack <= sd <= largest * (1 + _RELATIVE_SLACK) + slack
