"""The gamma model of response times: ``y ~ Gamma(shape a = (m / s)^2, rate a / m)``, mean m and sd s.

Of single values the likelihood needs no more than (n, sum y, sum log y); of a histogram it needs the mass between its
edges (interval-censoring). Either way the posterior of the log mean comes from a grid, not from sampling, and takes the
same time at any n. The model assumes that transactions are independent; `stretches` looks whether they are.

Source of the model: recurrentnull, "Better call Thomas" (2015), there in JAGS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tdelta.inference.observed.locating import LogLikelihood, ShapeFit, fit, log_cv_prior
from tdelta.inference.posterior import FloatArray
from tdelta.inference.quantiles import log_incomplete, log_interval, stirling_excess
from tdelta.records import Bins, Samples

LogPrior = Callable[[FloatArray, FloatArray], FloatArray]
"""Of log mean (absolute) and log shape."""

_BINNED_POINTS = (31, 25)
_LEAST_COUNT = 2
_WIDEST_SDS, _WIDEST_RATIO = 0.15, 1.1


@dataclass(frozen=True, slots=True)
class PublishedMeans:
    """The study's prior on each condition: gamma on the mean, centred on the pooled one, and uniform on the sd.

    Attributes:
        pooled_mean: of all conditions that are compared.
        largest_sd: in the same unit.
    """

    pooled_mean: float
    largest_sd: float

    def __call__(self, log_mean: FloatArray, log_shape: FloatArray) -> FloatArray:
        """Log density of (log mean, log shape), less its constant; the gamma's sd is its mean, so it is exponential."""
        log_sd = log_mean - 0.5 * log_shape
        within = log_sd <= np.log(self.largest_sd)
        return np.where(within, log_mean - np.exp(log_mean) / self.pooled_mean + log_sd, -1e6)


def scale_free(log_mean: FloatArray, log_shape: FloatArray) -> FloatArray:
    """The default: flat on the log mean, wide on the log of the coefficient of variation. Knows no unit."""
    return log_cv_prior(log_shape) + 0.0 * log_mean


def fit_samples(samples: Samples, prior: LogPrior = scale_free, *, worth: float | None = None) -> ShapeFit | None:
    """The posterior of (log mean, log shape); None if there are fewer than two values, or all are equal.

    Args:
        samples: sums of positive values.
        prior: on both parameters.
        worth: how many independent values they count for; all of them by default.
    """
    if samples.count < _LEAST_COUNT or samples.minimum == samples.maximum:
        return None
    log_average = float(np.log(samples.total / samples.count))
    # Mean log below log mean: all that the likelihood knows of the shape. 0 for equal values, which these are not.
    gap = max(log_average - samples.total_log / samples.count, 1e-15)
    count = float(samples.count if worth is None else worth)

    def log_likelihood(log_mean: FloatArray, log_shape: FloatArray) -> FloatArray:
        shape, away = np.exp(log_shape), log_mean - log_average
        per_value = stirling_excess(shape) - shape * (gap + np.expm1(-away) + away)
        return np.asarray(count * per_value + prior(log_mean, log_shape), dtype=np.float64)

    return fit(log_likelihood, (log_average, float(np.log(shape_of_gap(gap)))), count)


def shape_of_gap(gap: float) -> float:
    """Where the maximum of the likelihood in the shape is, to 1.5% (Minka 2002, "Estimating a gamma distribution")."""
    return (3.0 - gap + float(np.sqrt((gap - 3.0) ** 2 + 24.0 * gap))) / (12.0 * gap)


def fit_bins(bins: Bins, prior: LogPrior = scale_free) -> ShapeFit | None:
    """The same from a histogram; None if all lies in one bin, which says nothing of the spread."""
    if sum(bins.counts) < _LEAST_COUNT or sum(count > 0 for count in bins.counts) < 2:
        return None
    mean, sd = moments(bins)
    edges, counts = fewer_bins(bins, sd)
    full = counts > 0
    counts, low, high = counts[full], edges[:-1][full], edges[1:][full]
    needed, at = np.unique(np.concatenate([low, high]), return_inverse=True)
    lows, highs = at[: len(low)], at[len(low) :]

    def log_likelihood(log_mean: FloatArray, log_shape: FloatArray) -> FloatArray:
        log_mean, log_shape = np.broadcast_arrays(log_mean, log_shape)
        shape = np.exp(log_shape)[..., None]
        log_p, log_q = log_incomplete(shape, shape * np.exp(-log_mean)[..., None] * needed)
        masses = log_interval(log_p[..., lows], log_q[..., lows], log_p[..., highs], log_q[..., highs])
        return np.asarray(np.maximum(masses, -1e6) @ counts + prior(log_mean, log_shape), dtype=np.float64)

    start = (float(np.log(mean)), float(2.0 * np.log(mean / sd)))
    return fit(_cautious(log_likelihood, start), start, float(counts.sum()), points=_BINNED_POINTS, farthest_sds=14.0)


def fewer_bins(bins: Bins, sd: float) -> tuple[FloatArray, FloatArray]:
    """Neighbouring bins put together up to 15% of the sd and 10% of the value: exact still, and much quicker.

    Censoring to a width of h sd takes a share h^2/12 from what a value says of the mean: 0.2%.
    """
    edges, counts = [bins.edges[0]], [0]
    for low, high, count in zip(bins.edges, bins.edges[1:], bins.counts, strict=False):
        wide = high - edges[-1] > _WIDEST_SDS * sd or high > _WIDEST_RATIO * edges[-1]
        if wide and low > edges[-1]:
            edges.append(low)
            counts.append(0)
        counts[-1] += count
    return np.array([*edges, bins.edges[-1]]), np.array(counts, dtype=np.float64)


def _cautious(log_likelihood: LogLikelihood, start: tuple[float, float]) -> LogLikelihood:
    """Never asked for shapes e^6 times the first idea of it, where the incomplete gamma takes long and no mass is."""

    def limited(log_mean: FloatArray, log_shape: FloatArray) -> FloatArray:
        beyond = np.maximum(np.abs(log_shape - start[1]) - 6.0, 0.0)
        return log_likelihood(log_mean, np.clip(log_shape, start[1] - 6.0, start[1] + 6.0)) - 1e3 * beyond

    return limited


def moments(bins: Bins) -> tuple[float, float]:
    """Mean and sd of a histogram, each value taken to lie in the middle of its bin; open ends count at their edge."""
    edges, counts = np.array(bins.edges), np.array(bins.counts, dtype=np.float64)
    low, high = edges[:-1], np.where(np.isinf(edges[1:]), edges[:-1], edges[1:])
    middle = 0.5 * (low + high)
    mean = float(counts @ middle / counts.sum())
    within = float(counts @ (high - low) ** 2 / counts.sum()) / 12.0
    return mean, float(np.sqrt(max(float(counts @ (middle - mean) ** 2) / counts.sum() + within, (1e-6 * mean) ** 2)))
