"""A run against an earlier one, and a history of runs: sentences, a figure with its table, and the page."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from markupsafe import Markup

from tdelta import __version__
from tdelta.design.layout import COMPARED
from tdelta.document import plot
from tdelta.document.blocks import (
    MARKER,
    WIDTH,
    Block,
    Cell,
    Column,
    Figure,
    Heading,
    Listing,
    Medium,
    Page,
    Paragraph,
    Section,
    Table,
    columns,
)
from tdelta.document.labels import METRICS, compared_label, condition_label, decision_word, metric_name
from tdelta.document.quantities import (
    MISSING,
    counted,
    percent,
    printable,
    ratio_cells,
    share,
    small_share,
)
from tdelta.document.wording import chance, mark, points_text
from tdelta.records import RunResult
from tdelta.records.history import (
    Against,
    AgainstRun,
    Change,
    ChangePoint,
    History,
    HistoryPoint,
    OverheadChange,
    Series,
)
from tdelta.report.values import record_values

HISTORY_SCHEMA = "tdelta.history/1"
_LEFT, _RIGHT, _TOP, _HEIGHT, _FOOT = 62.0, 16.0, 26.0, 230.0, 48.0
_NARROWEST, _PER_RUN = 340.0, 70.0
"""A figure of few runs is no wider than they need: on a narrow screen all of it is seen."""
_WHY = {
    "invalid": "a check failed, so its figures cannot be relied on",
    "no-data": "it has no figures",
    "unlabelled": "it has no label",
}
_HOW = (
    "Places where the overhead may have changed are proposed by Apache Otava (E-divisive means) and judged by the runs'"
    " own intervals and by the differences between runs beyond them. Two or three runs show little of the latter; then"
    " only changes far larger than the intervals are shown."
)


def against_sentences(against: Against, later: RunResult) -> Iterator[str]:
    """The comparison of a run with an earlier one: a sentence per condition, and the other differences."""
    for one in against.conditions:
        name = condition_label(one.condition, later.settings)
        what = metric_name(one.metric, later.settings)
        yield f"Against run {against.earlier_id}, {name}: {_compared(one, what, against.tolerance)}."
    if against.differing:
        named = "; ".join(f"{name} {before or 'none'} → {now or 'none'}" for name, before, now in against.differing)
        yield f"The runs differ in more than their time, and the difference is of all of it: {printable(named)}."


def against_values(against: Against) -> dict[str, object]:
    values = record_values(against)
    values["differing"] = [{"name": name, "earlier": before, "later": now} for name, before, now in against.differing]
    return values


def _compared(one: AgainstRun, what: str, tolerance: float) -> str:
    before, now = (ratio_cells(ratio, ())[0] for ratio in (one.earlier, one.later))
    difference, limit = one.difference, f"the tolerance of {share(tolerance).removesuffix('%')} points"
    figures = f"overhead of {what} {before} then, {now} now, {points_text(difference)}"
    return {
        Change.LARGER: f"larger: {figures}, more than {limit}",
        Change.SMALLER: f"smaller: {figures}, by more than {limit}",
        Change.UNCHANGED: f"unchanged: {figures}, within {limit}",
        Change.INVALID: f"no answer, since a check of one of the runs failed: {figures}, not to be relied on",
        Change.UNDECIDED: (
            f"undecided: {figures}; the probability that it is larger at all is {chance(difference.mass_above_zero)}"
        ),
    }[difference.change]


def series_name(series: Series, history: History) -> str:
    """The name of the condition of a series: the configurations compared, and the levels in which the series differ."""
    seen: dict[str, set[object]] = {}
    for one in history.series:
        for name, level in one.condition.levels:
            seen.setdefault(name, set()).add(level)
    more = [
        f"{name.replace('_', ' ')} {level}"
        for name, level in series.condition.levels
        if name not in COMPARED and len(seen[name]) > 1 and str(level) not in compared_label(series.condition)
    ]
    injected = series.condition.injected
    kind = f"injected {share(injected)}" if injected is not None else compared_label(series.condition)
    return ", ".join((kind, *more))


def metric_words(history: History) -> str:
    return METRICS[history.metric]


def _series_sentence(series: Series, history: History) -> str:
    """The sentence on a series: where it changed, or that it did not."""
    name, what = series_name(series, history), metric_words(history)
    runs = counted(len(series.points), "run")
    if not series.changes:
        if len(series.points) < 2:
            return f"{name}: {runs}; one run shows no change."
        medians = sorted(point.ratio.median for point in series.points)
        return f"{name}: no change of {what} shown in {runs} ({percent(medians[0])} to {percent(medians[-1])})."
    shown = "; ".join(_change_words(change, series) for change in series.changes)
    times = "once" if len(series.changes) == 1 else f"{len(series.changes)} times"
    return f"{name}: the overhead of {what} changed {times} in {runs}: {shown}."


def _change_words(change: ChangePoint, series: Series) -> str:
    """A change in a few words: from what to what, by how much, at which run."""
    point = series.points[change.at]
    version = f", {printable(point.version)}" if point.version else ""
    moved = f"{percent(change.before)} to {percent(change.after)}, {points_text(change.difference)}"
    return f"{moved}, from run {change.run_id} on ({_date(point)}{version})"


def _point_label(point: HistoryPoint, history: History) -> str:
    if history.order == "version":
        return printable(point.version) or point.run_id
    if history.order == "label":
        return printable(" ".join(point.labels))
    dates = [_date(one)[:10] for series in history.series for one in series.points]
    is_crowded = len(set(dates)) < max(len(series.points) for series in history.series)
    return _date(point)[5:] if is_crowded else _date(point)[:10]


def history_blocks(history: History) -> Iterator[Block]:
    """A sentence and a figure with its table for every series, and the runs that were left out."""
    for number, series in enumerate(history.series):
        yield Heading(series_name(series, history))
        yield Paragraph(_series_sentence(series, history), "lead")
        yield _figure(series, history, number)
        if (sd := series.between_runs_sd) is not None:
            note = f"Beyond their own intervals, runs without a change differ by {small_share(sd)} (posterior median)."
            yield Paragraph(note, "note")
    if history.left_out:
        yield Heading("Left out", Medium.BOTH)
        yield Listing([("", f"run {one.run_id}: {_WHY.get(one.why, one.why)}") for one in history.left_out], "facts")


def history_document(history: History) -> dict[str, object]:
    return {"schema": HISTORY_SCHEMA, **record_values(history)}


def compose_history(history: History) -> Page:
    changes = sum(len(series.changes) for series in history.series)
    runs = max((len(series.points) for series in history.series), default=0)
    found = "no change" if not changes else counted(changes, "change")
    limit = f"A change of at most {share(history.tolerance).removesuffix('%')} points is within the tolerance."
    sections = [
        Section("history", "Run by run", list(history_blocks(history))),
        Section("how", "Method", [Paragraph(_HOW), Paragraph(limit)]),
    ]
    return Page(
        title=f"tdelta: history of {history.name}",
        eyebrow=f"tdelta history: {history.name}, {metric_words(history)}",
        headline=f"{counted(runs, 'run')}: {found}",
        is_alarm=False,
        sections=sections,
        marker=f"{MARKER}: history",
        footer=f"Drawn by tdelta {__version__} from the stored runs alone. This file asks nothing of any network.",
    )


def against_blocks(against: Against, later: RunResult) -> list[Block]:
    """A sentence for each configuration; for a page, with tables of the figures and of what else differs."""
    titles = columns("then", "now", "difference", "larger at all", "verdict", texts=("verdict",))
    rows = [
        (
            condition_label(one.condition, later.settings),
            " ".join(ratio_cells(one.earlier, ())),
            " ".join(ratio_cells(one.later, ())),
            points_text(one.difference),
            chance(one.difference.mass_above_zero),
            one.difference.change.value,
        )
        for one in against.conditions
    ]
    blocks: list[Block] = [Paragraph(text) for text in against_sentences(against, later)]
    title = f"Overheads of run {against.earlier_id} and of this run"
    blocks.append(Table(title, titles, rows, medium=Medium.PAGE))
    if against.differing:
        differing = [(name, before or MISSING, now or MISSING) for name, before, now in against.differing]
        runs = [Column("name"), Column(f"run {against.earlier_id}"), Column(f"run {against.run_id}")]
        blocks.append(Table("Other differences between the runs", runs, differing, medium=Medium.PAGE))
    return blocks


def _figure(series: Series, history: History, number: int) -> Figure:
    """The figure of one condition, with its numbers; ``number`` makes its name unique."""
    name = f"history-{number}"
    title = f"Overhead of {series_name(series, history)} in {metric_words(history)}, run by run"
    changes = "; ".join(_change_words(change, series) for change in series.changes) or "no change"
    drawn = _layout(series, history, name, title, f"{len(series.points)} runs; {changes}.")
    caption = (
        "Dot and bar: each run's median and 95% interval. Line: the mean between changes. Dashed line: a change of the"
        " overhead."
    )
    return Figure(name, title, drawn, caption, _table(series, history), Medium.BOTH)


def _layout(series: Series, history: History, name: str, title: str, description: str) -> Markup:
    count = len(series.points)
    width = min(WIDTH, max(_NARROWEST, _LEFT + _PER_RUN * count + _RIGHT))
    frame = plot.Frame(_LEFT, _TOP, width - _RIGHT, _TOP + _HEIGHT)
    across = plot.Scale(-0.5, count - 0.5, frame.left, frame.right)
    up = _up(series, frame)
    marks: list[Markup] = list(
        plot.left_axis(frame, up, plot.overhead_ticks(up.low, up.high, 6, in_multiples=up.is_log))
    )
    ticks = [plot.Tick(float(at), _point_label(point, history)) for at, point in enumerate(series.points)]
    titles = {"date": "run, by date (UTC)", "version": "run, by version", "label": "run, by label"}
    marks += plot.bottom_axis(frame, across, ticks, titles[history.order], width=width, has_grid=False)
    if up.holds(1.0):
        marks.append(plot.line(frame.left, up(1.0), frame.right, up(1.0), "zero"))
    marks += _stretches(series, across, up)
    for change in series.changes:
        x = across(change.at - 0.5)
        words = points_text(change.difference).partition(" (")[0]
        anchor = "end" if x > 0.6 * width else "start"
        marks += [plot.line(x, frame.top, x, frame.bottom, "limit")]
        marks += [plot.text(x + (-6 if anchor == "end" else 6), frame.top - 8, f"changed by {words}", "label", anchor)]
    for at, point in enumerate(series.points):
        low, high = (up(end) for end in point.ratio.hdi95)
        x = across(float(at))
        marks.append(
            plot.group(plot.line(x, low, x, high, "hdi95"), plot.circle(x, up(point.ratio.median), 4.2, "dot"))
        )
    return plot.drawing(width, frame.bottom + _FOOT, title, description, marks, name=name)


def _stretches(series: Series, across: plot.Scale, up: plot.Scale) -> list[Markup]:
    """A level line for the mean of each stretch; nothing where the whole series is one run."""
    marks = []
    for first, last, mean in _means(series):
        marks.append(plot.line(across(first - 0.5), up(mean), across(last + 0.5), up(mean), "curve"))
    return marks


def _means(series: Series) -> list[tuple[int, int, float]]:
    if not series.changes:
        return []
    edges = [0, *(change.at for change in series.changes), len(series.points)]
    means = [series.changes[0].before, *(change.after for change in series.changes)]
    return [(edges[at], edges[at + 1] - 1, mean) for at, mean in enumerate(means)]


def _up(series: Series, frame: plot.Frame) -> plot.Scale:
    values = [end for point in series.points for end in point.ratio.hdi95]
    return plot.ratio_scale(values, frame.bottom, frame.top)


def _table(series: Series, history: History) -> Table:
    has_versions = len({point.version for point in series.points}) > 1
    has_labels = any(point.labels for point in series.points)
    titles = [
        Column("run", is_whole=True),
        Column("date", is_whole=True),
        Column("version", is_brief=has_versions),
        Column("labels", is_brief=has_labels),
        *(Column(title, is_number=True) for title in ("overhead", "95% interval")),
        Column("verdict", is_brief=False),
        Column("change", is_number=True, is_brief=bool(series.changes)),
    ]
    changes = {change.at: change.difference for change in series.changes}
    rows = [
        (
            point.run_id,
            _date(point)[:10],
            printable(point.version),
            printable(", ".join(point.labels)),
            *ratio_cells(point.ratio, ()),
            f"{mark(point.decision)}\u00a0{decision_word(point.decision, history.metric)}",
            _change_cell(changes.get(at)),
        )
        for at, point in enumerate(series.points)
    ]
    return Table("Numbers: every run", titles, rows, folded=True)


def _change_cell(change: OverheadChange | None) -> Cell:
    if change is None:
        return Cell("")
    text = points_text(change)
    return Cell(text, "strong", brief=text.partition(" (")[0])


def _date(point: HistoryPoint) -> str:
    return datetime.fromtimestamp(point.created_unix_seconds, UTC).strftime("%Y-%m-%d %H:%M")
