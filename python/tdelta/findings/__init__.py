"""Everything that a run finds besides its verdicts: a module per kind, with its record, model and blocks.

Each module declares its `Kind`, and this package imports all modules of its folder. So a new kind takes one file, and a
name in `ORDER` if it is to have a certain place in terminal and page.

Showing a run must not load NumPy. What needs it is in `tdelta.inference` and imported when a run is computed, and the
records that it makes are in `tdelta.records`: tails, profiles, cost breakdowns, load agents, and what the verdicts' own
models find (stalls, carry-over, contrasts, hosts). So is `FileEvidence`, which the search of files makes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from tdelta.document.blocks import Block, Line, Medium, Section, is_for
from tdelta.findings.base import KINDS, FinishedRun, Kind
from tdelta.messages import Caution
from tdelta.records import Finding, RunResult

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

ORDER = (
    *("version_differences", "stalls", "order_effect", "storage", "published", "tails", "servers"),
    *("agents", "hosts", "actions", "backups", "replication", "temporary", "traces", "profiles", "contrasts"),
    *("checkpoints", "data_sizes", "cost_breakdown", "evidence", "twin_settings"),
)
"""Kinds in the order of the terminal; sections of the page follow each other in it, too. Others come after these."""


def kinds() -> list[Kind[Any]]:
    return [KINDS[name] for name in (*ORDER, *sorted(KINDS.keys() - set(ORDER)))]


def findings_of(run: FinishedRun) -> tuple[tuple[Finding, ...], tuple[Caution, ...]]:
    """All findings of a run, and the cautions that they give rise to."""
    found = [(kind, kind.found(run)) for kind in kinds()]
    return (
        tuple(one for _, of_kind in found for one in of_kind),
        tuple(caution for kind, of_kind in found for caution in kind.cautions(of_kind, run)),
    )


def blocks_of(result: RunResult) -> Iterator[Block]:
    for kind in kinds():
        yield from kind.shown(result)


def placed(part: str, result: RunResult) -> Iterator[Block]:
    """The blocks that belong to a section of the page."""
    for kind in kinds():
        if kind.part == part:
            yield from kind.shown(result)


def sections(result: RunResult) -> Iterator[Section]:
    """The sections of kinds that have one of their own."""
    for kind in kinds():
        blocks = kind.shown(result) if kind.title else []
        if any(is_for(block, Medium.PAGE) for block in blocks):
            yield Section(kind.part, kind.title, blocks)


def answer_lines(result: RunResult, only: Collection[type[Finding]] | None = None) -> Iterator[Line]:
    """The lines that kinds add to the answer: of all kinds, or of those with these records."""
    for kind in kinds():
        if (only is None or kind.record in only) and (found := result.of(kind.record)):
            yield from kind.lines(found, result)
