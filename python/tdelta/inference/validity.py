"""The second identical twins as checks: what the instrument sees where there is nothing to see.

The A/A twin is held against the baseline, the B/B twin against the encrypted twin whose double it is. A check is ``ok``
only where the twins' 95% HDI lies inside what the verdict needs, ``failed`` where it lies wholly outside the limit
that the user set, and ``not shown`` where it is too wide to say: the noisier a run, the less it shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tdelta.inference.decisions import decide_means, interval_words
from tdelta.inference.fits import PLAIN, Answer, CostFit, fit_labelled, fit_strata, treatment_of
from tdelta.inference.verdicts import grounds_of
from tdelta.messages import Caution, Detail, Reason
from tdelta.messages.checks import AA_CHECK, BB_CHECK
from tdelta.records import (
    CheckState,
    Condition,
    Decision,
    Estimate,
    Metric,
    NoiseFloor,
    Role,
    RunSettings,
    Trial,
    Validity,
    Verdict,
)


def noise_floors(fit: CostFit, settings: RunSettings) -> tuple[NoiseFloor, ...]:
    """Fit again with second twins as conditions of their own: A/A twins, then B/B twins, stratum by stratum."""
    metric, tolerance = settings.metric, settings.tolerance
    limit = tolerance if settings.budget is None else min(tolerance, settings.budget)
    aa, bb = twins_apart(fit), _encrypted_apart(fit)
    found = [
        _floor(answer, None, metric, tolerance, limit, aa.instance_sd)
        for answer in aa.answers()
        if answer.condition.role is Role.AA
    ]
    for _, apart in bb:
        found += [
            _floor(answer, treatment_of(answer.condition), metric, tolerance, limit, apart.instance_sd)
            for answer in apart.answers()
            if answer.condition.role is Role.BB
        ]
    return tuple(found)


def _floor(
    answer: Answer, of: Condition | None, metric: Metric, tolerance: float, limit: float, instance_sd: float
) -> NoiseFloor:
    means, estimate = answer.fitted.means, answer.posterior.estimate(tolerance)
    at = answer.fitted.columns.index(answer.condition)
    return NoiseFloor(
        stratum=answer.fitted.panel.stratum,
        metric=metric,
        ratio=estimate,
        instance_sd=instance_sd,
        rounds=int((means.blocks[:, at] > 0).sum()),
        blocks=int(means.there[:, at].sum()),
        condition=of,
        is_apart=decide_means(estimate, grounds_of(answer, limit), limit) in (Decision.SLOWER, Decision.FASTER),
    )


def twins_apart(fit: CostFit) -> CostFit:
    strata = [fitted for fitted, _ in fit.parts if fitted.plain(Role.AA).any()]
    return fit_strata(strata, Role.BASELINE, instance_effect=fit.instance_effect)


def _encrypted_apart(fit: CostFit) -> list[tuple[Condition, CostFit]]:
    """For each treatment with a B/B twin, the fit of that twin over the treatment, which takes the baseline's part."""
    found = []
    for fitted, _ in fit.parts:
        for twin in fitted.twins:
            of = treatment_of(twin)
            free = [c for c in fitted.columns if c not in (of, twin) and c.role not in PLAIN and c.role is not Role.BB]
            number = {twin: 1, **{c: at for at, c in enumerate(free, start=3)}}
            plain = dict.fromkeys((c for c in fitted.columns if c.role in PLAIN), 2)
            others = {c: number[treatment_of(c)] for c in fitted.twins if c is not twin and treatment_of(c) in number}
            labels = {**number, **plain, **others}
            thetas = np.array([labels.get(c, 0) for c in fitted.columns], dtype=np.intp)
            found.append((twin, fit_labelled([(fitted, thetas)], (Role.TREATMENT,), fit.instance_effect)))
    return found


def alike_checks(
    floors: Sequence[NoiseFloor],
    verdicts: Sequence[Verdict],  # the primary verdicts, before any is made invalid
    settings: RunSettings,
    places: Mapping[int, str],  # what each stratum is called, as `tdelta.inference.fits.places` names them
) -> tuple[Validity, ...]:
    """One check for each pair of identical twins, by what the primary verdicts of their stratum need."""
    limit, called = settings.tolerance, "the tolerance"
    if settings.budget is not None and settings.budget < limit:
        limit, called = settings.budget, "the budget, which is smaller than the tolerance"
    return tuple(_alike(floor, verdicts, settings, places[floor.stratum], limit, called) for floor in floors)


def _alike(
    floor: NoiseFloor, verdicts: Sequence[Verdict], settings: RunSettings, place: str, limit: float, called: str
) -> Validity:
    own = [v for v in verdicts if v.condition.stratum == floor.stratum and floor.condition in (None, v.condition)]
    needed = min((_needed(v, settings, limit) for v in own), default=limit)
    low, high = floor.ratio.hdi95
    is_outside = low > 1.0 + limit or high < 1.0 - limit
    is_enough = low >= 1.0 - needed and high <= 1.0 + needed
    twins = {"interval": interval_words(floor.ratio.hdi95)}
    if is_outside and floor.is_apart:
        state, found = CheckState.FAILED, Detail.of("twins-outside", limit=limit, called=called, **twins)
    elif is_outside:
        state = CheckState.OK if is_enough else CheckState.NOT_SHOWN
        found = Detail.of("twins-outside-by-little", limit=limit, called=called, **twins)
    elif is_enough:
        state, found = CheckState.OK, Detail.of("twins-within", needed=needed, **twins)
    elif high - low > 2.0 * needed:
        state, found = CheckState.NOT_SHOWN, Detail.of("twins-too-wide", needed=needed, **twins)
    else:
        state, found = CheckState.NOT_SHOWN, Detail.of("twins-beyond", needed=needed, **twins)
    return Validity(AA_CHECK if floor.condition is None else BB_CHECK, state, (found.at(place.removesuffix(": ")),))


def _needed(verdict: Verdict, settings: RunSettings, limit: float) -> float:
    """How far apart identical twins may seem and leave this verdict standing: from its limit to its interval."""
    budget = settings.budget
    estimate: Estimate = verdict.ratio
    match verdict.decision:
        case Decision.SLOWER:
            return max(limit, estimate.hdi95[0] - 1.0 - settings.tolerance)
        case Decision.FASTER:
            return max(limit, 1.0 - settings.tolerance - estimate.hdi95[1])
        case Decision.OVER if budget is not None:
            return max(limit, estimate.hdi99[0] - 1.0 - budget)
        case Decision.WITHIN if budget is not None:
            return max(limit, 1.0 + budget - estimate.hdi99[1])
        case _:
            return limit


def with_invalid(
    verdicts: Iterable[Verdict], floors: Iterable[NoiseFloor], checks: Iterable[Validity]
) -> Iterator[Verdict]:
    """The same verdicts, those that identical twins belie made ``invalid``, the reason first."""
    failed = [(floor, check) for floor, check in zip(floors, checks, strict=True) if check.failed]
    for verdict in verdicts:
        of_stratum = [(f, c) for f, c in failed if f.stratum == verdict.condition.stratum]
        check = next((c for f, c in of_stratum if f.condition in (None, verdict.condition)), None)
        if check is None:
            yield verdict
        else:
            reasons = (check.why_invalid, *verdict.reasons)
            yield replace(verdict, decision=Decision.INVALID, reasons=reasons)


# Trials that failed, by condition: what they would have cost is not known, and may be why they failed.
#
# A block that lacks a trial is left out of the verdicts. That is fair where chance decides which trials fail, and hides
# the cost where only the trials of one side do. Whether chance explains the difference is Fisher's exact test (Fisher
# 1935, "The Logic of Inductive Inference", Journal of the Royal Statistical Society 98:39), one-sided: a verdict is
# only kept back by failures of the side whose cost it would understate.

_CHANCE = 0.05

_KEPT_BACK_BY_OWN = frozenset({Decision.NEGLIGIBLE, Decision.FASTER, Decision.WITHIN, Decision.UNDECIDED})
"""Verdicts that an unknown cost of the condition could overturn; those of an unknown cost of the plain twins below."""
_KEPT_BACK_BY_PLAIN = frozenset({Decision.NEGLIGIBLE, Decision.SLOWER, Decision.OVER, Decision.UNDECIDED})


@dataclass(frozen=True, slots=True)
class Losses:
    """A condition whose trials failed more often than the plain twins' did, or less often, by more than chance."""

    condition: Condition
    lost: int  # how many of its trials failed
    trials: int
    plain_lost: int  # how many trials of the plain twins failed
    plain_trials: int

    @property
    def is_own(self) -> bool:
        """Whether it is the condition's trials that failed more often."""
        return self.lost * self.plain_trials > self.plain_lost * self.trials

    @property
    def figures(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in ("lost", "trials", "plain_lost", "plain_trials")}


def one_sided_losses(trials: Iterable[Trial], settings: RunSettings) -> tuple[Losses, ...]:
    """The judged conditions where chance does not explain whose trials failed, in the design's order.

    A trial is lost where it is missing from a block that others finished, or finished no operation.
    """
    finished: dict[tuple[int, int, int], set[Condition]] = {}
    for trial in trials:
        if trial.measurement.operations > 0:
            finished.setdefault((trial.condition.stratum, trial.round, trial.block), set()).add(trial.condition)
    rounds = {(at[:2], condition) for at, conditions in finished.items() for condition in conditions}

    def count(some: Sequence[Condition]) -> tuple[int, int]:
        """Lost and due: a twin that took no part in a round is not due in it."""
        due = [
            (condition, there)
            for (stratum, round_, _), there in finished.items()
            for condition in some
            if condition.stratum == stratum
            and (condition.role is not Role.BB or ((stratum, round_), condition) in rounds)
        ]
        return sum(condition not in there for condition, there in due), len(due)

    found = []
    for judged in (c for c in settings.conditions if c.role.is_judged):
        plain = count([c for c in settings.conditions if c.stratum == judged.stratum and c.role in PLAIN])
        own = count([c for c in settings.conditions if treatment_of(c) == judged])
        if min(_chance_of_more(own, plain), _chance_of_more(plain, own)) <= _CHANCE:
            found.append(Losses(judged, *own, *plain))
    return tuple(found)


def _chance_of_more(one: tuple[int, int], other: tuple[int, int]) -> float:
    """The probability of at least as many losses on one side, given how many there are; of (lost, due)."""
    lost, due = one
    all_lost, all_due = lost + other[0], due + other[1]
    ways = (math.comb(due, k) * math.comb(other[1], all_lost - k) for k in range(lost, min(due, all_lost) + 1))
    return sum(ways) / math.comb(all_due, all_lost)


def with_losses(verdicts: Iterable[Verdict], losses: Sequence[Losses]) -> Iterator[Verdict]:
    """The same verdicts; those that the cost of lost trials could overturn are ``undecided``, that reason last."""
    by_condition = {one.condition: one for one in losses}
    for verdict in verdicts:
        lost = by_condition.get(verdict.condition)
        if lost is None or verdict.decision not in (_KEPT_BACK_BY_OWN if lost.is_own else _KEPT_BACK_BY_PLAIN):
            yield verdict
        else:
            reason = Reason.of("one-sided-failures", **lost.figures)
            yield replace(verdict, decision=Decision.UNDECIDED, reasons=(*verdict.reasons, reason))


def loss_cautions(losses: Iterable[Losses]) -> Iterator[Caution]:
    for one in losses:
        yield Caution.of("one-sided-failures", condition=one.condition.key, **one.figures)
