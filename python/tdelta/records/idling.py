"""What servers use that run and have nothing to do: described, never judged."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.records.conditions import Condition
from tdelta.records.findings import Finding
from tdelta.records.serving import Typical


@dataclass(frozen=True, slots=True)
class IdleMeasure(Finding):
    """The idle servers of one condition, one look in each of some rounds, after the blocks.

    ``seconds`` is how long a look took, ``cpu_share`` the CPU time of the server's process tree over it (0.01 is one
    hundredth of one CPU), ``written_bytes_per_second`` what it wrote to files.
    """

    FINDING = "idle"

    condition: Condition
    rounds: int
    seconds: float
    cpu_share: Typical
    written_bytes_per_second: Typical
