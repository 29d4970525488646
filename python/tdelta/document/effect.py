"""How a change is worded: ``3.1% slower (2.4% to 3.8%)``, ``6.6 times as long (6.4 to 6.8 times)``, ``+3.1%``.

Words for people who do not know what a ratio of means is. Changes of twice as much and more are multiples. Figures keep
their side of every limit (`tdelta.document.quantities`); nothing is decided here.
"""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.document.quantities import (
    MINUS,
    MISSING,
    MULTIPLE_FROM,
    change,
    decimals,
    figures,
    interval,
    percent,
    ratio_cells,
)
from tdelta.records import Estimate, Metric, RunSettings


@dataclass(frozen=True, slots=True)
class Cost:
    """The quantity that a change is a change of.

    Attributes:
        words: ``response time``, ``CPU time per transaction``.
        is_time: whether more of it is slower.
        verb: how a workload spends it: ``take``, ``read``, ``write``.
    """

    words: str
    is_time: bool = False
    verb: str = "take"


TIME = Cost("response time", is_time=True)


@dataclass(frozen=True, slots=True)
class Effect:
    """A quotient in words, with the interval that decides.

    Attributes:
        median: the best estimate, 1 for no change.
        ends: of the interval.
        bounds: the limits that figures keep their side of.
    """

    median: float
    ends: tuple[float, float]
    bounds: tuple[float, ...] = ()

    @property
    def is_one_sided(self) -> bool:
        """Whether the whole interval lies on one side of no change."""
        return self.ends[0] > 1.0 or self.ends[1] < 1.0

    @property
    def is_multiple(self) -> bool:
        return self.median >= MULTIPLE_FROM

    @property
    def is_rough(self) -> bool:
        """Whether the interval is too wide for decimals."""
        return self._places() == 0

    def degree(self, cost: Cost, more: str = "slower", less: str = "faster") -> str:
        """``3.1% slower``, ``4.0% more CPU time``; from twice as much on ``6.6 times as long``."""
        if self.is_multiple:
            return f"{figures(self.median)} times as {'long' if cost.is_time else f'much {cost.words}'}"
        is_more = self.median >= 1.0
        if cost.is_time:
            return f"{self.amount()} {more if is_more else less}"
        return f"{self.amount()} {'more' if is_more else 'less'} {cost.words}"

    def amount(self) -> str:
        """How far from no change, without a sign: ``3.1%``, ``6.6×``."""
        return self.signed().lstrip(f"+{MINUS}")

    def span(self) -> str:
        """The interval beside `degree`: ``2.4% to 3.8%``, ``6.4 to 6.8 times``; with signs if it includes no change."""
        low, high = self.ends
        if self.is_multiple:
            return f"{figures(low)} to {figures(high)} times"
        if not self.is_one_sided:
            return interval(self.ends, self._places())
        near, far = (low, high) if self.median >= 1.0 else (high, low)
        return " to ".join(_unsigned(end, self._places()) for end in (near, far))

    def reach(self, cost: Cost) -> str:
        """The interval in words: ``between 3.0% faster and 11% slower``."""
        low, high = (_unsigned(end, self._places()) for end in self.ends)
        if cost.is_time:
            return f"between {low} faster and {high} slower"
        return f"between {low} less and {high} more {cost.words}"

    def signed(self) -> str:
        """``+0.4%``, ``6.6×``."""
        return change(self.median, self._places())

    def signed_span(self) -> str:
        """``−0.3% to +1.1%``, ``6.4× to 6.8×``."""
        return interval(self.ends, self._places(), is_multiple=self.is_multiple)

    def _places(self) -> int:
        return decimals((self.median, *self.ends), self.bounds)


def limits(settings: RunSettings) -> tuple[float, ...]:
    """The quotients that primary verdicts are compared with: the budget, or both edges of the tolerance."""
    return (1 + settings.budget,) if settings.budget is not None else edges(settings.tolerance)


def edges(tolerance: float) -> tuple[float, float]:
    """Both edges of the tolerance, as quotients."""
    return 1 - tolerance, 1 + tolerance


def effect_of(estimate: Estimate, bounds: tuple[float, ...], *, is_gate: bool = False) -> Effect:
    """An estimate with the interval that decides: 99% for a budget, else 95%."""
    return Effect(estimate.median, estimate.hdi99 if is_gate else estimate.hdi95, bounds)


def cost_of(metric: Metric, words: str) -> Cost:
    """A run's metric, under the name that ``words`` gives it."""
    match metric:
        case Metric.RESPONSE_TIME:
            return TIME
        case Metric.TIME_WITH_CHECKPOINT:
            return Cost("response time, checkpoints included", is_time=True)
        case Metric.CPU_PER_OPERATION:
            return Cost(f"{words.removesuffix(' per operation')} time per transaction")
        case Metric.READ_BYTES_PER_OPERATION:
            return Cost("bytes per transaction", verb="read")
        case _:
            return Cost("bytes per transaction", verb="write")


def _unsigned(ratio: float, places: int) -> str:
    return percent(ratio, places).lstrip(f"+{MINUS}")


def described_cells(ratio: Estimate | None, settings: RunSettings) -> tuple[str, str]:
    """A ratio on which nothing is decided, and its 95% interval; dashes where there is none."""
    return (MISSING, MISSING) if ratio is None else ratio_cells(ratio, limits(settings))
