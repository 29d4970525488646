"""Assurance curves in a terminal: the chance that a run decides, against how long it is."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tdelta.records.prospects import Target
from tdelta.report.quantities import duration, share

_ROWS = 10
_MARGIN = 6
_MARKS = "abcdefghijklmnopqrstuvwxyz"
_TICK_COLUMNS = 14


def curves(targets: Sequence[Target], assurance: float, width: int) -> list[str]:
    """One letter a curve, rounds on a logarithmic axis; none where there is no curve to draw.

    Args:
        targets: of one ROPE; those on its edge are left out.
        assurance: the chance that is wanted, drawn as a dotted line.
        width: columns.
    """
    drawn = [target for target in targets if target.decision is not None][: len(_MARKS)]
    if not drawn or len(drawn[0].curve) < 2:
        return []
    columns = max(20, width - _MARGIN)
    cells = [[" "] * columns for _ in range(_ROWS + 1)]
    cells[_row(assurance)] = ["·"] * columns
    rounds = [point.rounds for point in drawn[0].curve]
    for mark, target in zip(_MARKS, drawn, strict=False):
        chances = [point.assurance for point in target.curve]
        for column in range(columns):
            cells[_row(_at(rounds, chances, column / (columns - 1)))][column] = mark
    legend = "   ".join(f"{mark} {effect_words(target.effect)}" for mark, target in zip(_MARKS, drawn, strict=False))
    lines = [f"{_label(row):>{_MARGIN - 1}} {''.join(line)}".rstrip() for row, line in enumerate(cells)]
    return [*lines, *_axis(drawn[0], columns), f"{'':{_MARGIN}}{legend}"]


def effect_words(effect: float) -> str:
    return "none" if effect == 0 else f"+{share(effect)}"


def _row(chance: float) -> int:
    return round(_ROWS * (1.0 - min(1.0, max(0.0, chance))))


def _label(row: int) -> str:
    return f"{100 - 100 * row // _ROWS} %" if row % (_ROWS // 2) == 0 else ""


def _at(rounds: Sequence[int], chances: Sequence[float], place: float) -> float:
    """The chance at a place of the axis, 0 to 1, by straight lines in the rounds' logarithm."""
    where = math.log(rounds[0]) + place * (math.log(rounds[-1]) - math.log(rounds[0]))
    for left in range(len(rounds) - 1):
        low, high = math.log(rounds[left]), math.log(rounds[left + 1])
        if where <= high:
            inside = (where - low) / (high - low)
            return chances[left] + inside * (chances[left + 1] - chances[left])
    return chances[-1]


def _axis(target: Target, columns: int) -> list[str]:
    """Rounds and wall clock below the places where they are, as many as do not touch each other."""
    first, last = math.log(target.curve[0].rounds), math.log(target.curve[-1].rounds)
    ticks, clock, end = [" "] * columns, [" "] * columns, -1
    for point in target.curve:
        column = round((math.log(point.rounds) - first) / (last - first) * (columns - 1))
        start = min(column, columns - _TICK_COLUMNS) if point is target.curve[-1] else column
        is_free = start > end and (point is target.curve[-1] or start + 2 * _TICK_COLUMNS <= columns)
        if not is_free:
            continue
        for line, text in ((ticks, f"{point.rounds} rounds"), (clock, duration(point.seconds))):
            line[start : start + len(text)] = text
        end = start + _TICK_COLUMNS - 1
    return [f"{'':{_MARGIN}}{''.join(line)}".rstrip() for line in (ticks, clock)]
