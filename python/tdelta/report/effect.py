"""How an effect is worded: ``36 % slower (32 to 40 %)``, ``44 % more CPU time per operation (39 to 49 %)``.

Words for people who do not know what a ratio of means or an HDI is. Figures keep their side of every limit, as
everywhere (`tdelta.report.quantities`); nothing is decided here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tdelta.records import Estimate, Metric
from tdelta.report.quantities import MINUS, decimals, points

_ROUND_FROM = 0.1
"""From this overhead on, or from an interval that wide on, decimals say nothing; but see `_ROUND_WIDTH`."""

_ROUND_WIDTH = 0.02
"""Intervals that are narrower than this keep their decimals."""

_AES = re.compile(r"\baes\b")


@dataclass(frozen=True, slots=True)
class Effect:
    """A quotient in words, with the interval that decides.

    Attributes:
        median: the best estimate.
        ends: of the interval.
        bounds: the limits that figures keep their side of.
    """

    median: float
    ends: tuple[float, float]
    bounds: tuple[float, ...] = ()

    @property
    def is_more(self) -> bool:
        return self.median >= 1.0

    @property
    def is_one_sided(self) -> bool:
        return self.ends[0] > 1.0 or self.ends[1] < 1.0

    def slower(self, level: str = "") -> str:
        """After ``makes it``: ``36 % slower (32 to 40 %)``; ``level`` stands before the interval."""
        return f"{self.amount()} {'slower' if self.is_more else 'faster'} ({level}{self.span('faster', 'slower')})"

    def more(self, what: str, level: str = "") -> str:
        """After ``takes``: ``44 % more CPU time (39 to 49 %)``."""
        return f"{self.amount()} {'more' if self.is_more else 'less'} {what} ({level}{self.span('less', 'more')})"

    def signed(self, level: str = "") -> str:
        """Without a word of direction: ``+0.4 % (−0.3 to +1.1 %)``; ``level`` stands before the interval."""
        return f"{self.signed_median()} ({level}{self.signed_span()})"

    def signed_median(self) -> str:
        return f"{points(self.median, self._places())} %"

    def amount(self) -> str:
        """How far from the baseline, without a sign: ``36 %``."""
        return f"{_bare(self.median, self._places())} %"

    def span(self, less: str, more: str) -> str:
        """The interval beside `amount`: ``32 to 40 %``; where it reaches across no effect, with signs or words."""
        if not self.is_one_sided:
            # Nobody reads "5 % faster (−2 to +8 %)" right.
            return self.signed_span() if self.is_more else self._across(less, more)
        low, high = self.ends if self.is_more else self.ends[::-1]
        return f"{_bare(low, self._places())} to {_bare(high, self._places())} %"

    def signed_span(self) -> str:
        low, high = (points(end, self._places()) for end in self.ends)
        return f"{low} to {high} %"

    def reach(self) -> str:
        """The interval in words: ``between 3 % faster and 11 % slower``, ``0.5 to 11 % slower``."""
        if not self.is_one_sided:
            low, high = (_bare(end, self._places()) for end in self.ends)
            return f"between {low} % faster and {high} % slower"
        word = "slower" if self.is_more else "faster"
        return f"{self.span('faster', 'slower')} {word}"

    def _across(self, less: str, more: str) -> str:
        low, high = (_bare(end, self._places()) for end in self.ends)
        return f"{low} % {less} to {high} % {more}"

    def _places(self) -> int:
        shown = (self.median, *self.ends)
        width = self.ends[1] - self.ends[0]
        is_rough = width >= _ROUND_FROM or (abs(self.median - 1.0) >= _ROUND_FROM and width >= _ROUND_WIDTH)
        return 0 if is_rough and _keeps(shown, self.bounds) else decimals(shown, self.bounds)


def effect_of(estimate: Estimate, bounds: tuple[float, ...], *, is_gate: bool = False) -> Effect:
    """An estimate with the interval that decides: of a budget the 99 % one, else the 95 % one."""
    return Effect(estimate.median, estimate.hdi99 if is_gate else estimate.hdi95, bounds)


def makes(metric: Metric, effect: Effect) -> str:
    """What encryption makes a load: ``36 % slower (…)``, ``take 44 % more CPU time per operation (…)``."""
    match metric:
        case Metric.CPU_PER_OPERATION:
            return f"take {effect.more('CPU time per operation')}"
        case Metric.READ_BYTES_PER_OPERATION:
            return f"read {effect.more('bytes per operation')}"
        case Metric.WRITTEN_BYTES_PER_OPERATION:
            return f"write {effect.more('bytes per operation')}"
        case Metric.TIME_WITH_CHECKPOINT:
            return f"{effect.slower()}, checkpoints included"
        case _:
            return effect.slower()


def no(*, is_time: bool, what: str) -> str:
    """``No, not slower``, the answer with its question in it: by itself a no could be read as one to another."""
    return "No, not slower" if is_time else f"No, no more {what}"


def cipher_name(words: str) -> str:
    """``AES-256`` as people write it, where the option has ``aes-256``."""
    return _AES.sub("AES", words)


def _bare(ratio: float, places: int) -> str:
    return points(ratio, places).lstrip(f"+{MINUS}")


def _keeps(ratios: tuple[float, ...], bounds: tuple[float, ...]) -> bool:
    """Whether whole per cents show every quotient on its own side of every limit."""
    return all(
        (ratio > bound) - (ratio < bound) == (value > limit) - (value < limit)
        for ratio in ratios
        for bound in bounds
        for value, limit in [(round(100 * (ratio - 1)), round(100 * (bound - 1), 3))]
    )
