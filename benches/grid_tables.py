"""The grid of ``tests/calibration/grid.py`` as tables: what ``benches/calibration.py --grid`` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.pool import Pool
from typing import TypeVar

import numpy as np

from calibration.grid import (
    GateOutcome,
    Limit,
    Outcome,
    cells,
    gate_cells,
    gate_limits,
    gate_outcome,
    limits,
    outcome,
    tally,
)
from calibration.processes import Process

CELL = (
    "cell|truth %|covered %|covered or undecided %|slower %|faster %|negligible %|undecided %|met a stall %"
    "|negligible of those %|width, points|width of the typical ratio, points"
)
GATE = "cell|over %|within %|undecided %|rounds"

_CHUNK = 25
Seen = TypeVar("Seen")
Task = tuple[Process, str, int, int]


def print_grid(wanted: Callable[[str], object], experiments: int, processes: int) -> None:
    """Print the rows whose name is wanted, and then every limit that is broken."""
    faults: list[str] = []
    with Pool(processes) as pool:
        for heading, named, made, asked, row in (
            (CELL, cells(), _outcomes, limits, _cell),
            (GATE, gate_cells(), _gate_outcomes, gate_limits, _gate),
        ):
            found = {name: process for name, process in named.items() if wanted(name)}
            faults += _table(heading, _seen(pool, found, made, experiments), asked, row)  # type: ignore[arg-type]
    print(f"\n{len(faults)} limits are broken in {experiments} experiments a cell" + (":" if faults else ""))
    print(*(f"- {fault}" for fault in faults), sep="\n")


def _seen(
    pool: Pool, found: Mapping[str, Process], made: Callable[[Task], list[Seen]], experiments: int
) -> Iterator[tuple[str, Process, list[Seen]]]:
    """Every cell with its experiments, in order; shared out in chunks, so that long cells keep all processes busy."""
    starts = range(0, experiments, _CHUNK)
    tasks = [(p, name, start, min(start + _CHUNK, experiments)) for name, p in found.items() for start in starts]
    chunks = pool.imap(made, tasks)
    for name, process in found.items():
        yield name, process, [one for _ in starts for one in next(chunks)]


def _outcomes(task: Task) -> list[Outcome]:
    process, name, start, stop = task
    return [outcome(process, name, index) for index in range(start, stop)]


def _gate_outcomes(task: Task) -> list[GateOutcome]:
    process, name, start, stop = task
    return [gate_outcome(process, name, index) for index in range(start, stop)]


def _table(
    heading: str,
    seen: Iterator[tuple[str, Process, list[Seen]]],
    asked: Callable[[Process], Iterator[Limit[Seen]]],
    row: Callable[[Process, Sequence[Seen]], Sequence[str]],
) -> list[str]:
    """Print a table, unless it has no rows; the limits that are broken, in words."""
    faults: list[str] = []
    for number, (name, process, found) in enumerate(seen):
        if number == 0:
            print(f"\n| {heading.replace('|', ' | ')} |\n|{'---|' * (heading.count('|') + 1)}")
        print(f"| {' | '.join((name, *row(process, found)))} |", flush=True)
        faults += [f"{name}: {fault}" for limit in asked(process) if (fault := limit.fault(found))]
    return faults


def _cell(process: Process, found: Sequence[Outcome]) -> Sequence[str]:
    of = tally(process, found)
    shares = (of.covered, of.answered, of.slower, of.faster, of.negligible, of.undecided, of.met, of.blind)
    truth = 100.0 * float(np.expm1(process.typical_truth))
    return (
        f"{round(truth, 1) + 0.0:+.1f}",
        *(f"{100 * share:.1f}" for share in shares),
        f"{of.points:.2f}",
        f"{of.typical_points:.2f}",
    )


def _gate(process: Process, found: Sequence[GateOutcome]) -> Sequence[str]:
    over, within = (limit.share(found) for limit in gate_limits(process))
    shares = (f"{100 * share:.1f}" for share in (over, within, 1.0 - over - within))
    return *shares, f"{np.mean([one.rounds for one in found]):.1f}"
