"""Costs of a panel, fitted: which conditions and blocks a cost can use, both stages, and the stalls between them.

A ratio needs costs above zero. A condition that ever cost nothing (a twin that read no byte, all being cached) has none
for that metric; a transaction type that did not run in a block says nothing in it. Work is drawn by (block, k) alone,
so leaving such a block out does not select on the outcome.

The columns of a fit are the conditions that are used, then the B/B twins of those: a treatment and its B/B twin share a
theta, as the baseline and its A/A twin do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tdelta.inference.costs import Panel, cost, places_among, table, transaction_cost, transactions, twin_table
from tdelta.inference.noise import Design, InstanceMeans, fit_instances
from tdelta.inference.posterior import FloatArray, Mixture, Posterior, posterior, shifted
from tdelta.inference.round_effect import wandering_sd
from tdelta.inference.rounds import Contrasts, fit_rounds
from tdelta.inference.stalls import Events, Shift, events_of, shifts
from tdelta.records import Condition, InstanceEffectPrior, Measurement, Metric, Role

# Costs that come in steps, as of a clock or a counter that is coarse: what they leave open of a mean.
#
# Trials are timed to the nanosecond, so no two of them cost the same but by chance. Where half of them do,
# the figure behind them has steps: a mean may be off by half of one where all trials of a twin lie in it;
# where they spread over several, what is off cancels.

_REPEATED = 0.5
"""The share of distinct costs from which on steps are none: of more, those that are alike are so by chance."""

_NOT_KNOWN = 1.0
"""The step, in logs, where all trials cost the same: nothing shows how far away the next value would be."""

_ALIKE = 12
"""Decimals of a logarithm that two equal costs have in common."""


def step_sd(costs: FloatArray) -> float:
    """How far off the log mean of a twin may be for the steps of its costs, as a standard deviation.

    Args:
        costs: shape (blocks, twins), NaN where a twin took no part.
    """
    logs = np.round(np.log(costs), _ALIKE)
    distinct = np.unique(logs[np.isfinite(logs)])
    if len(distinct) > _REPEATED * np.isfinite(logs).sum():
        return 0.0
    step = float(np.diff(distinct).min()) if len(distinct) > 1 else _NOT_KNOWN
    columns = [column[np.isfinite(column)] for column in logs.T]
    fullest = max(float(np.unique(it, return_counts=True)[1].max()) / len(it) for it in columns if len(it))
    return 0.5 * step * fullest**2 / float(np.sqrt(3.0))


_BYTES = "bytes"
_LEAST_LOG = -200.0
"""Of a posterior relative to its peak: less counts as 0."""
PLAIN = (Role.BASELINE, Role.AA)
"""The twins at theta = 0: both plain ones together are the baseline."""

_OF_PLAIN_KIND = (Role.BASELINE, Role.AA, Role.IDENTICAL, Role.INJECTED)
"""Whose trials scatter, and whose instances differ, as plain ones do."""


@dataclass(frozen=True)
class Fitted:
    """One cost of one panel after stage 1.

    Attributes:
        panel: where it comes from.
        costs: shape (b, k + t), the costs used, in the metric's unit: conditions, then B/B twins (NaN where absent).
        used: shape (K,), which of the panel's conditions have a ratio.
        blocks: shape (B,), which of the panel's blocks were used.
        twins: the B/B twins used, t of them.
        means: stage 1's answer for these columns.
        is_counted: whether costs are exact counts, and no times.
    """

    panel: Panel
    costs: FloatArray
    used: NDArray[np.bool_]
    blocks: NDArray[np.bool_]
    twins: tuple[Condition, ...]
    means: InstanceMeans
    is_counted: bool = False

    @cached_property
    def step_sd(self) -> float:
        """What the steps of the costs leave open of a log mean; counts of bytes are exact, however often alike."""
        return 0.0 if self.is_counted else step_sd(self.costs)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """The used conditions, without B/B twins, in the design's order."""
        return tuple(c for c, used in zip(self.panel.conditions, self.used, strict=True) if used)

    @property
    def own_costs(self) -> FloatArray:
        """The costs of the conditions alone, shape (b, k)."""
        return self.costs[:, : len(self.conditions)]

    @property
    def columns(self) -> tuple[Condition, ...]:
        """What each column of the fit is of."""
        return (*self.conditions, *self.twins)

    def plain(self, *roles: Role) -> NDArray[np.bool_]:
        """Which of the columns play these roles, shape (k + t,)."""
        return np.array([c.role in roles for c in self.columns], dtype=np.bool_)

    def free(self, *plain: Role) -> tuple[Condition, ...]:
        """The used conditions beside the plain ones, in the order of the thetas; B/B twins are not among them."""
        return tuple(c for c in self.conditions if c.role not in plain)

    def thetas(self, *plain: Role) -> NDArray[np.intp]:
        """Which theta each column has: 0 for plain ones, 1 … J for the free conditions, a B/B twin its treatment's."""
        number = {c: at for at, c in enumerate(self.free(*plain), start=1)}
        return np.array([number.get(treatment_of(c), 0) for c in self.columns], dtype=np.intp)

    @property
    def influence(self) -> FloatArray:
        """Each trial's influence, shape (B, K) of the whole panel's conditions, 0 where it was not used."""
        whole = np.zeros((len(self.blocks), len(self.used)))
        whole[np.ix_(self.blocks, self.used)] = self.means.influence[:, : int(self.used.sum())]
        return whole

    @property
    def baseline_value(self) -> float:
        """Mean cost of the plain twins, both where there are two, in the metric's unit."""
        return float(self.costs[:, self.plain(*PLAIN)].mean())

    @property
    def round_numbers(self) -> tuple[int, ...]:
        """The run's number of each round of the fit, from 0."""
        return tuple(int(number) for number in np.unique(self.panel.rounds[self.blocks]))

    def without_round(self, number: int) -> Fitted:
        """The same without the run's round of this number; as it is where that is its only one, or none of its own."""
        numbers = self.round_numbers
        if number not in numbers or len(numbers) == 1:
            return self
        return replace(self, means=self.means.without_round(numbers.index(number)))


def treatment_of(condition: Condition) -> Condition:
    """The condition itself, or of a B/B twin the treatment whose twin it is."""
    return replace(condition, role=Role.TREATMENT) if condition.role is Role.BB else condition


@dataclass(frozen=True, slots=True)
class Selected:
    """A cost of a panel, and which part of it has a ratio; ``twins`` are the costs of its B/B twins."""

    costs: FloatArray
    twins: FloatArray
    used: NDArray[np.bool_]
    blocks: NDArray[np.bool_]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to compare: fewer than two conditions, or no block."""
        return int(self.used.sum()) < 2 or not self.blocks.any()


def fit_panel(panel: Panel, selected: Mapping[str, Selected]) -> dict[str, Fitted]:
    """Stage 1 for many costs of a panel.

    Returns:
        By the same names, those that have anything to compare.
    """
    return {name: _fitted(panel, part) for name, part in selected.items() if not part.is_empty}


def _fitted(panel: Panel, part: Selected) -> Fitted:
    used_keys = {c for c, used in zip(panel.conditions, part.used, strict=True) if used}
    own = part.twins[part.blocks]
    ran = ~np.isnan(own)
    is_kept = [
        treatment_of(c) in used_keys and bool(ran[:, at].any()) and bool((own[ran[:, at], at] > 0).all())
        for at, c in enumerate(panel.twins)
    ]
    kept = np.flatnonzero(is_kept)
    twins = tuple(panel.twins[at] for at in kept)
    costs = np.concatenate([part.costs[np.ix_(part.blocks, part.used)], own[:, kept]], axis=1)
    columns = np.concatenate([np.flatnonzero(part.used), len(panel.conditions) + kept])
    rounds = np.unique(panel.rounds[part.blocks], return_inverse=True)[1]
    placed = places_among(np.where(np.isnan(costs), np.nan, panel.places[part.blocks][:, columns]))
    conditions = tuple(c for c, used in zip(panel.conditions, part.used, strict=True) if used)
    follows = panel.follows[part.blocks][:, columns]
    design = Design(rounds, placed, _kinds((*conditions, *twins)), follows)
    means = fit_instances(np.log(costs), design)
    found = panel.hosts[part.blocks][:, columns]
    if len(panel.host_names) > 1:
        firsts = [np.flatnonzero(rounds == number) for number in range(int(rounds.max()) + 1)]
        means = replace(means, hosts=np.array([found[of].max(axis=0) for of in firsts], dtype=np.intp))
    return Fitted(panel, costs, part.used, part.blocks, twins, means)


def _kinds(columns: Sequence[Condition]) -> NDArray[np.intp]:
    """The kind of each column: 0 for plain ones, a number of its own for each treatment and its B/B twin."""
    kinds: dict[Condition, int] = {}
    for condition in columns:
        if condition.role not in _OF_PLAIN_KIND:
            kinds.setdefault(treatment_of(condition), 1 + len(kinds))
    return np.array([kinds.get(treatment_of(c), 0) for c in columns], dtype=np.intp)


@dataclass(frozen=True)
class Answer:
    """What the data say of one condition's cost over the baseline's, before the prior.

    Attributes:
        fitted: the stratum.
        condition: which one.
        typical: the log ratio of typical trials.
        shift: how far the log ratio of means lies above it.
        events: of the condition's own trials.
        plain_events: of the plain twins'.
        wanders: whether the condition's overhead changes over blocks in a way that lasts
            (`tdelta.inference.round_effect.wandering_sd`).
    """

    fitted: Fitted
    condition: Condition
    typical: Mixture
    shift: Shift
    events: Events
    plain_events: Events
    wanders: bool = False

    @cached_property
    def mixture(self) -> Mixture:
        """The log ratio of means, with the shift's mean and variance added to every component."""
        return replace(
            self.typical,
            means=self.typical.means + self.shift.mean,
            sds=np.sqrt(self.typical.sds**2 + self.shift.variance),
        )

    @cached_property
    def typical_posterior(self) -> Posterior:
        """The typical log ratio's."""
        return posterior(self.typical)

    @cached_property
    def posterior(self) -> Posterior:
        """That of the log ratio of means."""
        return shifted(self.typical_posterior, self.shift.points, self.shift.weights)


@dataclass(frozen=True, slots=True)
class CostFit:
    """One cost over the strata that have it, after stage 2.

    Attributes:
        parts: the strata, each with its contrasts; empty where the cost has no ratio anywhere.
        plain: the roles that made the baseline, at theta = 0.
        instance_sd: posterior median of an instance's effect, a share; 0 where there are no parts.
        instance_effect: the prior that a calibration gave of it; None without one.
    """

    parts: tuple[tuple[Fitted, Contrasts], ...]
    plain: tuple[Role, ...]
    instance_sd: float
    instance_effect: InstanceEffectPrior | None = None

    def answers(self) -> Iterator[Answer]:
        """Every condition beside the baseline, with what the data say of it."""
        for fitted, contrasts in self.parts:
            yield from _answers(fitted, contrasts)

    def data(self) -> Iterator[tuple[Fitted, Condition, Mixture]]:
        """Every condition beside the baseline, with what the data say of the log of its ratio of means."""
        for answer in self.answers():
            yield answer.fitted, answer.condition, answer.mixture

    def without_round(self, number: int) -> CostFit:
        """The same without the run's round of this number, from 0."""
        return fit_strata(
            (fitted.without_round(number) for fitted, _ in self.parts),
            *self.plain,
            instance_effect=self.instance_effect,
        )


def _answers(fitted: Fitted, contrasts: Contrasts) -> Iterator[Answer]:
    groups = [events_of(fitted.means, contrasts.thetas, theta) for theta in range(contrasts.conditions + 1)]
    free = [c for c in fitted.columns if contrasts.thetas[fitted.columns.index(c)]]
    named: dict[int, Condition] = {}
    for condition in free:
        named.setdefault(int(contrasts.thetas[fitted.columns.index(condition)]), condition)
    for at, shift in enumerate(shifts(groups)):
        typical = contrasts.mixture(at)
        sides = contrasts.thetas == at + 1, contrasts.thetas == 0
        wandering = wandering_sd(fitted.means, *sides)
        beside = 2.0 * fitted.step_sd**2 + wandering**2 + groups[at + 1].shared_variance + groups[0].shared_variance
        beside += fitted.means.carried_variance(*sides)
        typical = replace(typical, sds=np.sqrt(typical.sds**2 + beside))
        yield Answer(fitted, named[at + 1], typical, shift, groups[at + 1], groups[0], wandering > 0.0)


def fit_strata(strata: Iterable[Fitted], *plain: Role, instance_effect: InstanceEffectPrior | None = None) -> CostFit:
    """Stage 2 for one cost over its strata, the conditions of these roles being the baseline."""
    found = tuple(strata)
    return fit_labelled([(f, f.thetas(*plain)) for f in found], plain, instance_effect)


def fit_labelled(
    strata: Sequence[tuple[Fitted, NDArray[np.intp]]],
    plain: tuple[Role, ...],
    instance_effect: InstanceEffectPrior | None,
) -> CostFit:
    """Stage 2 where the caller says which theta each column has."""
    if not strata:
        return CostFit((), plain, 0.0, instance_effect)
    fit = fit_rounds([f.means for f, _ in strata], [thetas for _, thetas in strata], instance_effect)
    parts = tuple((f, found) for (f, _), found in zip(strata, fit.strata, strict=True))
    return CostFit(parts, plain, fit.instance_sd, instance_effect)


def fit_metrics(
    found: Sequence[Panel],
    metrics: Sequence[Metric],
    instance_effect: Callable[[Metric], InstanceEffectPrior | None] = lambda _metric: None,
) -> dict[Metric, CostFit]:
    """Fit metrics over the mix, both plain twins together being the baseline."""
    fitted = [fit_panel(panel, {m.value: _select_metric(panel, m) for m in metrics}) for panel in found]

    def of(m: Metric) -> Iterator[Fitted]:
        return (replace(f[m.value], is_counted=m.unit == _BYTES) for f in fitted if m.value in f)

    return {m: fit_strata(of(m), *PLAIN, instance_effect=instance_effect(m)) for m in metrics}


def fit_transactions(found: Sequence[Panel]) -> dict[str, CostFit]:
    """Fit the response time of each transaction type, before pooling; they share tau alone."""
    names = transactions(found)
    fits = fit_named(found, {name: lambda m, name=name: transaction_cost(m, name) for name in names})  # type: ignore[misc]
    return _with_common_instance_effects(fits)


def _with_common_instance_effects(fits: Mapping[str, CostFit]) -> dict[str, CostFit]:
    """The same fits of transaction types, with one tau for all, since they ran on the same instances.

    A few rounds may show much less than instances differ by, and of many types one does. So log tau has the mean of the
    types' log posteriors: no more than one type says where all say the same, and what is typical where they differ.
    """
    logs = {name: fit.parts[0][1].log_elsewhere + fit.parts[0][1].by_tau() for name, fit in fits.items() if fit.parts}
    if not logs:
        return dict(fits)
    known = {name: np.maximum(log - log.max(), _LEAST_LOG) for name, log in logs.items()}
    common = np.mean(list(known.values()), axis=0)

    def shared(name: str, fit: CostFit) -> CostFit:
        moved = common - known[name]
        parts = tuple((fitted, found.given(found.log_elsewhere + moved)) for fitted, found in fit.parts)
        return replace(fit, parts=parts)

    return {name: shared(name, fit) if name in known else fit for name, fit in fits.items()}


def fit_named(found: Sequence[Panel], costs: Mapping[str, Callable[[Measurement], float]]) -> dict[str, CostFit]:
    """Fit costs of the caller's own, both plain twins together being the baseline.

    Args:
        found: the panels.
        costs: by name, what a trial cost; 0 where it has none of it. A block in which any trial has none is left out.
    """
    fitted = [
        fit_panel(panel, {name: _where_all_cost(table(panel, of), twin_table(panel, of)) for name, of in costs.items()})
        for panel in found
    ]
    return {name: fit_strata((f[name] for f in fitted if name in f), *PLAIN) for name in costs}


def _where_all_cost(costs: FloatArray, twins: FloatArray) -> Selected:
    blocks = np.asarray((costs > 0).all(axis=1) & ~(twins <= 0).any(axis=1), dtype=np.bool_)
    return Selected(costs, twins, np.ones(costs.shape[1], dtype=np.bool_), blocks)


def _select_metric(panel: Panel, metric: Metric) -> Selected:
    def of(measurement: Measurement) -> float:
        return cost(measurement, metric)

    costs = table(panel, of)
    blocks = np.ones(len(costs), dtype=np.bool_)
    return Selected(costs, twin_table(panel, of), _usable_conditions(panel, costs), blocks)


def _usable_conditions(panel: Panel, costs: FloatArray) -> NDArray[np.bool_]:
    used = np.asarray((costs > 0).all(axis=0), dtype=np.bool_)
    return used if bool(used[panel.where(Role.BASELINE)].all()) else np.zeros_like(used)
