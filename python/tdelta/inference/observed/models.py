"""One run of one condition: by the model its data allow, to the likelihood of its log mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from tdelta.inference.observed.curves import LogCurve
from tdelta.inference.observed.pairing import moments, summarized
from tdelta.inference.posterior import FloatArray, sinh_spaced
from tdelta.inference.quantiles import log_incomplete, log_interval, stirling_excess
from tdelta.records import Binned, Bins, Figure, Model, NoteCode, Observation, RunNote, Samples, Series, Summary

# Where a likelihood of (log mean, log shape) lives, and the grid over it: Newton's way to the peak, then outwards.
#
# Every model of response times here has these two parameters, whatever it knows of the data: the mean, and the gamma's
# shape, which is ``(mean / sd)^2`` in any model that speaks of a standard deviation. The peak's own width sets the
# grid, so the work is the same for a thousand values and for a hundred million.

LogLikelihood: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
"""Of log mean and log shape, both shape (...,)."""

CV_LOG_MEAN, CV_LOG_SD = float(np.log(0.6)), 1.5
"""The coefficient of variation: ``log CV ~ N(log 0.6, 1.5^2)``, so 95% between 0.03 and 11. It knows no unit, and
keeps the posterior proper where a few values are nearly equal."""

_NEWTON_STEPS = 40
_ENOUGH = 0.02
_DROP = 32.0
_FARTHEST_LOG = 12.0
_OFFSETS = np.array([-1.0, 0.0, 1.0])


@dataclass(frozen=True, slots=True)
class Peak:
    at: tuple[float, float]
    sds: tuple[float, float]


@dataclass(frozen=True, slots=True)
class ShapeFit:
    """A posterior of (log mean, log shape) on a grid."""

    log_mean: FloatArray  # shape (n,)
    log_shape: FloatArray  # shape (k,)
    log_density: FloatArray  # shape (n, k), less a constant

    def mean_curve(self) -> LogCurve:
        """The log mean's, the shape integrated out."""
        top = self.log_density.max(axis=1)
        inner = np.trapezoid(np.exp(self.log_density - top[:, None]), self.log_shape, axis=1)
        return _refined(LogCurve(self.log_mean, top + np.log(inner)))

    def nodes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """A few (mean, shape) with weights that sum to 1, for predictions: Gauss-Hermite on the two moments."""
        density = np.exp(self.log_density - self.log_density.max())
        weights = density * np.gradient(self.log_mean)[:, None] * np.gradient(self.log_shape)
        weights /= weights.sum()
        by_mean, by_shape = weights.sum(axis=1), weights.sum(axis=0)
        mean, shape = float(by_mean @ self.log_mean), float(by_shape @ self.log_shape)
        mean_sd = float(np.sqrt(by_mean @ (self.log_mean - mean) ** 2))
        shape_sd = float(np.sqrt(by_shape @ (self.log_shape - shape) ** 2))
        points, of_one = np.polynomial.hermite_e.hermegauss(5)
        both = np.outer(of_one, of_one).ravel() / of_one.sum() ** 2
        log_means, log_shapes = np.meshgrid(mean + mean_sd * points, shape + shape_sd * points, indexing="ij")
        return np.exp(log_means.ravel()), np.exp(log_shapes.ravel()), both


def log_cv_prior(log_shape: FloatArray) -> FloatArray:
    return np.asarray(-0.5 * ((-0.5 * log_shape - CV_LOG_MEAN) / CV_LOG_SD) ** 2, dtype=np.float64)


def fit(
    log_likelihood: LogLikelihood,
    start: tuple[float, float],  # log mean and log shape near the peak
    count: float,  # how many values there are, for a first idea of the widths
    *,
    points: tuple[int, int] = (201, 81),
    farthest_sds: float = 1000.0,  # how far out to look for what is left of the posterior
) -> ShapeFit:
    """The posterior on a grid that reaches down to e^-32 of its peak."""
    first = (float(np.exp(-0.5 * start[1])) / np.sqrt(count), float(np.sqrt(2.0 / count)))
    peak = find_peak(log_likelihood, start, first)
    ends = _ends(log_likelihood, peak, farthest_sds)
    log_mean = sinh_spaced(peak.at[0], peak.sds[0], *ends[0], points[0])
    log_shape = sinh_spaced(peak.at[1], peak.sds[1], *ends[1], points[1])
    return ShapeFit(log_mean, log_shape, log_likelihood(log_mean[:, None], log_shape[None, :]))


def find_peak(log_likelihood: LogLikelihood, start: tuple[float, float], widths: tuple[float, float]) -> Peak:
    """Newton's method on differences over a 3 by 3 stencil about as wide as the peak itself."""
    at, step = np.array(start), np.array(widths)
    for _ in range(_NEWTON_STEPS):
        values = log_likelihood((at[0] + step[0] * _OFFSETS)[:, None], (at[1] + step[1] * _OFFSETS)[None, :])
        gradient, hessian = _derivatives(values)
        if hessian[0, 0] >= 0.0 or hessian[1, 1] >= 0.0 or np.linalg.det(hessian) <= 0.0:
            best = divmod(int(np.argmax(values)), 3)
            at = at + step * _OFFSETS[list(best)]
            step = step * (0.5 if best == (1, 1) else 1.5)
            continue
        move = np.clip(-np.linalg.solve(hessian, gradient), -5.0, 5.0)
        at = at + step * move
        spread = np.sqrt(np.diag(np.linalg.inv(-hessian)))
        step = step * np.clip(spread, 0.2, 5.0)
        if np.abs(move / spread).max() < _ENOUGH and np.abs(np.log(spread)).max() < 0.5:
            break
    return Peak((float(at[0]), float(at[1])), (float(step[0]), float(step[1])))


def _derivatives(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    up, down, right, left = values[2, 1], values[0, 1], values[1, 2], values[1, 0]
    gradient = 0.5 * np.array([up - down, right - left])
    mixed = 0.25 * (values[2, 2] + values[0, 0] - values[2, 0] - values[0, 2])
    hessian = np.array([[up + down - 2.0 * values[1, 1], mixed], [mixed, right + left - 2.0 * values[1, 1]]])
    return gradient, hessian


def _ends(
    log_likelihood: LogLikelihood, peak: Peak, farthest_sds: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """How far the grid must reach each way: from 6 sd on by powers of 1.5, until next to nothing is left."""
    outwards = 6.0 * 1.5 ** np.arange(1.0 + np.ceil(np.log(farthest_sds / 6.0) / np.log(1.5)))
    steps = np.concatenate([-outwards[::-1], np.linspace(-4.0, 4.0, 9), outwards])
    axes = [at + np.clip(sd * steps, -_FARTHEST_LOG, _FARTHEST_LOG) for at, sd in zip(peak.at, peak.sds, strict=True)]
    values = log_likelihood(axes[0][:, None], axes[1][None, :])
    values = values - values.max()
    found = []
    for axis, along in enumerate((values.max(axis=1), values.max(axis=0))):
        inside = np.flatnonzero(along > -_DROP)
        low, high = max(int(inside[0]) - 1, 0), min(int(inside[-1]) + 1, len(steps) - 1)
        found.append((float(axes[axis][low]), float(axes[axis][high])))
    return found[0], found[1]


def _refined(curve: LogCurve, points: int = 401) -> LogCurve:
    """A coarse curve on a finer grid, by a cubic through neighbouring nodes (of the log density, which is smooth)."""
    if len(curve.at) >= points:
        return curve
    nodes = np.arange(float(len(curve.at)))
    fine = np.linspace(0.0, nodes[-1], points)
    return LogCurve(_cubic(fine, curve.at), _cubic(fine, curve.log_density))


def _cubic(at: FloatArray, values: FloatArray) -> FloatArray:
    """Lagrange's cubic through the four nodes about each point; nodes at 0, 1, 2, ..."""
    first = np.clip(np.floor(at).astype(np.intp) - 1, 0, len(values) - 4)
    t = at - first
    a, b, c, d = (values[first + k] for k in range(4))
    return np.asarray(
        -a * (t - 1) * (t - 2) * (t - 3) / 6
        + b * t * (t - 2) * (t - 3) / 2
        - c * t * (t - 1) * (t - 3) / 2
        + d * t * (t - 1) * (t - 2) / 6,
        dtype=np.float64,
    )


# The gamma model of response times: ``y ~ Gamma(shape a = (m / s)^2, rate a / m)``, mean m and sd s.
#
# Of single values the likelihood needs no more than (n, sum y, sum log y); of a histogram it needs the mass between its
# edges (interval-censoring). Either way the posterior of the log mean comes from a grid, not from sampling, and takes
# the same time at any n. The model assumes that transactions are independent; `stretches` looks whether they are.
#
# Source of the model: recurrentnull, "Better call Thomas" (2015), there in JAGS.

LogPrior = Callable[[FloatArray, FloatArray], FloatArray]  # of log mean (absolute) and log shape

_BINNED_POINTS = (31, 25)
_LEAST_COUNT = 2
_WIDEST_SDS, _WIDEST_RATIO = 0.15, 1.1


@dataclass(frozen=True, slots=True)
class PublishedMeans:
    """The study's prior on each condition: gamma on the mean, centred on the pooled one, and uniform on the sd."""

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

    `worth`: how many independent values they count for; all of them by default.
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


# Count, mean and standard deviation, and nothing else: the normal likelihood of (mean, variance) as a gamma has them.
#
# ``Var mean = s^2/n``, ``Var s^2 = s^4 (2 + 6/k)/n``, ``Cov = 2 s^3/(n sqrt k)``, ``k = (m/s)^2``; the variance is
# taken on its log, where a normal suits it better, with k as the values have it. It uses the gamma's skewness only for
# how mean and variance vary together, and so holds up where the values are no gamma's, which the full gamma likelihood
# does not (docs/statistics.md).

_LEAST_CV = 1e-9
"""Values that scatter by less than this share of their mean: what a double holds of their differences is no spread."""


def fit_summary(summary: Summary, prior: LogPrior = scale_free) -> ShapeFit | None:
    """The posterior of (log mean, log shape); None where there is no sd, or it is 0, or the mean is not positive."""
    if summary.sd is None or summary.sd <= 0.0 or summary.mean <= 0.0 or summary.count < _LEAST_COUNT:
        return None
    count, log_average = float(summary.count), float(np.log(summary.mean))
    cv = max(summary.sd / summary.mean, _LEAST_CV)
    log_variance = 2.0 * float(np.log(cv))
    # How mean and variance scatter, and together, is taken at the values' own CV. With the CV left free, a huge one
    # would explain any mean: the variance of s^2 grows with it without bound, the normal's fault and not the data's.
    of_variance, together = 2.0 + 6.0 * cv**2, 2.0 * cv
    determinant = of_variance - together**2

    def log_likelihood(log_mean: FloatArray, log_shape: FloatArray) -> FloatArray:
        # In units of the mean; z_mean in s/sqrt(n), z_variance in 1/sqrt(n) of the log of s^2.
        away = log_mean - log_average
        log_sd = away - 0.5 * log_shape
        z_mean = np.sqrt(count) * -np.expm1(away) * np.exp(-log_sd)
        z_variance = np.sqrt(count) * (log_variance - 2.0 * log_sd)
        misfit = (of_variance * z_mean**2 - 2.0 * together * z_mean * z_variance + z_variance**2) / determinant
        whole = -0.5 * misfit - log_sd + prior(log_mean, log_shape)
        return np.asarray(np.maximum(whole, -1e12), dtype=np.float64)

    return fit(log_likelihood, (log_average, -log_variance), count)


# The mean of a series in which neighbours are alike: throughput a second, or means of stretches of a run.
#
# The long-run variance (the spectrum at frequency 0) is the mean square of the first few cosine coefficients, the
# equal-weighted cosine estimator (Müller 2004; Lazarus, Lewis, Stock and Watson 2018, J. Bus. Econ. Stat. 36:541): the
# mean is then t-distributed with as many degrees of freedom as coefficients were used. How many, is read off the
# autocorrelation of the series and of its batch means: only frequencies at which the spectrum is still as it is at 0.

FEWEST_VALUES = 16  # a shorter series says too little of its own autocorrelation
_FEWEST_COEFFICIENTS = 4
_FLAT = 0.85  # share of the spectrum at 0 that the highest frequency used must still have, if the series were AR(1)
_SHORTEST_BATCHED = 24
_AUTOCORRELATED_SDS = 1.3
_FARTHEST_LOG_MEAN = 4.0
_WARM_UP_PARTS = 10
_WARM_UP_CLEAR_SDS = 3.0
_WARM_UP_SHARE = 0.02
_STEADY_PARTS = 5
_STEADY_SHARE = 0.2
_SHORTEST_CYCLE = 4
_FEWEST_CYCLES = 5
_CLEARLY_ALIKE = 0.4
_NEARLY = 0.7


@dataclass(frozen=True, slots=True)
class SeriesMean:
    mean: float
    standard_error: float  # autocorrelation included
    df: int
    effective_count: float  # how many independent values the series is worth, at most its length

    def curve(self) -> LogCurve | None:
        """The likelihood of the log mean, a t; None where mean or error is not positive."""
        if self.mean <= 0.0 or self.standard_error <= 0.0:
            return None
        centre, narrow = float(np.log(self.mean)), self.standard_error / self.mean
        reach = min(_FARTHEST_LOG_MEAN, 2000.0 * narrow)
        at = sinh_spaced(centre, narrow, centre - reach, centre + reach)
        z = -self.mean * np.expm1(at - centre) / self.standard_error
        return LogCurve(at, np.asarray(-0.5 * (self.df + 1.0) * np.log1p(z**2 / self.df), dtype=np.float64))


def evened(series: Series) -> FloatArray:
    """The values of a series, shape (n,), of which each counts alike.

    Of means of so many operations each, values about the mean of all operations that are off it by as much as each
    interval takes it off: their plain mean is that mean, and their scatter is its error's (a ratio of two sums,
    linearised). An interval without operations is not off.
    """
    values = np.array(series.values, dtype=np.float64)
    counts = np.array(series.counts, dtype=np.float64)
    if not counts.size or not counts.any():
        return values
    return np.asarray(series.mean + counts / counts.mean() * (values - series.mean), dtype=np.float64)


def series_mean(values: FloatArray) -> SeriesMean | None:
    """The mean of a series of at least 16 values; None if it is shorter, or constant."""
    count = len(values)
    if count < FEWEST_VALUES or float(np.ptp(values)) == 0.0:
        return None
    df = coefficients_used(values)
    long_run = float((_cosine_coefficients(values - values.mean())[1 : df + 1] ** 2).mean())
    worth = count * min(float(values.var(ddof=1)) / max(long_run, 1e-300), 1.0)
    return SeriesMean(float(values.mean()), float(np.sqrt(long_run / count)), df, max(worth, 1.0))


def _cosine_coefficients(values: FloatArray) -> FloatArray:
    """``sqrt(2/n) sum v_t cos(pi j (t + 1/2) / n)`` for j = 0 ... n - 1: the DCT-II, by a Fourier transform."""
    count = len(values)
    mirrored = np.fft.rfft(np.concatenate([values, values[::-1]]))[:count]
    turned = 0.5 * (mirrored * np.exp(-0.5j * np.pi * np.arange(count) / count)).real
    return np.asarray(np.sqrt(2.0 / count) * turned, dtype=np.float64)


def coefficients_used(values: FloatArray) -> int:
    """How many cosine coefficients lie where the spectrum is still flat; at least 4, at most half of the values."""
    count = len(values)
    highest, batch = 0.5 * count, 1
    batched = values
    while len(batched) >= _SHORTEST_BATCHED:
        highest = min(highest, _flat_until(batched) * len(batched) / np.pi)
        batch *= 2
        batched = values[: count // batch * batch].reshape(-1, batch).mean(axis=1)
    return max(_FEWEST_COEFFICIENTS, int(highest))


def _flat_until(values: FloatArray) -> float:
    """The frequency up to which an AR(1) of this autocorrelation keeps 85% of its spectrum at 0; pi if it has none."""
    count = len(values)
    away = values - values.mean()
    power = float(away @ away)
    if power == 0.0:
        return float(np.pi)
    seen = float(away[1:] @ away[:-1]) / power
    if seen < _AUTOCORRELATED_SDS / np.sqrt(count):
        return float(np.pi)
    rho = min(seen + (1.0 + 3.0 * seen) / count, 0.999)  # Kendall's correction: short series hide autocorrelation
    cosine = 1.0 - (1.0 - rho) ** 2 * (1.0 / _FLAT - 1.0) / (2.0 * rho)
    return float(np.arccos(np.clip(cosine, -1.0, 1.0)))


def warm_up(values: FloatArray) -> float | None:
    """How the first tenth differs from the rest, as a ratio; None where it does not clearly, or by under 2%."""
    first = len(values) // _WARM_UP_PARTS
    if first < 1 or len(values) < 2 * FEWEST_VALUES:
        return None
    rest = series_mean(values[first:])
    if rest is None or rest.mean <= 0.0:
        return None
    ratio = float(values[:first].mean()) / rest.mean
    # The error of a stretch a ninth as long as the rest is three times that of the rest.
    error = rest.standard_error / rest.mean * np.sqrt(1.0 + len(values[first:]) / first)
    return ratio if abs(ratio - 1.0) > max(_WARM_UP_CLEAR_SDS * error, _WARM_UP_SHARE) else None


def unsteady(values: FloatArray) -> tuple[float, float] | None:
    """The means of the two fifths of a series that differ most, in time order; None where by under a fifth."""
    if len(values) < FEWEST_VALUES:
        return None
    means = np.array([part.mean() for part in np.array_split(values, _STEADY_PARTS)])
    ends = sorted((int(np.argmin(means)), int(np.argmax(means))))
    earlier, later = float(means[ends[0]]), float(means[ends[1]])
    return (earlier, later) if abs(later - earlier) > _STEADY_SHARE * max(earlier, later) else None


def cycle(values: FloatArray) -> int | None:
    """After how many values the series does the same again, by its autocorrelation; None where it does not clearly.

    At least five cycles of at least four values: it must be like itself one, two and three cycles later, and less like
    itself in between. Checkpoints and jobs make such series.
    """
    count = len(values)
    longest = count // _FEWEST_CYCLES
    if longest < _SHORTEST_CYCLE or float(np.ptp(values)) == 0.0:
        return None
    away = values - values.mean()
    spectrum = np.abs(np.fft.rfft(away, 2 * count)) ** 2
    alike = np.fft.irfft(spectrum)[: min(3 * longest + max(1, longest // 20), count - 1) + 1]
    # Each lag's own mean over the pairs there are: late lags have fewer.
    alike = alike / alike[0] * count / (count - np.arange(len(alike)))
    lags = alike[_SHORTEST_CYCLE : longest + 1]
    # Two and three cycles later it is as much like itself: the first of such lags, not the best.
    first = _SHORTEST_CYCLE + int(np.argmax(lags > _NEARLY * lags.max()))
    aside = max(1, first // 20)
    found = first + int(np.argmax(alike[first : min(first + 2 * aside, longest) + 1]))
    height = float(alike[found])
    again = min(float(alike[times * found - aside : times * found + aside + 1].max()) for times in (1, 2, 3))
    between = float(alike[1:found].min())
    return found if height > _CLEARLY_ALIKE and again > height / 2.0 > between else None


_CLEAR_Z = 2.326  # the 99% quantile of a normal: one in a hundred runs of independent values is taken for dependent


@dataclass(frozen=True, slots=True)
class Dependence:
    means: SeriesMean
    inflation: float

    @property
    def is_clear(self) -> bool:
        """Whether the excess is more than chance gives, by the chi-square's upper 1% (Wilson and Hilferty 1931)."""
        part = 2.0 / (9.0 * self.means.df)
        return self.inflation > float((1.0 - part + _CLEAR_Z * np.sqrt(part)) ** 3)


def dependence(samples: Samples) -> Dependence | None:
    """The dependence between the stretches of a run; None where there are too few of them, or of unlike lengths."""
    longest = max((count for count, _ in samples.clusters), default=0)
    whole = [(count, total) for count, total in samples.clusters if 2 * count > longest]
    if len(whole) < FEWEST_VALUES:
        return None
    means = series_mean(np.array([total / count for count, total in whole]))
    average = samples.total / samples.count
    variance = (samples.total_squares - samples.count * average**2) / max(samples.count - 1, 1)
    if means is None or variance <= 0.0:
        return None
    held = float(sum(count for count, _ in whole))
    return Dependence(means, means.standard_error**2 / (variance / held))


_OWN_SPREAD = 0.93
"""Gamma's sd over the values' own: below this an interval of 95% covers less than 93%, since its width is in
proportion; the values then count for less, until the width is that of their own sd."""
_CLEAR_SDS = 2.0
_FEW = 30
_SHORT = 600
_WITHOUT_ORDER = (NoteCode.HISTOGRAM_WITHOUT_ORDER, NoteCode.SUMMARY_WITHOUT_ORDER)
_LITTLE_WORTH = 60.0
_HEAVY_CV = 0.8
"""Of a summary, which shows no shape: a coefficient of variation from which its values may well be stalls."""


@dataclass(frozen=True, slots=True)
class RunFit:
    observation: Observation
    model: Model
    value: float  # the plain mean
    count: int
    effective_count: float  # how many independent ones they are worth
    curve: LogCurve | None  # the likelihood of the log mean; None if the data allow none
    shape: ShapeFit | None = None
    """The posterior of (log mean, log shape), where the model has one: what predictions are made from."""
    notes: tuple[RunNote, ...] = ()
    is_heavy: bool = False
    """The width is that of independent values, their tail is heavy, and nothing shows that what is in it did not come
    in clumps."""

    @property
    def log_mean(self) -> tuple[float, float]:
        """Log mean and its variance, as the runs' model takes them: 0 where the run's own figures tell none."""
        return float(np.log(self.value)), self.curve.moments[1] if self.curve is not None else 0.0


def fit_run(observation: Observation, prior: LogPrior = scale_free, beside: Series | None = None) -> RunFit:
    """Fit one run.

    `beside`: the throughput of the same run over time, where there is one: it has an order, so it sets the width.
    """
    match observation:
        case Samples():
            own = _of_samples(observation, prior)
        case Binned():
            own = _of_bins(observation, prior)
        case Summary():
            own = _of_summary(observation, prior)
        case Series():
            notes, count = tuple(_series_notes(observation, observation)), len(observation.values)
            found = series_mean(evened(observation))
            worth, curve = (float(count), None) if found is None else (found.effective_count, found.curve())
            own = RunFit(observation, Model.SERIES, observation.mean, count, worth, curve, None, notes)
        case Figure():
            own = RunFit(observation, Model.NONE, observation.value, 1, 1.0, None)
    return own if beside is None or prior is not scale_free else _beside(own, beside)


def _beside(own: RunFit, series: Series) -> RunFit:
    """The run's mean with the width that its throughput over time shows, where that is wider, or there is no other."""
    notes = (*(note for note in own.notes if note.code not in _WITHOUT_ORDER), *_series_notes(series, own.observation))
    own = replace(own, count=len(series.values)) if isinstance(own.observation, Figure) else own
    found = series_mean(evened(series))
    if found is None or found.mean <= 0.0 or found.standard_error <= 0.0:
        return replace(own, notes=(*own.notes, *_series_notes(series, own.observation)))
    narrow = 0.0 if own.curve is None else own.curve.sd
    wide = found.standard_error / found.mean
    if narrow >= wide:
        return replace(own, notes=notes, is_heavy=False)
    unit = replace(found, mean=1.0, standard_error=wide).curve()
    if unit is None:
        return own
    centre = float(np.log(own.value)) if own.curve is None else own.curve.median
    worth = own.effective_count * (narrow / wide) ** 2 if narrow else found.effective_count
    noted = () if own.curve is None else (_note(own.observation, NoteCode.WIDTH_FROM_SERIES, wide / narrow),)
    curve = LogCurve(centre + unit.at, unit.log_density)
    return replace(own, model=Model.BESIDE, curve=curve, effective_count=worth, notes=(*notes, *noted), is_heavy=False)


def _note(observation: Observation, code: NoteCode, *figures: float) -> RunNote:
    return RunNote(code, observation.group.condition, observation.group.run, tuple(map(float, figures)))


def _of_samples(samples: Samples, prior: LogPrior) -> RunFit:
    count, average = samples.count, samples.total / samples.count if samples.count else 0.0
    notes = []
    if samples.zeros:
        notes.append(_note(samples, NoteCode.ZEROS, samples.zeros, count))
    found = dependence(samples) if prior is scale_free else None
    if found is not None and found.is_clear:
        curve = found.means.curve()
        worth = count / found.inflation
        notes.append(_note(samples, NoteCode.DEPENDENT_VALUES, count, worth))
        if worth < _FEW:
            notes.append(_note(samples, NoteCode.FEW_INDEPENDENT, worth))
        shape = _shape_of(samples, prior, max(worth, 2.0))
        return RunFit(samples, Model.STRETCHES, average, count, worth, curve, shape, tuple(notes))
    if samples.zeros:
        own = _of_summary(summarized(samples), prior)
        return replace(own, observation=samples, notes=(*notes, *own.notes))
    variance = max(samples.total_squares - count * average**2, 0.0) / max(count - 1, 1)
    gap = max(float(np.log(average)) - samples.total_log / count, 1e-15) if average > 0.0 else 1e-15
    worth = _worth(count, average, float(np.sqrt(variance)), shape_of_gap(gap))
    if prior is not scale_free:
        worth = float(count)
    notes += _heavy_tail(samples, worth / max(count, 1))
    is_heavy = worth < count and found is None
    fitted = fit_samples(samples, prior, worth=worth)
    own = RunFit(samples, Model.GAMMA, average, count, worth, None, None, tuple(notes), is_heavy=is_heavy)
    return _shaped(own, fitted)


def _shape_of(samples: Samples, prior: LogPrior, worth: float) -> ShapeFit | None:
    """Mean and shape of so many independent values. Times of 0 have no logarithm, so mean and sd stand for them."""
    if not samples.zeros:
        return fit_samples(samples, prior, worth=worth)
    return fit_summary(replace(summarized(samples), count=round(worth)), prior)


def _heavy_tail(observation: Observation, worth: float) -> list[RunNote]:
    """How many times as much the values scatter as a gamma of their shape would."""
    return [_note(observation, NoteCode.HEAVY_TAIL, 1.0 / np.sqrt(worth))] if worth < 1.0 else []


def _worth(count: int, mean: float, sd: float, shape: float) -> float:
    """How many values a gamma's likelihood may count, if the gamma's sd is to be no less than their own.

    The gamma's mean is the plain mean, so only the width can be wrong, by the quotient of the two sds; counting fewer
    values mends it (a magnitude-adjusted likelihood: Ribatet, Cooley and Davison 2012, Stat. Sinica 22:813).
    """
    if sd <= 0.0 or count < 2:
        return float(count)
    quotient = mean / np.sqrt(shape) / sd
    chance = np.sqrt((2.0 + 6.0 / shape) / (4.0 * count))
    if quotient >= _OWN_SPREAD or 1.0 - quotient <= _CLEAR_SDS * chance:
        return float(count)
    return float(count * quotient**2)


def _of_bins(binned: Binned, prior: LogPrior) -> RunFit:
    count = sum(binned.bins.counts)
    if count == 0:
        return RunFit(binned, Model.BINNED_GAMMA, 0.0, 0, 0.0, None)
    mean, sd = moments(binned.bins)
    fitted = fit_bins(binned.bins, prior)
    if fitted is None or prior is not scale_free:
        return _shaped(RunFit(binned, Model.BINNED_GAMMA, mean, count, float(count), None), fitted)
    shape = float(np.exp(fitted.log_shape[int(np.argmax(fitted.log_density.max(axis=0)))]))
    worth = _worth(count, mean, sd, shape)
    if worth < count:
        fitted = replace(fitted, log_density=fitted.log_density * (worth / count))
    notes = (_note(binned, NoteCode.HISTOGRAM_WITHOUT_ORDER), *_heavy_tail(binned, worth / count))
    own = RunFit(binned, Model.BINNED_GAMMA, mean, count, worth, None, notes=notes, is_heavy=worth < count)
    return _shaped(own, fitted)


def _of_summary(summary: Summary, prior: LogPrior) -> RunFit:
    if summary.sd is None:
        return RunFit(summary, Model.NONE, summary.mean, summary.count, float(summary.count), None)
    notes = (_note(summary, NoteCode.SUMMARY_WITHOUT_ORDER),) if prior is scale_free else ()
    if summary.count < _FEW:
        notes = (*notes, _note(summary, NoteCode.FEW_VALUES, summary.count))
    is_heavy = summary.sd > _HEAVY_CV * summary.mean
    own = RunFit(
        summary, Model.SUMMARY, summary.mean, summary.count, float(summary.count), None, notes=notes, is_heavy=is_heavy
    )
    return _shaped(own, fit_summary(summary, prior))


def _shaped(run: RunFit, fitted: ShapeFit | None) -> RunFit:
    if fitted is None:
        return replace(run, notes=(*run.notes, _note(run.observation, NoteCode.NO_SPREAD)))
    return replace(run, curve=fitted.mean_curve(), shape=fitted)


def _series_notes(series: Series, of: Observation) -> Iterator[RunNote]:
    values = evened(series)
    found = series_mean(values)
    if len(values) < FEWEST_VALUES:
        yield _note(of, NoteCode.SERIES_TOO_SHORT, len(values))
    elif len(values) < _SHORT:
        yield _note(of, NoteCode.SERIES_SHORT, len(values))
    elif found is not None and found.effective_count < _LITTLE_WORTH:
        yield _note(of, NoteCode.SERIES_DEPENDENT, len(values), found.effective_count)
    moved = unsteady(values)
    if moved is not None:
        yield _note(of, NoteCode.UNSTEADY, *moved)
    first = warm_up(values)
    if first is not None:
        yield _note(of, NoteCode.WARM_UP, len(values) // 10 * series.interval_seconds, first)
    again = cycle(values)
    if again is not None:
        yield _note(of, NoteCode.CYCLE, again * series.interval_seconds)
