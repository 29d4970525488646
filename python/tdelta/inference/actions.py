"""What actions took, condition by condition: medians between quartiles; of backups, what they are.

And what actions cost a load while they go on. One that ends before its trial's load is diluted in that trial's response
time. So the load's statements are counted where an action begins and where it ends, or the load does
(`tdelta.driver.acting`): the time for a statement in that stretch, over that of the plain twins after the same head,
which ran the same statements in the same blocks, is what it costs while it goes on. The ratios are fitted as the
verdicts' costs are, and decide nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence

from tdelta.design.actions import parse_action
from tdelta.driver.acting import COUNTED, DELETED, SECONDS, THERE, WHILE_NS, WHILE_WORK, as_left
from tdelta.inference.costs import panels
from tdelta.inference.fits import fit_named
from tdelta.inference.serving import typical
from tdelta.messages import Caution
from tdelta.records import (
    ActionMeasure,
    BackupMeasure,
    Condition,
    Estimate,
    LeftInClear,
    Measurement,
    RunSettings,
    Trial,
)
from tdelta.records.actions import BACKUP, SEARCHED
from tdelta.records.trials import by_condition

_ENCRYPTING = frozenset({"encrypt", "alter"})
_WHILE = "while"
_FEWEST_BLOCKS = 2


def action_measures(trials: Iterable[Trial], settings: RunSettings) -> tuple[ActionMeasure, ...]:
    """The measures of every condition whose trials are actions, or have one beside them, in the design's order."""
    found_trials = tuple(trials)
    by_key = by_condition(t for t in found_trials if SECONDS in t.measurement.engine_counters)
    ratios = while_ratios(found_trials, settings) if by_key else {}
    found = []
    for condition in settings.conditions:
        if measured := by_key.get(condition.key):
            levels = dict(condition.levels)
            during = levels.get("during")
            counters = [n for n in measured[0].engine_counters if n.startswith(COUNTED) and n != SECONDS]
            names = [n for n in counters if as_left(n) is None]
            found.append(
                ActionMeasure(
                    condition=condition,
                    action=str(levels["work"] if during is None else during),
                    trials=len(measured),
                    seconds=typical(measured, lambda m: m.engine_counters[SECONDS] / 1e9),
                    load_seconds=None if during is None else typical(measured, lambda m: m.elapsed_ns / 1e9),
                    while_ratio=ratios.get(condition.key),
                    cpu_seconds=typical(measured, _cpu_seconds),
                    written_bytes=typical(measured, lambda m: float(m.usage.syscall_written_bytes)),
                    counted={
                        name.removeprefix(COUNTED): float(
                            statistics.median(m.engine_counters.get(name, 0) for m in measured)
                        )
                        for name in names
                        if not name.startswith(f"{COUNTED}{BACKUP}")
                    },
                    left=_left(measured),
                )
            )
    return tuple(found)


def _left(measured: Sequence[Measurement]) -> tuple[LeftInClear, ...]:
    """By class of file, in the order in which they were searched first."""
    most: dict[str, dict[str, int]] = {}
    for one in measured:
        for name, count in one.engine_counters.items():
            if (found := as_left(name)) is not None:
                rows, file_class = found
                of_class = most.setdefault(file_class, {THERE: 0, DELETED: 0})
                of_class[rows] = max(of_class.get(rows, 0), count)
    return tuple(LeftInClear(name, counts[THERE], counts[DELETED]) for name, counts in most.items())


def left_cautions(actions: Iterable[ActionMeasure]) -> Iterator[Caution]:
    """What can still be read in a database after it was encrypted, by action."""
    there: dict[str, dict[str, None]] = {}
    deleted: dict[str, dict[str, None]] = {}
    for one in actions:
        name = parse_action(one.action).name
        for left in one.left if name in _ENCRYPTING else ():
            for markers, found in ((left.there, there), (left.deleted, deleted)):
                if markers:
                    found.setdefault(name, {})[left.file_class] = None
    for name, classes in there.items():
        yield Caution.of("rows-left-in-clear", action=name, files=", ".join(classes))
    for name, classes in deleted.items():
        yield Caution.of("deleted-rows-left-in-clear", action=name, files=", ".join(classes))


def while_ratios(trials: Sequence[Trial], settings: RunSettings) -> dict[str, Estimate]:
    """What each action costs the load while it goes on, over plain twins, by the key of its condition.

    Nothing of runs whose database does not count what loads have it do, or with fewer than two blocks that tell.
    """
    fit = fit_named(panels(trials, settings), {_WHILE: while_cost})[_WHILE]
    return {
        answer.condition.key: answer.posterior.estimate(settings.tolerance)
        for answer in fit.answers()
        if answer.condition.role.is_judged and int(answer.fitted.blocks.sum()) >= _FEWEST_BLOCKS
    }


def while_cost(measured: Measurement) -> float:
    """Time for a statement of the load while an action goes on beside it, ns; 0 where no statement was counted."""
    counters = measured.engine_counters
    work = counters.get(WHILE_WORK, 0)
    return counters.get(WHILE_NS, 0) / work if work > 0 else 0.0


def _cpu_seconds(measured: Measurement) -> float:
    """Of the whole trial, its head included."""
    return measured.cpu_seconds * measured.counted_operations / max(1, measured.operations)


def backup_measures(trials: Iterable[Trial], settings: RunSettings) -> tuple[BackupMeasure, ...]:
    """The backups of every condition that makes any, in the design's order."""
    weighed = f"{COUNTED}{BACKUP}raw_bytes"
    by_key = by_condition(t for t in trials if t.measurement.engine_counters.get(weighed))
    return tuple(
        _backups(condition, by_key[condition.key]) for condition in settings.conditions if condition.key in by_key
    )


def _backups(condition: Condition, measured: Sequence[Measurement]) -> BackupMeasure:
    prefix = f"{COUNTED}{BACKUP}"
    levels = dict(condition.levels)

    def median(name: str) -> float:
        return float(statistics.median(m.engine_counters.get(f"{prefix}{name}", 0) for m in measured))

    searched = f"{prefix}{SEARCHED}"
    found: dict[str, int] = {}
    for one in measured:
        for name, markers in one.engine_counters.items():
            if name.startswith(searched):
                of = name.removeprefix(searched)
                found[of] = max(found.get(of, 0), markers)
    raw, backup = median("raw_bytes"), median("bytes")
    return BackupMeasure(
        condition=condition,
        action=str(levels.get("during", levels.get("work"))),
        trials=len(measured),
        is_logical=median("is_logical") > 0,
        data_bytes=median("data_bytes"),
        raw_bytes=raw,
        backup_bytes=backup,
        ratio=raw / backup,
        markers=found,
        disk_bytes=median("disk_bytes") or None,
    )
