"""What a reader must know before believing the figures: cautions travel with the numbers they qualify."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tdelta.inference.costs import Panel, places
from tdelta.inference.decisions import interval_words, percent_words
from tdelta.inference.fits import PLAIN, CostFit, treatment_of
from tdelta.inference.instance_effect import INSTANCE_SD_SCALE, scale_for
from tdelta.inference.round_effect import shared_by_block, shared_by_round
from tdelta.inference.simulated import FEWEST_ROUNDS
from tdelta.inference.stopping import target_width, width
from tdelta.messages import Caution
from tdelta.records import Decision, InstanceEffectPrior, Metric, NoiseFloor, Role, RunSettings, Validity, Verdict

FEWEST_BLOCKS = 16
"""At least 16 pairs, of at least `FEWEST_ROUNDS` rounds (docs/statistics.md, Decisions)."""

_SURPRISING_RATIO = 2.5
_SMALLEST_SAID = 0.0005
"""Twins that differ by less than 0.05%, as counters of bytes may, would be said to differ by 0.0%."""


def design_cautions(found: Sequence[Panel], instance_effect: InstanceEffectPrior | None = None) -> Iterator[Caution]:
    """What the design could not deliver: rounds, blocks, an A/A twin, complete blocks."""
    where = places(found)
    for panel in found:
        yield from _panel_cautions(panel, where[panel.stratum].removesuffix(": "), instance_effect)


def _panel_cautions(panel: Panel, place: str, instance_effect: InstanceEffectPrior | None) -> Iterator[Caution]:
    blocks, rounds = len(panel.trials), panel.round_count
    if panel.incomplete:
        yield Caution.of("incomplete-blocks", blocks=panel.incomplete).at(place)
    if not panel.where(Role.AA).any():
        yield Caution.of("no-aa-control").at(place)
    if rounds == 1:
        yield Caution.of("one-round", prior=_prior_words(instance_effect)).at(place)
    elif 1 < rounds < FEWEST_ROUNDS:
        yield Caution.of("few-rounds", rounds=rounds, fewest=FEWEST_ROUNDS).at(place)
    if 0 < blocks < FEWEST_BLOCKS:
        yield Caution.of("few-blocks", blocks=blocks, fewest=FEWEST_BLOCKS).at(place)


def _prior_words(instance_effect: InstanceEffectPrior | None) -> str:
    return (
        f"half-Cauchy, {100 * scale_for(1):g}%"
        if instance_effect is None
        else f"calibrated, {100 * instance_effect.median:.2g}%"
    )


def metric_cautions(found: Sequence[Panel], fits: Mapping[Metric, CostFit]) -> Iterator[Caution]:
    """Which metrics have no ratio, or larger instance effects than the prior allows for."""
    for metric, fit in fits.items():
        having = {condition.key for _, condition, _ in fit.data()}
        judged = [c.key for panel in found if panel.trials for c in panel.conditions if c.role.is_judged]
        missing = [key for key in judged if key not in having]
        if missing and (having or metric is not Metric.TIME_WITH_CHECKPOINT):  # no trial of an engine may have one
            yield Caution.of("no-ratio", metric=metric.value, conditions=", ".join(missing))
        expected = INSTANCE_SD_SCALE if fit.instance_effect is None else fit.instance_effect.median
        if fit.instance_sd > _SURPRISING_RATIO * expected:
            if fit.instance_effect is None:
                yield Caution.of("large-instance-effect", metric=metric.value, found=fit.instance_sd, expected=expected)
            else:
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
    """A gate that answered, or a precision that was missed."""
    if settings.budget is not None:
        if any(v.decision in (Decision.OVER, Decision.WITHIN) for v in primary):
            yield Caution.of("stopped-by-budget")
        return
    for verdict in primary:
        got, wanted = width(verdict.ratio), target_width(verdict.ratio, precision)
        if got > wanted:
            yield Caution.of("precision-missed", condition=verdict.condition.key, width=100.0 * got, aim=100.0 * wanted)
