"""Backups: how large, how much smaller by compression, plain beside encrypted, and whether their rows can be read."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from tdelta.document.blocks import Block, Line, Paragraph, Table, columns
from tdelta.document.labels import action_label, compared_label, surroundings
from tdelta.document.quantities import amounts, figures
from tdelta.findings.base import FOUND, FinishedRun, Kind
from tdelta.processes.actions import COUNTED
from tdelta.records import Condition, Finding, Measurement, Role, RunResult
from tdelta.records.trials import BACKUP, SEARCHED, by_condition

_NOTE = (
    "Medians over the trials. On disk: space of the files with the rows, without holes. Ratio: bytes before"
    " compression over bytes of the backup; 2 is half the size."
)
_SEARCHED_NOTE = (
    " Every backup was decompressed and searched for marker rows; the last column lists files that have any."
)
_UNSEARCHED_NOTE = " None was searched for marker rows, because your server wrote them."
_LOGICAL = "A logical backup of an encrypted database is plaintext: encrypt it as it is written."
_IN_CLEAR = "in the clear"
_MOST_LINES = 3
_PREFIX = f"{COUNTED}{BACKUP}"


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


def of_run(run: FinishedRun) -> Iterator[BackupMeasure]:
    by_key = by_condition(t for t in run.trials if t.measurement.engine_counters.get(f"{_PREFIX}raw_bytes"))
    for condition in run.settings.conditions:
        if measured := by_key.get(condition.key):
            yield _measure(condition, measured)


def _measure(condition: Condition, measured: Sequence[Measurement]) -> BackupMeasure:
    levels = dict(condition.levels)
    markers: dict[str, int] = {}
    for one in measured:
        for counter, count in one.engine_counters.items():
            if counter.startswith(f"{_PREFIX}{SEARCHED}"):
                file_class = counter.removeprefix(f"{_PREFIX}{SEARCHED}")
                markers[file_class] = max(markers.get(file_class, 0), count)

    def median(name: str) -> float:
        return float(statistics.median(m.engine_counters.get(f"{_PREFIX}{name}", 0) for m in measured))

    raw, backup = median("raw_bytes"), median("bytes")
    return BackupMeasure(
        condition=condition,
        action=str(levels.get("during", levels.get("work"))),
        trials=len(measured),
        is_logical=median("is_logical") > 0,
        data_bytes=median("data_bytes"),
        raw_bytes=raw,
        backup_bytes=backup,
        ratio=raw / backup,
        markers=markers,
        disk_bytes=median("disk_bytes") or None,
    )


def blocks(found: Sequence[BackupMeasure], result: RunResult) -> Iterator[Block]:
    rows: list[tuple[str, ...]] = []
    for action, of_action in groupby(_of_each_kind(found), key=lambda one: one.action):
        group = list(of_action)
        rows.append((f"{'logical' if group[0].is_logical else 'physical'} {action_label(action)}",))
        rows += [(_name(one, result), *_cells(one)) for one in group]
    titles = columns("database", "on disk", "backup", "ratio", _IN_CLEAR, texts=(_IN_CLEAR,))
    yield Table("Backups, plain and encrypted", titles, rows, name="Backups")
    yield Paragraph(_NOTE + (_SEARCHED_NOTE if any(one.markers for one in found) else _UNSEARCHED_NOTE), "note")
    if any(one.is_logical and one.condition.is_encrypted and one.in_the_clear for one in found):
        yield Paragraph(_LOGICAL, "note")


def _cells(one: BackupMeasure) -> tuple[str, ...]:
    database, backup = (amounts((size,), "bytes")[0] for size in (one.data_bytes, one.backup_bytes))
    on_disk = "" if one.disk_bytes is None else amounts((one.disk_bytes,), "bytes")[0]
    in_clear = (", ".join(one.in_the_clear) or "nothing") if one.markers else "not searched"
    return database, on_disk, backup, f"{one.ratio:.2f}", in_clear


def lines(found: Sequence[BackupMeasure], result: RunResult) -> Iterator[Line]:
    """How much larger backups are without compressible data, and which of them can be read without the key."""
    shown = _of_each_kind(found)
    plain = {(one.condition.stratum, one.action): one for one in reversed(shown) if not one.condition.is_protected}
    encrypted = [one for one in shown if one.condition.is_protected]
    several = len({one.condition.level("cipher") for one in encrypted}) > 1
    for one in sorted(encrypted, key=lambda one: not one.in_the_clear)[:_MOST_LINES]:
        baseline = plain.get((one.condition.stratum, one.action))
        sizes = (one.backup_bytes,) if baseline is None else (baseline.backup_bytes, one.backup_bytes)
        ratio = "" if baseline is None else f" ({figures(one.backup_bytes / baseline.backup_bytes)}×)"
        name = f"{_name(one, result)}, " if several else ""
        clear = ", readable without the key" if one.in_the_clear else ""
        sides = " → ".join(amounts(sizes, "bytes"))
        yield Line(FOUND, f"{name}{action_label(one.action)}: {sides}{ratio}{clear}")


def _of_each_kind(found: Sequence[BackupMeasure]) -> list[BackupMeasure]:
    """Without A/A and B/B twins, whose backups are the same."""
    return [one for one in found if one.condition.role in (Role.BASELINE, Role.TREATMENT)]


def _name(one: BackupMeasure, result: RunResult) -> str:
    name = "plain" if one.condition.role is Role.BASELINE else compared_label(one.condition)
    return ", ".join((name, *surroundings(one.condition, result.settings, besides="work")))


KIND = Kind(BackupMeasure, of_run, blocks, "backups", "Backups", lines)
