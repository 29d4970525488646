"""A plan in a terminal or a pipe: the answer, minutes by overhead and tolerance, curves, and their basis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from tdelta.document.quantities import counted, duration, share
from tdelta.records import Decision
from tdelta.records.prospects import Attainability, Prospect, Target, Width
from tdelta.report.command import plan_command, run_command
from tdelta.report.drawing import NARROWEST, draw, paragraph, plain_table
from tdelta.report.plan.grounds import grounds
from tdelta.report.values import record_values, values_of

_ROWS = 10
_MARGIN = 6
_MARKS = "abcdefghijklmnopqrstuvwxyz"
_TICK_COLUMNS = 14


def curves(targets: Sequence[Target], assurance: float, width: int) -> list[str]:
    """One letter a curve, rounds on a logarithmic axis; none where there is no curve to draw.

    Args:
        targets: of one tolerance; those on its edge are left out.
        assurance: the chance that is wanted, drawn as a dotted line.
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
    return f"{100 - 100 * row // _ROWS}%" if row % (_ROWS // 2) == 0 else ""


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


PLAN_SCHEMA = "tdelta.plan/1"


def plan_document(found: Prospect) -> dict[str, object]:
    values = record_values(found) | {
        "schema": PLAN_SCHEMA,
        "cautions": list(map(str, found.cautions)),
        "caution_codes": values_of(found.cautions),
        "primary_targets": [
            {"effect": target.effect, "tolerance": target.tolerance} for target in found.primary_targets
        ],
        "advised_seconds": None if found.advised_rounds is None else found.layout.seconds(found.advised_rounds),
        "advised_command": run_command(found.options) if found.options else None,
    }
    return {name: value for name, value in values.items() if name not in ("options", "again")}


_INDENT = "  "
_MOST_WIDTHS = 7


def plan_text(found: Prospect, width: int, *, color: bool = False) -> str:
    """A plan for people."""
    width = max(NARROWEST, width)
    sections: list[list[Text | Table]] = [
        [
            text
            for target in found.primary_targets
            for text in paragraph(headline(target, found), width, "bold", indent=_INDENT)
        ],
        _advised(found, width),
        _minutes(found),
        _curves(found, width),
        _widths(found),
        *grounds(found, width),
        [text for caution in found.cautions for text in paragraph(f"- {caution}", width, "yellow", indent=_INDENT)],
        [text for line in _notes(found) for text in paragraph(line, width, "dim")],
    ]
    return draw([part for section in sections if section for part in (*section, Text())][:-1], width, color=color)


def headline(target: Target, found: Prospect) -> str:
    task = _task(target)
    if target.attainability is Attainability.EDGE:
        why = str(target.reason)
        return f"{task}: it cannot be. {why[0].upper()}{why[1:]}."
    if target.rounds is None or target.seconds is None:
        last = target.curve[-1]
        return f"{task}: not within {duration(last.seconds)}: {target.reason}."
    first = "at least " if target.rounds == target.curve[0].rounds else ""
    return (
        f"{task}: {first}{counted(target.rounds, 'round')} of {counted(found.layout.blocks_per_round, 'block')},"
        f" {duration(target.seconds)}, for a chance of {share(found.assurance)}."
    )


def _task(target: Target) -> str:
    tolerance = f"±{share(target.tolerance)}"
    if target.effect == 0:
        return f"To call it negligible ({tolerance}) where encryption costs nothing"
    if target.decision is Decision.NEGLIGIBLE:
        return f"To call an overhead of {share(target.effect)} negligible ({tolerance})"
    return f"To tell an overhead of {share(target.effect)} from {tolerance}"


def _advised(found: Prospect, width: int) -> list[Text | Table]:
    if not found.options:
        return []
    return [*paragraph(f"{_INDENT}{run_command(found.options)}", width, "cyan", indent=_INDENT * 2)]


def _minutes(found: Prospect) -> list[Text | Table]:
    tolerances = list(dict.fromkeys(target.tolerance for target in found.targets))
    effects = list(dict.fromkeys(target.effect for target in found.targets))
    targets = {(target.effect, target.tolerance): target for target in found.targets}
    table = plain_table(
        (("true overhead", False), *((f"tolerance ±{share(tolerance)}", True) for tolerance in tolerances))
    )
    for effect in effects:
        table.add_row(effect_words(effect), *(_cell(targets[effect, tolerance]) for tolerance in tolerances))
    return [Text(f"Rounds, and wall clock, until {share(found.assurance)} of runs decide rightly", style="bold"), table]


def _cell(target: Target) -> str:
    if target.attainability is Attainability.EDGE:
        return "never (edge)"
    if target.rounds is None or target.seconds is None:
        return f"> {duration(target.curve[-1].seconds)}"
    return f"{target.rounds} in {duration(target.seconds)}"


def _curves(found: Prospect, width: int) -> list[Text | Table]:
    tolerance = found.primary_targets[0].tolerance
    lines = curves([target for target in found.targets if target.tolerance == tolerance], found.assurance, width)
    title = f"Chance that a run decides rightly, tolerance ±{share(tolerance)}, by true overhead"
    return [Text(title, style="bold"), *(Text(line) for line in lines)] if lines else []


def _widths(found: Prospect) -> list[Text | Table]:
    table = plain_table((("rounds", True), ("time", True), ("width, points", True), ("8 in 10 runs", True)))
    for width in _some(found.widths):
        low, high = (f"{100 * end:.2f}" for end in width.width80)
        table.add_row(f"{width.rounds}", duration(width.seconds), f"{100 * width.width:.2f}", f"{low} … {high}")
    return [Text("How wide the 95% interval of the overhead will be", style="bold"), table]


def _some(widths: Sequence[Width]) -> Iterable[Width]:
    step = 1 if len(widths) <= _MOST_WIDTHS else 2
    return reversed(widths[::-1][::step])


def _notes(found: Prospect) -> list[str]:
    source = f"a pilot of {duration(found.pilot_seconds)}, runs" if found.pilot_seconds is not None else "runs"
    error = 100 * (found.assurance * (1 - found.assurance) / found.simulated) ** 0.5
    again = plan_command(found.run_ids, found.again, "--effect", "3%", "--tolerance", "1%")
    return [
        f"From {source} {', '.join(found.run_ids)} ({found.engine}, {found.workload}). Each chance is of"
        f" {found.simulated} simulated runs whose noise and instance effects vary within their uncertainty; its own"
        f" error is about {error:.1f} points. docs/how-it-works.md has the assumptions.",
        f"Again for other overheads, without measuring: {again}",
    ]
