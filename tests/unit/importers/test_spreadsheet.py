"""Spreadsheets: one sheet is a table; archives, formulas and sheets that would do harm do none."""

import sys
import zipfile
from pathlib import Path

import openpyxl
import pytest

from tdelta.errors import ImportFault
from tdelta.importers import spreadsheet
from tdelta.importers.importer import Naming
from tdelta.importers.reading import FileSource
from tdelta.records.observed import Samples

from .given import FIXTURES, figures, only, read

NAMELESS = Naming(None)


def fault(path: Path) -> list[tuple[str, str]]:
    with pytest.raises(ImportFault) as raised:
        list(only(spreadsheet.IMPORTERS, path).read(FileSource(path, path.name), NAMELESS))
    return [(it.code, str(it.parameters.get("where", ""))) for it in raised.value.refusals]


def workbook(path: Path, **sheets: list[list[object]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


TABLE: list[list[object]] = [["condition", "threads", "tps"], ["plain", 1, 423.5], ["tde", 1, 389.0]]


def test_a_sheet_is_a_table():
    found = figures(read(spreadsheet.IMPORTERS, FIXTURES / "xlsx/figures.xlsx", NAMELESS))
    assert [(group.condition, group.levels, value) for group, value in found.items()] == [
        ("plain", (("threads", 1),), 423.47),
        ("encrypted", (("threads", 1),), 389.11),
        ("plain", (("threads", 16),), 5120),
        ("encrypted", (("threads", 16),), 5098.5),
    ]
    samples = read(spreadsheet.IMPORTERS, FIXTURES / "xlsx/samples.xlsx", NAMELESS)
    assert [(it.group.condition, it.total) for it in samples if isinstance(it, Samples)] == [
        ("none", 36.5),
        ("tde", 41.25),
    ]


def test_rows_of_a_sheet_are_named_by_their_numbers(tmp_path: Path):
    path = workbook(tmp_path / "a.xlsx", t=[*TABLE, ["tde", 2, "fast"]])
    assert fault(path) == [("unexpected", "a.xlsx:4")]


def test_a_table_may_stand_below_a_title_and_its_rows_keep_their_numbers(tmp_path: Path):
    title: list[list[object]] = [["What TDE costs, November"], [], ["as of", "27 November"]]
    path = workbook(tmp_path / "a.xlsx", t=[*title, *TABLE])
    assert list(figures(read(spreadsheet.IMPORTERS, path, NAMELESS)).values()) == [423.5, 389.0]
    assert fault(workbook(path, t=[*title, *TABLE, ["tde", 2, "fast"]])) == [("unexpected", "a.xlsx:7")]
    far: list[list[object]] = [["a remark"]] * (spreadsheet.MOST_ROWS_ABOVE + 1)
    assert fault(workbook(path, t=[*far, *TABLE])) == [("unexpected", "a.xlsx")]


def test_a_formula_is_not_run(tmp_path: Path):
    path = workbook(tmp_path / "a.xlsx", t=[*TABLE, ["tde", 2, "=1+1"]])
    found = figures(read(spreadsheet.IMPORTERS, path, NAMELESS))
    assert list(found.values()) == [423.5, 389.0]


def test_sheets_that_leave_open_which_one_is_meant_are_refused(tmp_path: Path):
    both = workbook(tmp_path / "a.xlsx", one=TABLE, two=TABLE)
    assert fault(both) == [("unexpected", "a.xlsx")]
    none = workbook(tmp_path / "b.xlsx", notes=[["Monday"]])
    assert fault(none) == [("unexpected", "b.xlsx")]


def test_an_archive_that_would_grow_or_declares_entities_is_refused(tmp_path: Path):
    bomb = workbook(tmp_path / "a.xlsx", t=TABLE)
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/bomb.bin", b"\0" * (spreadsheet.LARGEST_UNPACKED_BYTES + 1))
    assert bomb.stat().st_size < 1 << 20
    assert fault(bomb) == [("spreadsheet-too-large", "a.xlsx")]
    declaring = workbook(tmp_path / "b.xlsx", t=TABLE)
    with zipfile.ZipFile(declaring, "a") as archive:
        archive.writestr("xl/x.xml", '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "bb">]><a>&b;</a>')
    assert fault(declaring)[0][0] == "unexpected"


def test_a_sheet_far_down_or_far_right_takes_no_memory(tmp_path: Path):
    book = openpyxl.Workbook()
    for row in TABLE:
        book.active.append(row)
    book.active.cell(1, 16_384, "far")
    book.save(tmp_path / "a.xlsx")
    assert len(read(spreadsheet.IMPORTERS, tmp_path / "a.xlsx", NAMELESS)) == 2
    book.active.cell(spreadsheet.MOST_ROWS + 5, 1, "far")
    book.save(tmp_path / "b.xlsx")
    assert fault(tmp_path / "b.xlsx") == [("too-many", "b.xlsx")]


def test_without_openpyxl_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert fault(FIXTURES / "xlsx/figures.xlsx") == [("library-missing", "figures.xlsx")]
