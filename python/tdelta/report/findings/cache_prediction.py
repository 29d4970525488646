"""Predicted overhead against cache share, beside what was measured."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from tdelta.records import Band, CachePrediction, RunResult
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.labels import compared_label
from tdelta.report.page.blocks import Block, Paragraph
from tdelta.report.page.figures.cache_prediction import cache_prediction_figure
from tdelta.report.quantities import interval, percent, share

NOTE = (
    "Overheads of each cell as measured, and as the other cells predict it: their pages times the prices of the code"
    " under test, fitted to what they took. The band is for what a cell like them would measure there."
)


def text(result: RunResult, width: int) -> list[Text | Table]:
    """Cells of a run over cache shares beside their predictions; nothing where it has none."""
    if not result.of(CachePrediction):
        return []
    headings = ("measured", "predicted", "95 % band")
    table = plain_table((("predicted: cache", False), *((name, True) for name in headings), ("", False)))
    for one in result.of(CachePrediction):
        for name, of in (("response time", "response"), ("CPU per operation", "cpu")):
            table.add_row(Text(f"{compared_label(one.condition)}, {name}", style="bold"))
            _add(table, one, of)
    return [table, Text(), *paragraph(f"{NOTE} {held_text(result)}", width, "dim")]


def _add(table: Table, one: CachePrediction, of: str) -> None:
    for cell in one.cells:
        measured: Band = getattr(cell, of)
        predicted: Band = getattr(cell, f"predicted_{of}")
        held = "held" if getattr(cell, f"{of}_held") else "missed"
        row = (percent(measured.median), percent(predicted.median), interval(predicted.band95), held)
        table.add_row(f"  {share(cell.cache)} of the data", *row)


def held_text(result: RunResult) -> str:
    """In how many cells the band held the measured median."""
    cells = [cell for one in result.of(CachePrediction) for cell in one.cells]
    held = [sum(getattr(cell, f"{of}_held") for cell in cells) for of in ("response", "cpu")]
    return f"Bands held {held[0]} of {len(cells)} medians of response time and {held[1]} of CPU time."


def blocks(result: RunResult) -> list[Block]:
    """Predicted overhead against cache share over the measured cells; None without enough of them."""
    if not result.of(CachePrediction):
        return []
    blocks: list[Block] = [Paragraph(f"{NOTE} {held_text(result)}")]
    blocks += [cache_prediction_figure(one, number) for number, one in enumerate(result.of(CachePrediction))]
    return blocks
