"""The overhead by numbers of threads or of cores: measured in a sweep, and predicted beyond it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tdelta.messages import Caution
from tdelta.records.cache_prediction import Band
from tdelta.records.conditions import Level


class Axis(StrEnum):
    """What a sweep varied. The values are the factors' names, and the words for them."""

    THREADS = "threads"
    CORES = "cores"


@dataclass(frozen=True, slots=True)
class ScalingPoint:
    """One number of threads or of cores.

    Attributes:
        at: of what the sweep is over, how many.
        threads: how many; None in a sweep over cores whose results do not say.
        plain: operations per second of the plain twin; None where nothing was measured.
        ratio: time per operation over the plain twin's, as measured; None where nothing was.
        prediction: of the ratio, from fewer threads or cores; None where the model was fitted to this point.
    """

    at: int = field(metadata={"json": ""})
    threads: int | None
    plain: float | None
    ratio: float | None
    prediction: Band | None


@dataclass(frozen=True, slots=True)
class ScalingCurve:
    """One condition beside the plain one, at one level of whatever else varies. ``points`` are in order."""

    levels: tuple[tuple[str, Level], ...]
    baseline: str
    condition: str
    over: Axis
    points: tuple[ScalingPoint, ...]


@dataclass(frozen=True, slots=True)
class Scaling:
    """The answer of ``tdelta scaling``. ``source`` is what was read, as the user named it."""

    source: str
    over: Axis
    curves: tuple[ScalingCurve, ...]
    cautions: tuple[Caution, ...]
