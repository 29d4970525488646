"""Values in the units people read: a posterior in milliseconds, the ends of an axis, a pair of throughputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tdelta.document.quantities import MINUS, MISSING, SECONDS, amounts, printable, rate
from tdelta.records import Spread

if TYPE_CHECKING:
    from tdelta.inference.posterior import FloatArray

_MICROSECONDS = {"µs": 1.0, "us": 1.0, "ms": 1e3, "s": 1e6}
_MOST_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class UnitScale:
    """From a file's unit to the one that is shown: multiplies by ``factor``, and is called ``name``."""

    unit: str
    name: str
    factor: float = 1.0

    def __call__(self, value: float) -> float:
        return value * self.factor

    def array(self, values: FloatArray) -> FloatArray:
        return values * self.factor


def display_unit(values: Iterable[float], unit: str) -> UnitScale:
    """The time unit that suits the largest of these values; of what is no time, its own."""
    if unit not in _MICROSECONDS:
        return UnitScale(unit, printable(unit))
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0) * _MICROSECONDS[unit]
    name, size = next((step for step in SECONDS if largest >= step[1]), SECONDS[-1])
    return UnitScale(unit, name, _MICROSECONDS[unit] / size)


def unit_amounts(values: Sequence[float], unit: str) -> tuple[str, ...]:
    """Absolute values side by side in one unit that suits them: times in theirs, ``1,673 /s``, all else as it came."""
    if unit in _MICROSECONDS:
        return amounts([value * _MICROSECONDS[unit] for value in values], "µs")
    behind = f" {printable(unit)}" if unit else ""
    return tuple(f"{rate(value)}{behind}" if math.isfinite(value) else MISSING for value in values)


def spread_text(spread: Spread, unit: str, *, is_signed: bool = False) -> str:
    """A posterior on the scale of the values: ``12.412 ms (95% interval 12.301 … 12.523)``."""
    median, hdi95, _ = spread_parts(spread, unit, is_signed=is_signed)
    return f"{median} (95% interval {hdi95})"


def spread_parts(spread: Spread, unit: str, *, is_signed: bool = False) -> tuple[str, str, str]:
    """Median with its unit, and the two HDIs without: ``12.412 ms``, ``12.301 … 12.523``, ``12.266 … 12.558``."""
    values = (spread.median, *spread.hdi95, *spread.hdi99)
    name, texts = _texts(values, unit, figures=3, is_signed=is_signed)
    return f"{texts[0]} {name}".rstrip(), f"{texts[1]} … {texts[2]}", f"{texts[3]} … {texts[4]}"


def axis_text(ends: tuple[float, float], unit: str, *, is_signed: bool = False) -> tuple[str, str]:
    name, texts = _texts(ends, unit, figures=2, is_signed=is_signed)
    left, right = (f"{text} {name}".rstrip() for text in texts)
    return left, right


def signed(text: str, value: float) -> str:
    """A figure with its sign, a true minus; zero has none."""
    bare = text.removeprefix("-")
    if not math.isfinite(value) or not bare.strip("0.,"):
        return bare
    return f"+{bare}" if value > 0 else f"{MINUS}{bare}"


def _texts(values: Sequence[float], unit: str, *, figures: int, is_signed: bool) -> tuple[str, list[str]]:
    """The unit's name, and all values in it with the same decimals: so many figures of how far apart they are."""
    scale = display_unit(values, unit)
    shown = [scale(value) for value in values]
    width = max(shown) - min(shown)
    places = min(_MOST_DECIMALS, max(0, figures - 1 - math.floor(math.log10(width)))) if width > 0 else 2
    texts = [f"{value:,.{places}f}" if math.isfinite(value) else MISSING for value in shown]
    return scale.name, [signed(t, v) if is_signed else t.replace("-", MINUS) for t, v in zip(texts, shown, strict=True)]
