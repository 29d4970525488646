"""Load agents: how well they kept together, and whether they see the same overhead.

Every agent does the same segment of the same operations on every twin of a block, so what is slow about an agent is in
both sides of a ratio, and cancels. What does not cancel is an effect of the agent *on the ratio*: a client whose own
delays hide encryption, or add to it. That is a random effect of agents crossed with blocks: with d the logarithm of an
agent's ratio in a block, d[b, a] = mean + block[b] + agent[a] + residual[b, a] (two-way analysis of variance without
repeats; Scheffe 1959, The Analysis of Variance, chapter 7). Its standard deviation is told beside the verdict, whose
interval is for the mean of these agents and is not widened by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tdelta.inference.costs import Panel, panels
from tdelta.inference.posterior import FloatArray
from tdelta.inference.quantiles import beta_quantile
from tdelta.inference.serving import typical_of
from tdelta.messages import Caution
from tdelta.records import Role, RunSettings, Trial
from tdelta.records.agents import AgentEffect, AgentUse, LoadAgents
from tdelta.records.trials import AgentPart, overlap, skew_ns

_CHANCE = 0.99
_FEWEST_BLOCKS = 3
_NS = 1e-9
_NOTHING = 1e-24
"""What rounding makes of ratios that are equal."""


def load_agents(trials: Iterable[Trial], settings: RunSettings) -> LoadAgents | None:
    """What the agents of a run did; None where it had none."""
    of_agents = [trial for trial in trials if trial.measurement.agents]
    if not of_agents:
        return None
    parts = [trial.measurement.agents for trial in of_agents]
    names = sorted({name for one in parts for name in one}, key=lambda name: (len(name), name))
    return LoadAgents(
        trials=len(of_agents),
        overlap=typical_of([overlap(one) for one in parts]),
        skew_seconds=typical_of([skew_ns(one) * _NS for one in parts]),
        clock_error_seconds=max(part.clock_error_ns for one in parts for part in one.values()) * _NS,
        agents=tuple(_use(name, [one[name] for one in parts if name in one]) for name in names),
        effects=tuple(effect for panel in panels(of_agents, settings) for effect in _effects(panel, names)),
    )


def agent_cautions(found: LoadAgents | None) -> tuple[Caution, ...]:
    """What is to be said of a verdict whose agents see different overheads."""
    apart = [] if found is None else [effect for effect in found.effects if effect.is_apart]
    return tuple(
        Caution.of(
            "agents-differ",
            condition=effect.condition.key,
            low=100 * (min(effect.ratios) - 1),
            high=100 * (max(effect.ratios) - 1),
            sd=100 * effect.between_sd,
        )
        for effect in apart
    )


def between(logs: FloatArray) -> tuple[float, bool | None]:
    """The standard deviation of the agents' own effect, and whether it is beyond chance.

    Args:
        logs: the logarithm of each agent's ratio in each block, shape (blocks, agents).
    """
    blocks, agents = logs.shape
    if agents < 2 or blocks < _FEWEST_BLOCKS:
        return 0.0, None
    centred = logs - logs.mean(axis=1, keepdims=True)
    of_agents = centred.mean(axis=0)
    df_agents, df_rest = agents - 1, (agents - 1) * (blocks - 1)
    mean_square = blocks * float(np.sum(of_agents**2)) / df_agents
    residual = float(np.sum((centred - of_agents) ** 2)) / df_rest
    sd = float(np.sqrt(max(0.0, mean_square - residual) / blocks))
    at = float(beta_quantile(_CHANCE, df_agents / 2, df_rest / 2))
    if mean_square < _NOTHING:
        return 0.0, False
    return sd, mean_square * df_agents * (1.0 - at) > residual * df_rest * at


def _effects(panel: Panel, names: Sequence[str]) -> Iterable[AgentEffect]:
    plain = _logs(panel, panel.conditions.index(panel.baseline), names)
    for at, condition in enumerate(panel.conditions):
        if condition.role not in (Role.TREATMENT, Role.AA):
            continue
        logs = _logs(panel, at, names) - plain
        logs = logs[np.all(np.isfinite(logs), axis=1)]
        if len(logs):
            sd, is_apart = between(logs)
            ratios = tuple(float(ratio) for ratio in np.exp(logs.mean(axis=0)))
            yield AgentEffect(condition, len(logs), ratios, sd, is_apart)


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
        cpu_share=typical_of([part.cpu_share for part in parts]),
        late_seconds=typical_of([part.began_ns * _NS for part in parts]),
    )
