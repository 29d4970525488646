"""Quantiles and incomplete integrals of the gamma, beta and Student's t distributions, on arrays.

The work is native (``crates/tdelta-python/src/quantiles.rs``). Nothing cancels where the models go: shapes from a
hundredth to a hundred million, tails far beyond what a double can hold as a probability. Arguments broadcast; what is
out of a function's domain is NaN. Compared with closed forms and SciPy in ``test_quantiles.py``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tdelta import _native
from tdelta.inference.posterior import FloatArray


def t_quantile(probability: FloatArray | float, df: FloatArray | float) -> FloatArray:
    return _over(_native.student_quantile, probability, df)


def t_reach(df: float, mass: float = 0.95) -> float:
    """How many standard errors either way hold ``mass`` of a t with ``df`` degrees of freedom."""
    return float(t_quantile(0.5 + 0.5 * mass, df))


def chi_square_quantile(probability: FloatArray | float, df: FloatArray | float) -> FloatArray:
    return 2.0 * gamma_quantile(probability, 0.5 * np.asarray(df))


def gamma_quantile(probability: FloatArray | float, shape: FloatArray | float) -> FloatArray:
    return _over(_native.gamma_quantile, probability, shape)


def beta_quantile(probability: FloatArray | float, a: FloatArray | float, b: FloatArray | float) -> FloatArray:
    return _over(_native.beta_quantile, probability, a, b)


def clopper_pearson(count: int, of: int, mass: float = 0.95) -> tuple[float, float]:
    """The exact interval of a share after ``count`` of ``of`` (Clopper and Pearson 1934, Biometrika 26:404).

    Never too narrow, whatever the share; (0, 1) where there were no trials.
    """
    tail = 0.5 * (1.0 - mass)
    low = float(beta_quantile(tail, count, of - count + 1)) if count else 0.0
    high = float(beta_quantile(1.0 - tail, count + 1, of - count)) if count < of else 1.0
    return low, high


def stirling_excess(shape: FloatArray) -> FloatArray:
    """``a log a - a - log Gamma(a)``, without the cancellation: for large a it is ``log(a / 2 pi) / 2``."""
    return _over(_native.stirling_excess, shape)


def log_incomplete(shape: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Logs of the regularized lower and upper incomplete gamma functions, ``log P(a, x)`` and ``log Q(a, x)``.

    x may be 0 and inf.
    """
    lower, upper = _over(_native.log_incomplete_gamma, shape, x, results=(2,))
    return lower, upper


def log_interval(low_p: FloatArray, low_q: FloatArray, high_p: FloatArray, high_q: FloatArray) -> FloatArray:
    """Log of the mass between two points, from whichever tail is the smaller, given the logs of both at each."""
    from_above = low_q < high_p
    larger, smaller = np.where(from_above, low_q, high_p), np.where(from_above, high_q, low_p)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.minimum(np.where(np.isneginf(smaller), -np.inf, smaller - larger), 0.0)
        # log(1 - e^x), accurate at both ends (Maechler 2012)
        near = np.log(-np.expm1(np.maximum(apart, -1.0)))
        far = np.log1p(-np.exp(np.minimum(apart, -0.5)))
    return np.asarray(larger + np.where(apart > -0.7, near, far), dtype=np.float64)


def _over(
    function: Callable[..., bytearray], *arguments: FloatArray | float, results: tuple[int, ...] = ()
) -> FloatArray:
    parts = np.broadcast_arrays(*(np.asarray(argument, dtype=np.float64) for argument in arguments))
    found = np.frombuffer(function(*map(np.ascontiguousarray, parts)), dtype=np.float64)
    return found.reshape((*results, *parts[0].shape))
