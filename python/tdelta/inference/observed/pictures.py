"""Posterior predictive checks of `analyze`: how well the fitted models predict the data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tdelta.inference.observed.compare import Fits, analyze
from tdelta.inference.observed.models import RunFit, ShapeFit
from tdelta.inference.observed.settings import AnalysisSettings
from tdelta.inference.posterior import FloatArray
from tdelta.inference.quantiles import gamma_quantile, log_incomplete
from tdelta.records import AnalysisResult, Binned, Bins, Level, Observation, Samples, Summary

_BARS = 40
_BAND_SDS = 1.96


@dataclass(frozen=True, slots=True)
class QuantileCheck:
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
    """

    condition: str
    run: str
    edges: FloatArray  # shape (b + 1,), in the comparison's unit; empty where there is no histogram
    observed: FloatArray  # shape (b,), shares of all values
    expected: FloatArray  # expected, low, high: shape (b,), predicted shares and their band
    low: FloatArray
    high: FloatArray
    quantiles: tuple[QuantileCheck, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparisonPicture:
    """The checks of one comparison with a posterior: one for each run of response times, histograms or summaries."""

    transaction: str
    levels: tuple[tuple[str, Level], ...]
    metric: str
    unit: str
    condition: str
    checks: tuple[PredictiveCheck, ...] = ()


def analyze_with_pictures(
    observations: Iterable[Observation], settings: AnalysisSettings
) -> tuple[AnalysisResult, tuple[ComparisonPicture, ...]]:
    """The answer of `analyze`, and the checks of those comparisons that have a posterior, in its order.

    Raises `UsageError`: as `analyze` does, where there is nothing to compare.
    """
    drawn: list[ComparisonPicture] = []

    def draw(fits: Fits) -> None:
        if fits.posteriors is not None:
            levels, transaction, metric, unit = fits.pair.key
            checks = tuple(_checks(fits))
            drawn.append(ComparisonPicture(transaction, levels, metric, unit, fits.pair.condition, checks))

    result = analyze(observations, settings, draw)
    return result, tuple(drawn)


def _checks(fits: Fits) -> Iterator[PredictiveCheck]:
    for name, runs in ((fits.pair.baseline, fits.baseline), (fits.pair.condition, fits.condition)):
        for run in runs:
            if run.shape is not None:
                yield predictive_check(name, run, run.shape)


def predictive_check(condition: str, run: RunFit, shape: ShapeFit) -> PredictiveCheck:
    empty = np.zeros(0)
    observation, of_run = run.observation, run.observation.group.run
    if isinstance(observation, Samples | Binned):
        edges, counts = bars(observation.bins)
        expected, low, high = predicted_shares(shape, edges, float(counts.sum()))
        return PredictiveCheck(condition, of_run, edges, counts / counts.sum(), expected, low, high)
    quantiles: tuple[QuantileCheck, ...] = ()
    if isinstance(observation, Summary):
        printed = sorted(observation.quantiles.items())
        quantiles = tuple(
            predicted_quantile(shape, p, value, observation.count) for p, value in printed if 0.0 < p < 1.0
        )
    return PredictiveCheck(condition, of_run, empty, empty, empty, empty, empty, quantiles)


def bars(bins: Bins) -> tuple[FloatArray, FloatArray]:
    """A histogram in at most 40 bars of neighbouring bins, the empty ends cut off."""
    edges, counts = np.array(bins.edges), np.array(bins.counts, dtype=np.float64)
    full = np.flatnonzero(counts)
    edges, counts = edges[full[0] : full[-1] + 2], counts[full[0] : full[-1] + 1]
    together = -(-len(counts) // _BARS)
    starts = np.arange(0, len(counts), together)
    return np.append(edges[starts], edges[-1]), np.add.reduceat(counts, starts)


def predicted_shares(shape: ShapeFit, edges: FloatArray, count: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Share expected in each bin of one further sample of this size, and the band that holds 95% of such samples."""
    means, shapes, weights = shape.nodes()
    log_p, _ = log_incomplete(shapes[:, None], (shapes / means)[:, None] * edges)
    shares = np.diff(np.exp(log_p), axis=1)
    expected = weights @ shares
    variance = weights @ (shares - expected) ** 2 + weights @ (shares * (1.0 - shares)) / count
    # A bin of few values is skewed: its band in root counts, where chance is about as wide everywhere (Anscombe 1948).
    root, root_sd = np.sqrt(expected + 0.375 / count), np.sqrt(variance / (4.0 * (expected + 0.375 / count)))
    low, high = (np.maximum(root + sign * _BAND_SDS * root_sd, 0.0) ** 2 - 0.375 / count for sign in (-1.0, 1.0))
    return expected, np.maximum(low, 0.0), high


def predicted_quantile(shape: ShapeFit, probability: float, observed: float, count: int) -> QuantileCheck:
    means, shapes, weights = shape.nodes()
    quantiles = gamma_quantile(probability, shapes) * means / shapes
    centre = float(weights @ quantiles)
    step = 1e-4 * centre
    rate = shapes / means
    slopes = np.exp(log_incomplete(shapes, rate * (quantiles + step))[0]) - probability
    sampling = probability * (1.0 - probability) / count * (step / np.maximum(slopes, 1e-300)) ** 2
    sd = float(np.sqrt(weights @ ((quantiles - centre) ** 2 + sampling)))
    return QuantileCheck(probability, observed, centre, max(centre - _BAND_SDS * sd, 0.0), centre + _BAND_SDS * sd)
