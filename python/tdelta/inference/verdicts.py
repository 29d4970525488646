"""Verdict records from fits: primary ones, the other metrics, and the transaction types.

Absolute values: ``baseline_value`` is the geometric mean of the costs of all trials of both plain twins (baseline and
A/A). ``condition_value`` is not a mean of the condition's own trials: it is ``baseline_value`` times the median ratio,
what the baseline would have cost under the condition. So the two values and the ratio always agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tdelta.inference.costs import Panel, realised_ratio
from tdelta.inference.decisions import decide, decide_gate, gate_reason, reason
from tdelta.inference.fits import PLAIN, CostFit, Fitted
from tdelta.inference.pooling import pool, type_estimates
from tdelta.inference.posterior import Mixture, as_posterior, posterior, posterior_without_speedup, prior_alone
from tdelta.inference.rounds import Contrasts
from tdelta.records import Condition, Decision, Estimate, Metric, Role, RunSettings, Verdict

ALL_TRANSACTIONS = "all"


def metric_verdicts(fit: CostFit, metric: Metric, rope: float) -> Iterator[Verdict]:
    """Secondary verdicts of one metric over the mix."""
    for fitted, condition, data in fit.data():
        estimate = posterior(data).estimate(rope)
        yield _verdict(fitted, condition, metric, estimate, rope, realised=_realised(fitted.panel, condition, metric))


def primary_verdicts(found: Sequence[Panel], fit: CostFit, settings: RunSettings) -> Iterator[Verdict]:
    """One verdict for each judged condition, in the design's order, whether there are data or not."""
    known = {condition.key: (fitted, data) for fitted, condition, data in fit.data()}
    baselines = {panel.stratum: panel.baseline for panel in found}
    for condition in settings.conditions:
        if not condition.role.is_judged:
            continue
        if condition.key in known:
            yield _primary(*known[condition.key], condition, settings)
        else:
            yield _without_data(condition, baselines[condition.stratum], settings)


def transaction_verdicts(fits: Mapping[str, CostFit], rope: float) -> Iterator[Verdict]:
    """Pooled response times of the transaction types, by stratum, condition and type."""
    strata = sorted({fitted.panel.stratum for fit in fits.values() for fitted, _ in fit.parts})
    by_stratum = [_types_of(fits, stratum) for stratum in strata]
    estimates = [
        type_estimates([contrasts for _, contrasts in types.values()], [f.influence for f, _ in types.values()])
        for types in by_stratum
    ]
    for types, mixtures in zip(by_stratum, pool(estimates), strict=True):
        conditions = next(iter(types.values()))[0].free(*PLAIN)
        for condition, of_condition in zip(conditions, mixtures, strict=True):
            for (name, (fitted, _)), mixed in zip(types.items(), of_condition, strict=True):
                estimate = as_posterior(mixed).estimate(rope)
                verdict = _verdict(fitted, condition, Metric.RESPONSE_TIME, estimate, rope, realised=None)
                yield replace(verdict, transaction=name)


def _types_of(fits: Mapping[str, CostFit], stratum: int) -> dict[str, tuple[Fitted, Contrasts]]:
    return {
        name: (fitted, contrasts)
        for name, fit in fits.items()
        for fitted, contrasts in fit.parts
        if fitted.panel.stratum == stratum
    }


def _verdict(
    fitted: Fitted, condition: Condition, metric: Metric, estimate: Estimate, rope: float, *, realised: float | None
) -> Verdict:
    """A secondary verdict over the mix."""
    decision = decide(estimate, rope)
    return Verdict(
        primary=False,
        condition=condition,
        baseline=fitted.panel.baseline,
        metric=metric,
        transaction=ALL_TRANSACTIONS,
        unit=metric.unit,
        baseline_value=fitted.baseline_value,
        condition_value=fitted.baseline_value * estimate.median,
        ratio=estimate,
        decision=decision,
        reasons=(reason(estimate, decision, rope),),
        realised=realised,
    )


def _realised(panel: Panel, condition: Condition, metric: Metric) -> float | None:
    if condition.role is not Role.PLANTED:
        return None
    at = panel.conditions.index(condition)
    return realised_ratio((row[at] for row in panel.trials), metric)


def _primary(fitted: Fitted, data: Mixture, condition: Condition, settings: RunSettings) -> Verdict:
    estimate = posterior(data).estimate(settings.rope)
    realised = _realised(fitted.panel, condition, settings.metric)
    verdict = replace(
        _verdict(fitted, condition, settings.metric, estimate, settings.rope, realised=realised),
        primary=True,
        no_speedup=posterior_without_speedup(data).estimate(settings.rope),
    )
    if settings.budget is None:
        return verdict
    decision = decide_gate(estimate, settings.budget)
    return replace(verdict, decision=decision, reasons=(gate_reason(estimate, decision, settings.budget),))


def _without_data(condition: Condition, baseline: Condition, settings: RunSettings) -> Verdict:
    return Verdict(
        primary=True,
        condition=condition,
        baseline=baseline,
        metric=settings.metric,
        transaction=ALL_TRANSACTIONS,
        unit=settings.metric.unit,
        baseline_value=0.0,
        condition_value=0.0,
        ratio=prior_alone().estimate(settings.rope),
        decision=Decision.UNDECIDED,
        reasons=("no complete block has a cost above zero to compare: the interval is the prior's",),
    )
