"""What loads and rebuilds took: described, never judged; the verdicts are of their elapsed and CPU time."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.records.conditions import Condition
from tdelta.records.findings import Finding
from tdelta.records.serving import Typical


@dataclass(frozen=True, slots=True)
class StepMeasure(Finding):
    """The loads, or the rebuilds, of one condition, each a trial.

    ``rows`` are those of all tables, ``cpu_seconds`` the database's; a rate is a second of elapsed time. Written bytes
    are what the database asked the system to write, logs and all. ``files_bytes`` is what its files take afterwards,
    median; None where that is not known.
    """

    FINDING = "steps"

    condition: Condition
    trials: int
    rows: int
    seconds: Typical
    cpu_seconds: Typical
    rows_per_second: Typical
    written_bytes_per_second: Typical
    files_bytes: float | None
