"""Count, mean and standard deviation, and nothing else: the normal likelihood of (mean, variance) as a gamma has them.

``Var mean = s^2/n``, ``Var s^2 = s^4 (2 + 6/k)/n``, ``Cov = 2 s^3/(n sqrt k)``, ``k = (m/s)^2``; the variance is taken
on its log, where a normal suits it better, with k as the values have it. It uses the gamma's skewness only for how mean
and variance vary together, and so holds up where the values are no gamma's, which the full gamma likelihood does not
(docs/statistics.md).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tdelta.inference.observed.gamma import LogPrior, scale_free
from tdelta.inference.observed.locating import ShapeFit, fit
from tdelta.inference.posterior import FloatArray
from tdelta.records import Summary

_LEAST_COUNT = 2
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


def pooled(summaries: list[Summary]) -> Summary:
    """Parts of one run as one: exact for count and mean, and for the sd if every part has one."""
    if len(summaries) == 1:
        return summaries[0]
    counts = np.array([float(s.count) for s in summaries])
    means = np.array([s.mean for s in summaries])
    mean = float(counts @ means / counts.sum())
    first = summaries[0]
    if any(s.sd is None for s in summaries):
        return replace(first, count=int(counts.sum()), mean=mean, sd=None, quantiles={})
    squares = float(
        np.array([(s.count - 1) * (s.sd or 0.0) ** 2 for s in summaries]).sum() + counts @ (means - mean) ** 2
    )
    sd = float(np.sqrt(squares / (counts.sum() - 1.0)))
    return replace(first, count=int(counts.sum()), mean=mean, sd=sd, quantiles={})
