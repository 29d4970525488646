"""Load agents: how well they kept together, and whether they see the same overhead.

An agent's ratio is of its mean response times, so what is slow about an agent is in both sides of it, and cancels. What
does not cancel is an effect of the agent *on the ratio*: a client whose own delays hide encryption, or add to it. That
is a random effect of agents crossed with blocks: with d the logarithm of an agent's ratio in a block,
d[b, a] = mean + block[b] + agent[a] + residual[b, a] (two-way analysis of variance without repeats; Scheffe 1959, The
Analysis of Variance, chapter 7). Its standard deviation is shown beside the verdict, whose interval is for the mean of
these agents and is not widened by it.

In a closed loop agents do operations as they are free: not the same ones on every twin, and a fast agent more than a
slow one. The means of an agent that does few vary more, so residuals have another variance for each agent, and the F
test would find agents apart too often. Its degrees of freedom are therefore reduced by Box's epsilon, estimated from
the residuals (Huynh and Feldt 1976, Journal of Educational Statistics 1). The estimate of the standard deviation needs
no such thing: in a table with one mean per block and agent, unequal variances leave it unbiased.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tdelta.inference.fits import CostFit, Fitted, Panel, panels
from tdelta.inference.posterior import FloatArray, posterior
from tdelta.inference.quantiles import beta_quantile
from tdelta.inference.rounds import Contrasts
from tdelta.messages import Caution
from tdelta.records import Condition, Role, RunSettings, Trial, Typical
from tdelta.records.findings import AgentUse, HostEffect, Hosts, LoadAgents, SeenOverhead
from tdelta.records.trials import AgentPart, overlap, skew_ns

_CHANCE = 0.99
_FEWEST_BLOCKS = 3
_NS = 1e-9
_NOTHING = 1e-24  # what rounding makes of ratios that are equal


def load_agents(trials: Iterable[Trial], settings: RunSettings) -> LoadAgents:
    of_agents = [trial for trial in trials if trial.measurement.agents]
    parts = [trial.measurement.agents for trial in of_agents]
    names = sorted({name for one in parts for name in one}, key=lambda name: (len(name), name))
    return LoadAgents(
        trials=len(of_agents),
        overlap=Typical.of(overlap(one) for one in parts),
        skew_seconds=Typical.of(skew_ns(one) * _NS for one in parts),
        clock_error_seconds=max(part.clock_error_ns for one in parts for part in one.values()) * _NS,
        agents=tuple(_use(name, [one[name] for one in parts if name in one]) for name in names),
        effects=tuple(effect for panel in panels(of_agents, settings) for effect in _effects(panel, names)),
    )


def between(logs: FloatArray) -> tuple[float, bool | None]:
    """The standard deviation of the agents' own effect, and whether it is beyond chance.

    `logs`: the logarithm of each agent's ratio in each block, shape (blocks, agents).
    """
    blocks, agents = logs.shape
    if agents < 2 or blocks < _FEWEST_BLOCKS:
        return 0.0, None
    centred = logs - logs.mean(axis=1, keepdims=True)
    of_agents = centred.mean(axis=0)
    df_agents, df_rest = agents - 1, (agents - 1) * (blocks - 1)
    mean_square = blocks * float(np.sum(of_agents**2)) / df_agents
    residuals = centred - of_agents
    residual = float(np.sum(residuals**2)) / df_rest
    sd = float(np.sqrt(max(0.0, mean_square - residual) / blocks))
    kept = _epsilon(residuals)
    at = float(beta_quantile(_CHANCE, kept * df_agents / 2, kept * df_rest / 2))
    if mean_square < _NOTHING:
        return 0.0, False
    return sd, mean_square * df_agents * (1.0 - at) > residual * df_rest * at


def _epsilon(residuals: FloatArray) -> float:
    """Box's epsilon: 1 where residuals vary alike for all agents, down to 1/(agents - 1).

    `residuals`: those of the two-way table, shape (blocks, agents).
    """
    blocks, df_agents = residuals.shape[0], residuals.shape[1] - 1
    eigenvalues = np.linalg.svd(residuals, compute_uv=False) ** 2
    squares = float(np.sum(eigenvalues**2))
    if squares == 0.0:
        return 1.0
    biased = float(np.sum(eigenvalues)) ** 2 / squares  # (agents - 1) times the estimate of Greenhouse and Geisser
    left = df_agents * (blocks - 1 - biased)
    return min(1.0, (blocks * biased - 2) / left) if left > 0 else 1.0


def seen_overhead(condition: Condition, own: FloatArray, plain: FloatArray) -> Iterator[SeenOverhead]:
    """Whether agents, or hosts, see the same overhead; nothing where there is no whole repeat.

    `own`: logarithms of the condition's costs, shape (repeats, agents), NaN where there is none.
    """
    logs = own - plain
    logs = logs[np.isfinite(logs).all(axis=1)]
    if len(logs):
        yield SeenOverhead(condition, len(logs), tuple(np.exp(logs.mean(axis=0)).tolist()), *between(logs))


def _effects(panel: Panel, names: Sequence[str]) -> Iterator[SeenOverhead]:
    plain = _logs(panel, panel.conditions.index(panel.baseline), names)
    for at, condition in enumerate(panel.conditions):
        if condition.role in (Role.TREATMENT, Role.AA):
            yield from seen_overhead(condition, _logs(panel, at, names), plain)


def _logs(panel: Panel, at: int, names: Sequence[str]) -> FloatArray:
    """The logarithm of each agent's mean response time in each block; NaN where it has none."""
    rows = [[_response_ns(row[at].measurement.agents.get(name)) for name in names] for row in panel.trials]
    return np.log(np.array(rows, dtype=np.float64).reshape(len(panel.trials), len(names)))


def _response_ns(part: AgentPart | None) -> float:
    return part.response_total_ns / part.operations if part and part.operations and part.response_total_ns else np.nan


def _use(name: str, parts: Sequence[AgentPart]) -> AgentUse:
    return AgentUse(
        agent=name,
        nodes=tuple(dict.fromkeys(part.node for part in parts)),
        operations=sum(part.operations for part in parts),
        cpu_share=Typical.of(part.cpu_share for part in parts),
        late_seconds=Typical.of(part.began_ns * _NS for part in parts),
        waited_seconds=Typical.of(part.waited_ns * _NS for part in parts),
    )


# Hosts that twins change between: how much one costs over another, and whether overheads are the same on all.
#
# The effect of a host on all that it runs is in the model of the verdicts (`tdelta.inference.rounds`), and shown here.
# That model has no *interaction*: a host on which encryption costs another share. That is looked for
# in the rounds that have a plain and an encrypted twin on every host: with d the log of a host's ratio in a round, d[r,
# h] = mean + round[r] + host[h] + residual[r, h], as for load agents (`tdelta.inference.agents.between`). Twins of one
# host differ by their instance effects, too, which are in the residual.
#
# Limits: a crossover without an A/A and a B/B twin has no such rounds; interaction and round are one there.


def hosts_of(fit: CostFit, tolerance: float) -> Hosts | None:
    """The effects of the hosts of a run, by its primary metric; None where its twins do not change hosts."""
    parts = [(fitted, contrasts) for fitted, contrasts in fit.parts if fitted.means.hosts is not None]
    if not parts:
        return None
    names = parts[0][0].panel.host_names
    return Hosts(
        names=names,
        effects=tuple(effect for fitted, found in parts for effect in _host_effects(fitted, found, tolerance)),
        overheads=tuple(one for fitted, found in parts for one in _overheads(fitted, found)),
        confounded=tuple(condition for fitted, found in parts for condition in _confounded(fitted, found)),
    )


def host_cautions(found: Hosts | None) -> Iterator[Caution]:
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


def _host_effects(fitted: Fitted, contrasts: Contrasts, tolerance: float) -> Iterator[HostEffect]:
    names, baseline = fitted.panel.host_names, fitted.panel.baseline
    for number in range(1, fitted.means.host_count):
        found = posterior(contrasts.host(number)).estimate(tolerance)
        yield HostEffect(baseline, names[number], names[0], len(fitted.means.means), found)


def _overheads(fitted: Fitted, contrasts: Contrasts) -> Iterator[SeenOverhead]:
    plain = _by_host(fitted, contrasts.thetas == 0)
    for theta, condition in _compared(fitted, contrasts):
        yield from seen_overhead(condition, _by_host(fitted, contrasts.thetas == theta), plain)


def _compared(fitted: Fitted, contrasts: Contrasts) -> Iterator[tuple[int, Condition]]:
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
