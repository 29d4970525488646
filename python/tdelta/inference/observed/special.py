"""The gamma function and its incomplete integrals, on arrays, in logarithms: NumPy has none of them.

Written so that nothing cancels where the models go: shapes from a hundredth to a hundred million, tails far beyond what
a double can hold as a probability. Held against closed forms and SciPy in ``test_special.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tdelta.inference.posterior import FloatArray

_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
"""Stirling's series (DLMF 5.11.1): from 10 on, the first term left out is below 1e-15."""

_ASYMPTOTIC_FROM = 10.0
_SHIFTS = np.arange(10.0)
_HALF_LOG_TWO_PI = 0.5 * float(np.log(2.0 * np.pi))
_TINY = 1e-300
_CLOSE = 1e-15
_REPACK_EVERY = 16


def stirling_excess(shape: FloatArray) -> FloatArray:
    """``a log a - a - log Gamma(a)``, without the cancellation: for large a it is ``log(a / 2 pi) / 2``."""
    large = np.maximum(shape, _ASYMPTOTIC_FROM)
    asymptotic = 0.5 * np.log(large) - _HALF_LOG_TWO_PI - _remainder(large)
    if (shape >= _ASYMPTOTIC_FROM).all():
        return np.asarray(asymptotic, dtype=np.float64)
    small = np.minimum(shape, _ASYMPTOTIC_FROM)
    return np.where(shape >= _ASYMPTOTIC_FROM, asymptotic, small * np.log(small) - small - _shifted_log_gamma(small))


def log_gamma(x: FloatArray) -> FloatArray:
    """``log Gamma(x)`` for positive x."""
    return np.asarray(x * np.log(x) - x - stirling_excess(x), dtype=np.float64)


def _remainder(x: FloatArray) -> FloatArray:
    inverse, square = 1.0 / x, 1.0 / x**2
    total = np.zeros_like(x)
    for coefficient in reversed(_STIRLING):
        total = total * square + coefficient
    return np.asarray(total * inverse, dtype=np.float64)


def _shifted_log_gamma(x: FloatArray) -> FloatArray:
    """By ``Gamma(x + 10) = x (x + 1) ... (x + 9) Gamma(x)``."""
    up = x + float(len(_SHIFTS))
    whole = (up - 0.5) * np.log(up) - up + _HALF_LOG_TWO_PI + _remainder(up)
    return np.asarray(whole - np.log(x[..., None] + _SHIFTS).sum(axis=-1), dtype=np.float64)


def log_incomplete(shape: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Logs of the regularized lower and upper incomplete gamma functions, ``log P(a, x)`` and ``log Q(a, x)``.

    Power series below a + 1, Lentz's continued fraction above (Numerical Recipes, 3rd ed., 6.2); the other of the two
    is the complement. ``shape`` and ``x`` broadcast; x may be 0 and inf.
    """
    of = np.broadcast_shapes(np.shape(shape), np.shape(x))
    excess = np.asarray(stirling_excess(np.asarray(shape, dtype=np.float64)) - np.log(shape), dtype=np.float64)
    a, x, excess = (np.array(part, dtype=np.float64).ravel() for part in np.broadcast_arrays(shape, x, excess))
    log_p, log_q = np.full(a.shape, -np.inf), np.zeros(a.shape)
    is_far = np.isinf(x)
    log_p[is_far], log_q[is_far] = 0.0, -np.inf
    left = (x > 0.0) & (x < a + 1.0)
    right = (x >= a + 1.0) & ~is_far
    if left.any():
        log_p[left] = np.minimum(_log_front(a[left], x[left]) + excess[left] + np.log(_series(a[left], x[left])), 0.0)
        log_q[left] = log_complement(log_p[left])
    if right.any():
        front = _log_front(a[right], x[right]) + excess[right] + np.log(a[right])
        log_q[right] = np.minimum(front + np.log(_fraction(a[right], x[right])), 0.0)
        log_p[right] = log_complement(log_q[right])
    return log_p.reshape(of), log_q.reshape(of)


def log_between(shape: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Log of ``P(a, high) - P(a, low)``, from whichever tail is the smaller; ``low < high``."""
    low_p, low_q = log_incomplete(shape, low)
    high_p, high_q = log_incomplete(shape, high)
    return log_interval(low_p, low_q, high_p, high_q)


def log_interval(low_p: FloatArray, low_q: FloatArray, high_p: FloatArray, high_q: FloatArray) -> FloatArray:
    """Log of the mass between two points, given the logs of both tails at each."""
    from_above = low_q < high_p
    larger, smaller = np.where(from_above, low_q, high_p), np.where(from_above, high_q, low_p)
    with np.errstate(invalid="ignore"):
        apart = np.where(np.isneginf(smaller), -np.inf, smaller - larger)
    return np.asarray(larger + log_complement(np.minimum(apart, 0.0)), dtype=np.float64)


def log_complement(log_mass: FloatArray) -> FloatArray:
    """``log(1 - exp(x))`` for x <= 0, accurate at both ends (Maechler 2012)."""
    with np.errstate(divide="ignore"):
        near = np.log(-np.expm1(np.maximum(log_mass, -1.0)))
        far = np.log1p(-np.exp(np.minimum(log_mass, -0.5)))
    return np.where(log_mass > -0.7, near, far)


def _log_front(a: FloatArray, x: FloatArray) -> FloatArray:
    """``log(x^a e^-x / Gamma(a + 1))`` less Stirling's excess and plus log a, about x = a, where terms would cancel."""
    ratio = x / a
    away = ratio - 1.0
    near = np.abs(away) < 0.5
    log_ratio = np.where(near, np.log1p(np.where(near, away, 0.0)), np.log(np.maximum(ratio, _TINY)))
    return np.asarray(-a * (away - log_ratio), dtype=np.float64)


def _steps(a: FloatArray) -> int:
    """About ten standard deviations' worth: near x = a, terms die out over sqrt(a)."""
    return 300 + int(15.0 * np.sqrt(a.max()))


def _series(a: FloatArray, x: FloatArray) -> FloatArray:
    total, term, below = np.ones_like(a), np.ones_like(a), a.copy()
    active: NDArray[np.intp] = np.arange(len(a))
    for step in range(_steps(a)):
        below = below + 1.0
        term = term * (x / below)
        total[active] += term
        if step % _REPACK_EVERY == 0:
            going = term > _CLOSE * total[active]
            if not going.any():
                break
            active, term, below, x = active[going], term[going], below[going], x[going]
    return total


def _fraction(a: FloatArray, x: FloatArray) -> FloatArray:
    result = np.empty_like(a)
    active: NDArray[np.intp] = np.arange(len(a))
    b = x + 1.0 - a
    c = np.full_like(a, 1.0 / _TINY)
    d = 1.0 / np.where(np.abs(b) < _TINY, _TINY, b)
    h = d.copy()
    for step in range(1, _steps(a)):
        an = -step * (step - a)
        b = b + 2.0
        d = an * d + b
        d = 1.0 / np.where(np.abs(d) < _TINY, _TINY, d)
        c = b + an / c
        c = np.where(np.abs(c) < _TINY, _TINY, c)
        change = c * d
        h = h * change
        if step % _REPACK_EVERY == 0:
            going = np.abs(change - 1.0) > _CLOSE
            result[active[~going]] = h[~going]
            if not going.any():
                return result
            active = active[going]
            a, b, c, d, h = (part[going] for part in (a, b, c, d, h))
    result[active] = h
    return result
