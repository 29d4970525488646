"""Actions: how long each took, by itself or beside a load, and what it used and made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from tdelta.design.actions import ACTIONS, parse_action
from tdelta.document.blocks import Block, Cell, Column, Line, Medium, Paragraph, Table, columns
from tdelta.document.labels import action_label
from tdelta.document.quantities import MISSING, amounts
from tdelta.document.wording import label
from tdelta.records import ActionMeasure, LeftInClear, RunResult, Typical
from tdelta.report.page.figures.actions import block_of, curves

_NOTE = (
    "Medians over the trials. The workload column is how long the workload took during which the operation ran; CPU and"
    " written bytes are the database's, for the whole trial."
)
_QUARTILES = "Medians, with quartiles in parentheses."
_CURVE_NOTE = (
    "The slowdown compares statements during the operation with an undisturbed copy. The verdict covers the whole"
    " trial, so a short operation counts for less there."
)
_LEFT_NOTE = (
    "After the operation, all files of the server were searched for existing rows and for rows deleted before it."
)
_HEADINGS = ("seconds", "workload, s", "CPU, s", "written", "counted")


def blocks(result: RunResult) -> Iterator[Block]:
    """What each action took, plain and encrypted one below the other; nothing where the run has none."""
    rows: list[Sequence[str | Cell]] = []
    for _, group in groupby(result.of(ActionMeasure), key=_name):
        measures = list(group)
        rows += [(_title(measures),), *(_row(one, result) for one in measures)]
    if not rows:
        return
    yield Table("Actions, side by side", columns(*_HEADINGS, texts=_HEADINGS[-1:]), rows)
    yield Paragraph(_NOTE, "note")
    yield Paragraph(_QUARTILES, "note", Medium.PAGE)
    yield from _curve_blocks(result)
    yield from _left_blocks(result)


def _row(one: ActionMeasure, result: RunResult) -> tuple[str | Cell, ...]:
    times = (one.seconds, one.load_seconds, one.cpu_seconds)
    return (
        _within(label(one.condition, result.settings), one),
        *map(_spread, times),
        _bytes(one),
        ", ".join(_counted(one)),
    )


def _within(label: str, one: ActionMeasure) -> str:
    """The label of a condition below its action's title, which names the action already: ``plain (threads 4)``."""
    return label.replace(f", during {_name(one)} (", " (")


def _left(result: RunResult) -> dict[str, list[LeftInClear]]:
    """By action, whatever its knobs: each class of files, with the most that was found after any."""
    found: dict[str, dict[str, LeftInClear]] = {}
    for measure in result.of(ActionMeasure):
        for one in measure.left:
            of = found.setdefault(_name(measure), {})
            known = of.get(one.file_class, one)
            most = max(one.there, known.there), max(one.deleted, known.deleted)
            of[one.file_class] = LeftInClear(one.file_class, *most)
    return {action: list(of.values()) for action, of in found.items()}


def _in_clear(markers: int) -> str:
    return "in the clear" if markers else "not found"


def lines(result: RunResult) -> Iterator[Line]:
    """Which files can still be read after an operation that encrypts."""
    for action, left in _left(result).items():
        rows = [one.file_class for one in left if one.there]
        deleted = [one.file_class for one in left if one.deleted]
        texts = [
            f"{what} in {', '.join(files)}" for what, files in (("rows", rows), ("deleted rows", deleted)) if files
        ]
        if texts:
            yield Line("Still readable", f"after {action}: {'; '.join(texts)}")


def _left_blocks(result: RunResult) -> Iterator[Block]:
    found = _left(result)
    for action, left in found.items():
        rows = [(one.file_class, _in_clear(one.there), _in_clear(one.deleted)) for one in left]
        titles = list(map(Column, ("files", "rows", "deleted rows")))
        yield Table(f"What is in the clear after {action}", titles, rows, name=f"after {action}")
    if found:
        yield Paragraph(_LEFT_NOTE, "note")


def _curve_blocks(result: RunResult) -> Iterator[Block]:
    """What each setting of an action costs while it goes on, the quickest first; on the page as figures."""
    found = curves(result)
    if not found:
        return
    yield from (block_of(name, points, result) for name, points in found.items())
    yield Paragraph(_CURVE_NOTE, "note")


def _name(one: ActionMeasure) -> str:
    return parse_action(one.action).name


def _title(measures: Sequence[ActionMeasure]) -> str:
    """What the action is; with its knobs where there is one setting of them, else the lines below have those."""
    settings = {action_label(one.action) for one in measures}
    name = _name(measures[0])
    return f"{settings.pop() if len(settings) == 1 else name}: {ACTIONS[name].words}"


def _counted(one: ActionMeasure) -> Iterator[str]:
    for name, value in one.counted.items():
        if name.endswith("_ns"):
            yield f"{name.removesuffix('_ns').replace('_', ' ')} {value / 1e9:.3g} s"
        elif name == "file_bytes":
            yield f"file {amounts((value,), 'bytes')[0]}, {value * 60e-9 / one.seconds.median:.3g} GB/min"
        elif name.endswith("_bytes"):
            yield f"{name.removesuffix('_bytes').replace('_', ' ')} {amounts((value,), 'bytes')[0]}"
        else:
            yield f"{name.replace('_', ' ')} {value:,.0f}"


def _bytes(one: ActionMeasure) -> str:
    return amounts((one.written_bytes.median,), "bytes")[0]


def _spread(of: Typical | None) -> str | Cell:
    return MISSING if of is None else Cell(f"{of.median:.3g} ({of.low:.3g} … {of.high:.3g})", brief=f"{of.median:.3g}")
