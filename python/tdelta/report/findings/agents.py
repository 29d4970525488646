"""Load agents: how much of a core each took, how well they kept together, and whether they see the same overhead."""

from __future__ import annotations

from collections.abc import Iterator

from tdelta.records import AgentEffect, AgentUse, LoadAgents, RunResult
from tdelta.report.page.blocks import Block, Paragraph, Table, columns
from tdelta.report.page.wording import label
from tdelta.report.quantities import duration, percent, share


def blocks(result: RunResult) -> Iterator[Block]:
    """A row for each agent, then how well they kept together."""
    titles = columns("node", "operations", "of a core", "began late by", "waited", texts=("node",))
    for found in result.of(LoadAgents):
        yield Table("Load agents", titles, [(use.agent, *_cells(use)) for use in found.agents], name="load agent")
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
