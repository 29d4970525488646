"""The models of tdelta's own runs, written down whole for NUTS (NumPyro): no two stages and no quadrature.

Hoffman and Gelman (2014), JMLR 15:1593. The priors are those of docs/statistics.md. Only nu stays on the grid that
tdelta averages over, summed out in the likelihood: it is discrete, and NUTS needs gradients. A program of its own
(``nuts.py`` starts it), since JAX' threads and a test process that forks do not go together.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpy.typing import NDArray
from numpyro import distributions as dist
from numpyro.infer import MCMC, NUTS, init_to_median

NU_GRID = np.array([3.0, 5.0, 9.0, 16.0, 30.0, 80.0])
_NU_WEIGHTS = NU_GRID * np.exp(-0.1 * NU_GRID) * np.gradient(NU_GRID)
_WIDE = 30.0
"""A block's level is known beforehand to 30 times 3 %: flat, beside what the data say."""


@dataclass(frozen=True)
class Experiment:
    logs: NDArray[np.float64]
    of_round: NDArray[np.intp]
    of_theta: NDArray[np.intp]
    places: NDArray[np.intp]

    @property
    def ratios(self) -> int:
        return int(self.of_theta.max())


def rounds_model(seen: Experiment) -> None:
    """``y = v_block + p_place + theta_condition + u_instance + eps`` for a mix of one type; sigma by kind."""
    y = jnp.asarray(seen.logs[..., 0])
    blocks, conditions = y.shape
    level = y.mean(axis=1) + 0.03 * numpyro.sample("v", dist.Normal(0.0, _WIDE).expand([blocks]).to_event(1))
    theta = numpyro.sample("theta", dist.StudentT(3.0, 0.0, 0.5).expand([seen.ratios]).to_event(1))
    instance_effect = _instance_effect(seen)
    place = numpyro.sample("place", dist.Normal(0.0, 0.05).expand([conditions]).to_event(1))
    log_s = numpyro.sample("log_s", dist.Normal(np.log(0.03), 1.5).expand([seen.ratios + 1]).to_event(1))
    centre = level[:, None] + place[seen.places] + _of_conditions(theta, seen) + instance_effect[seen.of_round]
    scale = jnp.exp(log_s)[seen.of_theta] * jnp.sqrt((NU_GRID + 1.0) / (NU_GRID + 3.0))[:, None]
    by_nu = dist.StudentT(NU_GRID[:, None, None], centre, scale[:, None, :]).log_prob(y).sum(axis=(1, 2))
    numpyro.factor("y", jax.nn.logsumexp(by_nu + np.log(_NU_WEIGHTS / _NU_WEIGHTS.sum())))


def types_model(seen: Experiment) -> None:
    """``delta_kt = mu_k + eta_kt``: types that share their trials (a correlation of any kind) and an instance effect.

    Noise being normal here, and the same for all conditions, flat blocks are taken out by orthonormal contrasts
    between conditions, which leave the noise as it is.
    """
    _, conditions, types = seen.logs.shape
    contrasts = _contrasts(conditions)
    y = jnp.einsum("ck,bkt->bct", contrasts, seen.logs)
    mu = numpyro.sample("mu", dist.StudentT(3.0, 0.0, 0.5).expand([seen.ratios]).to_event(1))
    spread = numpyro.sample("spread", dist.HalfCauchy(0.1))
    delta = numpyro.sample("delta", dist.Normal(mu[:, None], spread).expand([seen.ratios, types]).to_event(2))
    instance_effect = _instance_effect(seen)
    log_s = numpyro.sample("log_s", dist.Normal(np.log(0.03), 1.5).expand([types]).to_event(1))
    together = numpyro.sample("together", dist.LKJCholesky(types, 1.0))
    centre = _of_conditions(delta, seen) + instance_effect[seen.of_round][..., None]
    noise = dist.MultivariateNormal(
        jnp.einsum("ck,bkt->bct", contrasts, centre), scale_tril=jnp.exp(log_s)[:, None] * together
    )
    numpyro.factor("y", noise.log_prob(y).sum())


def _contrasts(conditions: int) -> NDArray[np.float64]:
    """Orthonormal, each row's sum 0; shape (K - 1, K)."""
    centring = np.eye(conditions) - 1.0 / conditions
    return np.linalg.svd(centring)[2][: conditions - 1]


def _instance_effect(seen: Experiment) -> jax.Array:
    """Instance effects, ``rho`` times as large on a treatment's instances; shape (R, K)."""
    tau = numpyro.sample("tau", dist.HalfCauchy(0.01))
    log_rho = numpyro.sample("log_rho", dist.Normal(0.0, 0.6).expand([seen.ratios]).to_event(1))
    size = [int(seen.of_round.max()) + 1, len(seen.of_theta)]
    unit = numpyro.sample("u", dist.Normal(0.0, 1.0).expand(size).to_event(2))
    return tau * jnp.exp(_of_conditions(log_rho, seen)) * unit


def _of_conditions(ratios: jax.Array, seen: Experiment) -> jax.Array:
    """Each condition's log ratio, the plain twins' being 0; shape (K, ...)."""
    return jnp.concatenate([jnp.zeros_like(ratios[:1]), ratios])[seen.of_theta]


MODELS: dict[str, tuple[Callable[[Experiment], None], str]] = {
    "rounds": (rounds_model, "theta"),
    "types": (types_model, "delta"),
}


def main(name: str, source: str, target: str) -> None:
    """Two chains, one after the other, of the experiment in one file into another."""
    numpyro.enable_x64()
    with np.load(source) as found:
        seen = Experiment(found["logs"], found["of_round"], found["of_theta"], found["places"])
        warmup, draws = int(found["warmup"]), int(found["draws"])
    model, quantity = MODELS[name]
    kernel = NUTS(model, dense_mass=True, target_accept_prob=0.9, init_strategy=init_to_median())
    sampler = MCMC(
        kernel, num_warmup=warmup, num_samples=draws, num_chains=2, chain_method="sequential", progress_bar=False
    )
    began = time.monotonic()
    sampler.run(jax.random.PRNGKey(2014), seen, extra_fields=("diverging",))
    drawn = np.asarray(sampler.get_samples(group_by_chain=True)[quantity], dtype=np.float64)
    seconds = time.monotonic() - began
    diverged = int(np.asarray(sampler.get_extra_fields()["diverging"]).sum())
    np.savez(target, drawn=drawn.reshape(*drawn.shape[:2], -1), seconds=seconds, diverged=diverged)


if __name__ == "__main__":
    main(*sys.argv[1:])
