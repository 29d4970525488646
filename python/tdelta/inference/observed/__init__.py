"""Verdicts from what other tools measured: from `tdelta.records.Observation` to `tdelta.records.AnalysisResult`.

`analyze` is the entrance, `pictures` gives its curves. Each condition's mean gets a posterior of its own, by the model
that its data allow; two of them make a ratio and a difference. Deterministic, NumPy only, no sampling. The models, what
they assume and how often they are wrong are in ``docs/analyze-models.md``.
"""

from __future__ import annotations

from collections.abc import Iterable

from tdelta.inference.observed.settings import (
    NO_SPEEDUP,
    PRIOR_HELP,
    PUBLISHED,
    RUN_LUCK,
    AnalysisSettings,
    NormalPrior,
    Prior,
    parse_priors,
)
from tdelta.inference.observed.shapes import ComparisonPicture, Curve, PredictiveCheck, QuantileCheck, RatioCurve
from tdelta.records import AnalysisResult, Observation


def analyze(observations: Iterable[Observation], settings: AnalysisSettings) -> AnalysisResult:
    """Compare every condition with the baseline, in all that both have.

    Raises:
        UsageError: no such baseline, nothing to compare it with, or a metric or transaction that is not there.
    """
    raise NotImplementedError


def pictures(observations: Iterable[Observation], settings: AnalysisSettings) -> tuple[ComparisonPicture, ...]:
    """The curves behind `analyze`, for the comparisons that have a posterior."""
    raise NotImplementedError


__all__ = [
    "NO_SPEEDUP",
    "PRIOR_HELP",
    "PUBLISHED",
    "RUN_LUCK",
    "AnalysisSettings",
    "ComparisonPicture",
    "Curve",
    "NormalPrior",
    "PredictiveCheck",
    "Prior",
    "QuantileCheck",
    "RatioCurve",
    "analyze",
    "parse_priors",
    "pictures",
]
