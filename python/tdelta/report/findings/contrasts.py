"""One condition over another that is not its baseline, factor by factor: shown, never decided on."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from tdelta.records import Contrast, Estimate, RunResult
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.labels import contrast_label, contrast_title, metric_label, metric_name
from tdelta.report.page.blocks import Block
from tdelta.report.page.figures.forest import Row, forest
from tdelta.report.page.rows import limits_of
from tdelta.report.quantities import ratio_cells
from tdelta.report.sentence import limits


def text(result: RunResult, width: int) -> list[Text | Table]:
    """One condition over another, factor by factor: shown, never decided on."""
    if not result.of(Contrast):
        return []
    table = plain_table((("", False), ("ratio", True), ("95 % HDI", True)))
    for factor in dict.fromkeys(contrast.factor for contrast in result.of(Contrast)):
        table.add_row(Text(contrast_title(factor), style="bold"))
        for contrast in (c for c in result.of(Contrast) if c.factor == factor):
            name = f"  {contrast_label(contrast, result.settings)}, {metric_label(contrast.metric, result.settings)}"
            table.add_row(name, *ratio_cells(contrast.ratio, limits(result.settings)))
    note = "One condition over the other, in the same blocks; for orientation, nothing is decided on it."
    return [table, Text(), *paragraph(note, width, "dim")]


def blocks(result: RunResult) -> list[Block]:
    """What one factor does by itself: one condition over another that is not its baseline, in the same blocks."""
    if not result.of(Contrast):
        return []
    settings = result.settings
    rows: list[Row] = []
    for factor in dict.fromkeys(c.factor for c in result.of(Contrast)):
        rows.append(Row(contrast_title(factor)))
        for contrast in (c for c in result.of(Contrast) if c.factor == factor):
            name = f"{contrast_label(contrast, settings)}, {metric_name(contrast.metric, settings)}"
            rows.append(Row(name, contrast.ratio, _side(contrast.ratio)))
    figure = forest(
        "contrasts",
        "What one factor does by itself",
        rows,
        limits_of(settings, is_primary=False),
        axis="one condition over the other",
        caption=(
            "Conditions of the same blocks that differ in one factor, one over the other: circle, median; thick bar,"
            " 95 % HDI; thin bar, 99 %. Shown, never decided on."
        ),
        noted="the 95 % HDI",
    )
    return [figure]


def _side(estimate: Estimate) -> str:
    """Where the 95 % HDI lies, in two words; no decision."""
    low, high = estimate.hdi95
    return "above 0 %" if low > 1 else "below 0 %" if high < 1 else "holds 0 %"
