"""What the columns of a CSV mean, by their names; ``docs/analyze-files.md`` lists the same rules for users.

A name is compared in small letters, with ``_`` for spaces and hyphens; a unit may end it: ``response_ms``,
``Elapsed (s)``. In order of precedence a column is: the condition, the transaction, the run, what the authors printed,
a count, a mean, a standard deviation, a quantile; a known factor; a known metric, or any other name with a unit; what
tells rows apart and is of no use here (a time stamp, an id). Of the rest, a column with any cell that is no number is a
factor; one of numbers is a factor too, except where nothing else is a metric: then the last such column is one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tdelta.errors import ImportFault
from tdelta.importers import csv_names as known_names
from tdelta.importers.reading import excerpt, printable
from tdelta.records.observed import RESPONSE_TIME, THROUGHPUT


class Part(StrEnum):
    """What a column is."""

    CONDITION = "condition"
    TRANSACTION = "transaction"
    RUN = "run"
    PUBLISHED = "published"
    COUNT = "count"
    MEAN = "mean"
    SD = "standard deviation"
    QUANTILE = "quantile"
    RESPONSE = "response time"
    FACTOR = "factor"
    METRIC = "metric"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        index: its place, from 0.
        name: as the header has it.
        part: what it is.
        metric: of a metric: as results name it.
        unit: of its values once they are multiplied by ``scale``.
        scale: to milliseconds, or to a second.
        quantile: of a quantile, 0.95.
        of: of printed words: the metric they belong to; None for all of the row.
    """

    index: int
    name: str
    part: Part
    metric: str = ""
    unit: str = ""
    scale: float = 1.0
    quantile: float = 0.0
    of: str | None = None


_QUANTILE = re.compile(r"p(\d{1,2})(?:[._]?(\d+))?|(\d{1,2})(?:th|st|nd|rd)?_percentile|median")
_OPENED = str.maketrans("[{", "((")
_RATE = re.compile(r".+_per_(s|sec|second|m|min|minute)")
_UNNAMED_UNIT = re.compile(r"[\s\-]+")


def columns_of(header: Sequence[str], numeric: Sequence[bool], file: str, line: int) -> tuple[Column, ...]:
    """The columns of a header.

    Args:
        header: its cells.
        numeric: for each column, whether all cells of the file's beginning are numbers.
        file: as the user named it, for messages.
        line: of the header.

    Raises:
        ImportFault: two columns of one name, or two that would both be the transaction, the run, …; a response time
            without a unit.
    """
    names = [one_spelling(printable(cell)) for cell in header]
    condition = next((name for name in known_names.CONDITION if name in names), None)
    found = [_column(index, name, name == condition, numeric[index]) for index, name in enumerate(names)]
    found = _with_a_metric(found)
    if faults := [f"{file}:{line}: {fault}" for fault in _faults(header, names, found)]:
        raise ImportFault("\n".join(faults))
    return tuple(_with_names(found, header))


def is_known(name: str) -> bool:
    """Whether a header's cell is one of the documented names, so that the file is taken for a table of results."""
    column = _column(0, one_spelling(name), one_spelling(name) in known_names.CONDITION, is_numeric=False)
    return column.part not in (Part.FACTOR, Part.NOTHING, Part.RUN, Part.PUBLISHED)


def one_spelling(cell: str) -> str:
    """``Response Time (ms)`` is ``response_time_ms``."""
    text = cell.strip().strip("\ufeff").lower()
    if text.endswith((")", "]", "}")):
        before, _, unit = text[:-1].translate(_OPENED).rpartition("(")
        text = f"{before} {unit.strip()}" if before else text
    return _UNNAMED_UNIT.sub("_", text.replace("/", "_per_") if text.endswith("/s") else text).strip("_")


def _column(index: int, name: str, is_condition: bool, is_numeric: bool) -> Column:
    stem, unit = _split(name)
    if is_condition:
        return Column(index, name, Part.CONDITION)
    for part, known in (
        (Part.TRANSACTION, known_names.TRANSACTION),
        (Part.RUN, known_names.RUN),
        (Part.COUNT, known_names.COUNT),
    ):
        if name in known:
            return Column(index, name, part)
    if name in known_names.PUBLISHED:
        return Column(index, name, Part.PUBLISHED)
    if name.startswith(("published_", "printed_")):
        return Column(index, name, Part.PUBLISHED, of=_split(name.partition("_")[2])[0])
    if stem in known_names.EXTREMES or not name:
        return Column(index, name, Part.NOTHING)
    if stem in known_names.FACTOR:
        return Column(index, name, Part.FACTOR)
    if unit in known_names.TIMES_MS or not unit:
        scale = known_names.TIMES_MS.get(unit, 1.0)
        for part, known in ((Part.MEAN, known_names.MEAN), (Part.SD, known_names.SD)):
            if stem in known:
                return Column(index, name, part, RESPONSE_TIME, "ms", scale)
        if quantile := _QUANTILE.fullmatch(stem):
            share = _share(quantile)
            part = Part.QUANTILE if 0 < share < 1 else Part.NOTHING
            return Column(index, name, part, RESPONSE_TIME, "ms", scale, share)
        if stem in known_names.RESPONSE:
            return Column(index, name, Part.RESPONSE, RESPONSE_TIME, "ms" if unit else "", scale)
    if (rate := _RATE.fullmatch(name)) and name not in known_names.PER_SECOND:
        return Column(index, name, Part.METRIC, THROUGHPUT, "/s", 1 / 60 if rate[1].startswith("m") else 1.0)
    if name in known_names.PER_SECOND:
        return Column(index, name, Part.METRIC, THROUGHPUT, "/s", known_names.PER_SECOND[name])
    if stem in known_names.COST or unit:
        return _cost(index, name, stem, unit)
    if name in known_names.NOT_USED:
        return Column(index, name, Part.NOTHING)
    return Column(index, name, Part.FACTOR if not is_numeric else Part.NOTHING, of="?" if is_numeric else None)


def _cost(index: int, name: str, stem: str, unit: str) -> Column:
    if unit in known_names.TIMES_MS:
        return Column(index, name, Part.METRIC, stem or "time", "ms", known_names.TIMES_MS[unit])
    return Column(index, name, Part.METRIC, stem or name, known_names.SIZES.get(unit, ""))


def _split(name: str) -> tuple[str, str]:
    """A name and its unit, if it ends in one: ``cpu_ms``, ``elapsedms`` is not split."""
    stem, _, unit = name.rpartition("_")
    return (stem, unit) if stem and (unit in known_names.TIMES_MS or unit in known_names.SIZES) else (name, "")


def _share(match: re.Match[str]) -> float:
    if match[0] == "median":
        return 0.5
    whole, decimals = match[1] or match[3], match[2] or ""
    return float(f"0.{int(whole):02d}{decimals}")


def _with_a_metric(columns: list[Column]) -> list[Column]:
    """Decide on columns of numbers with unknown names (``of`` is ``?`` until then)."""
    measured = (Part.METRIC, Part.RESPONSE, Part.MEAN)
    unknown = [column for column in columns if column.of == "?"]
    last = None
    if unknown and not any(column.part in measured for column in columns):
        last = unknown[-1].index
    decided: list[Column] = []
    for column in columns:
        if column.of != "?":
            decided.append(column)
        elif column.index == last:
            decided.append(_cost(column.index, column.name, column.name, ""))
        else:
            decided.append(Column(column.index, column.name, Part.FACTOR))
    return decided


def _with_names(columns: list[Column], header: Sequence[str]) -> list[Column]:
    """Factors keep the name that the header gives them; it is what the user reads."""
    return [
        Column(it.index, printable(header[it.index].strip()), it.part, it.metric, it.unit, it.scale, it.quantile, it.of)
        for it in columns
    ]


def _faults(header: Sequence[str], names: Sequence[str], columns: Sequence[Column]) -> list[str]:
    faults: list[str] = []
    for name in dict.fromkeys(name for name in names if name and names.count(name) > 1):
        faults.append(f"expected each column once, found {name!r} {names.count(name)} times")
    for part in (Part.TRANSACTION, Part.RUN, Part.COUNT, Part.MEAN, Part.SD, Part.RESPONSE):
        same = [printable(header[column.index]) for column in columns if column.part is part]
        if len(same) > 1:
            faults.append(f"expected one column for the {part}, found {', '.join(same)}. Leave out all but one")
    for column in columns:
        if column.part is Part.RESPONSE and not column.unit:
            found = printable(header[column.index].strip())
            faults.append(f"expected a unit in the name of the response time ({found}_ms, {found}_us, …), found none")
    if not faults and not any(column.part in (Part.RESPONSE, Part.METRIC, Part.MEAN) for column in columns):
        faults.append(
            "expected a column with figures (response_ms; n, mean, sd; tps, cpu_ms, …), found only"
            f" {excerpt(', '.join(cell.strip() for cell in header), 200)}"
        )
    return faults


def first_throughput(columns: Sequence[Column]) -> Column | None:
    """Of several throughputs in one row, the one that is of the whole: transactions before queries."""
    found = [column for column in columns if column.part is Part.METRIC and column.metric == THROUGHPUT]
    for name in known_names.OF_THE_WHOLE:
        for column in found:
            if one_spelling(column.name) == name:
                return column
    return found[0] if found else None
