"""Load agents: how much of a core each took, how well they kept together, and whether they see the same overhead."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from tdelta.records import AgentEffect, AgentUse, LoadAgents, RunResult
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.labels import condition_label
from tdelta.report.page.blocks import Block, Column, Paragraph
from tdelta.report.page.blocks import Table as PageTable
from tdelta.report.page.wording import label
from tdelta.report.quantities import duration, percent, share

_COLUMNS = ("node", "operations", "of a core", "began late by", "waited")


def text(result: RunResult, width: int) -> list[Text | Table]:
    """A row for each agent, then how well they kept together; nothing where a run had none."""
    parts: list[Text | Table] = []
    for found in result.of(LoadAgents):
        table = plain_table((("load agent", False), *((name, name != "node") for name in _COLUMNS)))
        for use in found.agents:
            table.add_row(use.agent, *_cells(use))
        parts += [table, Text(), *paragraph(_together(found), width, "dim")]
        for effect in found.effects:
            parts += paragraph(_seen(effect, condition_label(effect.condition, result.settings)), width, "dim")
    return parts


def blocks(result: RunResult) -> Iterator[Block]:
    for found in result.of(LoadAgents):
        columns = [Column("load agent"), *(Column(name, is_number=name != "node") for name in _COLUMNS)]
        yield PageTable("Load agents", columns, [(use.agent, *_cells(use)) for use in found.agents])
        yield Paragraph(_together(found), "note")
        for effect in found.effects:
            yield Paragraph(_seen(effect, label(effect.condition, result.settings)), "note")


def _cells(use: AgentUse) -> tuple[str, ...]:
    return (
        ", ".join(use.nodes),
        f"{use.operations:,}",
        share(use.cpu_share.median),
        duration(use.late_seconds.median),
        duration(use.waited_seconds.median),
    )


def _together(found: LoadAgents) -> str:
    return (
        f"All were at work for {share(found.overlap.median)} of a trial; first and last start were"
        f" {duration(found.skew_seconds.median)} apart (medians of {found.trials:,} trials), by clocks known to"
        f" {duration(found.clock_error_seconds)}."
    )


def _seen(effect: AgentEffect, name: str) -> str:
    low, high = percent(min(effect.ratios)), percent(max(effect.ratios))
    seen = f"{name}, as each agent timed it in the same {effect.blocks} blocks: {low} to {high}"
    if effect.is_apart is None:
        return f"{seen}."
    sd = f"an agent's own effect has a standard deviation of {100 * effect.between_sd:.2f} %"
    return f"{seen}; {sd}, {'more than' if effect.is_apart else 'no more than'} chance makes."
