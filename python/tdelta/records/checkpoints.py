"""What bringing a database to rest behind its trials took: described, with the ratio to the plain twins."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.records.conditions import Condition
from tdelta.records.estimates import Estimate
from tdelta.records.findings import Finding
from tdelta.records.serving import Typical


@dataclass(frozen=True, slots=True)
class CheckpointMeasure(Finding):
    """The checkpoints of one condition; of runs in which any trial had one.

    ``checkpoints`` of the ``trials`` had something to do. ``written_bytes`` are what one wrote; None where that was not
    measured. The ratios are of means, over the plain twins' of the same blocks, as a verdict's: None for plain and B/B
    twins, and where too few blocks have a checkpoint on every twin (`tdelta.inference.checkpoints`).
    """

    FINDING = "checkpoints"

    condition: Condition
    trials: int
    checkpoints: int
    seconds: Typical
    written_bytes: Typical | None
    time_ratio: Estimate | None
    written_ratio: Estimate | None
