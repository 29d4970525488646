"""Costs of a panel, fitted: which conditions and blocks a cost can use, both stages, and the stalls between them.

A block that lacks a condition says nothing that survives drift, so a stratum uses its complete blocks only; what is
left out is counted, never hidden, and stays in the store.

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
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tdelta.errors import Defect
from tdelta.inference.noise import Design, InstanceMeans, fit_instances
from tdelta.inference.posterior import FloatArray, Mixture, Posterior, posterior, shifted
from tdelta.inference.rounds import Contrasts, fit_rounds, wandering_sd
from tdelta.inference.stalls import Events, Shift, events_of, shifts
from tdelta.records import Condition, InstanceEffectPrior, Measurement, Metric, Role, RunSettings, Trial
from tdelta.records.trials import by_condition

_US_PER_SECOND = 1e6
_NS_PER_US = 1e3
_LEAST_LEFT = 0.02


@dataclass(frozen=True, slots=True)
class Panel:
    """The complete blocks of one stratum, B blocks of K conditions, and the B/B twins that ran in them."""

    stratum: int
    conditions: tuple[Condition, ...]
    """K conditions in the design's order, one of them the baseline; B/B twins are not among them."""
    trials: tuple[tuple[Trial, ...], ...]  # B rows of K trials, blocks in order
    rounds: NDArray[np.intp]  # shape (B,), the round of each block, not decreasing
    incomplete: int  # blocks left out because a condition is missing or finished no operation
    twins: tuple[Condition, ...] = ()  # the B/B twins that ran in any of these blocks, in the design's order
    twin_trials: tuple[tuple[Trial | None, ...], ...] = ()
    after_encrypted: frozenset[tuple[int, int, int]] = frozenset()
    """Round, block and position of each trial of the run that an encrypted twin's came right before."""

    @property
    def baseline(self) -> Condition:
        return next(c for c in self.conditions if c.role is Role.BASELINE)

    @property
    def round_count(self) -> int:
        return len(np.unique(self.rounds))

    @property
    def rows(self) -> list[tuple[Trial | None, ...]]:
        """B rows of the conditions' trials and the twins'."""
        return [(*row, *more) for row, more in zip(self.trials, self.twin_trials, strict=True)]

    @property
    def places(self) -> NDArray[np.intp]:
        """At which place of the stratum's part of its block each trial ran, shape (B, K + twins); 0 for none."""
        at = np.array([[np.nan if t is None else t.position for t in row] for row in self.rows], dtype=np.float64)
        return places_among(at.reshape(len(self.trials), -1))

    @property
    def follows(self) -> FloatArray:
        """1 for each trial that an encrypted twin's came right before, else 0; shape (B, K + twins)."""
        after = self.after_encrypted
        is_after = [[t is not None and (t.round, t.block, t.position) in after for t in row] for row in self.rows]
        return np.array(is_after, dtype=np.float64).reshape(len(self.trials), -1)

    @property
    def host_names(self) -> tuple[str, ...]:
        """The hosts on which trials ran, by name; one, without a name, where twins do not change hosts."""
        return tuple(sorted({trial.measurement.host for row in self.rows for trial in row if trial is not None}))

    @property
    def hosts(self) -> NDArray[np.intp]:
        """On which of `host_names` each trial ran, shape (B, K + twins); -1 for none."""
        number = {name: at for at, name in enumerate(self.host_names)}
        at = [[-1 if t is None else number[t.measurement.host] for t in row] for row in self.rows]
        return np.array(at, dtype=np.intp).reshape(len(self.trials), -1)

    def where(self, *roles: Role) -> NDArray[np.bool_]:
        return np.array([c.role in roles for c in self.conditions], dtype=np.bool_)


def places_among(positions: FloatArray) -> NDArray[np.intp]:
    """The order of each row's positions, from 0; those that are NaN are passed over, and 0."""
    order = np.argsort(np.argsort(positions, axis=1), axis=1)
    return np.asarray(np.where(np.isnan(positions), 0, order), dtype=np.intp)


def panels(trials: Iterable[Trial], settings: RunSettings) -> tuple[Panel, ...]:
    """One panel a stratum, in the order of strata. Raises `TdeltaError`: if one has not exactly one baseline."""
    by_stratum: dict[int, list[Condition]] = {}
    for condition in settings.conditions:
        by_stratum.setdefault(condition.stratum, []).append(condition)
    ordered = sorted(trials, key=lambda trial: (trial.round, trial.block, trial.position))
    blocks, after = _by_block(ordered), _after_encrypted(ordered)
    return tuple(
        replace(_panel(stratum, tuple(of), blocks), after_encrypted=after) for stratum, of in sorted(by_stratum.items())
    )


def _after_encrypted(ordered: Sequence[Trial]) -> frozenset[tuple[int, int, int]]:
    """Where an encrypted twin ran right before on that host; a round's warm-up is not stored and counts as plain."""
    return frozenset(
        (later.round, later.block, later.position)
        for earlier, later in pairwise(ordered)
        if not earlier.condition.is_plain
        and earlier.round == later.round
        and earlier.measurement.host == later.measurement.host
    )


def _by_block(trials: Iterable[Trial]) -> dict[tuple[int, int], dict[str, Trial | None]]:
    blocks: dict[tuple[int, int], dict[str, Trial | None]] = {}
    for trial in trials:
        found = trial if trial.measurement.operations > 0 else None
        blocks.setdefault((trial.round, trial.block), {})[trial.condition.key] = found
    return dict(sorted(blocks.items()))


def _panel(
    stratum: int, conditions: tuple[Condition, ...], blocks: Mapping[tuple[int, int], Mapping[str, Trial | None]]
) -> Panel:
    baselines = sum(c.role is Role.BASELINE for c in conditions)
    if baselines != 1:
        raise Defect(f"stratum {stratum}: expected one baseline (cipher none), found {baselines}")
    always = tuple(c for c in conditions if c.role is not Role.BB)
    keys = [c.key for c in always]
    own = {at: [block.get(key) for key in keys] for at, block in blocks.items()}
    complete = {at: tuple(t for t in of if t is not None) for at, of in own.items() if None not in of}
    twins = tuple(
        c for c in conditions if c.role is Role.BB and any(blocks[at].get(c.key) is not None for at in complete)
    )
    return Panel(
        stratum=stratum,
        conditions=always,
        trials=tuple(complete.values()),
        rounds=np.array([round_ for round_, _ in complete], dtype=np.intp),
        incomplete=len(own) - len(complete),
        twins=twins,
        twin_trials=tuple(tuple(blocks[at].get(c.key) for c in twins) for at in complete),
    )


def places(found: Sequence[Panel]) -> dict[int, str]:
    """The prefix of a remark on a stratum: ``threads 16, cache 0.1: ``; nothing where there is only one.

    Only factors that differ between strata are named, the cipher not being one of them.
    """
    levels = {panel.stratum: dict(panel.baseline.levels) for panel in found}
    varied = [name for name in next(iter(levels.values()), {}) if len({of.get(name) for of in levels.values()}) > 1]
    named = {
        stratum: ", ".join(f"{name.replace('_', ' ')} {of[name]}" for name in varied if name in of)
        for stratum, of in levels.items()
    }
    return {stratum: f"{name}: " if name else "" for stratum, name in named.items()}


def cost(measurement: Measurement, metric: Metric) -> float:
    match metric:
        case Metric.RESPONSE_TIME:
            return undelayed_share(measurement) * measurement.response_ns / _NS_PER_US
        case Metric.TIME_WITH_CHECKPOINT:
            if not measurement.checkpoint.ns:
                return 0.0
            total = sum(spans.total_ns for spans in measurement.transactions.values())
            delay = (1.0 - undelayed_share(measurement)) * total
            return (measurement.elapsed_ns - delay + measurement.checkpoint.ns) / measurement.operations / _NS_PER_US
        case Metric.CPU_PER_OPERATION:
            return measurement.cpu_seconds * _US_PER_SECOND / measurement.operations
        case Metric.READ_BYTES_PER_OPERATION:
            return measurement.usage.syscall_read_bytes / measurement.counted_operations
        case Metric.WRITTEN_BYTES_PER_OPERATION:
            return measurement.usage.syscall_written_bytes / measurement.counted_operations


def undelayed_share(measurement: Measurement) -> float:
    """The share of a trial's response time that is left without other programs' keeping the database from a CPU.

    1 where it cannot be told that it was others (`tdelta.processes.answers`). The delay is of the whole recorded
    stretch, a little of which lies between operations, hence the floor.
    """
    total = sum(spans.total_ns for spans in measurement.transactions.values())
    if not measurement.delays.others_delay_ns or not total:
        return 1.0
    return max(_LEAST_LEFT, 1.0 - measurement.delays.others_delay_ns / total)


def transaction_cost(measurement: Measurement, transaction: str) -> float:
    """Mean response time of one transaction type in a trial, microseconds; 0 if it did not run.

    Other programs' delay is known of the trial as a whole, and taken from every type alike.
    """
    spans = measurement.transactions.get(transaction)
    if not spans or not spans.count:
        return 0.0
    return undelayed_share(measurement) * spans.total_ns / spans.count / _NS_PER_US


def plain_shares(panel: Panel, names: Sequence[str]) -> FloatArray:
    """Each transaction type's share of the time of these types on the plain twins, shape (T,)."""
    plain = [t.measurement for row in panel.trials for t in row if t.condition.role in (Role.BASELINE, Role.AA)]
    totals = np.zeros(len(names))
    for one in plain:
        spans = [one.transactions.get(name) for name in names]
        totals += undelayed_share(one) * np.array([0 if of is None else of.total_ns for of in spans])
    return np.asarray(totals / totals.sum(), dtype=np.float64)


def metric_costs(panel: Panel, metric: Metric) -> FloatArray:
    return table(panel, lambda measurement: cost(measurement, metric))


def twin_table(panel: Panel, of: Callable[[Measurement], float]) -> FloatArray:
    rows = [[np.nan if t is None else of(t.measurement) for t in row] for row in panel.twin_trials]
    return np.array(rows, dtype=np.float64).reshape(len(panel.trials), len(panel.twins))


def table(panel: Panel, of: Callable[[Measurement], float]) -> FloatArray:
    rows = [[of(trial.measurement) for trial in row] for row in panel.trials]
    return np.array(rows, dtype=np.float64).reshape(len(panel.trials), len(panel.conditions))


def transactions(found: Sequence[Panel]) -> tuple[str, ...]:
    trials = (trial for panel in found for row in panel.trials for trial in row)
    names = sorted({name for t in trials for name, spans in t.measurement.transactions.items() if spans.count})
    return tuple(names) if len(names) > 1 else ()


def actual_ratio(trials: Iterable[Trial], metric: Metric) -> float | None:
    """The true quotient of an injected twin, from what its own trials lost on purpose; None where it is not known.

    A server's client sleeps: that is in the response time, and in no CPU time.
    """
    found = [trial.measurement for trial in trials]
    is_server = any(m.client_cpu_seconds > 0.0 for m in found)
    match metric:
        case Metric.CPU_PER_OPERATION if is_server:
            return None
        case Metric.CPU_PER_OPERATION:
            injected = sum(m.injected.cpu_ns for m in found) / 1e9
            total = sum(m.cpu_seconds for m in found)
        case Metric.RESPONSE_TIME:
            injected = float(sum(m.injected.elapsed_ns for m in found))
            total = float(sum(s.total_ns for m in found for s in m.transactions.values()))
        case _:
            return None
    return 1.0 + injected / (total - injected) if total > injected else None


# Costs that come in steps, as of a clock or a counter that is coarse: what they leave open of a mean.
#
# Trials are timed to the nanosecond, so no two of them cost the same but by chance. Where half of them do,
# the figure behind them has steps: a mean may be off by half of one where all trials of a twin lie in it;
# where they spread over several, what is off cancels.

_REPEATED = 0.5
"""The share of distinct costs from which on steps are none: of more, those that are alike are so by chance."""

_NOT_KNOWN = 1.0
"""The step, in logs, where all trials cost the same: nothing shows how far away the next value would be."""

_ALIKE = 12  # decimals of a logarithm that two equal costs have in common


def step_sd(costs: FloatArray) -> float:
    """How far off the log mean of a twin may be for the steps of its costs, as a standard deviation.

    `costs`: shape (blocks, twins), NaN where a twin took no part.
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
_LEAST_LOG = -200.0  # of a posterior relative to its peak: less counts as 0
PLAIN = (Role.BASELINE, Role.AA)  # the twins at theta = 0: both plain ones together are the baseline

_OF_PLAIN_KIND = (Role.BASELINE, Role.AA, Role.IDENTICAL, Role.INJECTED)
"""Whose trials scatter, and whose instances differ, as plain ones do."""


@dataclass(frozen=True)
class Fitted:
    """One cost of one panel after stage 1."""

    panel: Panel
    costs: FloatArray
    """Shape (b, k + t), the costs used, in the metric's unit: conditions, then B/B twins (NaN where absent)."""
    used: NDArray[np.bool_]  # shape (K,), which of the panel's conditions have a ratio
    blocks: NDArray[np.bool_]  # shape (B,), which of the panel's blocks were used
    twins: tuple[Condition, ...]  # the B/B twins used, t of them
    means: InstanceMeans
    is_counted: bool = False  # whether costs are exact counts, and no times

    @cached_property
    def step_sd(self) -> float:
        """The sd of a log mean due to the steps of the costs; counts of bytes are exact, however often alike."""
        return 0.0 if self.is_counted else step_sd(self.costs)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        return tuple(c for c, used in zip(self.panel.conditions, self.used, strict=True) if used)

    @property
    def own_costs(self) -> FloatArray:
        return self.costs[:, : len(self.conditions)]

    @property
    def columns(self) -> tuple[Condition, ...]:
        return (*self.conditions, *self.twins)

    def plain(self, *roles: Role) -> NDArray[np.bool_]:
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


def _fitted(
    panel: Panel, of: Callable[[Measurement], float], *, is_counted: bool = False, drops_blocks: bool = False
) -> Fitted | None:
    """Stage 1 of one cost; None where fewer than two conditions, or no block, have it.

    A condition that ever cost nothing is left out, or, with ``drops_blocks``, the block.
    """
    costs, own = table(panel, of), twin_table(panel, of)
    used, blocks = (np.ones(count, dtype=np.bool_) for count in costs.T.shape)
    if drops_blocks:
        blocks &= (costs > 0).all(axis=1) & ~(own <= 0).any(axis=1)
    else:
        used &= (costs > 0).all(axis=0)
    if used.sum() < 2 or not blocks.any() or not used[panel.where(Role.BASELINE)].all():
        return None
    conditions = tuple(c for c, is_used in zip(panel.conditions, used, strict=True) if is_used)
    own = own[blocks]
    ran = ~np.isnan(own)
    is_kept = [
        treatment_of(c) in conditions and bool(ran[:, at].any()) and bool((own[ran[:, at], at] > 0).all())
        for at, c in enumerate(panel.twins)
    ]
    kept = np.flatnonzero(is_kept)
    twins = tuple(panel.twins[at] for at in kept)
    costs = np.concatenate([costs[np.ix_(blocks, used)], own[:, kept]], axis=1)
    columns = np.concatenate([np.flatnonzero(used), len(panel.conditions) + kept])
    rounds = np.unique(panel.rounds[blocks], return_inverse=True)[1]
    placed = places_among(np.where(np.isnan(costs), np.nan, panel.places[blocks][:, columns]))
    design = Design(rounds, placed, _kinds((*conditions, *twins)), panel.follows[blocks][:, columns])
    means = fit_instances(np.log(costs), design)
    if len(panel.host_names) > 1:
        found = panel.hosts[blocks][:, columns]
        firsts = [np.flatnonzero(rounds == number) for number in range(int(rounds.max()) + 1)]
        means = replace(means, hosts=np.array([found[of].max(axis=0) for of in firsts], dtype=np.intp))
    return Fitted(panel, costs, used, blocks, twins, means, is_counted)


def _kinds(columns: Sequence[Condition]) -> NDArray[np.intp]:
    """The kind of each column: 0 for plain ones, a number of its own for each treatment and its B/B twin."""
    kinds: dict[Condition, int] = {}
    for condition in columns:
        if condition.role not in _OF_PLAIN_KIND:
            kinds.setdefault(treatment_of(condition), 1 + len(kinds))
    return np.array([kinds.get(treatment_of(c), 0) for c in columns], dtype=np.intp)


@dataclass(frozen=True)
class Answer:
    """The data's estimate of one condition's cost over the baseline's, before the prior."""

    fitted: Fitted
    condition: Condition
    typical: Mixture  # the log ratio of typical trials
    shift: Shift  # how far the log ratio of means lies above it
    events: Events  # of the condition's own trials
    plain_events: Events
    wanders: bool = False
    """Whether the condition's overhead changes over blocks in a way that lasts
    (`tdelta.inference.rounds.wandering_sd`)."""

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
        return posterior(self.typical)

    @cached_property
    def posterior(self) -> Posterior:
        return shifted(self.typical_posterior, self.shift.points, self.shift.weights)


@dataclass(frozen=True, slots=True)
class CostFit:
    """One cost over the strata that have it, after stage 2."""

    parts: tuple[tuple[Fitted, Contrasts], ...]
    """The strata, each with its contrasts; empty where the cost has no ratio anywhere."""
    plain: tuple[Role, ...]  # the roles that made the baseline, at theta = 0
    instance_sd: float  # posterior median of an instance's effect, a share; 0 where there are no parts
    instance_effect: InstanceEffectPrior | None = None

    def answers(self) -> Iterator[Answer]:
        for fitted, contrasts in self.parts:
            yield from _answers(fitted, contrasts)

    def data(self) -> Iterator[tuple[Fitted, Condition, Mixture]]:
        """Every condition beside the baseline, with what the data say of the log of its ratio of means."""
        for answer in self.answers():
            yield answer.fitted, answer.condition, answer.mixture

    def without_round(self, number: int) -> CostFit:
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
    def of(m: Metric) -> Iterator[Fitted]:
        fitted = (_fitted(panel, lambda one: cost(one, m), is_counted=m.unit == _BYTES) for panel in found)
        return (one for one in fitted if one is not None)

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

    `costs`: by name, what a trial cost; 0 where it has none of it. A block in which any trial has none is left out.
    """

    def fitted(of: Callable[[Measurement], float]) -> Iterator[Fitted]:
        return (one for panel in found if (one := _fitted(panel, of, drops_blocks=True)) is not None)

    return {name: fit_strata(fitted(of), *PLAIN) for name, of in costs.items()}


@dataclass(frozen=True, slots=True)
class PairedRatios:
    """One condition's cost over the baseline's in every complete block: what was compared, before any model."""

    condition: Condition
    """A judged condition, over the geometric mean of the plain twins of its block; or an A/A twin, over the other plain
    twin."""
    rounds: NDArray[np.intp]  # shape (b,), the round of each block, not decreasing
    blocks: NDArray[np.intp]
    started_unix_seconds: FloatArray
    ratio: FloatArray  # shape (b,), quotients


def paired_ratios(trials: Iterable[Trial], settings: RunSettings) -> tuple[PairedRatios, ...]:
    """Each complete block's ratios of the primary metric, judged conditions first, then A/A copies.

    Conditions that cost nothing in some block have no ratio and are left out. Raises `TdeltaError`: if a stratum has
    not exactly one baseline.
    """
    found = {p.condition.key: p for panel in panels(trials, settings) for p in _paired(panel, settings)}
    judged = [c for c in settings.conditions if c.role.is_judged]
    twins = [c for c in settings.conditions if c.role is Role.AA]
    return tuple(found[c.key] for c in (*judged, *twins) if c.key in found)


def complete_blocks(trials: Iterable[Trial], settings: RunSettings) -> frozenset[tuple[int, str]]:
    """The (block, condition key) of every trial that the verdicts rest on: those of complete blocks.

    Raises `TdeltaError`: if a stratum has not exactly one baseline.
    """
    used = (trial for panel in panels(trials, settings) for row in panel.trials for trial in row)
    return frozenset((trial.block, trial.condition.key) for trial in used)


def in_complete_blocks(trials: Sequence[Trial], settings: RunSettings) -> dict[str, list[Measurement]]:
    """Measurements of each condition in trials that the verdicts rest on, by the condition's key."""
    used = complete_blocks(trials, settings)
    return by_condition(trial for trial in trials if (trial.block, trial.condition.key) in used)


def _paired(panel: Panel, settings: RunSettings) -> Iterator[PairedRatios]:
    if not panel.trials:
        return
    costs = metric_costs(panel, settings.metric)
    used = np.asarray((costs > 0).all(axis=0), dtype=np.bool_)
    plain = panel.where(*PLAIN) & used
    baseline = panel.where(Role.BASELINE)
    if not used[baseline].all():
        return
    blocks = np.array([row[0].block for row in panel.trials], dtype=np.intp)
    started = np.array([row[0].started_unix_seconds for row in panel.trials], dtype=np.float64)
    for at, condition in enumerate(panel.conditions):
        if used[at] and condition.role is not Role.BASELINE:
            over = baseline if condition.role is Role.AA else plain
            log_ratio = np.log(costs[:, at]) - np.log(costs[:, over]).mean(axis=1)
            yield PairedRatios(condition, panel.rounds, blocks, started, np.exp(log_ratio))
