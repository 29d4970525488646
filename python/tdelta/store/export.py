"""A run as CSV (one row per trial, for a data frame) or JSON (everything, histograms too), written trial by trial.

The columns and the JSON schema are documented in ``docs/formats.md``. A file appears whole or not at all: it is written
beside its destination, synced and renamed. Nothing grows with the number of trials.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, TextIO, TypeAlias

from tdelta.errors import StorageFault, UnknownName
from tdelta.inputs import real_path, written_to
from tdelta.messages import Refusal
from tdelta.records import Measurement, RunResult, SpanTotals, Trial
from tdelta.records.findings import known_findings
from tdelta.records.parts import flat, flat_hints
from tdelta.store.codec import dumps, encode
from tdelta.store.rows import MAPPINGS
from tdelta.store.store import Store

JSON_SCHEMA = "tdelta.export/1"
"""The ``schema`` of the JSON document; the number grows when a reader of the old one would break."""

FORMATS = ("csv", "json")
"""The formats of ``tdelta export``."""

Destination: TypeAlias = Path | TextIO
Cell: TypeAlias = str | int | float | None
_FORMULA = re.compile(r"[=@\t\r]|[+-].*[(|!=]", re.DOTALL)
"""The beginnings of formulas in spreadsheets; ``+log`` is a scope."""

PLACE_COLUMNS = (
    "round",
    "block",
    "position",
    "instance",
    "started_unix_seconds",
    "condition",
    "role",
    "stratum",
    "injected_share",
)
"""Where a trial stands in the design; the factors follow, a column each."""

_MEASURED = tuple(name for name in flat_hints(Measurement) if name not in MAPPINGS)

SCALAR_COLUMNS = (*_MEASURED, "response_mean_ns", "errors_count", "retries_count")
"""Columns with one value for each trial."""


def write(store: Store, run_id: str, file_format: str, destination: Destination) -> None:
    """Export a run in the named format. Raises ``UnknownName`` for another, else as the two functions below."""
    writers = {"csv": write_csv, "json": write_json}
    if file_format not in writers:
        raise UnknownName("format", file_format, FORMATS)
    writers[file_format](store, run_id, destination)


def write_csv(store: Store, run_id: str, destination: Destination) -> None:
    """Export a run as CSV, one row per trial, by block and position.

    A cell is empty where a trial has no such thing (a factor, a transaction type that did not run, a counter).
    """
    columns = _csv_columns(store, run_id)
    with _opened(destination) as out:
        write_rows(out, columns, _rows(store, run_id))


def write_rows(out: TextIO, columns: Sequence[str], rows: Iterable[Mapping[str, Cell]]) -> None:
    """Rows as CSV (RFC 4180, but for line feeds alone), with a header.

    A text that a spreadsheet would take for a formula has an apostrophe before it: labels and names are anybody's.
    """
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
    writer.writerow({column: _unevaluated(column) for column in columns})
    writer.writerows({name: _unevaluated(cell) for name, cell in row.items()} for row in rows)


def _unevaluated(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def columns(store: Store, run_id: str) -> dict[str, list[Cell]]:
    """The same table as columns, one value a trial; None where a trial has no such thing."""
    found: dict[str, list[Cell]] = {name: [] for name in _csv_columns(store, run_id)}
    for cells in _rows(store, run_id):
        for name, values in found.items():
            values.append(cells.get(name))
    return found


def write_json(store: Store, run_id: str, destination: Destination) -> None:
    """Export a run as JSON: settings, machine, versions, facts, result and every trial; histograms in Base64."""
    head = _json_head(store, run_id)
    trials = store.iter_trials(run_id)
    with _opened(destination) as out:
        out.write(dumps(head)[:-1] + ',"trials":[')
        for number, trial in enumerate(trials):
            out.write(",\n" if number else "\n")
            out.write(dumps(trial))
        out.write("\n]}\n")


def _json_head(store: Store, run_id: str) -> dict[str, object]:
    settings = store.settings(run_id)
    summary = store.summary(run_id)
    return {
        "schema": JSON_SCHEMA,
        "run_id": run_id,
        "created_unix_seconds": summary.created_unix_seconds,
        "status": summary.status.value,
        "settings": encode(settings),
        "machine": store.machine(run_id),
        "versions": store.versions(run_id),
        "facts": store.facts(run_id),
        "result": _result(store.result(run_id)) if summary.decision else None,
    }


def _result(result: RunResult) -> dict[str, object]:
    """The result with its findings by their kinds, and the texts of checks, reasons and cautions beside their codes."""
    values = encode(result)
    del values["findings"]
    for name, kind in known_findings().items():
        found = [_derived(one) for one in result.of(kind)]
        values[name] = next(iter(found), None) if kind.IS_SINGLE else found
    checks = [encode(check) | {"check": check.check, "detail": check.detail} for check in result.validity]
    verdicts = [
        one | {"reasons": [reason.text for reason in verdict.reasons], "reason_codes": one["reasons"]}
        for verdict, one in zip(result.verdicts, values["verdicts"], strict=True)
    ]
    cautions = [caution.text for caution in result.cautions]
    texts = {"validity": checks, "cautions": cautions, "caution_codes": values["cautions"], "verdicts": verdicts}
    return {**values, **texts}


def _derived(value: Any) -> Any:
    """A finding, or a part of one, with what is derived from its fields beside them."""
    if isinstance(value, tuple | list):
        return [_derived(one) for one in value]
    if not dataclasses.is_dataclass(value):
        return encode(value)
    fields = {name: _derived(inner) for name, inner in flat(value)}
    return fields | {name: encode(getattr(value, name)) for name in getattr(value, "DERIVED", ())}


def _csv_columns(store: Store, run_id: str) -> list[str]:
    """Every column some trial has: a first pass, since a header cannot wait for the last trial."""
    factors = (factor for condition in store.settings(run_id).conditions for factor, _ in condition.levels)
    columns = dict.fromkeys(("run_id", *PLACE_COLUMNS, *factors, *SCALAR_COLUMNS))
    for cells in _rows(store, run_id):
        columns.update(dict.fromkeys(cells))
    return list(columns)


def _rows(store: Store, run_id: str) -> Iterator[dict[str, Cell]]:
    for trial in store.iter_trials(run_id, histograms=False):
        yield {"run_id": run_id, **_csv_cells(trial)}


def _csv_cells(trial: Trial) -> dict[str, Cell]:
    measured = trial.measurement
    return {
        **dict(zip(PLACE_COLUMNS, _place(trial), strict=True)),
        **dict(trial.condition.levels),
        **dict(zip(SCALAR_COLUMNS, _scalars(measured), strict=True)),
        **{f"tx_{name}_count": spans.count for name, spans in measured.transactions.items()},
        **{f"tx_{name}_mean_ns": _mean_ns(spans) for name, spans in measured.transactions.items()},
        **{f"error_{kind}_count": count for kind, count in measured.errors.items()},
        **{f"retry_{kind}_count": count for kind, count in measured.retries.items()},
        **{f"engine_{name}": count for name, count in measured.engine_counters.items()},
        **{f"files_{kind}_bytes": size for kind, size in measured.files_bytes.items()},
        **{_pressure_column(name): value for name, value in measured.pressure.items()},
    }


def _pressure_column(name: str) -> str:
    """All are shares but for the requests in flight, which may be many."""
    return f"pressure_{name}" if name.endswith("_in_flight") else f"pressure_{name}_share"


def _place(trial: Trial) -> tuple[Cell, ...]:
    condition = trial.condition
    where = (trial.round, trial.block, trial.position, trial.instance, trial.started_unix_seconds)
    return (*where, condition.key, condition.role.value, condition.stratum, condition.injected)


def _scalars(measured: Measurement) -> tuple[Cell, ...]:
    totals = (sum(measured.errors.values()), sum(measured.retries.values()))
    values = dict(flat(measured))
    return (*(values[name] for name in _MEASURED), measured.response_ns, *totals)


def _mean_ns(spans: SpanTotals) -> float | None:
    return spans.total_ns / spans.count if spans.count else None


@contextlib.contextmanager
def _opened(destination: Destination) -> Iterator[TextIO]:
    """The stream to write to; a file comes to be only when all went well."""
    if not isinstance(destination, Path):
        yield destination
        return
    with opened_bytes(destination) as raw, _text_to(raw) as out:
        yield out


@contextlib.contextmanager
def opened_bytes(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which comes to be only when all went well."""
    try:
        # A device or a pipe (/dev/stdout) is written to, never replaced; a symbolic link keeps pointing.
        if path.exists() and not path.is_file():
            with written_to(path) as out:
                yield out.buffer
        else:
            with replacing_bytes(real_path(path)) as raw:
                yield raw
    except OSError as error:
        raise StorageFault(Refusal.of("path-unusable", path=path, fault=error.strerror or error)) from error


@contextlib.contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[TextIO]:
    """The same as `replacing_bytes`, of text."""
    with replacing_bytes(path, mode) as raw, _text_to(raw) as out:
        yield out


@contextlib.contextmanager
def replacing_bytes(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A stream to a file beside ``path``, which takes its place when the block ends well, and is removed otherwise.

    Args:
        mode: who may read and write it, less what the process's umask takes away.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextlib.contextmanager
def _text_to(raw: BinaryIO) -> Iterator[TextIO]:
    """UTF-8 into a stream of bytes, which is left open."""
    out = TextIOWrapper(raw, encoding="utf-8", newline="", write_through=True)
    try:
        yield out
    finally:
        out.detach()
