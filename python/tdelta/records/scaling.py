"""The overhead by numbers of threads: measured in a sweep, and predicted beyond it."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.messages import Caution
from tdelta.records.cache_prediction import Band
from tdelta.records.conditions import Level


@dataclass(frozen=True, slots=True)
class ScalingPoint:
    """One number of threads.

    Attributes:
        threads: how many.
        plain: operations per second of the plain twin; None where nothing was measured.
        ratio: time per operation over the plain twin's, as measured; None where nothing was.
        prediction: of the ratio, from fewer threads; None where the model was fitted to this point.
    """

    threads: int
    plain: float | None
    ratio: float | None
    prediction: Band | None


@dataclass(frozen=True, slots=True)
class ScalingCurve:
    """One condition beside the plain one, at one level of whatever else varies. ``points`` are in order of threads."""

    levels: tuple[tuple[str, Level], ...]
    baseline: str
    condition: str
    points: tuple[ScalingPoint, ...]


@dataclass(frozen=True, slots=True)
class Scaling:
    """The answer of ``tdelta scaling``. ``source`` is what was read, as the user named it."""

    source: str
    curves: tuple[ScalingCurve, ...]
    cautions: tuple[Caution, ...]
