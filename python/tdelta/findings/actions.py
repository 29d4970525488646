"""Actions, bulk loads and rebuilds: how long each took, by itself or beside a load, and what it cost that load.

An action that ends before its trial's load is diluted in that trial's response time. So the load's statements are
counted where an action begins and where it ends, or the load does (`tdelta.processes.actions`): the time for a
statement in that stretch, over that of the plain twins after the same head, which ran the same statements in the same
blocks, is what it costs while it goes on. The ratios are fitted as the verdicts' costs are, and decide nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from string import ascii_uppercase

from markupsafe import Markup

from tdelta import inference
from tdelta.design.actions import ACTIONS, parse_action
from tdelta.document import plot
from tdelta.document.blocks import SMALL_WIDTH, Block, Cell, Column, Figure, Line, Medium, Paragraph, Table, columns
from tdelta.document.effect import limits
from tdelta.document.labels import action_label
from tdelta.document.quantities import amounts, duration, percent, rate, ratio_cells
from tdelta.document.wording import label, quartiles
from tdelta.findings.base import FOUND, FinishedRun, Kind
from tdelta.messages import Caution
from tdelta.processes.actions import COUNTED, DELETED, SECONDS, THERE, WHILE_NS, WHILE_WORK, as_left
from tdelta.records import Condition, Estimate, Finding, Measurement, RunResult, Typical
from tdelta.records.trials import BACKUP, by_condition

ROWS = "rows"
"""The counter that a bulk load or a rebuild has, and no transaction."""

_STEPS = {"load": "all rows, in bulk", "rebuild": "all rows, anew", "routine": "the workload's stored routine, once"}
_ENCRYPTING = frozenset({"encrypt", "alter"})
_CONVERTED = ("converted_bytes", "file_bytes")
"""Counters of the bytes that an operation converted."""

_PROJECTED_BYTES = 2e12
PROJECTED = f"{_PROJECTED_BYTES / 1e12:g} TB"
"""The size that the time of a conversion is projected to."""

_WHILE = "while"
_FEWEST_BLOCKS = 2

_NOTE = "Medians over the trials; CPU and written bytes are the database's, for the whole trial."
_LOAD_NOTE = " The workload column is how long the workload took during which the operation ran."
_QUARTILES = "Medians, with quartiles in parentheses."
_CURVE_NOTE = (
    "The slowdown compares statements during the operation with an undisturbed copy. The verdict covers the whole"
    " trial, so a short operation counts for less there."
)
_LEFT_NOTE = (
    "After the operation, all files of the server were searched for existing rows and for rows deleted before it."
)


@dataclass(frozen=True, slots=True)
class LeftInClear:
    """Readable markers in a class of a database's files after an action, at most in any trial.

    ``there`` are of rows that are in the database, ``deleted`` of rows that were deleted before.
    """

    file_class: str
    there: int
    deleted: int


@dataclass(frozen=True, slots=True)
class ActionMeasure(Finding):
    """The actions of one condition, each a trial, or each beside the load of one; bulk loads and rebuilds are trials.

    ``action`` is the level that asked for it, knobs included. ``seconds`` is how long it took. Of an action beside a
    load, ``load_seconds`` is how long that took, and ``while_ratio`` what the action costs it while it goes on: the
    time for a statement over the plain twins'. Both are None where the action is the trial, the latter also where too
    little was counted. ``cpu_seconds`` and ``written_bytes`` are the database's, for the whole trial. ``counted`` is
    what the action counted, by its names: medians over the trials; of a bulk load its rows, and the bytes of the files
    afterwards where those are known. ``left`` is what a search of the files found in the
    clear after it, by class of file in the order of the search; empty where nothing is searched.
    """

    FINDING = "actions"

    condition: Condition
    action: str
    trials: int
    seconds: Typical
    load_seconds: Typical | None
    while_ratio: Estimate | None
    cpu_seconds: Typical
    written_bytes: Typical
    counted: Mapping[str, float]
    left: tuple[LeftInClear, ...] = ()

    @property
    def name(self) -> str:
        return parse_action(self.action).name

    @property
    def is_step(self) -> bool:
        """Whether it is a bulk load or a rebuild."""
        return self.name in _STEPS


def of_run(run: FinishedRun) -> Iterator[ActionMeasure]:
    by_key = by_condition(t for t in run.trials if _seconds(t.measurement) > 0)
    ratios = while_ratios(run) if by_key else {}
    for condition in run.settings.conditions:
        if measured := by_key.get(condition.key):
            levels = dict(condition.levels)
            during = levels.get("during")
            yield ActionMeasure(
                condition=condition,
                action=str(levels.get("work", "load") if during is None else during),
                trials=len(measured),
                seconds=Typical.of(map(_seconds, measured)),
                load_seconds=None if during is None else Typical.of(m.elapsed_ns / 1e9 for m in measured),
                while_ratio=ratios.get((_WHILE, condition.key)),
                cpu_seconds=Typical.of(  # of the whole trial, its head included
                    m.cpu_seconds * m.counted_operations / max(1, m.operations) for m in measured
                ),
                written_bytes=Typical.of(float(m.usage.syscall_written_bytes) for m in measured),
                counted=_medians(measured),
                left=_left(measured),
            )


def _seconds(measured: Measurement) -> float:
    """How long an action, a load or a rebuild took; 0 of other trials."""
    counters = measured.engine_counters
    return counters.get(SECONDS, measured.elapsed_ns if ROWS in counters else 0) / 1e9


def _medians(measured: Sequence[Measurement]) -> dict[str, float]:
    """Of what actions count; backups and what was left in the clear have fields of their own."""
    if SECONDS not in measured[0].engine_counters:
        sizes = [sum(m.files_bytes.values()) for m in measured if m.files_bytes]
        files = {"files_bytes": float(statistics.median(sizes))} if sizes else {}
        return {ROWS: float(measured[0].engine_counters[ROWS]), **files}
    counters = [name for name in measured[0].engine_counters if name.startswith(COUNTED) and name != SECONDS]
    return {
        name.removeprefix(COUNTED): float(statistics.median(m.engine_counters.get(name, 0) for m in measured))
        for name in counters
        if as_left(name) is None and not name.startswith(f"{COUNTED}{BACKUP}")
    }


def _left(measured: Iterable[Measurement]) -> tuple[LeftInClear, ...]:
    most: dict[str, dict[str, int]] = {}
    for one in measured:
        for name, count in one.engine_counters.items():
            if (found := as_left(name)) is not None:
                rows, file_class = found
                of_class = most.setdefault(file_class, {THERE: 0, DELETED: 0})
                of_class[rows] = max(of_class.get(rows, 0), count)
    return tuple(LeftInClear(name, counts[THERE], counts[DELETED]) for name, counts in most.items())


def while_ratios(run: FinishedRun) -> dict[tuple[str, str], Estimate]:
    """The cost of each action to the load while it goes on, over plain twins, by the key of its condition.

    Nothing of runs whose database does not count what loads have it do, or with fewer than two blocks that tell.
    """
    return inference.described_ratios(run.trials, run.settings, {_WHILE: _while_cost}, _FEWEST_BLOCKS)


def _while_cost(measured: Measurement) -> float:
    """Time for a statement of the load while an action goes on beside it, ns; 0 where no statement was counted."""
    work = measured.engine_counters.get(WHILE_WORK, 0)
    return measured.engine_counters.get(WHILE_NS, 0) / work if work > 0 else 0.0


def cautions(found: Iterable[ActionMeasure], _run: FinishedRun) -> Iterator[Caution]:
    """Data that can still be read in a database after it was encrypted, by action."""
    by_action = _by_action(one for one in found if one.name in _ENCRYPTING)
    for action, left in by_action.items():
        if there := [one.file_class for one in left if one.there]:
            yield Caution.of("rows-left-in-clear", action=action, files=", ".join(there))
        if deleted := [one.file_class for one in left if one.deleted]:
            yield Caution.of("deleted-rows-left-in-clear", action=action, files=", ".join(deleted))


def _by_action(found: Iterable[ActionMeasure]) -> dict[str, list[LeftInClear]]:
    """By action, whatever its knobs: each class of files, with the most that was found after any."""
    most: dict[str, dict[str, LeftInClear]] = {}
    for measure in found:
        for one in measure.left:
            of = most.setdefault(measure.name, {})
            known = of.get(one.file_class, one)
            markers = max(one.there, known.there), max(one.deleted, known.deleted)
            of[one.file_class] = LeftInClear(one.file_class, *markers)
    return {action: list(of.values()) for action, of in most.items()}


def lines(found: Sequence[ActionMeasure], _result: RunResult) -> Iterator[Line]:
    """Which files can still be read after an operation that encrypts, and the rate of a conversion."""
    for action, left in _by_action(found).items():
        rows = [one.file_class for one in left if one.there]
        deleted = [one.file_class for one in left if one.deleted]
        texts = [f"{what}{', '.join(of)}" for what, of in (("", rows), ("deleted rows: ", deleted)) if of]
        if texts:
            yield Line(FOUND, f"readable after {action}: {'; '.join(texts)}")
    converted = [(one.counted[name], one) for one in found for name in _CONVERTED if one.counted.get(name)]
    if converted:
        size, one = max(converted, key=lambda pair: pair[0] / pair[1].seconds.median)
        amount, took = amounts((size,), "bytes")[0], one.seconds.median
        yield Line(
            FOUND,
            f"{one.name}: {amount} in {duration(took)}; {PROJECTED}: about"
            f" {max(1.0, _PROJECTED_BYTES / size * took / 3600):.0f} h, longer from disk",
        )


def blocks(found: Sequence[ActionMeasure], result: RunResult) -> Iterator[Block]:
    """Duration of each action, plain and encrypted one below the other; its cost meanwhile; readable remains."""
    has_load = any(one.load_seconds is not None for one in found)
    rows: list[Sequence[str | Cell]] = []
    for _, group in groupby(found, key=lambda one: one.name):
        measures = list(group)
        rows += [(_title(measures),), *(_row(one, result, has_load=has_load) for one in measures)]
    titles = columns(
        "seconds", *(["workload, s"] if has_load else []), "CPU, s", "written", "counted", texts=("counted",)
    )
    yield Table("Actions, side by side", titles, rows)
    yield Paragraph(_NOTE + (_LOAD_NOTE if has_load else ""), "note")
    yield Paragraph(_QUARTILES, "note", Medium.PAGE)
    beside: dict[str, list[ActionMeasure]] = {}
    for one in sorted(found, key=lambda one: one.seconds.median):
        if one.while_ratio is not None:
            beside.setdefault(one.name, []).append(one)
    for name in dict.fromkeys(one.name for one in found if one.name in beside):
        yield _curve(name, beside[name], result)
    if beside:
        yield Paragraph(_CURVE_NOTE, "note")
    left = _by_action(found)
    for action, of in left.items():
        files = [
            (one.file_class, *("in the clear" if n else "not found" for n in (one.there, one.deleted))) for one in of
        ]
        titles = list(map(Column, ("files", "rows", "deleted rows")))
        yield Table(f"Plaintext after {action}", titles, files, name=f"after {action}")
    if left:
        yield Paragraph(_LEFT_NOTE, "note")


def _title(measures: Sequence[ActionMeasure]) -> str:
    """The name of the action; with its knobs where there is one setting of them, else the lines below have those."""
    settings = {action_label(one.action) for one in measures}
    name = measures[0].name
    return (
        f"{settings.pop() if len(settings) == 1 else name}: {_STEPS[name] if name in _STEPS else ACTIONS[name].words}"
    )


def _row(one: ActionMeasure, result: RunResult, *, has_load: bool) -> tuple[str | Cell, ...]:
    return (
        label(one.condition, result.settings).replace(f", during {one.name} (", " ("),  # the title names the action
        quartiles(one.seconds),
        *((quartiles(one.load_seconds),) if has_load else ()),
        quartiles(one.cpu_seconds),
        amounts((one.written_bytes.median,), "bytes")[0],
        ", ".join(_counted(one)),
    )


def _counted(one: ActionMeasure) -> Iterator[str]:
    for name, value in one.counted.items():
        if name.endswith("_ns"):
            yield f"{name.removesuffix('_ns').replace('_', ' ')} {value / 1e9:.3g} s"
        elif name == "file_bytes":
            yield f"file {amounts((value,), 'bytes')[0]}, {value * 60e-9 / one.seconds.median:.3g} GB/min"
        elif name == ROWS:
            yield f"{rate(value / one.seconds.median)} rows/s"
        elif name.endswith("_bytes"):
            yield f"{name.removesuffix('_bytes').replace('_', ' ')} {amounts((value,), 'bytes')[0]}"
        else:
            yield f"{name.replace('_', ' ')} {value:,.0f}"


# The figure: how long an action took against what it cost the load meanwhile, a point for each setting of its knobs.

_LEFT, _RIGHT, _TOP, _HEIGHT, _FOOT = 62.0, 16.0, 12.0, 230.0, 48.0
_ASIDE = 9.0


def _curve(name: str, points: Sequence[ActionMeasure], result: RunResult) -> Figure | Table:
    """A figure with its table, the quickest setting first; of a single setting the table alone."""
    named = [label(one.condition, result.settings) for one in points]
    rows = [
        (of, duration(one.seconds.median), *ratio_cells(_ratio(one), limits(result.settings)))
        for of, one in zip(named, points, strict=True)
    ]
    titles = columns("took", "work takes", "95% interval")
    table = Table(f"Numbers: {name}", titles, rows, folded=True, name=f"during {name}")
    if len(points) == 1:
        return table
    title = f"{name}: duration, and slowdown of the workload"
    described = (
        f"{of}: {duration(one.seconds.median)}, {percent(_ratio(one).median)}"
        for of, one in zip(named, points, strict=True)
    )
    caption = (
        "Across: how long it took, median. Upwards: how much longer the load's work took while it went on; circle:"
        " posterior median, thick bar: 95% interval, thin bar: 99% interval. "
        + "; ".join(f"{letter}: {of}" for letter, of in zip(ascii_uppercase, named, strict=False))
        + "."
    )
    drawn = plot.drawing(
        SMALL_WIDTH,
        _TOP + _HEIGHT + _FOOT,
        title,
        "; ".join(described) + ".",
        _marks(points, limits(result.settings)),
        name=f"curve-{name}",
        class_="figure small",
    )
    return Figure(f"curve-{name}", title, drawn, caption, table, Medium.BOTH)


def _ratio(one: ActionMeasure) -> Estimate:
    assert one.while_ratio is not None  # noqa: S101 - of others there is no point
    return one.while_ratio


def _marks(points: Sequence[ActionMeasure], bounds: Sequence[float]) -> Iterator[Markup]:
    frame = plot.Frame(_LEFT, _TOP, SMALL_WIDTH - _RIGHT, _TOP + _HEIGHT)
    up = plot.ratio_scale([*bounds, *(end for one in points for end in _ratio(one).hdi99)], frame.bottom, frame.top)
    seconds = [one.seconds.median for one in points]
    across = plot.scale_over(seconds, frame.left, frame.right, is_log=True, margin=0.09)
    tolerance = [up(limit) for limit in bounds]
    yield plot.rect(frame.left, min(tolerance), frame.width, max(1.0, max(tolerance) - min(tolerance)), "tolerance")
    yield from plot.left_axis(frame, up, plot.overhead_ticks(up.low, up.high, 6, in_multiples=up.is_log))
    ticks = [plot.Tick(step, duration(step)) for step in plot.log_steps(across.low, across.high, 6)]
    yield from plot.bottom_axis(frame, across, ticks, "how long it took", width=SMALL_WIDTH, has_grid=False)
    yield plot.line(frame.left, up(1.0), frame.right, up(1.0), "zero")
    for letter, one in zip(ascii_uppercase, points, strict=False):
        x, ratio = across(one.seconds.median), _ratio(one)
        yield plot.line(x, up(ratio.hdi99[0]), x, up(ratio.hdi99[1]), "hdi99")
        yield plot.line(x, up(ratio.hdi95[0]), x, up(ratio.hdi95[1]), "hdi95")
        yield plot.circle(x, up(ratio.median), 4.2, "dot")
        yield plot.text(x + _ASIDE, up(ratio.median) + 4, letter, "label")


KIND = Kind(ActionMeasure, of_run, blocks, "actions", "Operations", lines, cautions)
