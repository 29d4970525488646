"""What a reader must know before believing the figures: cautions travel with the numbers they qualify."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tdelta.inference.costs import Panel, places
from tdelta.inference.decisions import interval_words, percent_words
from tdelta.inference.fits import CostFit
from tdelta.inference.luck import LUCK_SCALE, scale_for
from tdelta.inference.stopping import target_width, width
from tdelta.records import Decision, LuckPrior, Metric, NoiseFloor, Role, RunSettings, Validity, Verdict

FEWEST_ROUNDS = 3
FEWEST_BLOCKS = 16
"""At least 3 rounds and 16 pairs (docs/statistics.md, Design)."""

_SURPRISING_LUCK = 2.5
_SMALLEST_SAID = 0.0005
"""Twins that differ by less than 0.05 %, as counters of bytes may, would be said to differ by 0.0 %."""


def design_cautions(found: Sequence[Panel], luck: LuckPrior | None = None) -> Iterator[str]:
    """What the design could not deliver: rounds, blocks, an A/A twin, complete blocks."""
    where = places(found)
    for panel in found:
        yield from (where[panel.stratum] + caution for caution in _panel_cautions(panel, luck))


def _panel_cautions(panel: Panel, luck: LuckPrior | None) -> Iterator[str]:
    blocks, rounds = len(panel.trials), panel.round_count
    if panel.incomplete:
        plural = "block is" if panel.incomplete == 1 else "blocks are"
        yield f"{panel.incomplete} incomplete {plural} left out of the verdicts; the trials are kept in the store"
    if not panel.where(Role.AA).any():
        yield "no A/A twin: this run does not show its own noise floor"
    if rounds == 1:
        yield (
            f"one round: how much luck of layout differs between instances was not measured, so the prior "
            f"({_luck_words(luck)}) widens every interval; "
            "more blocks cannot narrow it, more rounds can"
        )
    elif 1 < rounds < FEWEST_ROUNDS:
        yield f"{rounds} rounds: at least {FEWEST_ROUNDS} are needed to see the luck of instances"
    if 0 < blocks < FEWEST_BLOCKS:
        yield f"{blocks} complete {'block' if blocks == 1 else 'blocks'}: at least {FEWEST_BLOCKS} are advised"


def _luck_words(luck: LuckPrior | None) -> str:
    return f"half-Cauchy, {100 * scale_for(1):g} %" if luck is None else f"calibrated, {100 * luck.median:.2g} %"


def _again(luck: LuckPrior | None) -> str:
    return "" if luck is None else "; calibrate this machine again"


def metric_cautions(found: Sequence[Panel], fits: Mapping[Metric, CostFit]) -> Iterator[str]:
    """Which metrics have no ratio, or more luck than the prior allows for."""
    for metric, fit in fits.items():
        having = {condition.key for _, condition, _ in fit.data()}
        judged = [c.key for panel in found if panel.trials for c in panel.conditions if c.role.is_judged]
        missing = [key for key in judged if key not in having]
        if missing and (having or metric is not Metric.TIME_WITH_CHECKPOINT):  # no trial of an engine may have one
            where = ", ".join(missing)
            yield f"{metric.value}: no ratio for {where}, since a trial there or at the baseline cost nothing"
        expected = LUCK_SCALE if fit.luck is None else fit.luck.median
        if fit.luck_median > _SURPRISING_LUCK * expected:
            yield (
                f"{metric.value}: instances differ by {100 * fit.luck_median:.1f} %, far more than was expected "
                f"({100 * expected:.2g} %); the intervals may be too narrow{_again(fit.luck)}"
            )


def twin_cautions(found: Sequence[Panel], floors: Sequence[NoiseFloor], checks: Sequence[Validity]) -> Iterator[str]:
    """A/A twins that clearly differ, though by too little to fail their check."""
    where = places(found)
    for floor, check in zip(floors, checks, strict=True):
        low, high = floor.ratio.hdi95
        if not check.failed and not low <= 1.0 <= high and abs(floor.ratio.median - 1.0) >= _SMALLEST_SAID:
            which = "A/A" if floor.condition is None else "B/B"
            yield (
                f"{where[floor.stratum]}{which} twins differ by {percent_words(floor.ratio.median)} % "
                f"(95 % HDI {interval_words(floor.ratio.hdi95)}) though nothing differs: "
                "read overheads of that size with care"
            )


def stopping_cautions(primary: Sequence[Verdict], settings: RunSettings, precision: float) -> Iterator[str]:
    """A gate that answered, or a precision that was missed."""
    if settings.budget is not None:
        if any(v.decision in (Decision.OVER, Decision.WITHIN) for v in primary):
            yield "the run may have stopped because the budget was answered: the estimate leans away from the budget"
        return
    for verdict in primary:
        got, wanted = width(verdict.ratio), target_width(verdict.ratio, precision)
        if got > wanted:
            yield (
                f"{verdict.condition.key}: the 95 % HDI is {100 * got:.1f} points wide, "
                f"the aim was {100 * wanted:.1f}: measure longer for a sharper figure"
            )
