"""How a CSV is written: its separator, its decimal sign, its header, the comments above it.

The separator (comma, semicolon, tab, bar, else spaces) is the one by which the header has the most columns. A comma is
the decimal sign only where the file says so without doubt: ``1,5`` and ``1.234,5`` do, ``1,234`` alone could be either
and is asked about. Comments begin with ``#``; ``# source: …`` and ``# reconstruction: …`` travel with the figures.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from tdelta.errors import ImportFault
from tdelta.importers.csv_columns import column_index, is_known, is_wide
from tdelta.importers.reading import HEAD_BYTES, Source, excerpt, head_lines, printable
from tdelta.inputs import too_large, unexpected
from tdelta.messages import Caution, Refusal

CHUNK_ROWS = 16_384
LONGEST_CELL = 1000
_SEPARATORS = (",", ";", "\t", "|")
_MOST_COLUMNS = 200
_LONGEST_NAME = 200
_ROWS_LOOKED_AT = 1000
_PLAIN_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")
_GROUPED_BY_COMMAS = re.compile(r"[+-]?\d{1,3}(?:(?:,\d{3}){2,}(?:\.\d*)?|(?:,\d{3})+\.\d*)")
_WITH_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+(?:[eE][+-]?\d{1,3})?")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d{10}(?:\d{3})?(?:\.\d*)?$", re.ASCII)
"""A date and time, or seconds or ms since 1970: in order as texts, too."""
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_SIGNS = {"either": _EITHER, "grouped": _GROUPED_BY_COMMAS, "comma": _WITH_COMMA, "point": _PLAIN_NUMBER}
_COMMENT = re.compile(r"#\s*(?P<word>[A-Za-z]+)\s*:\s*(?P<text>.+)")
_TOLD = ("reconstruction", "note", "caution")
_OF_OTHER_TOOLS = re.compile(
    r"time,threads,tps,qps|metric_name,timestamp,metric_value|response-time,dns\+dialup,dns"  # sysbench's hook, k6, hey
    r"|transaction type[^,]*,.*\blatency ?\(|time ?\(sec(?:onds)?\),.*\bthroughput ?\(req"  # BenchBase
)


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV as far as its beginning shows it."""

    separator: str
    has_decimal_comma: bool  # whether numbers are written ``1,5``
    header: tuple[str, ...]
    header_line: int
    rows: tuple[tuple[str, ...], ...]  # the first rows, cut into cells
    is_whole: bool
    source: str | None  # where the figures come from, as a comment says
    cautions: tuple[Caution, ...]  # what other comments say

    @property
    def numeric(self) -> tuple[bool, ...]:
        found: list[bool] = []
        for index in range(len(self.header)):
            cells = [row[index].strip() for row in self.rows if index < len(row)]
            filled = [cell for cell in cells if cell]
            found.append(bool(filled) and all(is_number(cell, self.has_decimal_comma) for cell in filled))
        return tuple(found)


def sniffed(source: Source, column: str | None = None) -> Table | None:
    """The table that a file's beginning shows; None where it shows none.

    `column`: a name that makes a line with it a header, as the user says it. Raises `ImportFault`: it is one, but
    numbers could be read in two ways.
    """
    is_whole = len(source.head) < HEAD_BYTES
    lines = enumerate(head_lines(source, only_whole=True), source.first_line)
    numbered = [(number, line.rstrip("\r")) for number, line in lines]
    comments = [line for _, line in numbered if line.startswith("#")]
    content = [(number, line) for number, line in numbered if line.strip() and not line.startswith("#")]
    if not content:
        return None
    header_line, line = content[0]
    best: tuple[str, ...] = ()
    separator = ","
    for candidate in _SEPARATORS:
        cells = _cells(line, candidate)
        if len(cells) > len(best):
            best, separator = cells, candidate
    looked_at = content[1 : 1 + _ROWS_LOOKED_AT]
    if len(best) == 1 and looked_at and (spaced := _spaced(line, looked_at[0][1])):
        best, separator = spaced, " "
    rows = tuple(_cells(line, separator) for _, line in looked_at)
    has_column = column is not None and column_index(best, column) is not None
    if not has_column and not _is_header(best, rows):
        return None
    if len(best) == 1 and not (rows and is_number(rows[0][0] if rows[0] else "", has_decimal_comma=False)):
        return None
    noted = [match for match in (_COMMENT.match(comment) for comment in comments) if match]
    return Table(
        separator,
        _has_decimal_comma(rows, source.name, [number for number, _ in looked_at]),
        best,
        header_line,
        rows,
        is_whole and len(looked_at) == len(content) - 1,
        next((printable(match["text"].strip()) for match in noted if match["word"].lower() == "source"), None),
        tuple(
            Caution.of("authors-say", word=match["word"].lower(), said=printable(match["text"].strip()))
            for match in noted
            if match["word"].lower() in _TOLD
        ),
    )


def chunks_of(source: Source, table: Table) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Rows behind the header, thousands at a time, with their lines; blank lines and comments are left out.

    Raises `ImportFault`: a quoted cell that goes over lines, a row of another width; see also `Source.text_lines`.
    """
    width = len(table.header)
    is_spaced = table.separator == " "
    numbered = source.text_lines()
    lines_of_table = ("" if line.startswith("#") else line for number, line in numbered if number > table.header_line)
    reader = csv.reader(lines_of_table, delimiter=table.separator, skipinitialspace=is_spaced)
    before = 0
    while True:
        try:
            rows = list(islice(reader, CHUNK_ROWS))
        except csv.Error as error:
            line = table.header_line + reader.line_num
            raise ImportFault(Refusal.of("invalid", kind="CSV", fault=error).at(f"{source.name}:{line}")) from None
        if not rows:
            return
        first = table.header_line + before + 1
        if reader.line_num - before != len(rows):
            raise ImportFault(
                unexpected("one row per line", "a quoted cell over several lines", f"{source.name}:{first}")
            )
        before = reader.line_num
        lines = list(range(first, first + len(rows)))
        if not all(len(row) == width for row in rows):
            lines, rows = _of_full_width(source.name, table, lines, rows)
        if rows:
            yield lines, rows


def is_over_time(table: Table) -> bool:
    """Whether rows are moments of one run: the first column is ``Time``, and its cells are moments that go on."""
    cells = [row[0].strip() for row in table.rows if row]
    is_time = table.header[0].strip().lower() == "time" and len(table.header) > 1 and all(map(_MOMENT.match, cells))
    return is_time and len(cells) > 1 and all(before < after for before, after in pairwise(cells))


def is_number(text: str, has_decimal_comma: bool) -> bool:
    try:
        number_of(text, has_decimal_comma)
    except ValueError:
        return False
    return True


def number_of(text: str, has_decimal_comma: bool) -> float:
    """The number that a cell holds. Raises ``ValueError`` where it is none, or could be two."""
    text = text.strip()
    if has_decimal_comma:
        if _WITH_COMMA.fullmatch(text):
            return float(text.replace(".", "").replace(",", "."))
        if "." in text:
            raise ValueError(text)
    elif _GROUPED_BY_COMMAS.fullmatch(text):
        return float(text.replace(",", ""))
    if not _PLAIN_NUMBER.fullmatch(text):
        raise ValueError(text)
    return float(text)


def _of_full_width(
    file: str, table: Table, lines: list[int], rows: list[list[str]]
) -> tuple[list[int], list[list[str]]]:
    width = len(table.header)
    kept: list[tuple[int, list[str]]] = []
    for line, row in zip(lines, rows, strict=True):
        if len(row) > width and not any(cell.strip() for cell in row[width:]):
            row = row[:width]
        if len(row) == width:
            kept.append((line, row))
        elif any(cell.strip() for cell in row):
            raise ImportFault(
                unexpected(
                    f"{width} columns as in the header of line {table.header_line}",
                    f"{len(row)}: {excerpt(table.separator.join(row))}",
                    f"{file}:{line}",
                )
            )
    return [line for line, _ in kept], [row for _, row in kept]


def _spaced(header: str, row: str) -> tuple[str, ...]:
    """The cells of a header that is separated by spaces, as the row below is; empty where it is not."""
    cells = _cells(header.strip(), " ")
    return cells if len(cells) > 1 and len(_cells(row.strip(), " ")) == len(cells) else ()


def _cells(line: str, separator: str) -> tuple[str, ...]:
    try:
        return tuple(next(csv.reader([line], delimiter=separator, skipinitialspace=separator == " "), []))
    except csv.Error:
        return ()


def _is_header(cells: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    if not 1 <= len(cells) <= _MOST_COLUMNS or any(len(cell) > _LONGEST_NAME for cell in cells):
        return False
    if _OF_OTHER_TOOLS.match(",".join(cell.strip().lower() for cell in cells)):
        return False
    if any(is_number(cell, has_decimal_comma=False) for cell in cells):
        return False
    known = sum(is_known(cell) for cell in cells)
    if known > 1 or (known == 1 and bool(rows) and len(rows[0]) == len(cells)):
        return True
    return bool(rows) and is_wide(cells, [is_number(cell, False) or is_number(cell, True) for cell in rows[0]])


def _has_decimal_comma(rows: Sequence[Sequence[str]], file: str, lines: Sequence[int]) -> bool:
    first: dict[str, tuple[int, str]] = {}  # the line and the cell of each kind
    for line, row in zip(lines, rows, strict=True):
        for cell in (cell.strip() for cell in row if "," in cell or "." in cell):
            kind = next((name for name, pattern in _SIGNS.items() if pattern.fullmatch(cell)), None)
            if kind is not None:
                first.setdefault(kind, (line, cell))
    points = [first[kind][0] for kind in ("grouped", "point") if kind in first]
    if "comma" in first and points:
        found = f"a comma here and a point in line {min(points)}"
        raise ImportFault(unexpected("one decimal sign", found, f"{file}:{first['comma'][0]}"))
    if "either" in first and "comma" not in first:
        line, number = first["either"]
        both = {"whole": number.replace(",", ""), "part": number.replace(",", ".")}
        raise ImportFault(Refusal.of("doubtful-number", number=number, **both).at(f"{file}:{line}"))
    return "comma" in first


def as_name(cell: str, where: str) -> str:
    """A cell as the name of a group. Raises `ImportFault`: it is too long."""
    if len(cell) > LONGEST_CELL:
        raise ImportFault(too_large(f"the name {excerpt(cell)}", f"{LONGEST_CELL} characters", where))
    return printable(cell.strip())


def csv_line(cells: Sequence[str]) -> str:
    """A row as a CSV has it, every cell in quotes."""
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="").writerow(cells)
    return written.getvalue()
