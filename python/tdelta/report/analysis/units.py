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
    """A posterior on the scale of the values, in decimals that suit it: ``12.412 ms (12.301 to 12.523)``."""
    scale = display_unit((spread.median, *spread.hdi95), unit)
    shown = [scale(value) for value in (spread.median, *spread.hdi95)]
    width = max(shown) - min(shown)
    places = min(_MOST_DECIMALS, max(0, 1 - math.floor(math.log10(width)))) if width > 0 else 2
    texts = [f"{value:,.{places}f}" if math.isfinite(value) else MISSING for value in shown]
    median, low, high = (
        signed(t, v) if is_signed else t.replace("-", MINUS) for t, v in zip(texts, shown, strict=True)
    )
    return f"{f'{median} {scale.name}'.rstrip()} ({low} to {high})"


def signed(text: str, value: float) -> str:
    """A figure with its sign, a true minus; zero has none."""
    bare = text.removeprefix("-")
    if not math.isfinite(value) or not bare.strip("0.,"):
        return bare
    return f"+{bare}" if value > 0 else f"{MINUS}{bare}"
