"""One condition over another that is not its baseline, factor by factor: shown, never decided on."""

from __future__ import annotations

from dataclasses import replace

from tdelta.document.blocks import Block, Medium, Paragraph
from tdelta.document.forest import Row, forest, limits_of
from tdelta.document.labels import contrast_label, contrast_title, metric_name
from tdelta.records import Contrast, Estimate, RunResult


def blocks(result: RunResult) -> list[Block]:
    """What one factor does by itself, in the same blocks."""
    if not result.of(Contrast):
        return []
    settings = result.settings
    drawn: list[Row] = []
    for factor in dict.fromkeys(c.factor for c in result.of(Contrast)):
        drawn.append(Row(contrast_title(factor)))
        for contrast in (c for c in result.of(Contrast) if c.factor == factor):
            name, ratio = contrast_label(contrast, settings), contrast.ratio
            drawn.append(Row(f"{name}, {metric_name(contrast.metric, settings)}", ratio, _side(ratio)))
    figure = forest(
        "contrasts",
        "What one factor does by itself",
        drawn,
        limits_of(settings, is_primary=False),
        axis="one condition over the other",
        caption=(
            "Conditions of the same blocks that differ in one factor, one over the other: circle, median; thick bar,"
            " 95% interval; thin bar, 99%. Shown, never decided on."
        ),
        noted="the 95% interval",
    )
    note = "One condition over the other, in the same blocks; for orientation, nothing is decided on it."
    return [replace(figure, medium=Medium.BOTH), Paragraph(note, "note", Medium.TERMINAL)]


def _side(estimate: Estimate) -> str:
    """Where the 95% interval lies, in two words; no decision."""
    low, high = estimate.hdi95
    return "above 0%" if low > 1 else "below 0%" if high < 1 else "holds 0%"
