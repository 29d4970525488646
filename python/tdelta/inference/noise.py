"""Stage 1: what each instance typically cost within its round, and how its trials scatter about that.

``y = v_block + p_place + kappa x + m_(round, condition) + eps``, ``eps ~ t_nu(0, sigma_kind)``; ``x`` is 1 for a trial
that an encrypted twin's came right before, so that ``kappa`` is the first-order carry-over. Blocks, places in a block,
``kappa`` and instances are free parameters (places and ``kappa`` are shrunk towards 0). Each *kind* of condition (plain
twins, and every treatment) has a sigma of its own, weakly pooled. nu is averaged over a grid. Blocks absorb the drift,
places the order within a block, and the t the odd trial that a checkpoint or a neighbour hit. What the t discounts is
not lost: `tdelta.inference.stalls` puts it back into the ratio of means. Nothing here knows which condition is the
baseline: that is stage 2.

Fitting is by ECM (Liu and Rubin 1995, Statistica Sinica 5:19) on the restricted likelihood: blocks and instances take
up to half of the observations, and without the restriction sigma would come out too small by as much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tdelta.inference.posterior import FloatArray

NU_GRID = np.array([3.0, 5.0, 9.0, 16.0, 30.0, 80.0])
SMALLEST_SD = 1e-5
"""A floor of 0.001% under the noise of a trial: counters are integers, and twins may agree to the last byte."""

POOLING_DF = 4.0  # how many trials' worth of the scatter of all kinds together each kind's sigma is given: weak pooling
PLACE_SD = 0.05  # prior sd of the effect of a place in the block, 5%: it hardly binds where there are a few blocks
CARRIED_SD = 0.03  # prior sd of what an encrypted trial leaves to the next one, 3%
_NU_SHAPE, _NU_RATE = 2.0, 0.1
_TOLERANCE = 5e-4
_MAX_ITERATIONS = 60
_CONSISTENT = 1.4826  # a normal's standard deviation over its median absolute deviation


@dataclass(frozen=True, slots=True)
class InstanceMeans:
    """Stage 1's answer for one cost in one stratum: R rounds, B blocks, K columns (twins) of G kinds."""

    means: FloatArray  # shape (R, K), typical log cost of each instance less its blocks' effects
    blocks: FloatArray  # shape (R, K), trials behind each; 0 where a twin took no part in the round
    kinds: NDArray[np.intp]  # shape (K,), the kind of each column, from 0
    variance: FloatArray
    """Shape (G,), of one trial as it counts for an instance's mean, ``sigma^2 (nu + 3) / (nu + 1)``; 0 where ``df`` is
    0."""
    df: FloatArray  # shape (G,), degrees of freedom behind ``variance``
    rounds: NDArray[np.intp]  # shape (B,), the round of each block, counted from 0
    there: NDArray[np.bool_]  # shape (B, K), which trials there are
    residual: FloatArray  # shape (B, K), log cost of each trial less all effects; 0 where there was no trial
    influence: FloatArray  # shape (B, K), what each trial adds to its instance's mean, times the trials of the instance
    weight: FloatArray  # shape (B, K), from 1 (a trial as expected) to 0 (one that says nothing of where trials lie)
    places: FloatArray  # shape (P,), effect of each place in the block on a log cost
    hosts: NDArray[np.intp] | None = None
    """Shape (R, K), the host of each instance, from 0, and -1 where a twin took no part; None of one host."""
    carried: float = 0.0  # what an encrypted trial adds to the log cost of the next one, which ``means`` are without
    carried_sd: float = 0.0  # how well that is known
    following: FloatArray | None = None
    """Shape (K,), the share of each column's trials that an encrypted twin's came right before."""

    @property
    def host_count(self) -> int:
        """H, how many hosts the instances were on."""
        return 1 if self.hosts is None else int(self.hosts.max()) + 1

    @property
    def pooled_variance(self) -> float:
        df = float(self.df.sum())
        return float((self.df * self.variance).sum()) / df if df else 0.0

    @property
    def pooled_df(self) -> float:
        return float(self.df.sum())

    @property
    def nominal_df(self) -> int:
        """Degrees of freedom that blocks and instances leave normal noise."""
        there = self.blocks > 0
        by_round = np.bincount(self.rounds)
        return int(((by_round - 1) * (there.sum(axis=1) - 1)).sum())

    def carried_variance(self, of: NDArray[np.bool_], versus: NDArray[np.bool_]) -> float:
        """Variance of the log ratio of some columns over others due to the unknown carry-over."""
        if self.following is None:
            return 0.0
        return float((self.following[of].mean() - self.following[versus].mean()) * self.carried_sd) ** 2

    def without_round(self, left_out: int) -> InstanceMeans:
        """The same without one round; the noise of trials is kept as it was found."""
        kept = self.rounds != left_out
        rounds = self.rounds[kept]
        return replace(
            self,
            means=np.delete(self.means, left_out, axis=0),
            blocks=np.delete(self.blocks, left_out, axis=0),
            rounds=rounds - (rounds > left_out),
            there=self.there[kept],
            residual=self.residual[kept],
            influence=self.influence[kept],
            weight=self.weight[kept],
            hosts=None if self.hosts is None else np.delete(self.hosts, left_out, axis=0),
        )


@dataclass(frozen=True, slots=True)
class Design:
    """Which trials there were, in B blocks of K columns."""

    rounds: NDArray[np.intp]  # shape (B,), the round of each block, counted from 0, not decreasing
    places: NDArray[np.intp]
    """Shape (B, K), at which place of its block each trial ran, from 0; any number where there was none."""
    kinds: NDArray[np.intp]  # shape (K,), the kind of each column, from 0
    follows: FloatArray  # shape (B, K), 1 for a trial that an encrypted twin's came right before, else 0

    @property
    def kind_count(self) -> int:
        """G, how many kinds there are."""
        return int(self.kinds.max()) + 1


@dataclass(slots=True)
class _State:
    """The parameters during ECM; the leading axis is nu's."""

    block: FloatArray
    place: FloatArray
    carried: FloatArray
    instance: FloatArray
    sigma2: FloatArray
    residual: FloatArray
    weight: FloatArray
    df: FloatArray


def fit_instances(log_costs: FloatArray, design: Design) -> InstanceMeans:
    """Fit one cost of one stratum.

    `log_costs`: shape (B, K), NaN where a twin took no part in a block. Where every round has a single block,
    noise and instance effects cannot be told apart: ``df`` is 0 and stage 2 leaves the noise to its prior.
    """
    there = ~np.isnan(log_costs)
    y = np.where(there, log_costs, 0.0)
    in_round = np.asarray(np.arange(design.rounds.max() + 1)[:, None] == design.rounds, dtype=np.float64)
    blocks = in_round @ there
    state = _start(y, there, in_round, blocks, design)
    if in_round.sum(axis=1).max() < 2:
        return _single_blocks(state, blocks, there, design)
    _ecm(y, there, in_round, design, state)
    return _averaged_over_nu(state, blocks, there, design)


def _start(y: FloatArray, there: NDArray[np.bool_], in_round: FloatArray, blocks: FloatArray, design: Design) -> _State:
    """Medians of blocks, then of instances: a start that the odd trial does not move."""
    masked = np.where(there, y, np.nan)
    block = _medians(masked.T)[:, None]
    instance = np.zeros_like(blocks)
    for number, row in enumerate(in_round > 0):
        some = blocks[number] > 0
        instance[number, some] = _medians((masked - block)[row][:, some])
    residual = np.where(there, y - block - instance[design.rounds], 0.0)
    spread = [
        _CONSISTENT * float(np.median(np.abs(residual[:, of][there[:, of]])))
        for of in (design.kinds == kind for kind in range(design.kind_count))
    ]
    count = len(NU_GRID)

    def each(values: FloatArray) -> FloatArray:
        return np.broadcast_to(values, (count, *values.shape)).copy()

    sigma2 = np.maximum(np.array(spread), SMALLEST_SD) ** 2
    place, carried = np.zeros(int(design.places.max()) + 1), np.zeros((1, 1))
    return _State(*map(each, (block, place, carried, instance, sigma2, residual, np.ones_like(y), 0.0 * sigma2)))


def _medians(values: FloatArray) -> FloatArray:
    """The median of each column's values that are not NaN; NumPy's ``nanmedian`` takes ten times as long for few.

    `values`: shape (n, m), in each column at least one value.
    """
    ordered = np.sort(values, axis=0)  # NaN last
    counts = np.count_nonzero(~np.isnan(values), axis=0)
    columns = np.arange(values.shape[1])
    return np.asarray((ordered[(counts - 1) // 2, columns] + ordered[counts // 2, columns]) / 2, dtype=np.float64)


def _single_blocks(state: _State, blocks: FloatArray, there: NDArray[np.bool_], design: Design) -> InstanceMeans:
    none, quiet = np.zeros(design.kind_count), np.zeros(there.shape)
    of_trials = (quiet, quiet, quiet + 1.0)
    return InstanceMeans(
        state.instance[0], blocks, design.kinds, none, none, design.rounds, there, *of_trials, state.place[0]
    )


def _ecm(y: FloatArray, there: NDArray[np.bool_], in_round: FloatArray, design: Design, state: _State) -> None:
    at_place = np.array([(design.places == place) & there for place in range(state.place.shape[1])], dtype=np.float64)
    for _ in range(_MAX_ITERATIONS):
        instance, sigma2 = state.instance, state.sigma2
        _ecm_step(y, there, in_round, at_place, design, state)
        moved = np.abs(state.instance - instance).max(axis=(1, 2)) / np.sqrt(state.sigma2.min(axis=1))
        rescaled = np.abs(np.log(state.sigma2 / sigma2)).max()
        if max(float(moved.max()), float(rescaled)) < _TOLERANCE:
            break


def _ecm_step(
    y: FloatArray,
    there: NDArray[np.bool_],
    in_round: FloatArray,
    at_place: FloatArray,
    design: Design,
    state: _State,
) -> None:
    nu = NU_GRID[:, None, None]
    of_column = state.sigma2[:, None, design.kinds]
    weight = np.where(there, (nu + 1.0) / (nu + state.residual**2 / of_column), 0.0)
    precise = weight / of_column
    unplaced = y - np.take_along_axis(state.place[:, None, :], design.places[None], axis=2)
    unplaced = unplaced - state.carried * design.follows
    block = (precise * (unplaced - state.instance[:, design.rounds])).sum(axis=2, keepdims=True)
    block = block / precise.sum(axis=2, keepdims=True)
    summed = np.einsum("rb,nbk->nrk", in_round, weight)
    instance = np.einsum("rb,nbk->nrk", in_round, weight * (unplaced - block)) / np.maximum(summed, 1e-300)
    placed = np.where(there, y - block - instance[:, design.rounds], 0.0)
    known = np.einsum("pbk,nbk->np", at_place, precise) + PLACE_SD**-2
    place = np.einsum("pbk,nbk->np", at_place, precise * (placed - state.carried * design.follows)) / known
    place -= place.mean(axis=1, keepdims=True)
    placed = placed - np.take_along_axis(place[:, None, :], design.places[None], axis=2)
    known_carried = (precise * design.follows).sum(axis=(1, 2), keepdims=True) + CARRIED_SD**-2
    carried = (precise * design.follows * placed).sum(axis=(1, 2), keepdims=True) / known_carried
    residual = np.where(there, placed - carried * design.follows, 0.0)
    state.block, state.place, state.carried, state.instance = block, place, carried, instance
    state.residual, state.weight = residual, weight
    fitted = (1.0 - PLACE_SD**-2 / known).sum(axis=1) * (1.0 - 1.0 / place.shape[1])
    fitted = fitted + 1.0 - CARRIED_SD**-2 / known_carried[:, 0, 0]
    # Each kind's sigma from its own squares, over the degrees of freedom that all other effects leave it.
    trials_in = in_round.sum(axis=1)[design.rounds]
    share = there / of_column
    free = (1.0 - share / share.sum(axis=2, keepdims=True)) * (1.0 - 1.0 / trials_in)[:, None] * there
    of_kind = np.equal.outer(np.arange(design.kind_count), design.kinds).astype(np.float64)
    df = np.einsum("gk,nbk->ng", of_kind, free)
    df *= np.maximum(0.5, 1.0 - fitted / np.maximum(df.sum(axis=1), 1e-9))[:, None]
    squares = np.einsum("gk,nbk->ng", of_kind, state.weight * state.residual**2)
    pooled = squares.sum(axis=1, keepdims=True) / np.maximum(df.sum(axis=1, keepdims=True), 1e-9)
    state.sigma2 = np.maximum((squares + POOLING_DF * pooled) / (df + POOLING_DF), SMALLEST_SD**2)
    state.df = df


def _log_nu_posterior(state: _State, there: NDArray[np.bool_], design: Design) -> FloatArray:
    """Log posterior of nu, shape (N,), up to a constant: restricted profile likelihood times Gamma(2, 0.1).

    The blocks' and instances' information is ``(nu + 1) / ((nu + 3) sigma^2)`` per trial (Lange, Little and Taylor
    1989, JASA 84:881); integrating them out by Laplace's method multiplies by its root, for each free parameter.
    """
    nu = NU_GRID[:, None, None]
    trials, df = float(there.sum()), state.df.sum(axis=1)
    z2 = state.residual**2 / state.sigma2[:, None, design.kinds]
    constant = np.array([math.lgamma((n + 1) / 2) - math.lgamma(n / 2) - 0.5 * math.log(n) for n in NU_GRID])
    kernel = -0.5 * ((nu + 1.0) * np.log1p(z2 / nu) * there).sum(axis=(1, 2))
    likelihood = trials * constant + kernel - 0.5 * (state.df * np.log(state.sigma2)).sum(axis=1)
    laplace = 0.5 * (trials - df) * np.log((NU_GRID + 3.0) / (NU_GRID + 1.0))
    scale = -0.5 * design.kind_count * np.log(NU_GRID / (NU_GRID + 3.0))
    prior = (_NU_SHAPE - 1.0) * np.log(NU_GRID) - _NU_RATE * NU_GRID + np.log(np.gradient(NU_GRID))
    return np.asarray(likelihood + laplace + scale + prior, dtype=np.float64)


def _averaged_over_nu(state: _State, blocks: FloatArray, there: NDArray[np.bool_], design: Design) -> InstanceMeans:
    log_posterior = _log_nu_posterior(state, there, design)
    weights = np.exp(log_posterior - log_posterior.max())
    weights /= weights.sum()
    nu = NU_GRID[:, None, None]
    z2 = state.residual**2 / state.sigma2[:, None, design.kinds]

    def averaged(values: FloatArray) -> FloatArray:
        return np.asarray(np.tensordot(weights, values, axes=1), dtype=np.float64)

    return InstanceMeans(
        means=averaged(state.instance),
        blocks=blocks,
        kinds=design.kinds,
        variance=averaged(state.sigma2 * ((NU_GRID + 3.0) / (NU_GRID + 1.0))[:, None]),
        # A scale is known less well from a t sample than from a normal one: information 2 nu / (nu + 3) instead of 2.
        df=averaged(state.df * (NU_GRID / (NU_GRID + 3.0))[:, None]),
        rounds=design.rounds,
        there=there,
        residual=averaged(state.residual),
        # The slope of the t's score at its centre, on average over its own trials, is (nu + 1) / (nu + 3).
        influence=averaged(np.where(there, state.residual * (nu + 3.0) / (nu + z2), 0.0)),
        weight=averaged(np.where(there, nu / (nu + z2), 1.0)),
        places=averaged(state.place),
        carried=float(averaged(state.carried)[0, 0]),
        carried_sd=float(averaged(_carried_variance(there, design, state)) ** 0.5),
        following=(design.follows * there).sum(axis=0) / np.maximum(there.sum(axis=0), 1),
    )


def _carried_variance(there: NDArray[np.bool_], design: Design, state: _State) -> FloatArray:
    """Of the carry-over, shape (N,), by what of ``x`` blocks and instances do not explain."""
    x = np.where(there, design.follows, np.nan)
    x = x - np.nanmean(x, axis=1, keepdims=True)
    for number in np.unique(design.rounds):
        of_round = design.rounds == number
        ran = there[of_round].any(axis=0)
        x[np.ix_(of_round, ran)] -= np.nanmean(x[np.ix_(of_round, ran)], axis=0)
    of_trial = ((NU_GRID + 1.0) / (NU_GRID + 3.0))[:, None, None] / state.sigma2[:, None, design.kinds]
    known = (np.where(there, x, 0.0) ** 2 * of_trial).sum(axis=(1, 2))
    return np.asarray(1.0 / (known + CARRIED_SD**-2), dtype=np.float64)
