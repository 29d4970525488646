"""Hosts that the twins changed between: how much one costs over another, and whether overheads are alike on all."""

from __future__ import annotations

from collections.abc import Iterator

from tdelta.records import Condition, HostEffect, HostOverhead, Hosts, RunResult
from tdelta.report.labels import condition_label, metric_name, surroundings
from tdelta.report.page.blocks import Block, Paragraph
from tdelta.report.quantities import interval, percent

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
    return f"Host {effect.host} over host {effect.versus}{where}: {what} {ratio} (95 % HDI {ends})."


def _overhead(one: HostOverhead, names: tuple[str, ...], result: RunResult) -> str:
    seen = ", ".join(f"{percent(ratio)} on {name}" for ratio, name in zip(one.ratios, names, strict=True))
    said = f"{_name(one.condition, result)}, by host over {one.rounds} rounds: {seen}"
    if one.is_apart is None:
        return f"{said}; too few rounds to say whether overheads differ by host."
    return f"{said}, which is {'more than' if one.is_apart else 'no more than'} chance makes them differ by."


def _name(condition: Condition, result: RunResult) -> str:
    return condition_label(condition, result.settings)
