"""Backups: how large, how much smaller by compression, plain beside encrypted, and whether their rows can be read."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from tdelta.records import BackupMeasure, Role, RunResult
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.labels import action_label, compared_label, surroundings
from tdelta.report.page.blocks import Block, Column, Paragraph
from tdelta.report.page.blocks import Table as PageTable
from tdelta.report.page.wording import label
from tdelta.report.quantities import amounts

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
_HEADINGS = ("database", "on disk", "backup", "ratio")


def text(result: RunResult, width: int) -> list[Text | Table]:
    """The backups of a run, plain and encrypted one below the other; nothing where it has none."""
    found = _shown(result)
    if not found:
        return []
    table = plain_table((("Backups", False), *((name, True) for name in _HEADINGS), ("in the clear", False)))
    table.padding = (0, 1, 0, 0)
    last = ""
    for one in found:
        if one.action != last:
            table.add_row(Text(f"{_kind(one)} {action_label(one.action)}", style="bold"))
            last = one.action
        name = ", ".join((compared_label(one.condition), *surroundings(one.condition, result.settings, besides="work")))
        table.add_row(f"  {name}", *_cells(one))
    return [table, Text(), *(line for note in _notes(result) for line in paragraph(note, width, "dim"))]


def blocks(result: RunResult) -> list[Block]:
    found = _shown(result)
    if not found:
        return []
    columns = [
        Column(""),
        Column("kind"),
        *(Column(name, is_number=True) for name in _HEADINGS),
        Column("in the clear"),
    ]
    rows = [(label(one.condition, result.settings), _kind(one), *_cells(one)) for one in found]
    return [*(Paragraph(note) for note in _notes(result)), PageTable("Backups, plain and encrypted", columns, rows)]


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
