"""One condition over another that is not its baseline, factor by factor: shown, never decided on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tdelta.document.blocks import Block, Medium, Paragraph
from tdelta.document.forest import Row, forest, limits_of
from tdelta.document.labels import contrast_label, contrast_title, metric_name
from tdelta.findings.base import Kind
from tdelta.records import Contrast, Estimate, RunResult


def blocks(found: Sequence[Contrast], result: RunResult) -> Iterator[Block]:
    settings = result.settings
    rows: list[Row] = []
    for factor in dict.fromkeys(one.factor for one in found):
        rows.append(Row(contrast_title(factor)))
        for one in (one for one in found if one.factor == factor):
            name = f"{contrast_label(one, settings)}, {metric_name(one.metric, settings)}"
            rows.append(Row(name, one.ratio, _side(one.ratio)))
    figure = forest(
        "contrasts",
        "Effect of one factor",
        rows,
        limits_of(settings, is_primary=False),
        axis="one configuration over the other",
        caption=(
            "Configurations of the same blocks that differ in one factor, one over the other: circle, median; thick"
            " bar, 95% interval; thin bar, 99%. Informational."
        ),
        noted="the 95% interval",
    )
    yield replace(figure, medium=Medium.BOTH)
    note = "One configuration over the other, in the same blocks. Informational."
    yield Paragraph(note, "note", Medium.TERMINAL)


def _side(estimate: Estimate) -> str:
    low, high = estimate.hdi95
    return "above 0%" if low > 1 else "below 0%" if high < 1 else "holds 0%"


KIND = Kind(Contrast, blocks=blocks, part="confidence")
