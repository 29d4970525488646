"""From trials to verdicts: the entrance of this package, for a session as for showing a stored run again."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tdelta.design.actions import knobs_apart
from tdelta.inference.aa_check import alike_checks, noise_floors, with_invalid
from tdelta.inference.agents import host_cautions, hosts_of
from tdelta.inference.carry_over import carry_over_cautions, order_effect, with_carry_over
from tdelta.inference.decisions import (
    ENOUGH_ROUNDS,
    LEAST_WIDTH,
    interval_words,
    most_severe,
    percent_words,
    target_width,
    width,
)
from tdelta.inference.fits import (
    PLAIN,
    CostFit,
    Fitted,
    Panel,
    fit_metrics,
    fit_named,
    fit_transactions,
    panels,
    places,
    treatment_of,
)
from tdelta.inference.lost_trials import loss_cautions, one_sided_losses, with_losses
from tdelta.inference.posterior import FloatArray, Mixture, posterior, prior_alone
from tdelta.inference.rounds import INSTANCE_SD_SCALE, scale_for, shared_by_block, shared_by_round
from tdelta.inference.stalls import events_of
from tdelta.inference.verdicts import metric_verdicts, primary_verdicts, transaction_verdicts, with_single_rounds
from tdelta.messages import Caution
from tdelta.records import (
    CarryOver,
    Condition,
    Contrast,
    Decision,
    Estimate,
    Hosts,
    InstanceEffectPrior,
    Measurement,
    Metric,
    NoiseFloor,
    Role,
    RunSettings,
    StallMeasure,
    Trial,
    Validity,
    Verdict,
)

FEWEST_BLOCKS = 16  # at least 16 pairs, of at least `ENOUGH_ROUNDS` rounds (docs/statistics.md, Decisions)
_SURPRISING_RATIO = 2.5
_SMALLEST_SAID = 0.0005
"""Twins that differ by less than 0.05%, as counters of bytes may, would be said to differ by 0.0%."""


def design_cautions(found: Sequence[Panel], instance_effect: InstanceEffectPrior | None = None) -> Iterator[Caution]:
    where, prior = places(found), f"half-Cauchy, {100 * scale_for(1):g}%"
    if instance_effect is not None:
        prior = f"calibrated, {100 * instance_effect.median:.2g}%"
    for panel in found:
        place = where[panel.stratum].removesuffix(": ")
        blocks, rounds = len(panel.trials), panel.round_count
        if panel.incomplete:
            yield Caution.of("incomplete-blocks", blocks=panel.incomplete).at(place)
        if not panel.where(Role.AA).any():
            yield Caution.of("no-aa-control").at(place)
        if rounds == 1:
            yield Caution.of("one-round", fewest=ENOUGH_ROUNDS, prior=prior).at(place)
        elif 1 < rounds < ENOUGH_ROUNDS:
            yield Caution.of("few-rounds", rounds=rounds, fewest=ENOUGH_ROUNDS).at(place)
        if 0 < blocks < FEWEST_BLOCKS:
            yield Caution.of("few-blocks", blocks=blocks, fewest=FEWEST_BLOCKS).at(place)


def metric_cautions(found: Sequence[Panel], fits: Mapping[Metric, CostFit]) -> Iterator[Caution]:
    for metric, fit in fits.items():
        having = {condition.key for _, condition, _ in fit.data()}
        judged = [c.key for panel in found if panel.trials for c in panel.conditions if c.role.is_judged]
        missing = [key for key in judged if key not in having]
        if missing and (having or metric is not Metric.TIME_WITH_CHECKPOINT):  # no trial of an engine may have one
            yield Caution.of("no-ratio", metric=metric.value, conditions=", ".join(missing))
        expected = INSTANCE_SD_SCALE if fit.instance_effect is None else fit.instance_effect.median
        if fit.instance_sd > _SURPRISING_RATIO * expected:
            yield Caution.of("large-instance-effect", metric=metric.value, found=fit.instance_sd, expected=expected)


def twin_cautions(
    found: Sequence[Panel], floors: Sequence[NoiseFloor], checks: Sequence[Validity]
) -> Iterator[Caution]:
    """A/A twins that clearly differ, though by too little to fail their check."""
    where = places(found)
    for floor, check in zip(floors, checks, strict=True):
        low, high = floor.ratio.hdi95
        if not check.failed and not low <= 1.0 <= high and abs(floor.ratio.median - 1.0) >= _SMALLEST_SAID:
            yield Caution.of(
                "twins-differ",
                twins="A/A" if floor.condition is None else "B/B",
                difference=percent_words(floor.ratio.median),
                interval=interval_words(floor.ratio.hdi95),
            ).at(where[floor.stratum].removesuffix(": "))


def shared_effect_cautions(fit: CostFit) -> Iterator[Caution]:
    """Which conditions' costs changed from round to round, or else from block to block, by more than chance."""
    for fitted, _ in fit.parts:
        plain = fitted.plain(*PLAIN)
        for condition in (c for c in fitted.conditions if c.role.is_judged):
            treated = np.array([treatment_of(c) == condition for c in fitted.columns])
            by_round, by_block = (test(fitted.means, treated, plain) for test in (shared_by_round, shared_by_block))
            if by_round is not None and by_round.is_beyond_chance:
                yield Caution.of("round-effect", condition=condition.key, sd=by_round.sd, count=by_round.count)
            elif by_block is not None and by_block.is_beyond_chance:
                yield Caution.of("block-effect", condition=condition.key, sd=by_block.sd, count=by_block.count)


def stopping_cautions(primary: Sequence[Verdict], settings: RunSettings, precision: float) -> Iterator[Caution]:
    if settings.budget is not None:
        if any(v.decision in (Decision.OVER, Decision.WITHIN) for v in primary):
            yield Caution.of("stopped-by-budget")
        return
    for verdict in primary:
        got, wanted = width(verdict.ratio), target_width(verdict.ratio, precision)
        if got > wanted:
            yield Caution.of("precision-missed", condition=verdict.condition.key, width=100.0 * got, aim=100.0 * wanted)


def contrast_data(fit: CostFit) -> Iterator[tuple[str, Condition, Condition, Mixture]]:
    """Every pair of treatments of a stratum that differ in one factor: the factor, the later, the earlier, the data.

    Two settings of one action beside the load differ in one knob, too: what several do together says of none what it
    does.
    """
    for fitted, contrasts in fit.parts:
        conditions = fitted.free(*fit.plain)
        shift = {answer.condition: answer.shift for answer in fit.answers() if answer.fitted is fitted}
        for first, second in itertools.combinations(range(len(conditions)), 2):
            earlier, later = conditions[first], conditions[second]
            pairs = zip(earlier.levels, later.levels, strict=True)
            factors = [name for (name, level), (_, against) in pairs if level != against]
            knobs = knobs_apart(*(str(of.get("during", "")) for of in (earlier, later)))
            if len(factors) == 1 and knobs <= 1 and earlier.role is later.role is Role.TREATMENT:
                typical, above, below = contrasts.between(second, first), shift[later], shift[earlier]
                sds = np.sqrt(typical.sds**2 + above.variance + below.variance)
                means = typical.means + above.mean - below.mean
                yield factors[0], later, earlier, replace(typical, means=means, sds=sds)


def contrasts_of(fit: CostFit, metric: Metric, tolerance: float) -> Iterator[Contrast]:
    """The contrasts of one metric, stratum by stratum; the ratio's prior is the verdicts', t3(0, 0.5) on its log."""
    for factor, later, earlier, data in contrast_data(fit):
        yield Contrast(factor, later, earlier, metric, posterior(data).estimate(tolerance))


_HALF = 0.5


def stall_measures(fit: CostFit) -> Iterator[StallMeasure]:
    for fitted, _ in fit.parts:
        for condition in (fitted.panel.baseline, *fitted.free(*PLAIN)):
            yield _measure(fitted, condition)


def _measure(fitted: Fitted, condition: Condition) -> StallMeasure:
    thetas = fitted.thetas(*PLAIN)
    theta = int(thetas[fitted.columns.index(condition)])
    columns = thetas == theta
    events = events_of(fitted.means, thetas, theta)
    there = fitted.means.there[:, columns]
    is_odd = there & (fitted.means.weight[:, columns] < _HALF)
    time: FloatArray = np.where(there, fitted.costs[:, columns], 0.0)
    return StallMeasure(
        condition=condition,
        trials=events.trials,
        down_weighted=int(is_odd.sum()),
        down_weighted_time=float(time[is_odd].sum() / time.sum()) if time.sum() else 0.0,
        stalls=len(events.above),
        stalled_trials=events.stalled,
        stall_cost=events.cost,
        missed_share=events.missed_share,
    )


@dataclass(frozen=True, slots=True)
class Judgement:
    decision: Decision
    verdicts: tuple[Verdict, ...]
    noise_floor: tuple[NoiseFloor, ...]
    validity: tuple[Validity, ...]
    cautions: tuple[Caution, ...]
    contrasts: tuple[Contrast, ...] = ()
    stalls: tuple[StallMeasure, ...] = ()
    order_effect: CarryOver | None = None
    hosts: Hosts | None = None


def analyze_run(trials: Iterable[Trial], settings: RunSettings, *, precision: float = LEAST_WIDTH) -> Judgement:
    """Judge every condition of a run, from whatever trials there are.

    `trials`: finished trials in any order; those of incomplete blocks are left out, and counted in a caution. Where
    those of one side failed more often than chance explains, no verdict rests on the other trials; `settings`: the
    run's; ``metric`` is the primary one, ``tolerance`` or ``budget`` the limit; `precision`: the width of the 95% HDI
    aimed at (a difference of ratios), or a tenth of the overhead if more; missing it is a caution. Returns verdicts,
    primary ones first: one a judged condition, even without a single complete block (then the posterior is the prior,
    and ``undecided``). Deterministic: the same trials give the same figures. Raises `TdeltaError`: if a stratum has not
    exactly one baseline.
    """
    trials = tuple(trials)
    found = panels(trials, settings)
    fits = fit_metrics(found, _metrics(settings), settings.instance_effect)
    deciding = fits[settings.metric]
    floors = noise_floors(deciding, settings)
    where = places(found)
    losses = one_sided_losses(trials, settings)
    order = order_effect(deciding, settings)
    known = with_losses(primary_verdicts(found, deciding, settings), losses)
    judged = tuple(with_carry_over(known, order, settings))
    validity = alike_checks(floors, judged, settings, where)
    primary = tuple(with_single_rounds(with_invalid(judged, floors, validity), deciding, settings))
    others = [metric for metric in fits if metric is not settings.metric]
    secondary = tuple(v for metric in others for v in metric_verdicts(fits[metric], metric, settings.tolerance))
    hosts = hosts_of(deciding, settings.tolerance)
    types, mix = fit_transactions(found), fits[Metric.RESPONSE_TIME]
    by_type = tuple(transaction_verdicts(types, mix, settings.tolerance))
    return Judgement(
        decision=most_severe(verdict.decision for verdict in primary),
        verdicts=(*primary, *with_losses((*secondary, *by_type), losses)),
        noise_floor=floors,
        validity=validity,
        cautions=(
            *design_cautions(found, settings.instance_effect(settings.metric)),
            *loss_cautions(losses),
            *carry_over_cautions(order, settings),
            *twin_cautions(found, floors, validity),
            *shared_effect_cautions(deciding),
            *metric_cautions(found, fits),
            *host_cautions(hosts),
            *stopping_cautions(primary, settings, precision),
        ),
        contrasts=tuple(
            contrast
            for metric in dict.fromkeys((settings.metric, Metric.RESPONSE_TIME, Metric.CPU_PER_OPERATION))
            for contrast in contrasts_of(fits[metric], metric, settings.tolerance)
        ),
        stalls=tuple(stall_measures(deciding)),
        order_effect=order,
        hosts=hosts,
    )


def _metrics(settings: RunSettings) -> tuple[Metric, ...]:
    is_left_out = settings.is_open_loop and settings.metric is not Metric.TIME_WITH_CHECKPOINT
    return tuple(metric for metric in Metric if not (is_left_out and metric is Metric.TIME_WITH_CHECKPOINT))


def gate_answered(trials: Iterable[Trial], settings: RunSettings) -> bool:
    """Whether primary verdicts answer the budget: all are within it, or one is over it, which no other can mend.

    `interim_estimates` knows the intervals alone; what stalls leave open is known to the verdicts.
    """
    trials = tuple(trials)
    found = panels(trials, settings)
    fit = fit_metrics(found, (settings.metric,), settings.instance_effect)[settings.metric]
    verdicts = with_losses(primary_verdicts(found, fit, settings), one_sided_losses(trials, settings))
    decisions = [verdict.decision for verdict in verdicts]
    return Decision.OVER in decisions or all(d is Decision.WITHIN for d in decisions)


def interim_estimates(
    trials: Iterable[Trial], settings: RunSettings, *, precision: float = LEAST_WIDTH
) -> tuple[tuple[Condition, Estimate, float], ...]:
    """The primary estimates so far and the widths aimed at, in the design's order; much cheaper than `analyze_run`.

    `precision`: the least width aimed at, a difference of ratios. Raises `TdeltaError`: if a stratum has not exactly
    one baseline.
    """
    fit = fit_metrics(panels(trials, settings), (settings.metric,), settings.instance_effect)[settings.metric]
    known = {
        a.condition.key: a.posterior.estimate(settings.tolerance) for a in fit.answers() if a.condition.role.is_judged
    }
    unknown = prior_alone().estimate(settings.tolerance)
    estimates = [(c, known.get(c.key, unknown)) for c in settings.conditions if c.role.is_judged]
    return tuple((c, estimate, target_width(estimate, precision)) for c, estimate in estimates)


Costs = Mapping[str, Callable[[Measurement], float]]  # by name, what a trial cost


def described_ratios(
    trials: Sequence[Trial], settings: RunSettings, costs: Costs, fewest_blocks: int = FEWEST_BLOCKS
) -> dict[tuple[str, str], Estimate]:
    """Ratios of means over the plain twins', of judged conditions in strata with enough blocks; by cost and key.

    They are described and never judged; a block in which any trial cost nothing is left out.
    """
    return {
        (name, answer.condition.key): answer.posterior.estimate(settings.tolerance)
        for name, fit in fit_named(panels(trials, settings), costs).items()
        for answer in fit.answers()
        if answer.condition.role.is_judged and int(answer.fitted.blocks.sum()) >= fewest_blocks
    }


def typical_ratios(trials: Sequence[Trial], settings: RunSettings, costs: Costs) -> dict[tuple[str, str], Estimate]:
    """Ratios of typical trials over the plain twins'; by cost and the condition's key."""
    return {
        (name, condition.key): posterior(data).estimate(settings.tolerance)
        for name, fit in fit_named(panels(trials, settings), costs).items()
        for _, condition, data in fit.data()
    }
