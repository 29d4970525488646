"""The answer of `tdelta scaling` as text and as JSON. Predictions are marked as such in each."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from tdelta.records.scaling import Axis, Scaling, ScalingCurve, ScalingPoint
from tdelta.report.drawing import NARROWEST, draw, paragraph, plain_table
from tdelta.report.labels import level_text
from tdelta.report.quantities import MISSING, interval, percent, printable, rate
from tdelta.report.values import record_values

SCALING_SCHEMA = "tdelta.scaling/1"

LIMITS = {
    Axis.THREADS: (
        "Predictions are of this machine with more threads, in bands of 95 %. They say nothing of other numbers of"
        " cores: docs/scaling.md has why, and how often the bands hold."
    ),
    Axis.CORES: (
        "Predictions are of machines of the same kind with more cores, under the same rule for threads, in bands of"
        " 95 %. They say nothing of other processors, disks or networks: docs/scaling.md has how often the bands hold."
    ),
}
"""What predictions are of."""


def kind(point: ScalingPoint) -> str:
    """``measured``, ``prediction``, or ``held-out``: predicted from fewer threads, and measured."""
    if point.prediction is None:
        return "measured"
    return "prediction" if point.ratio is None else "held-out"


def scaling_text(scaling: Scaling, width: int, *, color: bool = False) -> str:
    """A sentence and a table for every curve, laid out for at least 40 columns."""
    width = max(NARROWEST, width)
    parts: list[Text | Table] = []
    for curve in scaling.curves:
        parts += [*paragraph(curve_sentence(curve), width, "bold"), Text(), _table(curve), Text()]
    for words in (LIMITS[scaling.over], *(caution.text for caution in scaling.cautions)):
        parts += paragraph(words, width, "dim")
    return draw(parts, width, color=color)


def scaling_document(scaling: Scaling) -> dict[str, object]:
    """The same as JSON values."""
    curves = [
        {
            **record_values(curve),
            "levels": dict(curve.levels),
            "points": [
                {
                    "cores": point.at if curve.over is Axis.CORES else None,
                    **record_values(point),
                    "kind": kind(point),
                }
                for point in curve.points
            ],
        }
        for curve in scaling.curves
    ]
    cautions = [{"code": caution.code, "text": caution.text} for caution in scaling.cautions]
    return {
        "schema": SCALING_SCHEMA,
        "source": scaling.source,
        "over": scaling.over.value,
        "curves": curves,
        "cautions": cautions,
    }


def curve_name(curve: ScalingCurve) -> str:
    """``aes-256 over plain (cache 10 %)``."""
    levels = ", ".join(level_text(name, level) for name, level in curve.levels)
    return printable(f"{curve.condition} over {curve.baseline}" + (f" ({levels})" if levels else ""))


def prediction(curve: ScalingCurve) -> str:
    """What is predicted for the most threads: ``predicted overhead with 64 threads +9.1 % (+6.0 … +12.4 %)``."""
    last = [point for point in curve.points if point.prediction is not None][-1:]
    said = [f"{percent(p.prediction.median)} ({interval(p.prediction.band95)} %)" for p in last if p.prediction]
    return f"predicted overhead with {last[0].at} {curve.over} {said[0]}" if said else "no prediction"


def curve_sentence(curve: ScalingCurve) -> str:
    """The same, with what it is of."""
    return f"{curve_name(curve)}: {prediction(curve)}"


def columns(curve: ScalingCurve) -> tuple[str, ...]:
    """The columns of numbers: threads beside cores where the sweep is over cores and has them."""
    threads = ("threads",) if _has_threads(curve) else ()
    return (curve.over.value, *threads, "plain per s", "overhead", "predicted", "95 %")


def cells(curve: ScalingCurve, point: ScalingPoint) -> tuple[str, ...]:
    """What stands in them, and the kind of the point."""
    band = point.prediction
    return (
        f"{point.at:,}",
        *((f"{point.threads:,}",) if _has_threads(curve) else ()),
        MISSING if point.plain is None else rate(point.plain),
        MISSING if point.ratio is None else percent(point.ratio),
        *((MISSING, MISSING) if band is None else (percent(band.median), interval(band.band95))),
        kind(point),
    )


def _has_threads(curve: ScalingCurve) -> bool:
    return curve.over is not Axis.THREADS and all(point.threads is not None for point in curve.points)


def _table(curve: ScalingCurve) -> Table:
    table = plain_table((*((name, True) for name in columns(curve)), ("", False)))
    for point in curve.points:
        table.add_row(*cells(curve, point), style="" if point.prediction is None else "italic")
    return table
