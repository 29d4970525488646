"""What actions took, as trials and beside them: described, never judged; the verdicts are of elapsed and CPU time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tdelta.records.conditions import Condition
from tdelta.records.findings import Estimate, Finding
from tdelta.records.serving import Typical

BACKUP = "backup_"
"""What the counters of backups begin with."""

SEARCHED = "markers_in_"
"""What a backup's counters of planted markers begin with; the class of the files follows."""


@dataclass(frozen=True, slots=True)
class BackupMeasure(Finding):
    """The backups of one condition, each a trial, or each beside the load of one: medians over the trials.

    ``data_bytes`` is the size of the database's files, ``disk_bytes`` what those that hold its rows take on the disk
    (None where it was not counted), ``raw_bytes`` that of the backup before it was compressed,
    ``backup_bytes`` that of the backup, ``ratio`` the former over the latter. ``is_logical``: rows are written, and not
    the files in which they lie. ``markers`` are the planted markers that were found in the backup, once decompressed,
    by class of file: the most that any had.
    """

    FINDING = "backups"

    condition: Condition
    action: str
    trials: int
    is_logical: bool
    data_bytes: float
    raw_bytes: float
    backup_bytes: float
    ratio: float
    markers: Mapping[str, int]
    disk_bytes: float | None = None

    @property
    def in_the_clear(self) -> tuple[str, ...]:
        return tuple(name for name, found in self.markers.items() if found)


@dataclass(frozen=True, slots=True)
class LeftInClear:
    """What a search of a class of a database's files found in the clear after an action: markers, at most in any trial.

    ``there`` are of rows that are in the database, ``deleted`` of rows that were deleted before.
    """

    file_class: str
    there: int
    deleted: int


@dataclass(frozen=True, slots=True)
class ActionMeasure(Finding):
    """The actions of one condition, each a trial, or each beside the load of one.

    ``action`` is the level that asked for it, knobs included. ``seconds`` is how long it took. Of an action beside a
    load, ``load_seconds`` is how long that took; None where the action is the trial. ``while_ratio`` is what it costs
    the load while it goes on: the time for a statement over the plain twins'; None where the action is the trial, and
    where too little was counted (`tdelta.inference.actions`). ``cpu_seconds`` and ``written_bytes`` are the database's,
    for the whole trial. ``counted`` is what the action counted, by its names:
    medians over the trials. ``left`` is what a search of the files found in
    the clear after it, by class of file; empty where nothing is searched.
    """

    FINDING = "actions"

    condition: Condition
    action: str
    trials: int
    seconds: Typical
    load_seconds: Typical | None
    while_ratio: Estimate | None
    cpu_seconds: Typical
    written_bytes: Typical
    counted: Mapping[str, float]
    left: tuple[LeftInClear, ...] = ()
