"""Load agents: what each did, how well they kept together, and whether they see the same overhead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tdelta import inference
from tdelta.document.blocks import Block, Paragraph, Table, columns
from tdelta.document.quantities import duration, percent, share
from tdelta.document.wording import label
from tdelta.findings.base import FinishedRun, Kind
from tdelta.messages import Caution
from tdelta.records import AgentUse, LoadAgents, RunResult, SeenOverhead


def of_run(run: FinishedRun) -> Iterator[LoadAgents]:
    if any(trial.measurement.agents for trial in run.trials):
        yield inference.load_agents(run.trials, run.settings)


def cautions(found: Sequence[LoadAgents], _run: FinishedRun) -> Iterator[Caution]:
    """Verdicts whose agents see different overheads."""
    for effect in (effect for one in found for effect in one.effects if effect.is_apart):
        yield Caution.of(
            "agents-differ",
            condition=effect.condition.key,
            low=100 * (min(effect.ratios) - 1),
            high=100 * (max(effect.ratios) - 1),
            sd=100 * effect.between_sd,
        )


def blocks(found: Sequence[LoadAgents], result: RunResult) -> Iterator[Block]:
    (agents,) = found
    titles = columns("node", "operations", "of a core", "began late by", "waited", texts=("node",))
    yield Table("Load agents", titles, [_row(use) for use in agents.agents], name="load agent")
    yield Paragraph(
        f"All were at work for {share(agents.overlap.median)} of a trial; first and last start were"
        f" {duration(agents.skew_seconds.median)} apart (medians of {agents.trials:,} trials), by clocks known to"
        f" {duration(agents.clock_error_seconds)}.",
        "note",
    )
    yield from (Paragraph(_seen(one, label(one.condition, result.settings)), "note") for one in agents.effects)


def _row(use: AgentUse) -> tuple[str, ...]:
    return (
        use.agent,
        ", ".join(use.nodes),
        f"{use.operations:,}",
        share(use.cpu_share.median),
        duration(use.late_seconds.median),
        duration(use.waited_seconds.median),
    )


def _seen(effect: SeenOverhead, name: str) -> str:
    low, high = percent(min(effect.ratios)), percent(max(effect.ratios))
    seen = f"{name}, measured by each load generator in the same {effect.repeats} blocks: {low} to {high}"
    if effect.is_apart is None:
        return f"{seen}."
    sd = f"its variation between load generators is (standard deviation) {100 * effect.between_sd:.2f}%"
    return f"{seen}; {sd}, {'more than' if effect.is_apart else 'no more than'} by chance."


KIND = Kind(LoadAgents, of_run, blocks, "agents", "Load generators", cautions=cautions)
