"""What a picture of a comparison is made of: curves of posteriors, and what a fitted curve predicts of the data."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.inference.posterior import FloatArray
from tdelta.records import Estimate, Level, Spread


@dataclass(frozen=True, slots=True)
class Curve:
    """A posterior of a mean, or of a difference of means.

    Attributes:
        value: shape (n,), increasing, in the comparison's unit; holds 99.99% of the posterior.
        density: shape (n,), the whole posterior's area is 1.
        spread: the figures of this very posterior.
    """

    value: FloatArray
    density: FloatArray
    spread: Spread


@dataclass(frozen=True, slots=True)
class RatioCurve:
    """The posterior of the ratio of costs: ``value`` are quotients, ``density`` is of the ratio, not of its log."""

    value: FloatArray
    density: FloatArray
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class QuantileCheck:
    """A quantile that the tool printed, beside what the model predicts for it (median and 95% band)."""

    probability: float
    observed: float
    predicted: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PredictiveCheck:
    """Posterior predictive check of one condition: is the observed shape one that the gamma model could produce?

    The band holds 95% of what *one further sample of the same size* would show in each bin, the parameters' own
    uncertainty included. A summary without a histogram has no bins, only quantiles.

    Attributes:
        condition: whose.
        run: which of its runs.
        edges: shape (b + 1,), in the comparison's unit; empty where there is no histogram.
        observed: shape (b,), shares of all values.
        expected, low, high: shape (b,), predicted shares and their band.
        quantiles: as far as the tool prints any.
    """

    condition: str
    run: str
    edges: FloatArray
    observed: FloatArray
    expected: FloatArray
    low: FloatArray
    high: FloatArray
    quantiles: tuple[QuantileCheck, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparisonPicture:
    """The figures of one comparison, in the order of `AnalysisResult.comparisons`; those without posterior have none.

    Attributes:
        transaction, levels, metric, unit, baseline, condition: which comparison.
        baseline_mean, condition_mean: posteriors of the two means.
        difference: condition less baseline, in ``unit``; throughput as such.
        ratio: of costs.
        tolerance: the ratios not cared about, ``(0.98, 1.02)``.
        tolerance_difference: the same for ``difference``, by the median of the baseline's mean.
        checks: one for each run of single response times, histograms or summaries; empty for others.
    """

    transaction: str
    levels: tuple[tuple[str, Level], ...]
    metric: str
    unit: str
    baseline: str
    condition: str
    baseline_mean: Curve
    condition_mean: Curve
    difference: Curve
    ratio: RatioCurve
    tolerance: tuple[float, float]
    tolerance_difference: tuple[float, float]
    checks: tuple[PredictiveCheck, ...] = ()
