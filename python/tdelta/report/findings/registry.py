"""Which renderer shows which findings, and where: what terminal and page go through.

A finding is a record (`tdelta.records.Finding`), a model in `tdelta.inference` that makes it, and a renderer here. Its
JSON follows from its type (`tdelta.report.values`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tdelta.document.blocks import Block, Line, Medium, Section, is_for
from tdelta.records import (
    ActionMeasure,
    BackupMeasure,
    CarryOver,
    CheckpointMeasure,
    ClientMemory,
    Contrast,
    CostBreakdown,
    CpuProfile,
    DataSize,
    FileEvidence,
    Finding,
    Hosts,
    LoadAgents,
    Percentile,
    PublishedCell,
    ReplicationMeasure,
    RunResult,
    ServerMeasures,
    SettingsCompared,
    StallMeasure,
    StepMeasure,
    StorageLayer,
    TailMeasure,
    TemporaryData,
    Traces,
    VersionDifference,
)
from tdelta.report.findings import (
    actions,
    backups,
    client_memory,
    contrasts,
    cost_breakdown,
    evidence,
    hosts,
    profiles,
    published,
    replication,
    servers,
    stalls,
    steps,
    storage,
    tails,
    temporary,
    traces,
    versions,
)


@dataclass(frozen=True, slots=True)
class Shown:
    """How findings are shown.

    Attributes:
        kinds: which findings.
        blocks: what terminal and page show of them; nothing where a run has none of them.
        part: where on the page: the name of a section of their own, or where one that is always there asks for them.
        title: of a section of their own.
        lines: the lines that they add to the answer.
    """

    kinds: tuple[type[Finding], ...]
    blocks: Callable[[RunResult], Iterable[Block]]
    part: str
    title: str = ""
    lines: Callable[[RunResult], Iterable[Line]] | None = None


SHOWN: list[Shown] = [
    Shown((VersionDifference,), versions.blocks, "versions", "Versions"),
    Shown((StallMeasure, CarryOver), stalls.blocks, "answer", lines=stalls.lines),
    Shown((StorageLayer,), storage.blocks, "storage", "Layers of encryption"),
    Shown((PublishedCell,), published.blocks, "answer"),
    Shown((Percentile,), tails.percentile_blocks, "latency"),
    Shown((TailMeasure,), tails.blocks, "latency"),
    Shown((ServerMeasures,), servers.blocks, "servers", "Servers"),
    Shown((LoadAgents,), hosts.agent_blocks, "agents", "Load generators"),
    Shown((Hosts,), hosts.blocks, "hosts", "Hosts"),
    Shown((ClientMemory,), client_memory.blocks, "client-memory", "Client memory"),
    Shown((StepMeasure,), steps.blocks, "steps", "Bulk loads and rebuilds"),
    Shown((ActionMeasure,), actions.blocks, "actions", "Operations", actions.lines),
    Shown((BackupMeasure,), backups.blocks, "backups", "Backups", backups.lines),
    Shown((ReplicationMeasure,), replication.blocks, "replication", "Replicas"),
    Shown((TemporaryData,), temporary.blocks, "temporary", "Temporary files"),
    Shown((Traces,), traces.blocks, "statements", "Statements"),
    Shown((CpuProfile,), profiles.blocks, "profiles", "Where the CPU time goes"),
    Shown((Contrast,), contrasts.blocks, "confidence"),
    Shown((CheckpointMeasure,), steps.checkpoint_blocks, "resources"),
    Shown((DataSize,), storage.size_blocks, "resources"),
    Shown((CostBreakdown,), cost_breakdown.blocks, "cost-breakdown", "Where the cost goes"),
    Shown((FileEvidence,), evidence.blocks, "trust"),
    Shown((SettingsCompared,), servers.setting_blocks, "settings"),
]
"""In the order of the terminal; sections of the page follow each other in it, too."""


def answer_lines(result: RunResult) -> Iterator[Line]:
    """What findings add to the lines of the answer."""
    for one in SHOWN:
        if one.lines is not None:
            yield from one.lines(result)


def placed(part: str, result: RunResult) -> Iterator[Block]:
    for one in SHOWN:
        if one.part == part:
            yield from one.blocks(result)


def sections(result: RunResult) -> Iterator[Section]:
    for one in SHOWN:
        blocks = list(one.blocks(result)) if one.title else []
        if any(is_for(block, Medium.PAGE) for block in blocks):
            yield Section(one.part, one.title, blocks)
