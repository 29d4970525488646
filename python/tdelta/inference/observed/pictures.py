"""The curves behind `analyze`: posteriors of both means, of the difference and the ratio, and the predictive check.

They are drawn of the very posteriors that the figures are quoted from: each model is fitted once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from tdelta.inference.observed.analysis import analyze
from tdelta.inference.observed.comparing import Fits, Posteriors
from tdelta.inference.observed.curves import Linear
from tdelta.inference.observed.fitting import RunFit
from tdelta.inference.observed.locating import ShapeFit
from tdelta.inference.observed.settings import AnalysisSettings
from tdelta.inference.observed.shapes import ComparisonPicture, Curve, PredictiveCheck, QuantileCheck, RatioCurve
from tdelta.inference.posterior import CURVE_POINTS, MASS_SHOWN, FloatArray, slope
from tdelta.inference.quantiles import gamma_quantile, log_incomplete
from tdelta.records import AnalysisResult, Binned, Bins, Observation, Samples, Summary

_BARS = 40
_BAND_SDS = 1.96


def analyze_with_pictures(
    observations: Iterable[Observation], settings: AnalysisSettings
) -> tuple[AnalysisResult, tuple[ComparisonPicture, ...]]:
    """The answer of `analyze`, and the curves of those comparisons that have a posterior, in its order.

    Raises:
        UsageError: as `analyze` does, where there is nothing to compare.
    """
    drawn: list[ComparisonPicture] = []

    def draw(fits: Fits) -> None:
        if fits.posteriors is not None:
            drawn.append(_picture(fits, fits.posteriors, settings))

    result = analyze(observations, settings, draw)
    return result, tuple(drawn)


def _picture(fits: Fits, found: Posteriors, settings: AnalysisSettings) -> ComparisonPicture:
    levels, transaction, metric, unit = fits.pair.key
    middle = found.baseline.quantile(0.5)
    edges = (1.0 - settings.tolerance, 1.0 + settings.tolerance)
    # A cost of throughput is its inverse: an overhead of 2% is a throughput of 1/1.02.
    apart = (1.0 / edges[1] - 1.0, 1.0 / edges[0] - 1.0) if fits.is_inverse else (edges[0] - 1.0, edges[1] - 1.0)
    return ComparisonPicture(
        transaction=transaction,
        levels=levels,
        metric=metric,
        unit=unit,
        baseline=fits.pair.baseline,
        condition=fits.pair.condition,
        baseline_mean=_curve(found.baseline),
        condition_mean=_curve(found.condition),
        difference=_curve(found.difference),
        ratio=RatioCurve(*found.ratio.ratio_density(), found.ratio.estimate(settings.tolerance)),
        tolerance=edges,
        tolerance_difference=(middle * apart[0], middle * apart[1]),
        checks=tuple(_checks(fits)),
    )


def _curve(posterior: Linear) -> Curve:
    tail = 0.5 * (1.0 - MASS_SHOWN)
    value = np.linspace(posterior.quantile(tail), posterior.quantile(1.0 - tail), CURVE_POINTS)
    return Curve(value, slope(posterior.value, posterior.cumulative, value), posterior.spread)


def _checks(fits: Fits) -> Iterator[PredictiveCheck]:
    for name, runs in ((fits.pair.baseline, fits.baseline), (fits.pair.condition, fits.condition)):
        for run in runs:
            if run.shape is not None:
                yield predictive_check(name, run, run.shape)


def predictive_check(condition: str, run: RunFit, shape: ShapeFit) -> PredictiveCheck:
    """Observed against predicted, for the bins and quantiles that one run has."""
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
    """A quantile of one further sample of this size, and its 95% band."""
    means, shapes, weights = shape.nodes()
    quantiles = gamma_quantile(probability, shapes) * means / shapes
    centre = float(weights @ quantiles)
    step = 1e-4 * centre
    rate = shapes / means
    slopes = np.exp(log_incomplete(shapes, rate * (quantiles + step))[0]) - probability
    sampling = probability * (1.0 - probability) / count * (step / np.maximum(slopes, 1e-300)) ** 2
    sd = float(np.sqrt(weights @ ((quantiles - centre) ** 2 + sampling)))
    return QuantileCheck(probability, observed, centre, max(centre - _BAND_SDS * sd, 0.0), centre + _BAND_SDS * sd)
