"""How pressed the machine was, block by block: shares of the time in which some task waited, and CPU time stolen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean

from markupsafe import Markup

from tdelta.document.blocks import WIDTH, Column, Figure, Table
from tdelta.document.plot import (
    Frame,
    Scale,
    bottom_axis,
    clock_ticks,
    drawing,
    left_axis,
    path,
    polyline,
    share_ticks,
    text,
)
from tdelta.document.quantities import small_share
from tdelta.records import Trial
from tdelta.report.page.clock import Clock, clock

_NAMES = {
    "cpu_some": "some task waited for a CPU",
    "io_some": "some task waited for I/O",
    "memory_some": "some task waited for memory",
    "steal": "CPU time the host gave to others",
}
_HEIGHT = 54.0
_TITLE = 26.0
_LEFT = 62.0
_FOOT = 44.0
_LEAST_TOP = 0.05
_MOST_POINTS = 400


def pressure(trials: Sequence[Trial]) -> Figure | None:
    """The shares over time, one strip each on the same scale; None where the kernel told nothing."""
    if not trials:
        return None
    time = clock([trial.started_unix_seconds for trial in trials])
    shown = _series(trials, time)
    series = {name: values for name, values in shown.items() if max(share for _, share in values) > 0}
    if not series:
        return None
    title = "How pressed the machine was"
    description = "; ".join(f"{_NAMES[name]}: {_summary(values)}" for name, values in series.items()) + "."
    drawn = _layout(series, time.title, title, description)
    never = [_NAMES[name] for name in shown if name not in series]
    caption = (
        "Shares of each block's wall clock (and, for the last, of all CPU time). The load's own waits are in them: its"
        f" I/O, and its threads where they are more than the idle CPUs.{_never(never)}"
    )
    rows = [(_NAMES[name], *_cells(values)) for name, values in shown.items()]
    columns = [Column(""), *(Column(t, is_number=True) for t in ("median", "most"))]
    return Figure("pressure", title, drawn, caption, Table(f"Numbers: {title}", columns, rows, folded=True))


def _never(names: Sequence[str]) -> str:
    return f" Never: {', '.join(names)}." if names else ""


def _series(trials: Sequence[Trial], time: Clock) -> dict[str, list[tuple[float, float]]]:
    """By name, seconds since the first block and the mean of the block's trials, which have one share, or their own."""
    blocks: dict[int, list[Trial]] = {}
    for trial in sorted(trials, key=lambda trial: trial.started_unix_seconds):
        blocks.setdefault(trial.block, []).append(trial)
    return {name: _thinned(values) for name in _NAMES if (values := list(_values(name, blocks.values(), time)))}


def _values(name: str, blocks: Iterable[Sequence[Trial]], time: Clock) -> Iterator[tuple[float, float]]:
    for block in blocks:
        shares = [trial.measurement.pressure[name] for trial in block if name in trial.measurement.pressure]
        if shares:
            yield time.at(block[0].started_unix_seconds), fmean(shares)


def _thinned(values: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The worst of each few neighbours, where there are more blocks than pixels: peaks are what one looks for."""
    step = -(-len(values) // _MOST_POINTS)
    groups = (values[at : at + step] for at in range(0, len(values), step))
    return [(group[0][0], max(share for _, share in group)) for group in groups]


def _layout(series: Mapping[str, Sequence[tuple[float, float]]], axis: str, title: str, description: str) -> Markup:
    last = max(1.0, max(seconds for values in series.values() for seconds, _ in values))
    top_share = max(_LEAST_TOP, 1.05 * max(share for values in series.values() for _, share in values))
    marks: list[Markup] = []
    y = 0.0
    for name, values in series.items():
        frame = Frame(_LEFT, y + _TITLE, WIDTH - 8.0, y + _TITLE + _HEIGHT)
        across = Scale(0.0, last, frame.left, frame.right)
        up = Scale(0.0, top_share, frame.bottom, frame.top)
        points = [(across(seconds), up(share)) for seconds, share in values]
        outline = [(points[0][0], frame.bottom), *points, (points[-1][0], frame.bottom)]
        marks += left_axis(frame, up, share_ticks(top_share, 3))
        marks += [
            path(polyline(outline, closed=True), "plain-area"),
            text(_LEFT, frame.top - 8, _NAMES[name], "label"),
        ]
        y = frame.bottom + 4
    ticks = clock_ticks(last, 8)
    marks += bottom_axis(frame, across, ticks, axis, width=WIDTH, has_grid=False)
    return drawing(WIDTH, y - 4 + _FOOT, title, description, marks, name="pressure")


def _summary(values: Sequence[tuple[float, float]]) -> str:
    median, most = _cells(values)
    return f"median {median}, most {most}"


def _cells(values: Sequence[tuple[float, float]]) -> tuple[str, str]:
    shares = sorted(share for _, share in values)
    return small_share(shares[len(shares) // 2]), small_share(shares[-1])
