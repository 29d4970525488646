"""Verdict records from fits: primary ones, the other metrics, and the transaction types.

Absolute values: ``baseline_value`` is the mean of the costs of all trials of both plain twins (baseline and A/A).
``condition_value`` is not a mean of the condition's own trials: it is ``baseline_value`` times the median ratio,
what the baseline would have cost under the condition. So the two values and the ratio always agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

from tdelta.inference.decisions import (
    FEWEST_GATE_ROUNDS,
    FEWEST_ROUNDS,
    FEWEST_STALLS,
    Grounds,
    decide,
    decide_gate,
    decide_gate_means,
    decide_means,
    gate_reason,
    interval_words,
    reason,
    with_shortage,
)
from tdelta.inference.fits import PLAIN, Answer, CostFit, Fitted, Panel, actual_ratio, plain_shares
from tdelta.inference.pooling import pool, type_estimates
from tdelta.inference.posterior import posterior_without_speedup, prior_alone, truncated_at_no_change
from tdelta.messages import Reason
from tdelta.messages.catalogue import WITHOUT_AMOUNT
from tdelta.records import ALL, Condition, Decision, Estimate, Metric, Role, RunSettings, Verdict

_MOST_FITS = 60
"""Of rounds times conditions: in longer runs only the extreme rounds are left out, since fitting takes its time."""

_COARSE = 0.1  # of the tolerance: steps of costs that leave a mean open by more than this are reported
_MOST_ROUNDS = 40  # of a run any of whose rounds are left out: of more, a round is too little to make a verdict


def metric_verdicts(fit: CostFit, metric: Metric, tolerance: float) -> Iterator[Verdict]:
    for answer in fit.answers():
        yield _of_answer(answer, metric, tolerance)


def primary_verdicts(found: Sequence[Panel], fit: CostFit, settings: RunSettings) -> Iterator[Verdict]:
    known = {answer.condition.key: answer for answer in fit.answers()}
    baselines = {panel.stratum: panel.baseline for panel in found}
    for condition in settings.conditions:
        if not condition.role.is_judged:
            continue
        if condition.key in known:
            yield _primary(known[condition.key], settings)
        else:
            yield _without_data(condition, baselines[condition.stratum], settings)


def transaction_verdicts(fits: Mapping[str, CostFit], mix: CostFit, tolerance: float) -> Iterator[Verdict]:
    """Pooled response times of the types, by stratum, condition and type, that add up to the mix's."""
    strata = sorted({fitted.panel.stratum for fit in fits.values() for fitted, _ in fit.parts})
    by_stratum = [_types_of(fits, stratum) for stratum in strata]
    estimates = [type_estimates(list(types.values())) for types in by_stratum]
    wholes = {answer.condition: answer for answer in mix.answers()}
    for types, pooled in zip(by_stratum, pool(estimates), strict=True):
        conditions = next(iter(types.values()))
        shares = plain_shares(conditions[0].fitted.panel, list(types))
        for answer, of_condition in zip(conditions, pooled, strict=True):
            whole = wholes[answer.condition]
            shortage = _of_answer(whole, Metric.RESPONSE_TIME, tolerance).reasons[-1]
            for (name, answers), found in zip(types.items(), of_condition.as_parts_of(whole, shares), strict=True):
                estimate = found.estimate(tolerance)
                own = next(a for a in answers if a.condition == answer.condition)
                grounds = grounds_of(own, tolerance)
                decision = decide_means(estimate, grounds, tolerance)
                verdict = _verdict(own.fitted, answer.condition, Metric.RESPONSE_TIME, estimate, decision, tolerance)
                hard = _hard_reasons(estimate, decision, own, grounds, tolerance)
                verdict = replace(verdict, transaction=name, reasons=(*verdict.reasons, *hard))
                if shortage.code in WITHOUT_AMOUNT:
                    verdict = replace(verdict, decision=Decision.UNDECIDED, reasons=(*verdict.reasons, shortage))
                yield verdict


def _types_of(fits: Mapping[str, CostFit], stratum: int) -> dict[str, list[Answer]]:
    found = ((name, [it for it in fit.answers() if it.fitted.panel.stratum == stratum]) for name, fit in fits.items())
    return {name: answers for name, answers in found if answers}


def _verdict(
    fitted: Fitted, condition: Condition, metric: Metric, estimate: Estimate, decision: Decision, tolerance: float
) -> Verdict:
    return Verdict(
        primary=False,
        condition=condition,
        baseline=fitted.panel.baseline,
        metric=metric,
        transaction=ALL,
        unit=metric.unit,
        baseline_value=fitted.baseline_value,
        condition_value=fitted.baseline_value * estimate.median,
        ratio=estimate,
        decision=decision,
        reasons=(reason(estimate, decide(estimate, tolerance), tolerance),),
    )


def _of_answer(answer: Answer, metric: Metric, tolerance: float) -> Verdict:
    estimate, grounds = answer.posterior.estimate(tolerance), grounds_of(answer, tolerance)
    decision = decide_means(estimate, grounds, tolerance)
    verdict = _verdict(answer.fitted, answer.condition, metric, estimate, decision, tolerance)
    panel, condition, step_sd = answer.fitted.panel, answer.condition, answer.fitted.step_sd
    of_steps = (Reason.of("costs-in-steps", sd=step_sd),) if step_sd > _COARSE * tolerance else ()
    reasons = (*verdict.reasons, *of_steps, *_hard_reasons(estimate, decision, answer, grounds, tolerance))
    actual = None
    if condition.role is Role.INJECTED:
        at = panel.conditions.index(condition)
        actual = actual_ratio((row[at] for row in panel.trials), metric)
    verdict = replace(verdict, typical=grounds.typical, actual=actual, reasons=reasons)
    return with_shortage(verdict, *_extent(answer), tolerance)


def _extent(answer: Answer) -> tuple[int, int]:
    return int(answer.fitted.blocks.sum()), len(answer.fitted.means.blocks)


def grounds_of(answer: Answer, tolerance: float) -> Grounds:
    return Grounds(
        typical=answer.typical_posterior.estimate(tolerance),
        stalls=answer.events.effective,
        plain_stalls=answer.plain_events.effective,
        rounds=len(answer.fitted.means.blocks),
        wanders=answer.wanders,
        has_odd_trials=any(len(e.above) + len(e.below) for e in (answer.events, answer.plain_events)),
        stall_cost=max(
            (e.cost for e in (answer.events, answer.plain_events) if 0.0 < e.effective < FEWEST_STALLS), default=0.0
        ),
    )


def _hard_reasons(
    estimate: Estimate, decision: Decision, answer: Answer, grounds: Grounds, tolerance: float
) -> Iterator[Reason]:
    """Why an interval that would decide does not, and what stalls have to do with it."""
    if decision is not Decision.UNDECIDED:
        return
    would = decide(estimate, tolerance)
    stalls = len(answer.events.above) + len(answer.plain_events.above)
    is_sure = decide(replace(estimate, hdi95=estimate.hdi99), tolerance) is would
    if would is not decision and not is_sure:
        yield _cause(answer, grounds, tolerance)
    elif stalls and (would is not decision or decide(grounds.typical, tolerance) is not Decision.UNDECIDED):
        yield _too_few_stalls(answer)


def _too_few_stalls(answer: Answer) -> Reason:
    met, plain = answer.events, answer.plain_events
    return Reason.of(
        "few-stalls", stalls=len(met.above), trials=met.trials, plain_stalls=len(plain.above), plain_trials=plain.trials
    )


def _cause(answer: Answer, grounds: Grounds, tolerance: float) -> Reason:
    if grounds.rounds < FEWEST_ROUNDS:
        return Reason.of("few-rounds", rounds=grounds.rounds)
    if grounds.wanders:
        return Reason.of("overhead-wanders")
    if not grounds.has_odd_trials:
        return Reason.of("typical-not-shown", typical=interval_words(grounds.typical.hdi95), tolerance=tolerance)
    met, plain = (len(e.above) + len(e.below) for e in (answer.events, answer.plain_events))
    return Reason.of(
        "outlying-trials",
        outlying=met,
        trials=answer.events.trials,
        plain_outlying=plain,
        plain_trials=answer.plain_events.trials,
        tolerance=tolerance,
    )


def _primary(answer: Answer, settings: RunSettings) -> Verdict:
    verdict = replace(_of_answer(answer, settings.metric, settings.tolerance), primary=True)
    if not settings.compares_builds:  # of builds a speed-up is as likely
        found = truncated_at_no_change(answer.posterior) or posterior_without_speedup(answer.mixture)
        verdict = replace(verdict, no_speedup=found.estimate(settings.tolerance))
    if settings.budget is None:
        return verdict
    grounds, would = grounds_of(answer, settings.tolerance), decide_gate(verdict.ratio, settings.budget)
    decision = decide_gate_means(verdict.ratio, grounds, settings.budget)
    met = len(answer.events.above) + len(answer.plain_events.above)
    is_left_open = decision is Decision.UNDECIDED and (
        would is not decision or (met > 0 and decide_gate(grounds.typical, settings.budget) is not decision)
    )
    are_few = would is not Decision.UNDECIDED and grounds.rounds < FEWEST_GATE_ROUNDS
    few = Reason.of("few-rounds-budget", rounds=grounds.rounds) if are_few else _too_few_stalls(answer)
    hard = (few,) if is_left_open else ()
    reasons = (gate_reason(verdict.ratio, would, settings.budget), *hard)
    gated = replace(verdict, decision=decision, reasons=reasons)
    return with_shortage(gated, *_extent(answer), settings.tolerance, is_gate=True)


def with_single_rounds(verdicts: Iterable[Verdict], fit: CostFit, settings: RunSettings) -> Iterator[Verdict]:
    """The same verdicts; one that a single round makes, since it changes without that round, says so."""
    found = tuple(verdicts)
    answered = {v.condition for v in found if v.decision not in (Decision.UNDECIDED, Decision.INVALID)}
    rounds = max((len(f.means.blocks) for f, _ in fit.parts), default=0)
    others = {
        number: decisions_of(fit.without_round(number), settings) for number in _rounds_to_leave_out(fit, answered)
    }
    for verdict in found:
        reasons = tuple(_single_round(verdict, rounds, others)) if verdict.condition in answered else ()
        yield replace(verdict, reasons=(*verdict.reasons, *reasons))


def _rounds_to_leave_out(fit: CostFit, answered: Set[Condition]) -> list[int]:
    """The rounds that may make a verdict alone; in long runs those in which a condition cost most and least."""
    found: set[int] = set()
    for fitted, _ in fit.parts:
        means, plain = fitted.means, fitted.plain(*PLAIN)
        if not 1 < len(means.blocks) <= _MOST_ROUNDS:
            continue
        numbers = fitted.round_numbers
        if len(means.blocks) * len(answered) <= _MOST_FITS:
            found |= set(numbers)
            continue
        for at, column in enumerate(fitted.columns):
            if column in answered:
                contrast = means.means[:, at] - means.means[:, plain].mean(axis=1)
                found |= {numbers[int(contrast.argmax())], numbers[int(contrast.argmin())]}
    return sorted(found)


def decisions_of(fit: CostFit, settings: RunSettings) -> dict[str, Decision]:
    """Each judged condition's verdict, by its key, were the metric of this fit the primary one."""
    return {a.condition.key: _primary(a, settings).decision for a in fit.answers() if a.condition.role.is_judged}


def _single_round(verdict: Verdict, rounds: int, others: Mapping[int, Mapping[str, Decision]]) -> Iterator[Reason]:
    if rounds == 1:
        yield Reason.of("one-round")
    makers: dict[Decision, list[int]] = {}
    for left_out, decisions in others.items():
        decision = decisions.get(verdict.condition.key, verdict.decision)
        if decision is not verdict.decision:
            makers.setdefault(decision, []).append(left_out + 1)
    for decision, numbers in makers.items():
        which = f"any of the rounds {', '.join(map(str, numbers))}"
        if len(numbers) in (1, rounds):
            which = f"round {numbers[0]}" if len(numbers) == 1 else "any round"
        yield Reason.of("round-decides", rounds=which, decision=decision.value)


def _without_data(condition: Condition, baseline: Condition, settings: RunSettings) -> Verdict:
    return Verdict(
        primary=True,
        condition=condition,
        baseline=baseline,
        metric=settings.metric,
        transaction=ALL,
        unit=settings.metric.unit,
        baseline_value=0.0,
        condition_value=0.0,
        ratio=prior_alone().estimate(settings.tolerance),
        decision=Decision.UNDECIDED,
        reasons=(Reason.of("no-data"),),
    )
