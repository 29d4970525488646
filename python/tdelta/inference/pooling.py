"""Transaction types of one condition, pooled towards their mean.

``delta_kt = mu_k + eta_kt``, ``mu_k ~ t3(0, 0.5)``, ``eta ~ N(0, tau)``, one ``tau ~ HalfCauchy(0.1)`` for all
conditions and strata, since the data cannot tell several apart. Secondary: it sets no decision of a run.

Each type comes with its own answer from the rounds' model. Two things tie those answers together and must not be
mistaken for information: the baseline is shared by conditions, and the types of one instance share its effect and their
trials. The instance effect is taken as *wholly* shared between types, the noise as correlated as it is seen to be.
Where instance effects are in truth a type's own, this pools less than it could, which errs on the side of width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tdelta.inference.fits import PLAIN, Answer, treatment_of
from tdelta.inference.posterior import PRIOR_DF, PRIOR_SCALE, FloatArray, Mixture, mixture

TAU_SCALE = 0.1
_TAU = np.geomspace(3e-4, 4.0, 36)


@dataclass(frozen=True, slots=True)
class TypeEstimates:
    """What the rounds' model says of each transaction type of one stratum, J conditions by T types, before pooling.

    Attributes:
        theta: shape (J, T), log ratios of means.
        covariance: shape (T, T), between types, of one condition's log ratio.
        between: shape (J, J), correlation of conditions, which share the baseline.
    """

    theta: FloatArray
    covariance: FloatArray
    between: FloatArray


def type_estimates(answers: Sequence[Sequence[Answer]]) -> TypeEstimates:
    """Put the separate answers of the types of one stratum together.

    Args:
        answers: for each of T types, its J conditions' answers. Two types correlate by as much as they have blocks in
            common, and as their trials were seen to.
    """
    theta = np.array([[answer.mixture.mean for answer in of_type] for of_type in answers]).T
    total = np.array([np.mean([answer.mixture.variance for answer in of_type]) for of_type in answers])
    noise = np.minimum(np.array([_noise_variance(of_type[0]) for of_type in answers]), total)
    instance_sd, noise_sd = np.sqrt(total - noise), np.sqrt(noise)
    correlation = _correlation([of_type[0].fitted.influence for of_type in answers])
    covariance = np.outer(instance_sd, instance_sd) + correlation * np.outer(noise_sd, noise_sd)
    shared = _shared_baseline(answers[0][0])
    conditions = theta.shape[0]
    return TypeEstimates(
        theta, covariance, np.full((conditions, conditions), shared) + (1.0 - shared) * np.eye(conditions)
    )


def _noise_variance(answer: Answer) -> float:
    """The part of a log ratio's variance that more blocks would lessen."""
    means = answer.fitted.means
    trials = means.blocks.sum(axis=0)
    plain = answer.fitted.plain(*PLAIN)
    own = np.array([treatment_of(c) == answer.condition for c in answer.fitted.columns])
    kind = int(means.kinds[own][0])
    return float(means.variance[0] / trials[plain].sum() + means.variance[kind] / trials[own].sum())


def _shared_baseline(answer: Answer) -> float:
    """The correlation of two conditions' log ratios through the plain twins that both are over."""
    plain = int(answer.fitted.plain(*PLAIN).sum())
    return 1.0 / (1.0 + plain)


def _correlation(influences: Sequence[FloatArray]) -> FloatArray:
    flat = np.array([influence.ravel() for influence in influences])
    norms = np.sqrt((flat**2).sum(axis=1))
    flat = flat / np.where(norms > 0, norms, 1.0)[:, None]
    correlation = flat @ flat.T
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Pooled:
    """One stratum over the grid of tau: log marginal (G,), means (G, J*T), variances (G, J*T)."""

    log_marginal: FloatArray
    means: FloatArray
    variances: FloatArray


def pool(strata: Sequence[TypeEstimates]) -> list[list[list[Mixture]]]:
    """Pool the types of every condition.

    Returns:
        ``mixtures[stratum][condition][type]``: posteriors already, mu's prior included.
    """
    pooled = [_pool_stratum(estimates) for estimates in strata]
    # A point of the geometric grid stands for an interval as wide as tau itself.
    log_prior = np.log(_TAU) - np.log1p((_TAU / TAU_SCALE) ** 2)
    log_weights = log_prior + np.sum([p.log_marginal for p in pooled], axis=0)
    weights = np.exp(log_weights - log_weights.max())
    return [_unpacked(p, weights, e.theta.shape) for p, e in zip(pooled, strata, strict=True)]


def _unpacked(pooled: _Pooled, weights: FloatArray, shape: tuple[int, ...]) -> list[list[Mixture]]:
    conditions, types = shape
    return [
        [mixture(weights, pooled.means[:, j * types + t], pooled.variances[:, j * types + t]) for t in range(types)]
        for j in range(conditions)
    ]


def _pool_stratum(estimates: TypeEstimates) -> _Pooled:
    """Normal algebra for every tau at once; the dimension is conditions times types, 30 or so."""
    conditions, types = estimates.theta.shape
    sampling = np.kron(estimates.between, estimates.covariance)
    prior = np.kron(np.diag(_mean_prior_variance(estimates.theta)), np.ones((types, types)))
    prior = prior + (_TAU**2)[:, None, None] * np.eye(conditions * types)
    observed = estimates.theta.ravel()
    marginal = sampling + prior
    gain = np.linalg.solve(marginal, np.broadcast_to(sampling, marginal.shape))
    misfit = np.linalg.solve(marginal, np.broadcast_to(observed[:, None], (len(_TAU), len(observed), 1)))[..., 0]
    log_marginal = -0.5 * (np.linalg.slogdet(marginal)[1] + misfit @ observed)
    means = observed - misfit @ sampling
    variances = np.diagonal(sampling - sampling @ gain, axis1=1, axis2=2)
    return _Pooled(np.asarray(log_marginal, dtype=np.float64), means, np.maximum(variances, np.finfo(float).tiny))


def _mean_prior_variance(theta: FloatArray) -> FloatArray:
    """The normal that stands for mu's t3(0, 0.5) near its data: a t is a scale mixture of normals.

    Given mu, the mixing precision has mean ``(nu + 1) / (nu + (mu / s)^2)`` (Lange, Little and Taylor 1989).
    """
    mean = theta.mean(axis=1)
    return np.asarray(PRIOR_SCALE**2 * (PRIOR_DF + (mean / PRIOR_SCALE) ** 2) / (PRIOR_DF + 1.0), dtype=np.float64)
