"""Transaction types of one condition, pooled towards their mean.

``delta_kt = mu_k + eta_kt``, ``mu_k ~ t3(0, 0.5)``, ``eta ~ N(0, tau)``, one ``tau ~ HalfCauchy(0.1)`` for all
conditions and strata, since the data cannot tell several apart. Secondary: it sets no decision of a run.

Each type comes with its own answer from the rounds' model. Two things tie those answers together and must not be
mistaken for information: the baseline is shared by conditions, and the types of one instance share its effect and their
trials. The instance effect is taken as *wholly* shared between types, the noise as correlated as it is seen to be.
Where instance effects are in truth a type's own, this pools less than it could, which errs on the side of width.

Strongly correlated estimates of unequal variance extrapolate: their common mean may lie outside all of them, and
outside the range of the mix that they make up. The same trials give a separate estimate of the mix. The joint
posterior of the types therefore keeps its conditional part, *given* the mix, and takes the mix from that estimate
(Jeffrey's rule: Diaconis and Zabell 1982, JASA 77:822). Both sides did the same operations, so the mix's ratio is
the mean of the types' ratios, weighted by their shares of the plain time; the centers add up exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tdelta.inference.fits import PLAIN, Answer, treatment_of
from tdelta.inference.posterior import PRIOR_DF, PRIOR_SCALE, FloatArray, Posterior, mixture, posterior

TAU_SCALE = 0.1
_TAU = np.geomspace(3e-4, 4.0, 36)
_NEWTON_STEPS = 8
_FARTHEST = 3.0  # a type's ratio is at most 20 times the mix's, or a twentieth, while its center is sought


@dataclass(frozen=True, slots=True)
class TypeEstimates:
    """The rounds' model's estimate of each transaction type of one stratum, J conditions by T types, before pooling."""

    theta: FloatArray  # shape (J, T), log ratios of means
    covariance: FloatArray  # shape (T, T), between types, of one condition's log ratio
    between: FloatArray  # shape (J, J), correlation of conditions, which share the baseline


def type_estimates(answers: Sequence[Sequence[Answer]]) -> TypeEstimates:
    """Put the separate answers of the types of one stratum together.

    `answers`: for each of T types, its J conditions' answers. Two types correlate by as much as they have blocks in
    common, and as their trials were seen to.
    """
    theta = np.array([[answer.mixture.mean for answer in of_type] for of_type in answers]).T
    total = np.array([np.mean([answer.mixture.variance for answer in of_type]) for of_type in answers])
    noise = np.minimum(np.array([_noise_variance(of_type[0]) for of_type in answers]), total)
    instance_sd, noise_sd = np.sqrt(total - noise), np.sqrt(noise)
    correlation = _correlation([of_type[0].fitted.influence for of_type in answers])
    covariance = np.outer(instance_sd, instance_sd) + correlation * np.outer(noise_sd, noise_sd)
    # Two conditions' log ratios correlate through the plain twins that both are over.
    shared = 1.0 / (1.0 + int(answers[0][0].fitted.plain(*PLAIN).sum()))
    conditions = theta.shape[0]
    return TypeEstimates(
        theta, covariance, np.full((conditions, conditions), shared) + (1.0 - shared) * np.eye(conditions)
    )


def _noise_variance(answer: Answer) -> float:
    means = answer.fitted.means
    trials = means.blocks.sum(axis=0)
    plain = answer.fitted.plain(*PLAIN)
    own = np.array([treatment_of(c) == answer.condition for c in answer.fitted.columns])
    kind = int(means.kinds[own][0])
    return float(means.variance[0] / trials[plain].sum() + means.variance[kind] / trials[own].sum())


def _correlation(influences: Sequence[FloatArray]) -> FloatArray:
    flat = np.array([influence.ravel() for influence in influences])
    norms = np.sqrt((flat**2).sum(axis=1))
    flat = flat / np.where(norms > 0, norms, 1.0)[:, None]
    correlation = flat @ flat.T
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class PooledTypes:
    """The types of one condition, pooled: a mixture over G values of tau of joint normals of T log ratios."""

    weights: FloatArray  # shape (G,), sums to 1
    means: FloatArray  # shape (G, T)
    covariances: FloatArray  # shape (G, T, T)

    def as_parts_of(self, mix: Answer, shares: FloatArray) -> list[Posterior]:
        """Posteriors of the types, conditioned on the separate estimate of their mix.

        `shares`: shape (T,), of the plain time; they sum to 1.
        """
        whole = mix.mixture
        mean, covariance = self.weights @ self.means, np.tensordot(self.weights, self.covariances, axes=1)
        apart = _adding_up(mean - whole.mean, covariance, shares)
        direction = shares * np.exp(apart)
        along = covariance @ direction
        gain = along / float(direction @ along)
        left_over = self.means - (self.means @ direction)[:, None] * gain
        left_over = left_over - self.weights @ left_over
        both = np.einsum("gtu,u->gt", self.covariances, direction)
        variance = np.diagonal(self.covariances, axis1=1, axis2=2) - 2.0 * gain * both
        variance = np.maximum(variance + gain**2 * (both @ direction)[:, None], np.finfo(float).tiny)
        weights = np.outer(self.weights, whole.weights).ravel()
        center = mix.posterior.quantile(0.5)
        found = []
        for at, distance in enumerate(apart):
            moved = gain[at] * (whole.means - whole.mean)
            means = whole.mean + distance + np.add.outer(left_over[:, at], moved)
            variances = np.add.outer(variance[:, at], (gain[at] * whole.sds) ** 2)
            one = posterior(mixture(weights, means.ravel(), variances.ravel()))
            found.append(Posterior(one.theta + center + distance - one.quantile(0.5), one.cumulative))
        return found


def _adding_up(apart: FloatArray, covariance: FloatArray, shares: FloatArray) -> FloatArray:
    """Log ratios over the mix's whose weighted mean is the mix's, as near as may be to those given."""
    for _ in range(_NEWTON_STEPS):
        apart = np.clip(apart, -_FARTHEST, _FARTHEST)
        total = float(shares @ np.exp(apart))
        along = covariance @ (shares * np.exp(apart) / total)
        apart = apart - along / float(shares @ (np.exp(apart) / total * along)) * np.log(total)
    apart = np.clip(apart, -_FARTHEST, _FARTHEST)
    return np.asarray(apart - np.log(shares @ np.exp(apart)), dtype=np.float64)


def pool(strata: Sequence[TypeEstimates]) -> list[list[PooledTypes]]:
    pooled = [_pool_stratum(estimates) for estimates in strata]
    # A point of the geometric grid stands for an interval as wide as tau itself.
    log_prior = np.log(_TAU) - np.log1p((_TAU / TAU_SCALE) ** 2)
    log_weights = log_prior + np.sum([log_marginal for log_marginal, _, _ in pooled], axis=0)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    found = []
    for (_, means, covariances), estimates in zip(pooled, strata, strict=True):
        conditions, types = estimates.theta.shape
        parts = [slice(j * types, (j + 1) * types) for j in range(conditions)]
        found.append([PooledTypes(weights, means[:, of], covariances[:, of, of]) for of in parts])
    return found


def _pool_stratum(estimates: TypeEstimates) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Normal algebra for every tau at once; the dimension is conditions times types, 30 or so.

    Returns, over the grid of tau: log marginal (G,), means (G, J*T), covariances (G, J*T, J*T).
    """
    conditions, types = estimates.theta.shape
    sampling = np.kron(estimates.between, estimates.covariance)
    prior = np.kron(np.diag(_mean_prior_variance(estimates.theta)), np.ones((types, types)))
    prior = prior + (_TAU**2)[:, None, None] * np.eye(conditions * types)
    observed = estimates.theta.ravel()
    marginal = sampling + prior
    gain = np.linalg.solve(marginal, np.broadcast_to(sampling, marginal.shape))
    misfit = np.linalg.solve(marginal, np.broadcast_to(observed[:, None], (len(_TAU), len(observed), 1)))[..., 0]
    log_marginal = -0.5 * (np.linalg.slogdet(marginal)[1] + misfit @ observed)
    covariances = np.asarray(sampling - sampling @ gain, dtype=np.float64)
    return np.asarray(log_marginal, dtype=np.float64), observed - misfit @ sampling, covariances


def _mean_prior_variance(theta: FloatArray) -> FloatArray:
    """The normal that stands for mu's t3(0, 0.5) near its data: a t is a scale mixture of normals.

    Given mu, the mixing precision has mean ``(nu + 1) / (nu + (mu / s)^2)`` (Lange, Little and Taylor 1989).
    """
    mean = theta.mean(axis=1)
    return np.asarray(PRIOR_SCALE**2 * (PRIOR_DF + (mean / PRIOR_SCALE) ** 2) / (PRIOR_DF + 1.0), dtype=np.float64)
