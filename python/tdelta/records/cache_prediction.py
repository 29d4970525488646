"""What encryption would cost with another cache: predicted from counts and prices, beside what was measured."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.records.conditions import Condition
from tdelta.records.findings import Finding


@dataclass(frozen=True, slots=True)
class Band:
    """A quotient over the plain twins (1.2 is +20 %): the median of a prediction between the ends of its 95 % band."""

    median: float
    band95: tuple[float, float]


@dataclass(frozen=True, slots=True)
class CachePoint:
    """The prediction at one cache share: pages decrypted and encrypted an operation, CPU and response time."""

    cache: float
    pages_read: float
    pages_written: float
    cpu: Band
    response: Band


@dataclass(frozen=True, slots=True)
class CacheCell:
    """A measured cell, and what the others predict of it.

    ``cpu`` and ``response`` are measured (median and 95 % HDI), ``predicted_*`` fitted without this cell. ``*_held``:
    the measured median lies within the predicted band.
    """

    condition: Condition
    cache: float
    cpu: Band
    response: Band
    predicted_cpu: Band
    predicted_response: Band
    cpu_held: bool
    response_held: bool


@dataclass(frozen=True, slots=True)
class CachePrediction(Finding):
    """The prediction for one kind of twin over cache shares. ``condition`` is that of its first measured cell."""

    FINDING = "cache_prediction"

    condition: Condition
    points: tuple[CachePoint, ...]
    cells: tuple[CacheCell, ...]
