"""The mean of a series in which neighbours are alike: throughput a second, or means of stretches of a run.

The long-run variance (the spectrum at frequency 0) is the mean square of the first few cosine coefficients, the
equal-weighted cosine estimator (Müller 2004; Lazarus, Lewis, Stock and Watson 2018, J. Bus. Econ. Stat. 36:541): the
mean is then t-distributed with as many degrees of freedom as coefficients were used. How many, is read off the
autocorrelation of the series and of its batch means: only frequencies at which the spectrum is still as it is at 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tdelta.inference.observed.curves import LogCurve
from tdelta.inference.posterior import FloatArray, sinh_spaced
from tdelta.records import Series

FEWEST_VALUES = 16
"""A shorter series says too little of its own autocorrelation."""

_FEWEST_COEFFICIENTS = 4
_FLAT = 0.85
"""Share of the spectrum at 0 that the highest frequency used must still have, if the series were AR(1)."""
_SHORTEST_BATCHED = 24
_CLEAR_SDS = 1.3
_FARTHEST_LOG = 4.0
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
    """The mean of a series, and how well it is known.

    Attributes:
        mean: of all values.
        standard_error: autocorrelation included.
        df: degrees of freedom of the standard error.
        effective_count: how many independent values the series is worth, at most its length.
    """

    mean: float
    standard_error: float
    df: int
    effective_count: float

    def curve(self) -> LogCurve | None:
        """The likelihood of the log mean, a t; None where mean or error is not positive."""
        if self.mean <= 0.0 or self.standard_error <= 0.0:
            return None
        centre, narrow = float(np.log(self.mean)), self.standard_error / self.mean
        reach = min(_FARTHEST_LOG, 2000.0 * narrow)
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
    if seen < _CLEAR_SDS / np.sqrt(count):
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
