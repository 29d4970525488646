"""Listings: engines, studies, stored runs, and the resources of a run with ``--dry-run``."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from tdelta.document.blocks import Block, Column, Heading, Listing, Medium, Paragraph, Table, columns, headed
from tdelta.document.labels import database_text, decision_word, is_called
from tdelta.document.quantities import amounts, counted, decimals, duration, percent, points, printable
from tdelta.engines.profile import EngineInfo
from tdelta.records import DatabaseFacts
from tdelta.records.kept import RunKind
from tdelta.report.values import record_values
from tdelta.session.keeping import Shelf
from tdelta.session.studies import Study, engines_of
from tdelta.store import RunStatus, RunSummary

if TYPE_CHECKING:
    from tdelta.session.preflight import DryRun

ENGINES_SCHEMA = "tdelta.engines/1"
STUDIES_SCHEMA = "tdelta.studies/2"
RUNS_SCHEMA = "tdelta.runs/1"
REMOVED_SCHEMA = "tdelta.runs-removed/1"
_INDENT = "    "
_DEEP = " " * 9
_MOST_TABLES = 10
_KINDS = {RunKind.PILOT: "pilot of `tdelta plan`", RunKind.CALIBRATION: "run of a calibration"}
_ASIDE = {RunKind.PILOT: "pilot", RunKind.CALIBRATION: "run of calibrations", RunKind.IMPORTED: "imported run"}

NO_REASONS: Mapping[str, str | None] = MappingProxyType({})


def engines_blocks(engines: Sequence[EngineInfo], reasons: Mapping[str, str | None] = NO_REASONS) -> Iterator[Block]:
    """The engines, those that can be tested here first, with ciphers or the way to install them below each.

    Args:
        reasons: by the library that encrypts, why its AES instructions cannot be disabled here; None if they can.
    """
    for engine in sorted(engines, key=lambda e: not e.available):
        state = _availability(engine)
        state += f"  (--library {engine.option})" if engine.option else ""
        yield Paragraph(f"{engine.name:<12} {state}", "lead" if engine.available else "note")
        yield Listing([("", f"{_INDENT}{line}") for line in _engine_lines(engine, reasons)])


def engines_document(
    engines: Sequence[EngineInfo], reasons: Mapping[str, str | None] = NO_REASONS
) -> dict[str, object]:
    """The engines as JSON values; ``reasons`` as for `engines_blocks`."""
    return {
        "schema": ENGINES_SCHEMA,
        "engines": [record_values(engine) | {"aes_instructions": _instructions(engine, reasons)} for engine in engines],
    }


def studies_blocks(studies: Sequence[Study]) -> Iterator[Block]:
    """The studies, each with the published experiment it comes from."""
    for study in studies:
        yield Paragraph(f"{study.name}: {study.title}", "lead")
        read = " ".join(f"published:{name}" for name in study.tables)
        analyze = f"its tables: tdelta analyze {read}" if read and study.runs else ""
        command = "" if study.runs else f"its command: {study.command}"
        own = ", ".join(engines_of(study))
        servers = f"on your own servers: {own}" if own else ""
        lines = (f"published: {study.published}", study.note, servers, analyze, command)
        yield Listing([("", f"{_INDENT}{line}") for line in lines if line])


def studies_document(studies: Sequence[Study]) -> dict[str, object]:
    return {
        "schema": STUDIES_SCHEMA,
        "studies": [
            {
                "name": study.name,
                "title": study.title,
                "published": study.published,
                "runs": study.runs,
                "command": study.command,
                "note": study.note,
                "tables": list(study.tables),
                "external_servers": list(engines_of(study)),
            }
            for study in studies
        ],
    }


def dry_run_blocks(plan: DryRun) -> Iterator[Block]:
    """The minutes, gigabytes and memory that a run needs, and whether there is enough."""
    yield Paragraph(f"{counted(len(plan.conditions), 'configuration')}: {'; '.join(plan.conditions)}")
    yield Paragraph(f"{_span(plan)}, at least {counted(plan.trials_at_least, 'trial')}; files go to {plan.directory}")
    resources = (
        ("disk", plan.disk_bytes, plan.disk_free_bytes),
        ("memory", plan.memory_bytes, plan.memory_free_bytes),
    )
    rows = [(name, *(amounts((size,), "bytes")[0] for size in (needed, free))) for name, needed, free in resources]
    yield Table("Resources", columns("needs", "free"), rows)
    if plan.database is not None:
        yield from _own_database(plan, plan.database)
    yield Listing([("", str(caution)) for caution in plan.cautions], "cautions")
    if plan.faults:
        yield Paragraph("Not enough space: this run would be refused.", "alarm")
        yield Listing([("", str(fault)) for fault in plan.faults], "faults")


def _own_database(plan: DryRun, database: DatabaseFacts) -> Iterator[Block]:
    """The tables of a user's database and the transactions on it."""
    only_read = "" if database.restored else "; only read"
    yield Paragraph(database_text(database) + only_read)
    rows = [(printable(line.name), f"{line.rows:,}", amounts((line.size_bytes,), "bytes")[0]) for line in plan.tables]
    yield Table("Tables", columns("rows", "size"), rows, name="largest tables", most=_MOST_TABLES)
    yield Heading(f"transactions ({'proposed' if database.proposed else 'given'})", Medium.BOTH)
    for transaction in plan.transactions:
        title = printable(transaction.title)
        yield Paragraph(f"{100 * transaction.share:5.1f}%  {transaction.name}: {title}")
        lines = (line for line in transaction.script.splitlines() if line and not line.startswith("--"))
        yield Listing([("", f"{_DEEP}{line}") for line in lines], "facts")
    yield from headed("not proposed", (("", printable(note)) for note in plan.notes), "cautions")
    if plan.written is not None:
        origin = "--restore" if database.restored else "--database"
        yield Paragraph(f"Written to {plan.written}: edit it, then use it with {origin} and --workload {plan.written}.")


def _span(plan: DryRun) -> str:
    """From the fewest rounds to the cap; what is short of that says so."""
    if plan.seconds_at_least <= plan.seconds_at_most:
        return f"{duration(plan.seconds_at_least)} to {duration(plan.seconds_at_most)}"
    least = f"the shortest run takes about {duration(plan.seconds_least)}"
    return f"{least}, one of all rounds {duration(plan.seconds_at_least)}; --max-time {duration(plan.seconds_at_most)}"


def _instructions(engine: EngineInfo, reasons: Mapping[str, str | None]) -> list[str]:
    """The levels of the factor ``aes_instructions`` that can be had here; none where that is not known."""
    if not engine.available or engine.crypto not in reasons:
        return []
    return ["on", "off"] if reasons[engine.crypto] is None else ["on"]


def _instructions_line(engine: EngineInfo, reasons: Mapping[str, str | None]) -> str:
    levels = _instructions(engine, reasons)
    why = f" (off cannot be had here: {reasons[engine.crypto]})" if levels == ["on"] else ""
    return f"AES instructions: {', '.join(levels)}{why}" if levels else ""


def _availability(engine: EngineInfo) -> str:
    if engine.available:
        return engine.version or "version unknown"
    return f"{engine.version}, found, but cannot be tested here" if engine.version else "not available here"


def _engine_lines(engine: EngineInfo, reasons: Mapping[str, str | None]) -> list[str]:
    ciphers = f"ciphers: {', '.join(engine.ciphers)}" if engine.ciphers else ""
    remedy = f"to install: {engine.install}" if engine.install and not engine.available else ""
    notes = "" if remedy and engine.install in engine.notes else engine.notes
    return [line for line in (engine.library, ciphers, _instructions_line(engine, reasons), remedy, notes) if line]


@dataclass(frozen=True, slots=True)
class Listed:
    """The listed runs of a store, and how many of each kind were left out for their kind alone."""

    shelf: Shelf
    runs: tuple[RunSummary, ...]
    aside: dict[RunKind, int]
    store: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which runs are listed; an empty collection, or None, means all. ``answers`` are `decision_names`."""

    kinds: Collection[RunKind] = (RunKind.RUN, RunKind.IMPORTED)
    labels: Collection[str] = ()
    engines: Collection[str] = ()
    studies: Collection[str] = ()
    answers: Collection[str] = ()
    since_unix_seconds: float = -math.inf
    most: int | None = None


def listed(shelf: Shelf, wanted: Wanted, store: str) -> Listed:
    """Those of the runs that are wanted, the newest first."""
    fitting = [run for run in shelf.runs if _is_wanted(run, wanted)]
    aside = Counter(run.kind for run in fitting if run.kind not in wanted.kinds)
    runs = [run for run in fitting if run.kind in wanted.kinds]
    return Listed(shelf, tuple(runs[: wanted.most]), dict(aside), store)


def _is_wanted(run: RunSummary, wanted: Wanted) -> bool:
    return (
        run.created_unix_seconds >= wanted.since_unix_seconds
        and (not wanted.labels or not set(wanted.labels).isdisjoint(run.labels))
        and (not wanted.engines or run.engine in wanted.engines)
        and (not wanted.studies or run.study in wanted.studies)
        and (not wanted.answers or any(_has_answer(run, name) for name in wanted.answers))
    )


def _has_answer(run: RunSummary, name: str) -> bool:
    return run.decision is not None and is_called(run.decision, run.metric, name)


def runs_blocks(found: Listed) -> Iterator[Block]:
    """A table of the runs, and below it the runs that are not in it."""
    if found.runs:
        titles = ("run", "date", "labels", "engine", "study/workload", "answer")
        rows = [_cells(run, run.run_id in found.shelf.at_work) for run in found.runs]
        yield Table("Runs", [Column(title, is_whole=title in ("run", "date")) for title in titles], rows)
    notes = [f"{run.run_id}: {printable(line)}" for run in found.runs for line in run.note.splitlines()]
    yield Listing([("", note) for note in notes])
    if not found.runs:
        yield Paragraph("no run fits" if found.shelf.runs else "no runs yet", "note")
    (size,) = amounts((float(sum(found.shelf.sizes_bytes.values())),), "bytes")
    aside = [counted(count, _ASIDE[kind]) for kind, count in found.aside.items() if kind in _ASIDE]
    left = f"; not listed: {', '.join(aside)} (--kind all)" if aside else ""
    yield Paragraph(
        f"{counted(len(found.runs), 'run')} listed, all of {printable(found.store)} take {size}{left}", "note"
    )
    damaged = found.shelf.damaged.items()
    yield Listing([("", f"{printable(run_id)} is damaged: {why}") for run_id, why in damaged], "faults")


def runs_document(found: Listed) -> dict[str, object]:
    return {
        "schema": RUNS_SCHEMA,
        "store": found.store,
        "runs": [run_values(run, found.shelf) for run in found.runs],
        "aside": {kind.value: found.aside.get(kind, 0) for kind in RunKind if kind is not RunKind.RUN},
        "damaged": [{"run_id": run_id, "fault": why} for run_id, why in found.shelf.damaged.items()],
    }


def run_values(run: RunSummary, shelf: Shelf) -> dict[str, object]:
    return {
        "run_id": run.run_id,
        "created_unix_seconds": run.created_unix_seconds,
        "kind": run.kind.value,
        "status": run.status.value,
        "at_work": run.run_id in shelf.at_work,
        "study": run.study,
        "engine": run.engine,
        "workload": run.workload,
        "labels": list(run.labels),
        "note": run.note,
        "decision": None if run.decision is None else run.decision.value,
        "ratios": list(run.overheads),
        "trials": run.trials,
        "size_bytes": shelf.sizes_bytes.get(run.run_id, 0),
    }


def removed_text(gone: Shelf, data_bytes: int, *, done: bool, compacted: bool) -> str:
    """The runs that were removed, or would be.

    Args:
        data_bytes: of loaded data that were kept.
        compacted: whether the store's file is smaller by them.
    """
    lines = [
        f"{run.run_id}  {_date(run)}  {printable(run.engine)}  {_answer(run, is_at_work=False)}" for run in gone.runs
    ]
    lines += [f"{printable(run_id)}  damaged" for run_id in gone.damaged]
    size, of_data = (amounts((float(found),), "bytes")[0] for found in (sum(gone.sizes_bytes.values()), data_bytes))
    verb = "removed" if done else "would remove"
    said = f"{verb} {counted(len(lines), 'run')}, {size}" if lines else "nothing to remove"
    later = "; the file keeps its size for now, and what comes next uses the room" if done and not compacted else ""
    last = [f"{verb} {of_data} of loaded data"] if data_bytes else []
    if lines or not last:
        last = [f"{said}{later if lines else ''}", *last]
    return "".join(f"{line}\n" for line in (*lines, *last))


def removed_document(gone: Shelf, data_bytes: int, *, done: bool, compacted: bool) -> dict[str, object]:
    return {
        "schema": REMOVED_SCHEMA,
        "removed": done,
        "compacted": compacted,
        "loaded_data_bytes": data_bytes,
        "runs": [run_values(run, gone) for run in gone.runs],
        "damaged": [{"run_id": run_id, "fault": why} for run_id, why in gone.damaged.items()],
    }


def _cells(run: RunSummary, is_at_work: bool) -> tuple[str, ...]:
    return (
        run.run_id,
        _date(run),
        printable(", ".join(run.labels)),
        printable(run.engine),
        printable(run.study or run.workload),
        _answer(run, is_at_work=is_at_work),
    )


def _date(run: RunSummary) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(run.created_unix_seconds))


def _answer(run: RunSummary, *, is_at_work: bool) -> str:
    if run.kind in _KINDS and not is_at_work:
        return _KINDS[run.kind]
    aside = "imported run" if run.kind is RunKind.IMPORTED else ""
    return ", ".join(filter(None, (_verdict(run, is_at_work=is_at_work), aside)))


def _verdict(run: RunSummary, *, is_at_work: bool) -> str:
    if is_at_work:
        return "at work"
    if run.decision is None:
        return run.status.value if run.status is RunStatus.FAILED else "cut short, no answer"
    cut = " (interrupted)" if run.status is RunStatus.INTERRUPTED else ""
    return f"{decision_word(run.decision, run.metric)} {overhead_words(run.overheads)}".rstrip() + cut


def overhead_words(ratios: Iterable[float]) -> str:
    """``+3.1%``, of several the least and the most: ``+3.1 … +38.0%``; empty where there is none."""
    found = sorted(ratio for ratio in ratios if math.isfinite(ratio))
    if not found:
        return ""
    places = decimals(found)
    least = "" if len(found) == 1 else f"{points(found[0], places)} … "
    return f"{least}{percent(found[-1], places)}"
