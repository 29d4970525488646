"""A spreadsheet (``.xlsx``): the one sheet that is a table of results, read as a CSV is.

By openpyxl, which is an extra (``pip install 'tdelta[xlsx]'``). Values are those that the spreadsheet program stored:
formulas, macros and links are not run or followed. What an archive can do to its reader is bounded before it is
unpacked: so many parts, so large together, no document types in them.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date

from tdelta.errors import ImportFault
from tdelta.importers.csv_dialect import Table, csv_line, sniffed
from tdelta.importers.csv_rows import CsvRows
from tdelta.importers.importer import Importer, Naming
from tdelta.importers.problems import shown
from tdelta.importers.reading import HEAD_BYTES, Source, View
from tdelta.inputs import size_words, too_many, unexpected
from tdelta.messages import Refusal
from tdelta.records.observed import Observation

LARGEST_BYTES = 16 << 20
LARGEST_UNPACKED_BYTES = 32 << 20
MOST_PARTS = 1000
MOST_SHEETS = 100
MOST_COLUMNS = 100
MOST_ROWS = 200_000
MOST_ROWS_ABOVE = 20
_ZIP = b"PK\x03\x04"
_PIECE_BYTES = 1 << 20
_DECLARATIONS = (b"<!DOCTYPE", b"<!ENTITY")
_LONGEST_CELL = 2000


class Spreadsheet(CsvRows):
    name = "spreadsheet"

    def recognizes(self, source: Source) -> bool:
        head = source.head
        return head.startswith(_ZIP) and (b"xl/" in head or b"[Content_Types].xml" in head)

    def says_conditions(self, source: Source) -> bool:
        """Whether a column says the conditions, or each is a column; False where the file cannot be read."""
        try:
            return super().says_conditions(source)
        except ImportFault:
            return False

    def read(self, source: Source, naming: Naming) -> Iterator[Observation]:
        return super().read(_sheet_of(source, naming.column), naming)

    def _opened(self, source: Source) -> Source:
        return source if isinstance(source, _Sheet) else _sheet_of(source, None)

    def _table(self, source: Source, column: str | None = None) -> Table | None:
        return sniffed(source if isinstance(source, _Sheet) else _sheet_of(source, column), column)


IMPORTERS: tuple[Importer, ...] = (Spreadsheet(),)


class _Sheet(View):
    def __init__(self, source: Source, lines: Sequence[str]) -> None:
        super().__init__(source)
        self._lines = lines

    @property
    def head(self) -> bytes:
        size = 0
        found: list[str] = []
        for line in self._lines:
            found.append(line)
            size += len(line.encode()) + 1
            if size >= HEAD_BYTES:
                break
        return "\n".join(found).encode()[:HEAD_BYTES]

    def text_lines(self) -> Iterator[tuple[int, str]]:
        return enumerate(self._lines, 1)


def _sheet_of(source: Source, column: str | None) -> _Sheet:
    """The one sheet that is a table.

    Raises `ImportFault`: there is none, or more than one; the file cannot be read, or not within its limits.
    """
    sheets = dict(_sheets(source))
    tables = {
        title: sheet for title, lines in sheets.items() if (sheet := _table_of(source, lines, column)) is not None
    }
    if len(tables) == 1:
        return next(iter(tables.values()))
    titles = ", ".join(map(shown, list(tables or sheets)[:10])) or "none"
    if tables:
        raise ImportFault(unexpected("one sheet of results", titles, source.name))
    raise ImportFault(
        unexpected(
            f"a sheet with a header such as condition, threads, tps in its first {MOST_ROWS_ABOVE} rows",
            titles,
            source.name,
        )
    )


def _table_of(source: Source, lines: Sequence[str], column: str | None) -> _Sheet | None:
    """A sheet without the rows above the first one that is a header: titles, remarks."""
    for above in range(min(len(lines), MOST_ROWS_ABOVE + 1)):
        sheet = _Sheet(source, [*[""] * above, *lines[above:]])
        if sniffed(sheet, column) is not None:
            return sheet
    return None


def _sheets(source: Source) -> Iterator[tuple[str, list[str]]]:
    try:
        from openpyxl import load_workbook  # type: ignore[import-untyped]
    except ImportError:
        raise ImportFault(
            Refusal.of("library-missing", library="openpyxl", extra="xlsx", fault="or save the sheet as CSV").at(
                source.name
            )
        ) from None
    content = io.BytesIO(source.content(LARGEST_BYTES))
    try:
        _must_be_bounded(content, source.name)
        book = load_workbook(content, read_only=True, data_only=True, keep_links=False)
        for sheet in book.worksheets[:MOST_SHEETS]:
            rows = sheet.iter_rows(max_row=MOST_ROWS + 1, max_col=MOST_COLUMNS, values_only=True)
            yield str(sheet.title), _lines(rows, source.name)
    except ImportFault:
        raise
    except Exception as error:  # whatever openpyxl and its parsers make of a damaged archive
        raise ImportFault(
            Refusal.of("spreadsheet-damaged", fault=shown(f"{type(error).__name__}: {error}")).at(source.name)
        ) from None


def _must_be_bounded(content: io.BytesIO, name: str) -> None:
    """See that what is in the archive may be unpacked; sizes in its directory are held by zipfile."""
    with zipfile.ZipFile(content) as archive:
        parts = archive.infolist()
        size = sum(part.file_size for part in parts)
        if len(parts) > MOST_PARTS or size > LARGEST_UNPACKED_BYTES:
            raise ImportFault(
                Refusal.of(
                    "spreadsheet-too-large",
                    most=size_words(LARGEST_UNPACKED_BYTES),
                    parts=MOST_PARTS,
                    size=size_words(size),
                    found=len(parts),
                ).at(name)
            )
        for part in parts:
            if part.filename.endswith((".xml", ".rels")) and _has_declarations(archive, part):
                raise ImportFault(
                    unexpected("results only", "a document type or entity", f"{name}: {shown(part.filename)}")
                )


def _has_declarations(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bool:
    with archive.open(part) as file:
        rest = b""
        while piece := file.read(_PIECE_BYTES):
            text = rest + piece.replace(b"\0", b"")  # as UTF-16 has it, too
            if any(it in text for it in _DECLARATIONS):
                return True
            rest = text[-len(max(_DECLARATIONS, key=len)) :]
    return False


def _lines(rows: Iterator[Sequence[object]], name: str) -> list[str]:
    """Rows as lines of a CSV, without the empty columns and the empty end that sheets have around their tables."""
    cells: list[list[str]] = []
    for row in rows:
        if len(cells) >= MOST_ROWS:
            raise ImportFault(too_many("rows in a sheet", MOST_ROWS, name))
        filled = max((at for at, value in enumerate(row, 1) if value is not None), default=0)
        cells.append([_cell(value) for value in row[:filled]])
    used = [row for row in cells if any(row)]
    first = min((next(at for at, cell in enumerate(row) if cell) for row in used), default=0)
    last = max((max(at for at, cell in enumerate(row) if cell) for row in used), default=0)
    while cells and not any(cells[-1]):
        cells.pop()
    return [csv_line((row + [""] * (last + 1))[first : last + 1]) if any(row) else "" for row in cells]


def _cell(value: object) -> str:
    """A value as a CSV has it: numbers with all their digits, no line ends."""
    if value is None:
        return ""
    if isinstance(value, date):  # moments as well
        return value.isoformat()
    text = repr(value) if isinstance(value, float) else str(value)
    return " ".join(text.replace("\0", " ").split())[:_LONGEST_CELL]
