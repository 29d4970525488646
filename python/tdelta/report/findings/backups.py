"""Backups: how large, how much smaller by compression, plain beside encrypted, and whether their rows can be read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from tdelta.document.blocks import Block, Line, Paragraph, Table, columns
from tdelta.document.labels import action_label, compared_label, surroundings
from tdelta.document.quantities import amounts
from tdelta.records import BackupMeasure, Role, RunResult

_NOTE = (
    "Medians over the trials. On disk is what the files with the rows take there, holes left out. The ratio is bytes"
    " before compression over those of the backup: 2 is half the size."
)
_SEARCHED = (
    " Every backup was decompressed and searched for"
    " planted markers: in the clear are the classes of files that have any."
)
_UNSEARCHED = " None was searched for planted markers: your server made them."
_LOGICAL = (
    "A logical backup of an encrypted database is plaintext: the database decrypts what it hands out. Encrypt such a"
    " backup as it is written."
)
_IN_CLEAR = "in the clear"
_MOST_LINES = 3


def blocks(result: RunResult) -> list[Block]:
    """The backups of a run, plain and encrypted one below the other; nothing where it has none."""
    rows: list[tuple[str, ...]] = []
    for action, found in groupby(_shown(result), key=lambda one: one.action):
        group = list(found)
        rows.append((f"{_kind(group[0])} {action_label(action)}",))
        rows += [(_name(one, result), *_cells(one)) for one in group]
    if not rows:
        return []
    titles = columns("database", "on disk", "backup", "ratio", _IN_CLEAR, texts=(_IN_CLEAR,))
    table = Table("Backups, plain and encrypted", titles, rows, name="Backups")
    return [table, *(Paragraph(note, "note") for note in _notes(result))]


def lines(result: RunResult) -> Iterator[Line]:
    """How much larger backups are without compressible data, and which of them can be read without the key."""
    shown = _shown(result)
    encrypted = [one for one in shown if one.condition.is_protected]
    several = len({one.condition.level("cipher") for one in encrypted}) > 1
    for one in encrypted[:_MOST_LINES]:
        place = (one.condition.stratum, one.action)
        plain = next(
            (p for p in shown if not p.condition.is_protected and (p.condition.stratum, p.action) == place), None
        )
        sizes = (one.backup_bytes,) if plain is None else (plain.backup_bytes, one.backup_bytes)
        name = f"{_name(one, result)}, " if several else ""
        clear = ", readable without the key" if one.in_the_clear else ""
        yield Line("Backup size", f"{' → '.join(amounts(sizes, 'bytes'))} ({name}{action_label(one.action)}){clear}")


def _name(one: BackupMeasure, result: RunResult) -> str:
    name = "plain" if one.condition.role is Role.BASELINE else compared_label(one.condition)
    return ", ".join((name, *surroundings(one.condition, result.settings, besides="work")))


def _shown(result: RunResult) -> list[BackupMeasure]:
    """One for each condition: twins of the same kind have the same backups."""
    return [one for one in result.of(BackupMeasure) if one.condition.role in (Role.BASELINE, Role.TREATMENT)]


def _kind(one: BackupMeasure) -> str:
    return "logical" if one.is_logical else "physical"


def _cells(one: BackupMeasure) -> tuple[str, str, str, str, str]:
    database, backup = (amounts((size,), "bytes")[0] for size in (one.data_bytes, one.backup_bytes))
    on_disk = "" if one.disk_bytes is None else amounts((one.disk_bytes,), "bytes")[0]
    return database, on_disk, backup, f"{one.ratio:.2f}", _left(one)


def _left(one: BackupMeasure) -> str:
    """The classes of files with readable rows, where any were searched."""
    return (", ".join(one.in_the_clear) or "nothing") if one.markers else "not searched"


def _notes(result: RunResult) -> Iterator[str]:
    is_searched = any(one.markers for one in result.of(BackupMeasure))
    yield _NOTE + (_SEARCHED if is_searched else _UNSEARCHED)
    if any(one.is_logical and one.condition.is_encrypted and one.in_the_clear for one in result.of(BackupMeasure)):
        yield _LOGICAL
