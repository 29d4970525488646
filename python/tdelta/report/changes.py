"""Differences of overheads in words: a run against an earlier one, and a history of runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from rich.table import Table
from rich.text import Text

from tdelta.document.labels import compared_label, condition_label, metric_name
from tdelta.document.quantities import (
    counted,
    percent,
    printable,
    ratio_cells,
    share,
    small_share,
)
from tdelta.document.wording import chance, points_text
from tdelta.records import Metric, RunResult
from tdelta.records.history import (
    Against,
    AgainstRun,
    Change,
    ChangePoint,
    History,
    HistoryPoint,
    LeftOut,
    Series,
)
from tdelta.report.drawing import NARROWEST, bar, draw, paragraph, plain_table
from tdelta.report.values import record_values

HISTORY_SCHEMA = "tdelta.history/1"
_PLOT = 24
_NARROW_PLOT = 12
_ROOMY = 90
_METRICS = {
    Metric.RESPONSE_TIME: "response time",
    Metric.TIME_WITH_CHECKPOINT: "time with checkpoint",
    Metric.CPU_PER_OPERATION: "CPU per operation",
    Metric.READ_BYTES_PER_OPERATION: "bytes read per operation",
    Metric.WRITTEN_BYTES_PER_OPERATION: "bytes written per operation",
}
_WHY = {
    "invalid": "a check failed, so its figures cannot be relied on",
    "no-data": "it has no figures",
    "unlabelled": "it has no label",
}
_NO_CHANGE_OF_ONE = "one run shows no change"


def against_sentences(against: Against, later: RunResult) -> Iterator[str]:
    """What a run says beside an earlier one: a sentence per condition, and what else differs."""
    for one in against.conditions:
        name = condition_label(one.condition, later.settings)
        what = metric_name(one.metric, later.settings)
        yield f"Against run {against.earlier_id}, {name}: {_compared(one, what, against.tolerance)}."
    if against.differing:
        named = "; ".join(f"{name} {before or 'none'} → {now or 'none'}" for name, before, now in against.differing)
        yield f"The runs differ in more than their time, and the difference is of all of it: {printable(named)}."


def against_text(against: Against, later: RunResult, width: int, *, color: bool = False) -> str:
    width = max(NARROWEST, width)
    lines = [line for text in against_sentences(against, later) for line in paragraph(text, width, indent="  ")]
    return draw([Text(), *lines], width, color=color)


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
    """What the condition of a series is called: what is compared, and the levels in which the series differ."""
    seen: dict[str, set[object]] = {}
    for one in history.series:
        for name, level in one.condition.levels:
            seen.setdefault(name, set()).add(level)
    named = ("cipher", "scope", "storage", "during", "aes_instructions")
    more = [
        f"{name.replace('_', ' ')} {level}"
        for name, level in series.condition.levels
        if name not in named and len(seen[name]) > 1
    ]
    injected = series.condition.injected
    kind = f"injected {share(injected)}" if injected is not None else compared_label(series.condition)
    return ", ".join((kind, *more))


def metric_words(history: History) -> str:
    return _METRICS[history.metric]


def series_sentence(series: Series, history: History) -> str:
    """What a series says: where it changed, or that it did not."""
    name, what = series_name(series, history), metric_words(history)
    runs = counted(len(series.points), "run")
    if not series.changes:
        if len(series.points) < 2:
            return f"{name}: {runs}; {_NO_CHANGE_OF_ONE}."
        medians = sorted(point.ratio.median for point in series.points)
        return f"{name}: no change of {what} shown in {runs} ({percent(medians[0])} to {percent(medians[-1])})."
    shown = "; ".join(change_words(change, series) for change in series.changes)
    times = "once" if len(series.changes) == 1 else f"{len(series.changes)} times"
    return f"{name}: the overhead of {what} changed {times} in {runs}: {shown}."


def change_words(change: ChangePoint, series: Series) -> str:
    """A change in a few words: from what to what, by how much, at which run."""
    point = series.points[change.at]
    version = f", {printable(point.version)}" if point.version else ""
    moved = f"{percent(change.before)} to {percent(change.after)}, {points_text(change.difference)}"
    return f"{moved}, from run {change.run_id} on ({_date(point)}{version})"


def point_label(point: HistoryPoint, history: History) -> str:
    if history.order == "version":
        return printable(point.version) or point.run_id
    if history.order == "label":
        return printable(" ".join(point.labels))
    dates = [_date(one)[:10] for series in history.series for one in series.points]
    is_crowded = len(set(dates)) < max(len(series.points) for series in history.series)
    return _date(point)[5:] if is_crowded else _date(point)[:10]


def history_text(history: History, width: int, *, color: bool = False) -> str:
    """A sentence and a table with a plot for every series."""
    width = max(NARROWEST, width)
    parts: list[Text | Table] = []
    for series in history.series:
        style = "bold yellow" if series.changes else "bold"
        parts += [*paragraph(series_sentence(series, history), width, style), Text()]
        parts += [_table(series, width), Text()]
        if (sd := series.between_runs_sd) is not None:
            known = "beyond their own intervals runs of one stretch differ by"
            parts += [*paragraph(f"{known} {small_share(sd)} (posterior median)", width, "dim"), Text()]
    for one in history.left_out:
        parts += paragraph(f"left out: {left_out_words(one)}", width, "dim", indent="  ")
    return draw(parts if history.left_out else parts[:-1], width, color=color)


def left_out_words(one: LeftOut) -> str:
    return f"run {one.run_id}: {_WHY.get(one.why, one.why)}"


def history_document(history: History) -> dict[str, object]:
    return {"schema": HISTORY_SCHEMA, **record_values(history)}


def _table(series: Series, width: int) -> Table:
    """A row per run, and a row between two where it changed; version and labels stand where they tell runs apart."""
    has_versions = len({point.version for point in series.points}) > 1
    has_labels = any(point.labels for point in series.points)
    aside = (*(("version",) if has_versions else ()), *(("labels",) if has_labels else ()))
    headings = [("run", False), ("date", False), *((name, False) for name in aside), ("overhead", True)]
    table = plain_table((*headings, ("95% interval", True), ("", False)))
    for column in (table.columns[0], table.columns[1], table.columns[-1]):
        column.no_wrap = True
    columns = _PLOT if width >= _ROOMY else _NARROW_PLOT
    ends = [end for point in series.points for end in point.ratio.hdi95]
    low, high = min(ends), max(ends)
    axis = (low, high) if low < high else (low - 0.01, high + 0.01)
    changes = {change.at: change.difference for change in series.changes}
    for at, point in enumerate(series.points):
        if at in changes:
            mark = "▲ larger" if changes[at].median > 0 else "▼ smaller"
            cells = (mark, "", *("" for _ in aside), points_text(changes[at]).partition(" (")[0])
            table.add_row(*cells, style="bold yellow")
        plot = bar(((point.ratio.hdi95, "─"),), point.ratio.median, axis, columns)
        own = {"version": printable(point.version), "labels": printable(", ".join(point.labels))}
        cells = (point.run_id, _date(point)[:10], *(own[name] for name in aside))
        table.add_row(*cells, *ratio_cells(point.ratio, ()), plot)
    return table


def _date(point: HistoryPoint) -> str:
    return datetime.fromtimestamp(point.created_unix_seconds, UTC).strftime("%Y-%m-%d %H:%M")
