"""What a unit says of figures: ``ms`` are response times, ``tps`` is throughput; as headers, or the user, write it."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.errors import UsageError
from tdelta.importers.csv_names import PER_SECOND, TIMES_MS
from tdelta.messages import Refusal
from tdelta.records.observed import RESPONSE_TIME, THROUGHPUT

_RATES = {**PER_SECOND, "/s": 1.0, "per_s": 1.0, "/min": 1 / 60, "per_min": 1 / 60}


@dataclass(frozen=True, slots=True)
class Measure:
    """What figures are: their metric, the unit of results, and what makes the file's figures that."""

    metric: str
    unit: str
    scale: float


def measure_of_unit(unit: str) -> Measure | None:
    """``ms`` and ``seconds`` are response times, ``tps`` and ``/min`` throughput; None for anything else."""
    name = unit.strip().lower()
    if name in TIMES_MS:
        return Measure(RESPONSE_TIME, "ms", TIMES_MS[name])
    if name in _RATES:
        return Measure(THROUGHPUT, "/s", _RATES[name])
    return None


def asked_unit(unit: str) -> str:
    """The user's unit, if it is one.

    Raises:
        UsageError: it is none.
    """
    if measure_of_unit(unit) is None:
        raise UsageError(Refusal.of("not-a-unit").at(f"--unit {unit!r}"))
    return unit
