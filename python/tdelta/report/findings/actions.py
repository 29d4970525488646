"""Actions: how long each took, by itself or beside a load, and what it used and made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.table import Table
from rich.text import Text

from tdelta.design.actions import ACTIONS, parse_action
from tdelta.records import ActionMeasure, LeftInClear, RunResult, Typical
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.labels import action_label, condition_label
from tdelta.report.page.blocks import Block, Column, Paragraph
from tdelta.report.page.blocks import Table as PageTable
from tdelta.report.page.figures.actions import curves, figures
from tdelta.report.page.figures.actions import table as curve_table
from tdelta.report.page.wording import label
from tdelta.report.quantities import MISSING, amounts, duration, ratio_cells
from tdelta.report.sentence import limits

_NOTE = (
    "Medians over the trials. load is how long the load took that the action went on beside; CPU and written are the"
    " database's, for the whole trial."
)
_CURVE_NOTE = (
    "Work takes: the time for a statement of the load while the action goes on, over the plain twins' with nothing"
    " beside them. The verdict is of whole trials, in which an action that ends before its load is diluted."
)
_LEFT_NOTE = (
    "All files of the server, searched when the action had ended and everything was written: for rows that are there,"
    " and for rows that were deleted before, of which whole pages were free."
)
_OTHER_COLUMNS = 56
"""Characters that figures and what was counted take at least; labels of conditions are folded into what they leave."""

_HEADINGS = ("seconds", "load, s", "CPU, s", "written")


def text(result: RunResult, width: int) -> list[Text | Table]:
    """The actions of a run, plain and encrypted one below the other; nothing where it has none."""
    if not result.of(ActionMeasure):
        return []
    table = plain_table((("", False), *((name, True) for name in _HEADINGS), ("counted", False)))
    table.padding = (0, 1, 0, 0)
    widest = 0
    for _, group in groupby(result.of(ActionMeasure), key=_name):
        measures = list(group)
        table.add_row(Text(_title(measures), style="bold"))
        for one in measures:
            cells = (_number(one.seconds), _number(one.load_seconds), _number(one.cpu_seconds), _bytes(one))
            name = _within(condition_label(one.condition, result.settings), one)
            table.add_row(f"  {name}", *cells, ", ".join(_counted(one)))
            widest = max(widest, len(name) + 2)
    table.columns[0].min_width = max(0, min(widest, width - _OTHER_COLUMNS))
    return [table, Text(), *paragraph(_NOTE, width, "dim"), *_curves(result, width), *_remains(result, width)]


def _within(label: str, one: ActionMeasure) -> str:
    """The label of a condition below its action's title, which names the action already: ``plain (threads 4)``."""
    return label.replace(f", during {_name(one)} (", " (")


def _remains(result: RunResult, width: int) -> list[Text | Table]:
    """What lies in the clear after each kind of action; nothing where nothing was searched."""
    found: list[Text | Table] = []
    for action, left in _left(result).items():
        table = plain_table(((f"after {action}", False), ("rows", False), ("deleted rows", False)))
        for one in left:
            table.add_row(one.file_class, _in_clear(one.there), _in_clear(one.deleted))
        found += [Text(), table]
    return [*found, Text(), *paragraph(_LEFT_NOTE, width, "dim")] if found else []


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


def _curves(result: RunResult, width: int) -> list[Text | Table]:
    """What each setting of an action costs while it goes on, the quickest first; nothing where none is known."""
    found = curves(result)
    if not found:
        return []
    table = plain_table((("while it goes on", False), ("took", True), ("work takes", True), ("95 % HDI", True)))
    for points in found.values():
        for point in points:
            name = condition_label(point.measure.condition, result.settings)
            table.add_row(name, duration(point.seconds), *ratio_cells(point.ratio, limits(result.settings)))
    return [Text(), table, Text(), *paragraph(_CURVE_NOTE, width, "dim")]


def blocks(result: RunResult) -> list[Block]:
    """What each action took, A/A twins included; nothing where the run has none."""
    if not result.of(ActionMeasure):
        return []
    lead = Paragraph(f"{_NOTE} Quartiles stand after the medians. What this says against plain twins, the verdicts do.")
    measures = [(label(one.condition, result.settings), one) for one in result.of(ActionMeasure)]
    rows = [
        (name, _spread(one.seconds), _spread(one.load_seconds), _spread(one.cpu_seconds), _bytes(one))
        for name, one in measures
    ]
    columns = [
        Column(""),
        *(Column(title, is_number=True) for title in ("elapsed, s", "load, s", "CPU, s", "written")),
    ]
    counted = [(name, ", ".join(_counted(one))) for name, one in measures]
    return [
        lead,
        PageTable("Actions, side by side", columns, rows),
        PageTable("What each counted", [Column(""), Column("medians")], counted),
        *_curve_blocks(result),
        *_left_blocks(result),
    ]


def _left_blocks(result: RunResult) -> Iterator[Block]:
    found = _left(result)
    for action, left in found.items():
        rows = [(one.file_class, _in_clear(one.there), _in_clear(one.deleted)) for one in left]
        yield PageTable(f"What is in the clear after {action}", [*map(Column, ("files", "rows", "deleted rows"))], rows)
    if found:
        yield Paragraph(_LEFT_NOTE, "note")


def _curve_blocks(result: RunResult) -> Iterator[Block]:
    found = curves(result)
    if found:
        yield from figures(result)
        yield from (curve_table(name, points, result) for name, points in found.items() if len(points) == 1)
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


def _number(of: Typical | None) -> str:
    return MISSING if of is None else f"{of.median:.3g}"


def _spread(of: Typical | None) -> str:
    return MISSING if of is None else f"{of.median:.3g} ({of.low:.3g} … {of.high:.3g})"
