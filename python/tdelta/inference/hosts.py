"""Hosts that twins change between: how much one costs over another, and whether overheads are the same on all.

The effect of a host on all that it runs is in the model of the verdicts (`tdelta.inference.rounds`), and shown here.
What that model does not have is an *interaction*: a host on which encryption costs another share. That is looked for in
the rounds that have a plain and an encrypted twin on every host: with d the log of a host's ratio in a round,
d[r, h] = mean + round[r] + host[h] + residual[r, h], as for load agents (`tdelta.inference.agents.between`). Twins of
one host differ by their instance effects, too, which are in the residual.

Limits: a crossover without an A/A and a B/B twin has no such rounds; interaction and round are one there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tdelta.inference.agents import seen_overhead
from tdelta.inference.fits import CostFit, Fitted
from tdelta.inference.posterior import FloatArray, posterior
from tdelta.inference.rounds import Contrasts
from tdelta.messages import Caution
from tdelta.records import Condition
from tdelta.records.hosts import HostEffect, Hosts, SeenOverhead


def hosts_of(fit: CostFit, tolerance: float) -> Hosts | None:
    """What the hosts of a run are worth, by its primary metric; None where its twins do not change hosts."""
    parts = [(fitted, contrasts) for fitted, contrasts in fit.parts if fitted.means.hosts is not None]
    if not parts:
        return None
    names = parts[0][0].panel.host_names
    return Hosts(
        names=names,
        effects=tuple(effect for fitted, found in parts for effect in _effects(fitted, found, tolerance)),
        overheads=tuple(one for fitted, found in parts for one in _overheads(fitted, found)),
        confounded=tuple(condition for fitted, found in parts for condition in _confounded(fitted, found)),
    )


def host_cautions(found: Hosts | None) -> Iterator[Caution]:
    """What is to be said of the verdicts."""
    if found is None:
        return
    for condition in found.confounded:
        yield Caution.of("host-confounded", condition=condition.key)
    for one in found.overheads:
        if one.is_apart:
            low, high = (int(pick(one.ratios)) for pick in (np.argmin, np.argmax))
            yield Caution.of(
                "hosts-see-different-overheads",
                condition=one.condition.key,
                low=100 * (one.ratios[low] - 1),
                low_host=found.names[low],
                high=100 * (one.ratios[high] - 1),
                high_host=found.names[high],
                sd=100 * one.between_sd,
            )


def _effects(fitted: Fitted, contrasts: Contrasts, tolerance: float) -> Iterator[HostEffect]:
    names, baseline = fitted.panel.host_names, fitted.panel.baseline
    for number in range(1, fitted.means.host_count):
        found = posterior(contrasts.host(number)).estimate(tolerance)
        yield HostEffect(baseline, names[number], names[0], len(fitted.means.means), found)


def _overheads(fitted: Fitted, contrasts: Contrasts) -> Iterator[SeenOverhead]:
    plain = _by_host(fitted, contrasts.thetas == 0)
    for theta, condition in _compared(fitted, contrasts):
        yield from seen_overhead(condition, _by_host(fitted, contrasts.thetas == theta), plain)


def _compared(fitted: Fitted, contrasts: Contrasts) -> Iterator[tuple[int, Condition]]:
    """The judged conditions with the numbers of their thetas."""
    for column, condition in enumerate(fitted.conditions):
        if condition.role.is_judged and contrasts.thetas[column]:
            yield int(contrasts.thetas[column]), condition


def _by_host(fitted: Fitted, columns: FloatArray) -> FloatArray:
    """The mean log cost of the instances of these columns on each host in each round, shape (R, H); NaN for none."""
    means = fitted.means
    assert means.hosts is not None  # noqa: S101 - asked above
    found = np.full((len(means.means), len(fitted.panel.host_names)), np.nan)
    for number in range(len(means.means)):
        for host in range(found.shape[1]):
            of = columns & (means.blocks[number] > 0) & (means.hosts[number] == host)
            if of.any():
                found[number, host] = means.means[number, of].mean()
    return found


def _confounded(fitted: Fitted, contrasts: Contrasts) -> Iterator[Condition]:
    """Conditions whose theta no linear combination of the instances' means has alone: rounds, hosts and thetas free."""
    means = fitted.means
    assert means.hosts is not None  # noqa: S101 - asked above
    rounds, columns = np.nonzero(means.blocks > 0)
    thetas, hosts = contrasts.thetas[columns], means.hosts[rounds, columns]
    theta_at = [np.equal(thetas, number) for number in range(1, contrasts.conditions + 1)]
    host_at = [np.equal(hosts, number) for number in range(1, means.host_count)]
    round_at = [np.equal(rounds, number) for number in range(len(means.means))]
    design = np.array([*theta_at, *host_at, *round_at], dtype=np.float64).T
    rank = np.linalg.matrix_rank(design)
    for theta, condition in _compared(fitted, contrasts):
        alone = np.zeros(design.shape[1])
        alone[theta - 1] = 1.0
        if np.linalg.matrix_rank(np.vstack([design, alone])) > rank:
            yield condition
