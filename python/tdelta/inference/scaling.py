"""The overhead with more threads or cores than a sweep: a curve of queueing theory, and how far a sweep may leave it.

One operation of N threads in a closed loop takes no less than it does alone, R, and no less than N times the seconds C
of the place that is full; between these asymptotic bounds (Denning and Buzen 1978) a knee is at N* = R / C threads:

    time(N) = R (1 + (N / N*)^p)^(1/p)

The share of a further thread that becomes throughput is w(N) = 1 / (1 + (N / N*)^p). Encryption multiplies R by exp(a)
and C by exp(b), so that the log ratio is, to first order,

    d(N) = a w(N) + b (1 - w(N)) + h(N)

h is the discrepancy: a Brownian path in doublings of N plus a path whose slope is one, both from the fewest, so that
bands widen with every doubling beyond the sweep; the mean time of both twins has a path of the first kind as well. A
cell scatters about all that. a, b, R and the paths are normal and integrated out; the knee, which may lie far beyond
the sweep, its sharpness p and the scales of paths and scatter are on a grid.

A sweep over cores, whose threads grow with the cores or are one large number, has the same form: N is the number of
cores, R the core-seconds of one operation, and C the seconds of the serial place that becomes full with N* cores.

Limits: a sweep over threads does not vary cores, and says nothing of others. docs/scaling.md says how often bands hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tdelta.inference.draws import shortest
from tdelta.inference.posterior import FloatArray
from tdelta.records.cache_prediction import Band
from tdelta.records.scaling import Axis

FEWEST = 4
"""Numbers of threads or cores that a sweep needs."""
FARTHEST = 4
"""Times the most threads or cores of a sweep, up to which there are predictions."""


@dataclass(frozen=True, slots=True)
class _Prior:
    """What is known of a sweep before it is seen.

    Attributes:
        knee_beyond: times the most of the sweep, how far off the knee may be of one that shows none.
        sharpness: of the knee, each as likely as the others.
        full_share: what encryption adds to the place that is full, b, is about so much of what it adds alone, a,
        full_mean: and this,
        full_sd: give or take this,
        full_growth: and so much more of it per log ratio that the sweep has.
    """

    knee_beyond: float
    sharpness: tuple[float, ...]
    full_share: float
    full_mean: float
    full_sd: float
    full_growth: float


_PRIORS = {
    Axis.THREADS: _Prior(64.0, (0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 8.0), 1.0, 0.0, 0.3, 0.0),
    # More threads than cores soften a knee over threads. Over cores, all of which are busy, a serial place fills up
    # without a sign before, at worst from one number of cores to the next: so knees are sharp and near. It is from a
    # device, which encryption leaves as it is, to a log that it slows by much more than work on a core.
    Axis.CORES: _Prior(6.0, (1.0, 2.0, 4.0, 8.0, 16.0, 40.0), 0.5, 0.18, 0.2, 1.0),
}
_KNEES = 48
_SCALES = np.array([0.01, 0.03, 0.1])
"""Of paths, in log per doubling: no curve is known to be right to better than 1 %."""
_SCATTERS = np.array([0.001, 0.003, 0.01, 0.03, 0.1])
_ALONE_SD = 0.5
_TIME_SD = 10.0
_DRAWS = 4000
_SEED = 20_261_126


def predict_ratio(
    numbers: Sequence[int],
    plain: Sequence[float],
    other: Sequence[float],
    at: Sequence[int],
    over: Axis = Axis.THREADS,
) -> list[Band]:
    """What a measurement of the ratio with other numbers of threads or cores would show.

    Args:
        numbers: of threads or cores, at least ``FEWEST``, ascending and distinct.
        plain: operations per second with each, of the plain twin.
        other: the same of the encrypted twin.
        at: other numbers, at most ``FARTHEST`` times the last.
        over: what the numbers count.

    Returns:
        Time per operation over the plain twin's, for each of ``at``.
    """
    if len(numbers) < FEWEST or max(at) > FARTHEST * numbers[-1]:
        raise ValueError(f"{len(numbers)} numbers to {numbers[-1]} for {max(at)}")
    known, n = np.array([*numbers, *at], dtype=np.float64), len(numbers)
    prior = _PRIORS[over]
    log_plain, log_other = np.log(np.asarray(plain)), np.log(np.asarray(other))
    ratio, time = log_plain - log_other, np.log(known[:n]) - 0.5 * (log_plain + log_other)
    knee, sharpness = (
        found.ravel()[:, None]
        for found in np.meshgrid(
            np.geomspace(0.5 * known[0], prior.knee_beyond * known[n - 1], _KNEES), prior.sharpness
        )
    )
    full = np.logaddexp(0.0, sharpness * np.log(known / knee))
    alone = np.exp(-full)
    path, sloped = _paths(np.log2(known / known[0]))

    times = time - time.mean() - (full / sharpness)[:, :n]
    time_cov = _covariances([(_SCALES, path), (_SCATTERS, np.eye(len(known)))], _TIME_SD**2 * np.ones((1, *path.shape)))
    log_weight = np.logaddexp.reduce(_log_density(times[:, None], time_cov[:, :, :n, :n]), axis=1)

    at_full = 1.0 - alone
    of_alone = alone + prior.full_share * at_full
    full_sd = prior.full_sd * (1.0 + prior.full_growth * np.abs(ratio).max())
    effects = _outer(_ALONE_SD * of_alone) + _outer(full_sd * at_full)
    expected = prior.full_mean * at_full
    beside = ratio - expected[:, :n]
    paths = [(_SCALES, path), (np.array([0.0, *_SCALES]), sloped), (_SCATTERS, np.eye(len(known)))]
    cov = _covariances(paths, effects)
    log_weight = log_weight[:, None] + _log_density(beside[:, None], cov[:, :, :n, :n])
    weights = np.exp(log_weight - log_weight.max()).ravel()
    gain = np.linalg.solve(cov[:, :, :n, :n], cov[:, :, :n, n:])
    means = (expected[:, None, n:] + np.einsum("ghnm,gn->ghm", gain, beside)).reshape(-1, len(at))
    left = np.diagonal(cov, axis1=2, axis2=3)[:, :, n:] - np.einsum("ghnm,ghnm->ghm", gain, cov[:, :, :n, n:])
    sds = np.sqrt(np.maximum(left, 0.0)).reshape(-1, len(at))
    random = np.random.default_rng(_SEED)
    of = random.choice(len(weights), _DRAWS, p=weights / weights.sum())
    draws = np.exp(means[of] + sds[of] * random.standard_normal((_DRAWS, 1)))
    return [Band(float(np.median(one)), shortest(one)) for one in draws.T]


def _paths(doublings: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Covariances of a Brownian path of scale 1, and of its integral, both from 0."""
    first = np.minimum(doublings[:, None], doublings[None, :])
    last = np.maximum(doublings[:, None], doublings[None, :])
    return first, first**2 * (3.0 * last - first) / 6.0


def _outer(values: FloatArray) -> FloatArray:
    """Of each row of values, shape (g, n), with itself: (g, n, n)."""
    return np.asarray(values[:, :, None] * values[:, None, :])


def _covariances(parts: list[tuple[FloatArray, FloatArray]], fixed: FloatArray) -> FloatArray:
    """Every combination of scales, shape (g, h, n, n)."""
    scales = np.stack([of.ravel() for of in np.meshgrid(*(scales for scales, _ in parts))], axis=1)
    own = np.einsum("hp,pnm->hnm", scales**2, np.stack([kernel for _, kernel in parts]))
    return np.asarray(fixed[:, None] + own[None])


def _log_density(values: FloatArray, covariance: FloatArray) -> FloatArray:
    """Of normals about 0, less a constant, shape (g, h); ``values`` of shape (g, 1, n) or (n,)."""
    root = np.linalg.cholesky(covariance)
    scaled = np.linalg.solve(root, values[..., None])[..., 0]
    return np.asarray(-0.5 * (scaled**2).sum(-1) - np.log(np.diagonal(root, axis1=2, axis2=3)).sum(-1))
