"""The A/A check and the B/B check: differences between identical twins.

The A/A twin is compared with the baseline, the B/B twin with the encrypted twin that it copies. A check is
``ok`` only if the 95% HDI of their ratio lies inside the range that the verdict needs, ``failed`` if it lies
wholly outside the limit that the user set, and ``not shown`` if it is too wide to decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tdelta.inference.decisions import decide_means, interval_words
from tdelta.inference.fits import PLAIN, Answer, CostFit, fit_labelled, fit_strata, treatment_of
from tdelta.inference.verdicts import grounds_of
from tdelta.messages import Detail
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
