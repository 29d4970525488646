"""From trials to verdicts: the entrance of this package, for a session as for showing a stored run again."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tdelta.design.actions import knobs_apart
from tdelta.inference.cautions import (
    design_cautions,
    metric_cautions,
    shared_effect_cautions,
    stopping_cautions,
    twin_cautions,
)
from tdelta.inference.costs import panels, places
from tdelta.inference.decisions import interval_words, most_severe, percent_words
from tdelta.inference.fits import PLAIN, CostFit, Fitted, fit_metrics, fit_transactions
from tdelta.inference.hosts import host_cautions, hosts_of
from tdelta.inference.losses import loss_cautions, one_sided_losses, with_losses
from tdelta.inference.planning.carryover import carry_over
from tdelta.inference.planning.runs import MeasuredRun, strata_of
from tdelta.inference.posterior import FloatArray, Mixture, posterior, prior_alone
from tdelta.inference.stalls import Shift, events_of
from tdelta.inference.stopping import LEAST_WIDTH, target_width
from tdelta.inference.validity import alike_checks, noise_floors, with_invalid
from tdelta.inference.verdicts import metric_verdicts, primary_verdicts, transaction_verdicts, with_single_rounds
from tdelta.messages import Caution, Reason
from tdelta.records import (
    Condition,
    Contrast,
    Decision,
    Estimate,
    Hosts,
    Metric,
    NoiseFloor,
    Role,
    RunSettings,
    StallMeasure,
    Trial,
    Validity,
    Verdict,
)
from tdelta.records.prospects import CarryOver

# An encrypted trial that slows the next one: the overhead is of a trial by itself, and production pays more.
#
# Encrypted work follows encrypted work there, so what an encrypted trial leaves to the next one is part of
# the cost. Stage 1 takes it out of the overhead (`tdelta.inference.noise`); where all of its 95% interval lies
# beyond the tolerance, no verdict says that encryption is negligible or within the budget.


def with_carry_over(verdicts: Iterable[Verdict], order: CarryOver | None, settings: RunSettings) -> Iterator[Verdict]:
    """The same primary verdicts; those that work after encrypted work belies are ``undecided``, that reason last."""
    tolerance = settings.tolerance if settings.budget is None else settings.budget
    for verdict in verdicts:
        is_kept_back = verdict.decision in (Decision.NEGLIGIBLE, Decision.WITHIN) and verdict.condition.is_protected
        if is_kept_back and order is not None and _is_beyond(order, tolerance):
            reason = Reason.of("carried-over", **_figures(order))
            verdict = replace(verdict, decision=Decision.UNDECIDED, reasons=(*verdict.reasons, reason))
        yield verdict


def carry_over_cautions(order: CarryOver | None, settings: RunSettings) -> Iterator[Caution]:
    """Which cost the overheads are, where that makes a difference beyond the tolerance."""
    if order is not None and _is_beyond(order, settings.tolerance):
        yield Caution.of("carried-over", **_figures(order))


def _is_beyond(order: CarryOver, tolerance: float) -> bool:
    if order.after_encrypted is None:
        return False
    low, high = order.after_encrypted.interval95
    return low > tolerance or high < -tolerance


def _figures(order: CarryOver) -> dict[str, str]:
    after = order.after_encrypted
    if after is None:
        return {}
    low, high = after.interval95
    return {"effect": percent_words(1.0 + after.share), "interval": interval_words((1.0 + low, 1.0 + high))}


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
            factors = _apart(earlier, later)
            is_one = len(factors) == 1 and not _turns_several_knobs(earlier, later)
            if is_one and earlier.role is later.role is Role.TREATMENT:
                yield (
                    factors[0],
                    later,
                    earlier,
                    _of_means(contrasts.between(second, first), shift[later], shift[earlier]),
                )


def _of_means(typical: Mixture, later: Shift, earlier: Shift) -> Mixture:
    """The log ratio of means; that both shifts are over the same plain twins is left out, which widens it."""
    variance = later.variance + earlier.variance
    return replace(typical, means=typical.means + later.mean - earlier.mean, sds=np.sqrt(typical.sds**2 + variance))


def contrasts_of(fit: CostFit, metric: Metric, tolerance: float) -> Iterator[Contrast]:
    """The contrasts of one metric, stratum by stratum; the ratio's prior is the verdicts', t3(0, 0.5) on its log."""
    for factor, later, earlier, data in contrast_data(fit):
        yield Contrast(factor, later, earlier, metric, posterior(data).estimate(tolerance))


def _apart(one: Condition, other: Condition) -> Sequence[str]:
    return [name for (name, level), (_, against) in zip(one.levels, other.levels, strict=True) if level != against]


def _turns_several_knobs(one: Condition, other: Condition) -> bool:
    levels = (str(dict(of.levels).get("during", "")) for of in (one, other))
    return knobs_apart(*levels) > 1


_HALF = 0.5


def stall_measures(fit: CostFit) -> Iterator[StallMeasure]:
    """The odd trials of the plain twins, then of every judged condition, stratum by stratum."""
    for fitted, _ in fit.parts:
        yield _measure(fitted, fitted.panel.baseline)
        for condition in fitted.free(*PLAIN):
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
    """What the trials say. ``decision`` is the worst of the primary verdicts, the first in ``verdicts``."""

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

    Args:
        trials: finished trials in any order; those of incomplete blocks are left out, and counted in a caution. Where
            those of one side failed more often than chance explains, no verdict rests on the other trials.
        settings: the run's; ``metric`` is the primary one, ``tolerance`` or ``budget`` the limit.
        precision: the width of the 95% HDI aimed at (a difference of ratios), or a tenth of the overhead if more;
            missing it is a caution.

    Returns:
        Verdicts, primary ones first: one a judged condition, even without a single complete block (then the posterior
        is the prior, and ``undecided``). Deterministic: the same trials give the same figures.

    Raises:
        TdeltaError: if a stratum has not exactly one baseline.
    """
    trials = tuple(trials)
    found = panels(trials, settings)
    fits = fit_metrics(found, _metrics(settings), settings.instance_effect)
    deciding = fits[settings.metric]
    floors = noise_floors(deciding, settings)
    where = places(found)
    losses = one_sided_losses(trials, settings)
    order = _order_effect(deciding, trials, settings)
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


def _order_effect(fit: CostFit, trials: Sequence[Trial], settings: RunSettings) -> CarryOver | None:
    """What an encrypted trial leaves to the next one, as `tdelta plan` shows it; None without comparisons."""
    strata = strata_of(MeasuredRun(settings, tuple(trials), 0.0), fit)
    return carry_over(strata) if strata and all(one.means.pooled_df > 0 for one in strata) else None


def _metrics(settings: RunSettings) -> tuple[Metric, ...]:
    """The metrics that are judged. Operations that fall due at a rate leave no time to be counted with a checkpoint."""
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

    Args:
        trials: finished trials in any order.
        settings: the run's.
        precision: the least width aimed at, a difference of ratios.

    Raises:
        TdeltaError: if a stratum has not exactly one baseline.
    """
    fit = fit_metrics(panels(trials, settings), (settings.metric,), settings.instance_effect)[settings.metric]
    known = {
        a.condition.key: a.posterior.estimate(settings.tolerance) for a in fit.answers() if a.condition.role.is_judged
    }
    unknown = prior_alone().estimate(settings.tolerance)
    estimates = [(c, known.get(c.key, unknown)) for c in settings.conditions if c.role.is_judged]
    return tuple((c, estimate, target_width(estimate, precision)) for c, estimate in estimates)
