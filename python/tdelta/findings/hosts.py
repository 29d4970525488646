"""Hosts that twins change between: what each is worth, and whether overheads are alike on all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tdelta.document.blocks import Block, Paragraph
from tdelta.document.labels import condition_label, metric_name, surroundings
from tdelta.document.quantities import interval, percent
from tdelta.findings.base import Kind
from tdelta.records import HostEffect, Hosts, RunResult, SeenOverhead

_NOTE = "The copies changed hosts from round to round, so differences between hosts are in no overhead above."


def blocks(found: Sequence[Hosts], result: RunResult) -> Iterator[Block]:
    """A sentence for each host after the first, and for each condition."""
    (hosts,) = found
    yield from (Paragraph(_effect(effect, result)) for effect in hosts.effects)
    if hosts.effects and not hosts.confounded:
        yield Paragraph(_NOTE)
    yield from (Paragraph(_overhead(one, hosts.names, result)) for one in hosts.overheads)
    for condition in hosts.confounded:
        name = condition_label(condition, result.settings)
        yield Paragraph(f"{name} cannot be separated from the host it was on.")


def _effect(effect: HostEffect, result: RunResult) -> str:
    where = "".join(f", {level}" for level in surroundings(effect.baseline, result.settings))
    ratio, ends = percent(effect.estimate.median), interval(effect.estimate.hdi95)
    what = metric_name(result.settings.metric, result.settings)
    return f"Host {effect.host} over host {effect.versus}{where}: {what} {ratio} (95% interval {ends})."


def _overhead(one: SeenOverhead, names: Sequence[str], result: RunResult) -> str:
    seen = ", ".join(f"{percent(ratio)} on {name}" for ratio, name in zip(one.ratios, names, strict=True))
    said = f"{condition_label(one.condition, result.settings)}, by host over {one.repeats} rounds: {seen}"
    if one.is_apart is None:
        return f"{said}; too few rounds to compare hosts."
    return f"{said}, which is {'more than' if one.is_apart else 'no more than'} by chance."


KIND = Kind(Hosts, blocks=blocks, part="hosts", title="Hosts")
