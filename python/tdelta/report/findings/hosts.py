"""Hosts and load agents: what each did, and whether overheads are alike on all."""

from __future__ import annotations

from collections.abc import Iterator

from tdelta.document.blocks import Block, Paragraph, Table, columns
from tdelta.document.labels import condition_label, metric_name, surroundings
from tdelta.document.quantities import duration, interval, percent, share
from tdelta.document.wording import label
from tdelta.records import AgentEffect, AgentUse, Condition, HostEffect, HostOverhead, Hosts, LoadAgents, RunResult


def agent_blocks(result: RunResult) -> Iterator[Block]:
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
    sd = f"an agent's own effect has a standard deviation of {100 * effect.between_sd:.2f}%"
    return f"{seen}; {sd}, {'more than' if effect.is_apart else 'no more than'} chance makes."


_NOTE = "Twins changed hosts from round to round, so this is in no overhead above."


def blocks(result: RunResult) -> Iterator[Block]:
    """A sentence for each host after the first, and for each condition."""
    yield from map(Paragraph, _sentences(result))


def _sentences(result: RunResult) -> Iterator[str]:
    for found in result.of(Hosts):
        for effect in found.effects:
            yield _effect(effect, result)
        if found.effects and not found.confounded:
            yield _NOTE
        for one in found.overheads:
            yield _overhead(one, found.names, result)
        for condition in found.confounded:
            yield f"{_name(condition, result)} cannot be separated from the host it was on."


def _effect(effect: HostEffect, result: RunResult) -> str:
    where = "".join(f", {level}" for level in surroundings(effect.baseline, result.settings))
    ratio, ends = percent(effect.estimate.median), interval(effect.estimate.hdi95)
    what = metric_name(result.settings.metric, result.settings)
    return f"Host {effect.host} over host {effect.versus}{where}: {what} {ratio} (95% interval {ends})."


def _overhead(one: HostOverhead, names: tuple[str, ...], result: RunResult) -> str:
    seen = ", ".join(f"{percent(ratio)} on {name}" for ratio, name in zip(one.ratios, names, strict=True))
    said = f"{_name(one.condition, result)}, by host over {one.rounds} rounds: {seen}"
    if one.is_apart is None:
        return f"{said}; too few rounds to say whether overheads differ by host."
    return f"{said}, which is {'more than' if one.is_apart else 'no more than'} chance makes them differ by."


def _name(condition: Condition, result: RunResult) -> str:
    return condition_label(condition, result.settings)
