"""The checkpoint that follows a trial: how long it took and what it wrote, beside the plain twins'.

A block counts where all of its twins had something to write; they did the same work, so that is so of all or of none.
On a server the time has steps of 20 ms where coming to rest is waited for, and holds whatever the engine does at its
own pace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tdelta import inference
from tdelta.document.blocks import Block, Column, Paragraph, Table, columns
from tdelta.document.effect import described_cells
from tdelta.document.quantities import MISSING, amounts
from tdelta.document.wording import label
from tdelta.findings.base import FinishedRun, Kind
from tdelta.records import Condition, Estimate, Finding, Measurement, RunResult, Typical
from tdelta.records.trials import by_condition

_NOTE = (
    "Medians over the trials. Each trial ends with a checkpoint, which is not part of response time. Changes are ratios"
    " of means in the same blocks and require 16 blocks. Informational."
)


@dataclass(frozen=True, slots=True)
class CheckpointMeasure(Finding):
    """The checkpoints of one condition; of runs in which any trial had one.

    ``checkpoints`` of the ``trials`` had something to do. ``written_bytes`` are what one wrote; None where that was not
    measured. The ratios are of means, over the plain twins' of the same blocks, as a verdict's: None for plain and B/B
    twins, and where too few blocks have a checkpoint on every twin.
    """

    FINDING = "checkpoints"

    condition: Condition
    trials: int
    checkpoints: int
    seconds: Typical
    written_bytes: Typical | None
    time_ratio: Estimate | None
    written_ratio: Estimate | None


def of_run(run: FinishedRun) -> Iterator[CheckpointMeasure]:
    if not any(trial.measurement.checkpoint.ns > 0 for trial in run.trials):
        return
    ratios = inference.described_ratios(run.trials, run.settings, {"time": _ns, "written": _written})
    by_key = by_condition(run.trials)
    for condition in run.settings.conditions:
        measured = [m for m in by_key.get(condition.key, ()) if m.checkpoint.ns > 0]
        if measured:
            yield CheckpointMeasure(
                condition=condition,
                trials=len(by_key[condition.key]),
                checkpoints=len(measured),
                seconds=Typical.of(m.checkpoint.ns / 1e9 for m in measured),
                written_bytes=Typical.of_any(_written(m) for m in measured if m.checkpoint.written_bytes is not None),
                time_ratio=ratios.get(("time", condition.key)),
                written_ratio=ratios.get(("written", condition.key)),
            )


def _ns(measured: Measurement) -> float:
    return float(measured.checkpoint.ns)


def _written(measured: Measurement) -> float:
    return float(measured.checkpoint.written_bytes or 0)


def blocks(found: Sequence[CheckpointMeasure], result: RunResult) -> Iterator[Block]:
    """A row for each condition, unless none wrote anything."""
    if not any(one.written_bytes is None or one.written_bytes.median > 0 for one in found):
        return
    titles = columns("time", "change", "95% interval", "written", "change")
    rows = [
        (
            label(one.condition, result.settings),
            amounts((1e6 * one.seconds.median,), "µs")[0],
            *described_cells(one.time_ratio, result.settings),
            MISSING if one.written_bytes is None else amounts((one.written_bytes.median,), "bytes")[0],
            *described_cells(one.written_ratio, result.settings),
        )
        for one in found
    ]
    titles.append(Column("95% interval", is_number=True, is_brief=False))
    yield Table("The checkpoint after a trial", titles, rows, name="checkpoint after a trial")
    yield Paragraph(_NOTE, "note")


KIND = Kind(CheckpointMeasure, of_run, blocks, "resources")
