"""From values to pixels, linear or logarithmic."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tdelta.errors import Defect

_LEAST_SPAN = 1e-9
_LOG_FROM = 2.0
"""Ratios that are so many times larger or smaller than one stand on a logarithmic scale."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps ``low … high`` onto ``start … end`` pixels (``start`` may be the larger, as on a vertical axis).

    Values outside are drawn at the edge, so that nothing ever leaves its plot; who draws says that something did.

    Raises:
        TdeltaError: if the range is empty, not finite, or not positive on a logarithmic scale.
    """

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise Defect(f"a scale needs low < high, found {self.low} and {self.high}")
        if self.is_log and self.low <= 0:
            raise Defect(f"a logarithmic scale needs values above 0, found {self.low}")

    def __call__(self, value: float) -> float:
        return self.start + self._share(min(max(value, self.low), self.high)) * (self.end - self.start)

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    def _share(self, value: float) -> float:
        if self.is_log:
            return (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return (value - self.low) / (self.high - self.low)


def scale_over(
    values: Iterable[float], start: float, end: float, *, is_log: bool = False, margin: float = 0.04
) -> Scale:
    """A scale that holds all finite values, with a margin at either end, as a share of its length.

    Args:
        values: those to be drawn; NaN and infinite ones are passed over, and on a log scale those not above 0.
        start: pixel of the low end.
        end: pixel of the high end.
        is_log: whether equal ratios are equally far apart.
        margin: what to leave free at either end.
    """
    shown = [v for v in values if math.isfinite(v) and (v > 0 or not is_log)] or [1.0]
    low, high = min(shown), max(shown)
    if is_log:
        reach = max(math.log(high / low), 1e-3) * margin + (1e-2 if high == low else 0.0)
        return Scale(low * math.exp(-reach), high * math.exp(reach), start, end, is_log=True)
    span = high - low
    reach = span * margin if span > _LEAST_SPAN * max(1.0, abs(high)) else max(0.01 * abs(high), 1e-6)
    return Scale(low - reach, high + reach, start, end)


def ratio_scale(values: Iterable[float], start: float, end: float, *, margin: float = 0.04) -> Scale:
    """A scale of overheads, as ratios, with 1 on it: logarithmic where all are above 0 and one is twice or half.

    Args:
        values: those to be drawn; NaN and infinite ones are passed over.
        start: pixel of the low end.
        end: pixel of the high end.
        margin: what to leave free at either end.
    """
    shown = [1.0, *filter(math.isfinite, values)]
    is_far = max(shown) >= _LOG_FROM or min(shown) <= 1 / _LOG_FROM
    return scale_over(shown, start, end, is_log=min(shown) > 0 and is_far, margin=margin)
