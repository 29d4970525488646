"""The meaning of the columns of a CSV, by their names; ``docs/formats.md`` has the main rules.

A name is compared in small letters, with ``_`` for spaces and hyphens; a unit may end it: ``response_ms``,
``Elapsed (s)``. In order of precedence a column is: the condition, the transaction, the run, what the authors printed,
a count, a mean, a standard deviation, a quantile; a known factor; a known metric, or any other name with a unit; what
tells rows apart and is of no use here (a time stamp, an id). Of the rest, a column with any cell that is no number is a
factor; one of numbers is a factor too, except where nothing else is a metric: then the last such column is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tdelta.errors import ImportFault, UsageError
from tdelta.importers.conditions import is_encrypted, is_plain
from tdelta.importers.importer import Naming
from tdelta.importers.reading import excerpt, printable
from tdelta.inputs import unexpected
from tdelta.messages import Refusal
from tdelta.records.observed import RESPONSE_TIME, THROUGHPUT


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


CONDITION = ("condition", "encryption", "cipher", "configuration", "config", "scenario", "setup", "tde")
"""The first of these that the header has is the condition; another one beside it is a factor."""

TRANSACTION = _words(
    "transaction transaction_name transaction_type tx txn query query_name statement step operation procedure"
)
RUN = _words("run run_id rep repeat repetition replicate trial iteration round")
PUBLISHED = _words("published printed")
COUNT = _words("n count samples sample_count observations executions")
MEAN = _words("mean avg average mean_response avg_response average_response mean_latency avg_latency average_latency")
SD = _words("sd std stddev stdev std_dev standard_deviation")
RESPONSE = _words("response response_time responsetime latency rt duration")
FACTOR = _words(
    "threads thread_count clients users vus connections concurrency cores cache cache_size buffer_pool buffer_pool_size"
    " page_size scope aes_instructions aes_ni scale scale_factor warehouses tables platform engine database version"
    " storage disk_type workload"
)
COST = _words(
    "cpu elapsed time disk reads writes physical_reads physical_writes logical_reads buffer_gets gets query_gets"
    " current_gets redo log_bytes size bytes calls rows wait waits"
)
NO_RESPONSE = _words("cpu disk")  # times that are no response times, even where the user chooses them
NOT_USED = _words(
    "timestamp time_stamp ts start start_time end end_time date datetime epoch id seq row number no line client"
    " client_id thread thread_id worker worker_id session session_id pid host hostname comment note notes source"
)
EXTREMES = _words("min max minimum maximum p0 p00 p100")

PER_SECOND = {
    **dict.fromkeys(_words("tps throughput transactions_per_second eps ops_per_second ops rps qps"), 1.0),
    **dict.fromkeys(_words("tpm nopm tpmc transactions_per_minute"), 1 / 60),
}
"""Names of throughput, and what makes them a second."""
_RATES = {**PER_SECOND, "/s": 1.0, "per_s": 1.0, "/min": 1 / 60, "per_min": 1 / 60}

OF_THE_WHOLE = ("tps", "throughput", "transactions_per_second", "nopm", "tpm", "tpmc")
"""Of several throughputs in one row, the first of these is that of the whole."""

OF_ANYTHING = _words("transactions txns operations ops requests queries events iterations jobs")
"""Words for operations in general, of which a throughput may be."""

TIMES_MS = {
    **dict.fromkeys(_words("ns nanoseconds nanos"), 1e-6),
    **dict.fromkeys(_words("us µs μs usec usecs microseconds micros"), 1e-3),
    **dict.fromkeys(_words("ms msec msecs milliseconds millis millisecond"), 1.0),
    **dict.fromkeys(_words("s sec secs seconds"), 1e3),
    **dict.fromkeys(_words("min mins minutes"), 6e4),
}
SIZES = {"bytes": "bytes", "kb": "kB", "mb": "MB", "gb": "GB", "kib": "KiB", "mib": "MiB", "gib": "GiB", "pct": "%"}


@dataclass(frozen=True, slots=True)
class Measure:
    """The meaning of figures: their metric, the unit of results, and the place in the file that says so."""

    metric: str
    unit: str
    scale: float


def measure_of_unit(unit: str) -> Measure | None:
    """``ms`` and ``seconds`` are response times, ``tps`` and ``/min`` throughput; None for anything else."""
    name = unit.strip().lower()
    if name in TIMES_MS:
        return Measure(RESPONSE_TIME, "ms", TIMES_MS[name])
    if name in _RATES:
        return Measure(THROUGHPUT, "/s", _RATES[name])
    return None


def asked_unit(unit: str) -> str:
    """The user's unit, if it is one. Raises `UsageError`: it is none."""
    if measure_of_unit(unit) is None:
        raise UsageError(
            unexpected(
                "a unit of time (ns, us, ms, s, min) or throughput (tps, qps, ops, tpm, /s, /min)",
                "another",
                f"--unit {unit!r}",
            )
        )
    return unit


# Tables with a column for each condition, as articles print them: ``threads;encrypted storage;no
# encryption``.
#
# A column is of a condition if its name has a word for plain or for encrypted; there must be one of either.
# All else in its name is the metric or the unit, before or behind the condition: ``plain_ms``, ``tps
# (encrypted)``.


def wide_columns(names: Sequence[str], numeric: Sequence[bool]) -> Mapping[int, Column]:
    """The columns of conditions by their places; empty where the table has one row per condition."""
    sides = {index: name for index, name in enumerate(names) if numeric[index] and has_side(name)}
    if not any(map(is_plain, sides.values())) or not any(map(is_encrypted, sides.values())):
        return {}
    return {index: _cut(index, name) for index, name in sides.items()}


def has_side(name: str) -> bool:
    return is_plain(name) or is_encrypted(name)


def _cut(index: int, name: str) -> Column:
    """A column's condition and measure: the longest end, else the longest beginning, that is one."""
    parts = name.split("_")
    cuts = [(parts[at:], parts[:at]) for at in range(1, len(parts))]
    cuts += [(parts[:at], parts[at:]) for at in range(len(parts) - 1, 0, -1)]
    measured = ((condition, _measure("_".join(rest))) for rest, condition in cuts if not has_side("_".join(rest)))
    condition, measure = next((it for it in measured if it[1] is not None), (parts, None))
    measure = measure or Measure(RESPONSE_TIME, "", 1.0)
    part = Part.RESPONSE if measure.metric == RESPONSE_TIME else Part.METRIC
    return Column(index, name, part, measure.metric, measure.unit, measure.scale, condition=" ".join(condition))


class Part(StrEnum):
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
    index: int
    name: str
    part: Part
    metric: str = ""
    unit: str = ""  # of its values once they are multiplied by ``scale``
    scale: float = 1.0  # to milliseconds, or to a second
    quantile: float = 0.0  # of a quantile, 0.95
    of: str | None = None  # of printed words: the metric they belong to; None for all of the row
    condition: str | None = None  # of a table with one column per condition: whose figures these are


_OF_FIGURES = {Part.COUNT, Part.MEAN, Part.SD, Part.QUANTILE, Part.RESPONSE, Part.METRIC}
_QUANTILE = re.compile(r"p(\d{1,2})(?:[._]?(\d+))?|(\d{1,2})(?:th|st|nd|rd)?_percentile|median")
_OPENED = str.maketrans("[{", "((")
_RATE = re.compile(r".+_per_(s|sec|second|m|min|minute)")
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z]{2})|(?<=[a-z])(?=[A-Z]{2,}$)")
_UNNAMED_UNIT = re.compile(r"[\s\-]+")


def columns_of(header: Sequence[str], numeric: Sequence[bool], where: str, naming: Naming) -> tuple[Column, ...]:
    """The columns of a header.

    `numeric`: for each column, whether all cells of the file's beginning are numbers; `where`: the header is, for
    messages; `naming`: what the user says of the unit of figures whose column says none, and of the column of the
    figures. Raises `ImportFault`: two columns of one name, or two that would both be the transaction, the run, …; a
    response time without a unit; no such column.
    """
    names = [one_spelling(printable(cell)) for cell in header]
    found = _of_table(names, numeric)
    if naming.column is not None:
        index = column_index(header, naming.column)
        if index is None:
            listed = excerpt(", ".join(cell.strip() for cell in header), 200)
            raise ImportFault(
                Refusal.of(
                    "unknown", kind="column", found=repr(naming.column), hint=f" Expected one of {listed} (--column)."
                ).at(where)
            )
        found = _chosen(found, index, naming.unit)
    found = _with_a_metric(_with_unit(found, naming.unit))
    if faults := [fault.at(where) for fault in _faults(header, names, found)]:
        raise ImportFault(*faults)
    # Factors keep the name that the header gives them; it is what the user reads.
    return tuple([replace(it, name=printable(header[it.index].strip())) for it in found])


def column_index(header: Sequence[str], name: str) -> int | None:
    """Where the column is that the user names: as the header has it, else in one spelling."""
    cells = [cell.strip().strip("\ufeff") for cell in header]
    if name.strip() in cells:
        return cells.index(name.strip())
    names = [one_spelling(printable(cell)) for cell in header]
    asked = one_spelling(name)
    return names.index(asked) if asked in names else None


def _chosen(columns: list[Column], index: int, unit: str | None) -> list[Column]:
    """The columns with figures in one of them alone, response times if they are times; a mean keeps its count."""
    asked = columns[index]
    kept = {Part.COUNT, Part.SD, Part.QUANTILE} if asked.part is Part.MEAN else set()
    found = [
        replace(it, part=Part.NOTHING) if it.part in _OF_FIGURES - kept and it is not asked else it for it in columns
    ]
    if asked.part not in (Part.RESPONSE, Part.MEAN):
        found[index] = _chosen_one(asked, unit)
    return found


def _chosen_one(asked: Column, unit: str | None) -> Column:
    stem, own = _split(asked.name)
    if asked.part is Part.QUANTILE:
        return replace(asked, part=Part.METRIC, metric=stem)
    if own in TIMES_MS and stem not in NO_RESPONSE:
        return Column(asked.index, asked.name, Part.RESPONSE, RESPONSE_TIME, "ms", TIMES_MS[own])
    if asked.part is not Part.METRIC or (not asked.unit and unit is not None):
        return Column(asked.index, asked.name, Part.RESPONSE, RESPONSE_TIME)
    return asked


def _of_table(names: Sequence[str], numeric: Sequence[bool]) -> list[Column]:
    wide = wide_columns(names, numeric)
    condition = next((it for it in CONDITION if it in names and names.index(it) not in wide), None)
    return [
        wide.get(index) or _column(index, name, name == condition, numeric[index]) for index, name in enumerate(names)
    ]


def _measure(name: str) -> Measure | None:
    """The measure of a column of figures by its name, or by a unit alone; None for anything else."""
    if (of_unit := measure_of_unit(name)) is not None:
        return of_unit
    column = _column(0, name, is_condition=False, is_numeric=False)
    is_measured = column.part in (Part.RESPONSE, Part.METRIC, Part.MEAN) and column.unit
    return Measure(column.metric, column.unit, column.scale) if is_measured else None


def _with_unit(columns: list[Column], unit: str | None) -> list[Column]:
    measure = None if unit is None else measure_of_unit(unit)
    if measure is None:
        return columns
    part = Part.RESPONSE if measure.metric == RESPONSE_TIME else Part.METRIC
    return [
        replace(it, part=part, metric=measure.metric, unit=measure.unit, scale=measure.scale)
        if it.part is Part.RESPONSE and not it.unit
        else it
        for it in columns
    ]


def says_conditions(header: Sequence[str], numeric: Sequence[bool]) -> bool:
    names = [one_spelling(printable(cell)) for cell in header]
    return any(it.part is Part.CONDITION or it.condition for it in _of_table(names, numeric))


def is_wide(header: Sequence[str], row: Sequence[bool]) -> bool:
    return len(row) == len(header) and bool(wide_columns([one_spelling(cell) for cell in header], row))


def is_known(name: str) -> bool:
    """Whether a header's cell is one of the documented names, so that the file is taken for a table of results."""
    column = _column(0, one_spelling(name), one_spelling(name) in CONDITION, is_numeric=False)
    return column.part not in (Part.FACTOR, Part.NOTHING, Part.RUN, Part.PUBLISHED)


def one_spelling(cell: str) -> str:
    text = _HUMPS.sub("_", cell.strip().strip("\ufeff")).lower()
    if text.endswith((")", "]", "}")):
        before, _, unit = text[:-1].translate(_OPENED).rpartition("(")
        text = f"{before} {unit.strip()}" if before else text
    return _UNNAMED_UNIT.sub("_", text.replace("/", "_per_") if text.endswith("/s") else text).strip("_")


def _column(index: int, name: str, is_condition: bool, is_numeric: bool) -> Column:
    stem, unit = _split(name)
    if is_condition:
        return Column(index, name, Part.CONDITION)
    for part, known in (
        (Part.TRANSACTION, TRANSACTION),
        (Part.RUN, RUN),
        (Part.COUNT, COUNT),
        (Part.PUBLISHED, PUBLISHED),
    ):
        if name in known:
            return Column(index, name, part)
    if name.startswith(("published_", "printed_")):
        return Column(index, name, Part.PUBLISHED, of=_split(name.partition("_")[2])[0])
    if stem in EXTREMES or not name:
        return Column(index, name, Part.NOTHING)
    if stem in FACTOR:
        return Column(index, name, Part.FACTOR)
    if unit in TIMES_MS or not unit:
        scale = TIMES_MS.get(unit, 1.0)
        for part, known in ((Part.MEAN, MEAN), (Part.SD, SD)):
            if stem in known:
                return Column(index, name, part, RESPONSE_TIME, "ms", scale)
        if quantile := _QUANTILE.fullmatch(stem):
            share = _share(quantile)
            part = Part.QUANTILE if 0 < share < 1 else Part.NOTHING
            return Column(index, name, part, RESPONSE_TIME, "ms", scale, share)
        if stem in RESPONSE:
            return Column(index, name, Part.RESPONSE, RESPONSE_TIME, "ms" if unit else "", scale)
    if (rate := _RATE.fullmatch(name)) and name not in PER_SECOND:
        return Column(index, name, Part.METRIC, THROUGHPUT, "/s", 1 / 60 if rate[1].startswith("m") else 1.0)
    if name not in PER_SECOND and _is_rate_twice(name):
        name = name.rpartition("_")[2]
    if name in PER_SECOND:
        return Column(index, name, Part.METRIC, THROUGHPUT, "/s", PER_SECOND[name])
    if stem == "time" and not unit and not is_numeric:
        return Column(index, name, Part.NOTHING)  # of day
    if stem in COST or unit:
        return _cost(index, name, stem, unit)
    if name in NOT_USED:
        return Column(index, name, Part.NOTHING)
    return Column(index, name, Part.FACTOR if not is_numeric else Part.NOTHING, of="?" if is_numeric else None)


def _is_rate_twice(name: str) -> bool:
    """``throughput_rps``: a name of throughput behind another one."""
    first, _, last = name.rpartition("_")
    return first in PER_SECOND and last in PER_SECOND


def _cost(index: int, name: str, stem: str, unit: str) -> Column:
    if unit in TIMES_MS:
        return Column(index, name, Part.METRIC, stem or "time", "ms", TIMES_MS[unit])
    return Column(index, name, Part.METRIC, stem or name, SIZES.get(unit, ""))


def _split(name: str) -> tuple[str, str]:
    """A name and its unit, if it ends in one: ``cpu_ms``, ``elapsedms`` is not split."""
    stem, _, unit = name.rpartition("_")
    return (stem, unit) if stem and (unit in TIMES_MS or unit in SIZES) else (name, "")


def _share(match: re.Match[str]) -> float:
    if match[0] == "median":
        return 0.5
    whole, decimals = match[1] or match[3], match[2] or ""
    return float(f"0.{int(whole):02d}{decimals}")


def _with_a_metric(columns: list[Column]) -> list[Column]:
    """Decide on columns of numbers with unknown names (``of`` is ``?`` until then)."""
    unknown = [column.index for column in columns if column.of == "?"]
    decided = [Column(it.index, it.name, Part.FACTOR) if it.of == "?" else it for it in columns]
    if unknown and not any(column.part in (Part.METRIC, Part.RESPONSE, Part.MEAN) for column in columns):
        last = unknown[-1]
        decided[last] = _cost(last, columns[last].name, columns[last].name, "")
    return decided


def _faults(header: Sequence[str], names: Sequence[str], columns: Sequence[Column]) -> list[Refusal]:
    faults: list[Refusal] = []
    for name in dict.fromkeys(name for name in names if name and names.count(name) > 1):
        faults.append(Refusal.of("twice", what=f"column {name!r}"))
    for part in (Part.TRANSACTION, Part.RUN, Part.COUNT, Part.MEAN, Part.SD, Part.RESPONSE):
        same = [printable(header[it.index]) for it in columns if it.part is part and it.condition is None]
        if len(same) > 1:
            faults.append(unexpected(f"one column for the {part}", ", ".join(same)))
    if without_unit := [it for it in columns if it.part is Part.RESPONSE and not it.unit]:
        listed = [printable(header[it.index].strip()) for it in without_unit]
        if without_unit[0].condition is None:
            faults.append(Refusal.of("time-without-unit", column=listed[0]))
        else:
            faults.append(Refusal.of("columns-without-unit", column=listed[0], listed=", ".join(listed)))
    if not faults and not any(column.part in (Part.RESPONSE, Part.METRIC, Part.MEAN) for column in columns):
        faults.append(
            unexpected(
                "a column of figures (response_ms; n, mean, sd; tps, …) or one per configuration",
                excerpt(", ".join(cell.strip() for cell in header), 200),
            )
        )
    return faults


def throughput_of_whole(columns: Sequence[Column]) -> Column | None:
    """Of the throughputs in one row, the one that is of the whole: transactions before queries.

    None where each is of an operation of its own (``insert_ops_per_sec``): then none speaks for the others.
    """
    found = [column for column in columns if column.part is Part.METRIC and column.metric == THROUGHPUT]
    by_name = {one_spelling(column.name): column for column in reversed(found)}
    if known := [by_name[name] for name in OF_THE_WHOLE if name in by_name]:
        return known[0]
    is_lone = len(found) == 1 and (found[0].condition is not None or _is_of_anything(one_spelling(found[0].name)))
    return found[0] if is_lone else None


def _is_of_anything(name: str) -> bool:
    """Whether a name of throughput says of no operation: ``ops``, ``requests_per_s``."""
    rate = _RATE.fullmatch(name)
    counted = name[: rate.start(1)].removesuffix("_per_") if rate else ""
    return name in PER_SECOND or _is_rate_twice(name) or counted in OF_ANYTHING
