"""The A/A twin as a check: what the instrument sees where there is nothing to see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from tdelta.inference.decisions import interval_words
from tdelta.inference.fits import CostFit, fit_strata
from tdelta.inference.posterior import posterior
from tdelta.records import CheckState, Decision, Metric, NoiseFloor, Role, RunSettings, Validity, Verdict

AA_CHECK = "a/a twins differ by no more than the ROPE"


def noise_floors(fit: CostFit, metric: Metric, rope: float) -> tuple[NoiseFloor, ...]:
    """Fit again with the A/A twin a condition of its own, not baseline; one for each stratum that has such a twin."""
    apart = twins_apart(fit)
    return tuple(
        NoiseFloor(
            stratum=fitted.panel.stratum,
            metric=metric,
            ratio=posterior(data).estimate(rope),
            instance_sd=apart.luck_median,
            rounds=fitted.panel.round_count,
            blocks=len(fitted.panel.trials),
        )
        for fitted, condition, data in apart.data()
        if condition.role is Role.AA
    )


def twins_apart(fit: CostFit) -> CostFit:
    """The same fit with the A/A twin a condition of its own, over the strata that have such a twin."""
    strata = [fitted for fitted, _ in fit.parts if fitted.plain(Role.AA).any()]
    return fit_strata(strata, Role.BASELINE, luck=fit.luck)


def aa_check(floor: NoiseFloor, settings: RunSettings, places: Mapping[int, str]) -> Validity:
    """Fails where the 95 % HDI of the A/A twin lies wholly outside the limit: identical systems then look different.

    The limit is the ROPE, or the budget if that is smaller: an instrument that is off by more than the budget cannot
    answer for it. A twin that differs by less, though clearly, is a caution (`tdelta.inference.cautions`).

    Args:
        floor: the A/A twin as a condition of its own.
        settings: of the run, for its ROPE and budget.
        places: what each stratum is called, as `tdelta.inference.costs.places` names them.
    """
    limit, called = settings.rope, "the ROPE"
    if settings.budget is not None and settings.budget < limit:
        limit, called = settings.budget, "the budget, which is smaller than the ROPE"
    low, high = floor.ratio.hdi95
    agree = low <= 1.0 + limit and high >= 1.0 - limit
    where = "reaches into" if agree else "lies wholly outside"
    words = interval_words(floor.ratio.hdi95)
    detail = f"the 95 % HDI of identical twins, {words}, {where} ±{100 * limit:g} %, {called}"
    return Validity(AA_CHECK, CheckState.OK if agree else CheckState.FAILED, places[floor.stratum] + detail)


def with_unsound(
    verdicts: Iterable[Verdict], floors: Iterable[NoiseFloor], checks: Iterable[Validity]
) -> Iterator[Verdict]:
    """The same verdicts, those of a stratum whose check failed made ``unsound``, the reason first."""
    failed = {floor.stratum: check for floor, check in zip(floors, checks, strict=True) if check.failed}
    for verdict in verdicts:
        check = failed.get(verdict.condition.stratum)
        if check is None:
            yield verdict
        else:
            reasons = (f"{check.check}: no, {check.detail}", *verdict.reasons)
            yield replace(verdict, decision=Decision.UNSOUND, reasons=reasons)
