"""The list of stored runs, as ``tdelta runs`` prints it."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from tdelta.document.labels import decision_word, is_called
from tdelta.document.quantities import amounts, counted, decimals, percent, points, printable
from tdelta.records.kept import RunKind
from tdelta.report.drawing import NARROWEST, draw, paragraph, plain_table
from tdelta.session.keeping import Shelf
from tdelta.store import RunStatus, RunSummary

RUNS_SCHEMA = "tdelta.runs/1"
REMOVED_SCHEMA = "tdelta.runs-removed/1"
_KINDS = {RunKind.PILOT: "pilot of `tdelta plan`", RunKind.CALIBRATION: "run of a calibration"}
_ASIDE = {RunKind.PILOT: "pilot", RunKind.CALIBRATION: "run of calibrations", RunKind.IMPORTED: "imported run"}


@dataclass(frozen=True, slots=True)
class Listed:
    """What is listed of a store: some of its runs, and how many of each kind were left out for their kind alone."""

    shelf: Shelf
    runs: tuple[RunSummary, ...]
    aside: dict[RunKind, int]
    store: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which runs are listed; an empty collection, or None, stands for all. ``answers`` are `decision_names`."""

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


def runs_text(found: Listed, width: int, *, color: bool = False) -> str:
    """A table of the runs, and below it what is not in it."""
    width = max(NARROWEST, width)
    parts: list[Text | Table] = []
    if found.runs:
        headings = ("run", "date", "labels", "engine", "study/workload", "answer")
        table = plain_table((heading, False) for heading in headings)
        for column in table.columns[:2]:
            column.no_wrap = True  # an id is copied whole
        for run in found.runs:
            table.add_row(*_cells(run, run.run_id in found.shelf.at_work))
        parts += [table, Text()]
    notes = [(run, line) for run in found.runs if run.note for line in run.note.splitlines()]
    for run, line in notes:
        parts += paragraph(f"{run.run_id}: {printable(line)}", width, indent="  ")
    parts += [Text()] if notes else []
    for line in _below(found):
        parts += paragraph(line, width, "dim")
    for run_id, why in found.shelf.damaged.items():
        parts += paragraph(f"{printable(run_id)} is damaged: {why}", width, "red")
    return draw(parts, width, color=color)


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


def removed_text(gone: Shelf, *, done: bool, compacted: bool) -> str:
    """What was removed, or would be.

    Args:
        compacted: whether the store's file is smaller by them.
    """
    lines = [
        f"{run.run_id}  {_date(run)}  {printable(run.engine)}  {_answer(run, is_at_work=False)}" for run in gone.runs
    ]
    lines += [f"{printable(run_id)}  damaged" for run_id in gone.damaged]
    (size,) = amounts((float(sum(gone.sizes_bytes.values())),), "bytes")
    verb = "removed" if done else "would remove"
    said = f"{verb} {counted(len(lines), 'run')}, {size}" if lines else "nothing to remove"
    later = "; the file keeps its size for now, and what comes next uses the room" if done and not compacted else ""
    return "".join(f"{line}\n" for line in (*lines, f"{said}{later if lines else ''}"))


def removed_document(gone: Shelf, *, done: bool, compacted: bool) -> dict[str, object]:
    return {
        "schema": REMOVED_SCHEMA,
        "removed": done,
        "compacted": compacted,
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


def _below(found: Listed) -> Iterable[str]:
    if not found.runs:
        yield "no run fits" if found.shelf.runs else "no runs yet"
    (size,) = amounts((float(sum(found.shelf.sizes_bytes.values())),), "bytes")
    aside = [counted(count, _ASIDE[kind]) for kind, count in found.aside.items() if kind in _ASIDE]
    left = f"; not listed: {', '.join(aside)} (--kind all)" if aside else ""
    yield f"{counted(len(found.runs), 'run')} listed, all of {printable(found.store)} take {size}{left}"
