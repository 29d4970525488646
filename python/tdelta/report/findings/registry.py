"""Which renderer shows which findings, and where: what terminal and page go through.

A finding is a record (`tdelta.records.Finding`), a model in `tdelta.inference` that makes it, and a renderer here. Its
JSON follows from its type (`tdelta.report.values`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

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
from tdelta.report.page.blocks import Block, Medium, Section, is_for


@dataclass(frozen=True, slots=True)
class Shown:
    """How findings are shown.

    Attributes:
        kinds: which findings.
        blocks: what terminal and page show of them; nothing where a run has none of them.
        part: where on the page: the name of a section of their own, or where one that is always there asks for them.
        title: of a section of their own.
        is_asked: whether only who asked about them has any, so that they belong to the answer and not to its details.
    """

    kinds: tuple[type[Finding], ...]
    blocks: Callable[[RunResult], Iterable[Block]]
    part: str
    title: str = ""
    is_asked: bool = False


SHOWN: list[Shown] = [
    Shown((VersionDifference,), versions.blocks, "versions", "Versions", is_asked=True),
    Shown((StallMeasure, CarryOver), stalls.blocks, "answer"),
    Shown((StorageLayer,), storage.blocks, "storage", "Layers of encryption", is_asked=True),
    Shown((PublishedCell,), published.blocks, "answer"),
    Shown((Percentile,), tails.percentile_blocks, "latency"),
    Shown((TailMeasure,), tails.blocks, "latency"),
    Shown((ServerMeasures,), servers.blocks, "servers", "What the servers did"),
    Shown((LoadAgents,), hosts.agent_blocks, "agents", "Load agents", is_asked=True),
    Shown((Hosts,), hosts.blocks, "hosts", "Hosts", is_asked=True),
    Shown((ClientMemory,), client_memory.blocks, "client-memory", "Client memory", is_asked=True),
    Shown((StepMeasure,), steps.blocks, "steps", "Loads and rebuilds", is_asked=True),
    Shown((ActionMeasure,), actions.blocks, "actions", "What was done to the database", is_asked=True),
    Shown((BackupMeasure,), backups.blocks, "backups", "What the backups are", is_asked=True),
    Shown((ReplicationMeasure,), replication.blocks, "replication", "What the replicas did", is_asked=True),
    Shown((TemporaryData,), temporary.blocks, "temporary", "Temporary files", is_asked=True),
    Shown((Traces,), traces.blocks, "statements", "Statements", is_asked=True),
    Shown((CpuProfile,), profiles.blocks, "profiles", "Where the CPU time goes"),
    Shown((Contrast,), contrasts.blocks, "posteriors"),
    Shown((CheckpointMeasure,), steps.checkpoint_blocks, "resources"),
    Shown((DataSize,), storage.size_blocks, "resources"),
    Shown((CostBreakdown,), cost_breakdown.blocks, "cost-breakdown", "Where the cost goes"),
    Shown((FileEvidence,), evidence.blocks, "trust"),
    Shown((SettingsCompared,), servers.setting_blocks, "settings"),
]
"""In the order of the terminal; sections of the page follow each other in it, too."""


def placed(part: str, result: RunResult) -> Iterator[Block]:
    for one in SHOWN:
        if one.part == part:
            yield from one.blocks(result)


def sections(result: RunResult) -> Iterator[Section]:
    for one in SHOWN:
        blocks = list(one.blocks(result)) if one.title else []
        if any(is_for(block, Medium.PAGE) for block in blocks):
            yield Section(one.part, one.title, blocks)
