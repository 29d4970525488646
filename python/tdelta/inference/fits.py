"""Costs of a panel, fitted: which conditions and blocks a cost can use, stage 1, and the way to stage 2.

A ratio needs costs above zero. A condition that ever cost nothing (a twin that read no byte, all being cached) has none
for that metric; a transaction type that did not run in a block says nothing in it. Work is drawn by (block, k) alone,
so leaving such a block out does not select on the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tdelta.inference.costs import Panel, metric_costs, table, transaction_costs, transactions
from tdelta.inference.noise import InstanceMeans, fit_instances
from tdelta.inference.posterior import FloatArray, Mixture
from tdelta.inference.rounds import Contrasts, fit_rounds
from tdelta.records import Condition, LuckPrior, Measurement, Metric, Role

PLAIN = (Role.BASELINE, Role.AA)
"""The twins at theta = 0: both plain ones together are the baseline."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """One cost of one panel after stage 1.

    Attributes:
        panel: where it comes from.
        costs: shape (b, k), the costs used, in the metric's unit.
        used: shape (K,), which of the panel's conditions have a ratio.
        blocks: shape (B,), which of the panel's blocks were used.
        means: stage 1's answer for the used conditions.
    """

    panel: Panel
    costs: FloatArray
    used: NDArray[np.bool_]
    blocks: NDArray[np.bool_]
    means: InstanceMeans

    def plain(self, *roles: Role) -> NDArray[np.bool_]:
        """Which of the used conditions play these roles, shape (k,)."""
        return self.panel.where(*roles)[self.used]

    def free(self, *plain: Role) -> tuple[Condition, ...]:
        """The used conditions beside the plain ones, in the order of the thetas."""
        pairs = zip(self.panel.conditions, self.used, strict=True)
        return tuple(c for c, used in pairs if used and c.role not in plain)

    @property
    def influence(self) -> FloatArray:
        """Each trial's influence, shape (B, K) of the whole panel, 0 where it was not used."""
        whole = np.zeros((len(self.blocks), len(self.used)))
        whole[np.ix_(self.blocks, self.used)] = self.means.influence
        return whole

    @property
    def baseline_value(self) -> float:
        """Geometric mean cost of the plain twins, both where there are two, in the metric's unit."""
        plain = self.costs[:, self.plain(*PLAIN)]
        return float(np.exp(np.log(plain).mean()))


@dataclass(frozen=True, slots=True)
class Selected:
    """A cost of a panel, and which part of it has a ratio."""

    costs: FloatArray
    used: NDArray[np.bool_]
    blocks: NDArray[np.bool_]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to compare: fewer than two conditions, or no block."""
        return int(self.used.sum()) < 2 or not self.blocks.any()


def fit_panel(panel: Panel, selected: Mapping[str, Selected]) -> dict[str, Fitted]:
    """Stage 1 for many costs of a panel; costs that use the same trials are fitted together, which is faster.

    Returns:
        By the same names, those that have anything to compare.
    """
    alike: dict[tuple[bytes, bytes], list[str]] = {}
    for name, part in selected.items():
        if not part.is_empty:
            alike.setdefault((part.used.tobytes(), part.blocks.tobytes()), []).append(name)
    fitted: dict[str, Fitted] = {}
    for names in alike.values():
        used, blocks = selected[names[0]].used, selected[names[0]].blocks
        costs = np.array([selected[name].costs[np.ix_(blocks, used)] for name in names])
        answers = fit_instances(np.log(costs), panel.rounds[blocks])
        for name, own, means in zip(names, costs, answers, strict=True):
            fitted[name] = Fitted(panel, own, used, blocks, means)
    return fitted


@dataclass(frozen=True, slots=True)
class CostFit:
    """One cost over the strata that have it, after stage 2.

    Attributes:
        parts: the strata, each with its contrasts; empty where the cost has no ratio anywhere.
        plain: the roles that made the baseline, at theta = 0.
        luck_median: posterior median of an instance's luck, a share; 0 where there are no parts.
        luck: the prior that a calibration gave of it; None without one.
    """

    parts: tuple[tuple[Fitted, Contrasts], ...]
    plain: tuple[Role, ...]
    luck_median: float
    luck: LuckPrior | None = None

    def data(self) -> Iterator[tuple[Fitted, Condition, Mixture]]:
        """Every condition beside the baseline, with what the data say of its log ratio."""
        for fitted, contrasts in self.parts:
            for at, condition in enumerate(fitted.free(*self.plain)):
                yield fitted, condition, contrasts.mixture(at)


def fit_strata(strata: Iterable[Fitted], *plain: Role, luck: LuckPrior | None = None) -> CostFit:
    """Stage 2 for one cost over its strata, the conditions of these roles being the baseline."""
    found = tuple(strata)
    if not found:
        return CostFit((), plain, 0.0, luck)
    fit = fit_rounds([f.means for f in found], [f.plain(*plain) for f in found], luck=luck)
    return CostFit(tuple(zip(found, fit.strata, strict=True)), plain, fit.luck_median, luck)


def fit_metrics(
    found: Sequence[Panel],
    metrics: Sequence[Metric],
    luck: Callable[[Metric], LuckPrior | None] = lambda _metric: None,
) -> dict[Metric, CostFit]:
    """Fit metrics over the mix, both plain twins together being the baseline.

    Args:
        found: the panels.
        metrics: which metrics.
        luck: what a calibration knows of each metric's luck.
    """
    fitted = [fit_panel(panel, {m.value: _select_metric(panel, m) for m in metrics}) for panel in found]
    return {m: fit_strata((f[m.value] for f in fitted if m.value in f), *PLAIN, luck=luck(m)) for m in metrics}


def fit_transactions(found: Sequence[Panel]) -> dict[str, CostFit]:
    """Fit the response time of each transaction type on its own, before pooling."""
    names = transactions(found)
    fitted = [fit_panel(panel, {name: _select_transaction(panel, name) for name in names}) for panel in found]
    return {name: fit_strata((f[name] for f in fitted if name in f), *PLAIN) for name in names}


def fit_named(found: Sequence[Panel], costs: Mapping[str, Callable[[Measurement], float]]) -> dict[str, CostFit]:
    """Fit costs of the caller's own, both plain twins together being the baseline.

    Args:
        found: the panels.
        costs: by name, what a trial cost; 0 where it has none of it. A block in which any trial has none is left out.
    """
    fitted = [
        fit_panel(panel, {name: _where_all_cost(panel, table(panel, of)) for name, of in costs.items()})
        for panel in found
    ]
    return {name: fit_strata((f[name] for f in fitted if name in f), *PLAIN) for name in costs}


def _where_all_cost(panel: Panel, costs: FloatArray) -> Selected:
    blocks = np.asarray((costs > 0).all(axis=1), dtype=np.bool_)
    return Selected(costs, np.ones(len(panel.conditions), dtype=np.bool_), blocks)


def _select_metric(panel: Panel, metric: Metric) -> Selected:
    costs = metric_costs(panel, metric)
    return Selected(costs, _usable_conditions(panel, costs), np.ones(len(costs), dtype=np.bool_))


def _select_transaction(panel: Panel, name: str) -> Selected:
    return _where_all_cost(panel, transaction_costs(panel, name))


def _usable_conditions(panel: Panel, costs: FloatArray) -> NDArray[np.bool_]:
    used = np.asarray((costs > 0).all(axis=0), dtype=np.bool_)
    return used if bool(used[panel.where(Role.BASELINE)].all()) else np.zeros_like(used)
