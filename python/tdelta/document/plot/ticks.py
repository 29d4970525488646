"""Where an axis is marked, and what the marks are called: round numbers in steps of 1, 2 or 5, with their units.

A step of an axis is never finer than its labels can say, so no two labels of an axis are the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tdelta.document.quantities import percent

_NICE = (1.0, 2.0, 5.0, 10.0)
_CLOCK_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)
_TIME_UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))
_QUANTILES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)
_MULTIPLES = (
    (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0),
    (1.0, 1.5, 2.0, 3.0, 5.0, 7.0),
    (1.0, 2.0, 5.0),
    (1.0,),
    (0.001, 1000.0),
)


@dataclass(frozen=True, slots=True)
class Tick:
    value: float
    label: str


def linear_steps(low: float, high: float, about: int) -> tuple[float, ...]:
    """Multiples of a round step within ``low … high``, at most ``about + 1`` of them.

    Args:
        high: the high end, above ``low``.
        about: how many are wanted, at least 2.
    """
    step = _nice_step((high - low) / max(2, about))
    # A range that is little wider than the step may lie between two of its multiples.
    return _steps_of(step, low, high) or _steps_of(_nice_step(step / 2.5), low, high)


def _steps_of(step: float, low: float, high: float) -> tuple[float, ...]:
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(index * step for index in range(first, last + 1))


def log_steps(low: float, high: float, about: int) -> tuple[float, ...]:
    """Round values within ``low … high`` for a logarithmic axis: 1, 2, 5 of each decade, or fewer.

    Where the range is too short for those to be three, the steps of a linear axis are taken.
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = _within([head * 10.0**decade for decade in decades for head in (1.0, 2.0, 5.0)], low, high)
    whole = _within([10.0**decade for decade in decades], low, high)
    if len(fine) < 3:
        return linear_steps(low, high, about)
    found = whole if len(fine) > about + 1 and len(whole) >= 3 else fine
    return found[:: math.ceil(len(found) / (about + 1))]


def overhead_ticks(low: float, high: float, about: int, *, in_multiples: bool) -> tuple[Tick, ...]:
    """Marks of an axis of ratios: ``+5%``, or in multiples ``3 x``, which suit a logarithmic axis."""
    if not in_multiples:
        steps = linear_steps(100 * (low - 1), 100 * (high - 1), about)
        places = _places(steps)
        return tuple(Tick(1 + step / 100, percent(1 + step / 100, places)) for step in steps)
    found = next((f for heads in _MULTIPLES if len(f := _multiples(heads, low, high)) <= about + 1), ())
    return tuple(Tick(value, f"{value:g}×") for value in found)


def plain_ticks(low: float, high: float, about: int, unit: str = "") -> tuple[Tick, ...]:
    steps = linear_steps(low, high, about)
    places = _places(steps)
    behind = f" {unit}" if unit else ""
    return tuple(Tick(step, f"{step:,.{places}f}{behind}") for step in steps)


def clock_ticks(high_seconds: float, about: int) -> tuple[Tick, ...]:
    """Marks of wall clock from 0: ``20 s``, ``5 min``, ``2 h``, all in one unit."""
    step = next((s for s in _CLOCK_STEPS if high_seconds / s <= max(2, about)), _CLOCK_STEPS[-1])
    while high_seconds / step > max(2, about):
        step *= 2
    unit, size = next(((u, s) for u, s in (("h", 3600), ("min", 60)) if step % s == 0), ("s", 1))
    count = int(high_seconds / step + 1e-9)
    return tuple(Tick(float(index * step), f"{index * step // size} {unit}") for index in range(count + 1))


def nanosecond_ticks(low_ns: float, high_ns: float, about: int) -> tuple[Tick, ...]:
    """Marks of a logarithmic axis of times: ``50 µs``, ``1 ms``."""
    return tuple(Tick(value, time_label(value)) for value in log_steps(low_ns, high_ns, about))


def quantile_ticks(highest: float) -> tuple[Tick, ...]:
    """Marks of an axis of ``1 / (1 - quantile)``: ``p50``, ``p99``, ``p99.9`` up to the highest quantile drawn."""
    shown = [q for q in _QUANTILES if q <= highest]
    return tuple(Tick(1 / (1 - q), f"p{100 * q:.6g}") for q in shown)


def time_label(nanoseconds: float) -> str:
    """A round time in the unit that suits it: ``50 µs``."""
    unit, size = next(((u, s) for u, s in _TIME_UNITS if nanoseconds >= s * (1 - 1e-9)), _TIME_UNITS[-1])
    return f"{nanoseconds / size:,.6g} {unit}"


def _nice_step(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(nice * power for nice in _NICE if nice * power >= least * (1 - 1e-9))


def _places(steps: tuple[float, ...]) -> int:
    if len(steps) < 2:
        return 0
    return max(0, -math.floor(math.log10(steps[1] - steps[0]) + 1e-9))


def _within(values: Iterable[float], low: float, high: float) -> tuple[float, ...]:
    return tuple(v for v in values if low * (1 - 1e-9) <= v <= high * (1 + 1e-9))


def _multiples(heads: tuple[float, ...], low: float, high: float) -> tuple[float, ...]:
    return _within([head * 10.0**decade for decade in range(-3, 5) for head in heads], low, high)
