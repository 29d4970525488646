from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A posterior in a few figures; all are quotients, e.g. ``hdi95 = (1.024, 1.038)``."""

    median: float
    hdi95: tuple[float, float]
    hdi99: tuple[float, float]
    mass_above_rope: float
    mass_in_rope: float
    mass_below_rope: float
