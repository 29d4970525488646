"""Each block's own ratio over time, round by round: the comparisons before any model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from tdelta.document import plot
from tdelta.document.blocks import WIDTH, Column, Figure, Table
from tdelta.document.plot.marks import number
from tdelta.document.quantities import percent
from tdelta.document.wording import is_known, label, median_text
from tdelta.inference.fits import PairedRatios
from tdelta.records import Estimate, Role, RunSettings

_LEAST_PAUSE_SECONDS = 60.0
_PAUSE_GAPS = 20.0
_SHOWN_GAPS = 5.0


@dataclass(frozen=True, slots=True)
class Clock:
    """Turns moments into seconds since the first block, pauses cut short.

    Attributes:
        moments: shape (n,), Unix seconds, increasing.
        seconds: shape (n,), where each is drawn.
        pauses: how many were cut.
    """

    moments: NDArray[np.float64]
    seconds: NDArray[np.float64]
    pauses: int

    def at(self, unix_seconds: float) -> float:
        return float(np.interp(unix_seconds, self.moments, self.seconds))

    @property
    def title(self) -> str:
        if not self.pauses:
            return "since the first block"
        return f"since the first block, {self.pauses} pause{'' if self.pauses == 1 else 's'} cut short"


def clock(moments: Sequence[float]) -> Clock:
    """The clock of these moments, in any order; at least one.

    A pause is a gap of more than a minute that is also twenty times the usual one.
    """
    known = np.unique(np.array(moments, dtype=np.float64))
    gaps = np.diff(known)
    usual = float(np.median(gaps)) if len(gaps) else 0.0
    is_pause = gaps > max(_LEAST_PAUSE_SECONDS, _PAUSE_GAPS * usual)
    drawn = np.where(is_pause, _SHOWN_GAPS * usual, gaps)
    return Clock(known, np.concatenate([[0.0], np.cumsum(drawn)]), int(is_pause.sum()))


_PANEL = 150.0
_TITLE = 26.0
_ROUNDS = 18.0
_LEFT = 62.0
_FOOT = 46.0
_MOST_POINTS = 600
"""Points of a panel; more blocks are drawn as the mean of as many neighbours of a round as it takes."""

_REACH_SDS = 5.0
_SQUEEZE = 2.5
_LEAST_HALF = 0.01
_MULTIPLE_FROM = 2.0


@dataclass(frozen=True, slots=True)
class _Points:
    """The points of one panel: log ratios at seconds, of rounds, and how many lie outside its window."""

    label: str
    is_plain: bool
    seconds: Sequence[float]
    logs: Sequence[float]
    rounds: Sequence[int]
    estimate: Estimate | None


def differences(pairs: Sequence[PairedRatios], estimates: Mapping[str, Estimate], settings: RunSettings) -> Figure:
    """The figure of all conditions' blocks, with a table by round.

    Args:
        pairs: as `tdelta.inference.paired_ratios` gives them, at least one.
        estimates: of judged conditions and A/A twins, by condition key.
    """
    time = clock([float(moment) for p in pairs for moment in p.started_unix_seconds])
    together = max(1, math.ceil(max(len(p.ratio) for p in pairs) / _MOST_POINTS))
    panels = [_points(p, estimates.get(p.condition.key), settings, time, together) for p in pairs]
    windows = _windows(panels)
    title = "Every block's own difference, by the clock"
    description = "; ".join(_words(panel) for panel in panels) + "."
    drawn = _layout(panels, windows, time.title, title, description)
    beyond = sum(_beyond(panel, window) for panel, window in zip(panels, windows, strict=True))
    moved = len(set(windows)) > 1
    caption = _caption(together, beyond, moved=moved)
    return Figure("differences", title, drawn, caption, _table(pairs, settings))


def _points(
    pair: PairedRatios, estimate: Estimate | None, settings: RunSettings, time: Clock, together: int
) -> _Points:
    seconds, logs, rounds = [], [], []
    for round_ in np.unique(pair.rounds):
        here = np.flatnonzero(pair.rounds == round_)
        for part in np.array_split(here, max(1, math.ceil(len(here) / together))):
            seconds.append(float(np.mean([time.at(float(moment)) for moment in pair.started_unix_seconds[part]])))
            logs.append(float(np.log(pair.ratio[part]).mean()))
            rounds.append(int(round_))
    shown = estimate if estimate is not None and is_known(estimate) else None
    name = label(pair.condition, settings)
    return _Points(name, pair.condition.role is Role.AA, seconds, logs, rounds, shown)


def _windows(panels: Sequence[_Points]) -> list[tuple[float, float]]:
    """Each panel's range of log ratios: one for all if that leaves the scatter visible, else as long, and moved."""
    own = [_window(panel) for panel in panels]
    low, high = min(0.0, *(w[0] for w in own)), max(0.0, *(w[1] for w in own))
    longest = max(w[1] - w[0] for w in own)
    if high - low <= _SQUEEZE * longest:
        return [(low, high)] * len(panels)
    middles = [0.5 * (w[0] + w[1]) for w in own]
    return [(middle - 0.5 * longest, middle + 0.5 * longest) for middle in middles]


def _window(panel: _Points) -> tuple[float, float]:
    """Where the bulk of a panel's points and its estimate lie; a few far ones must not squeeze the rest."""
    logs = np.array(panel.logs)
    middle = float(np.median(logs))
    spread = max(1.4826 * float(np.median(np.abs(logs - middle))) * _REACH_SDS, _LEAST_HALF)
    inside = logs[np.abs(logs - middle) <= spread]
    ends = [] if panel.estimate is None else [math.log(end) for end in panel.estimate.hdi95]
    values = [*inside.tolist(), *ends, middle - _LEAST_HALF, middle + _LEAST_HALF]
    margin = 0.06 * (max(values) - min(values))
    return min(values) - margin, max(values) + margin


def _beyond(panel: _Points, window: tuple[float, float]) -> int:
    return sum(not window[0] <= value <= window[1] for value in panel.logs)


def _layout(
    panels: Sequence[_Points],
    windows: Sequence[tuple[float, float]],
    axis: str,
    title: str,
    description: str,
) -> Markup:
    last = max(max(panel.seconds) for panel in panels)
    marks: list[Markup] = []
    y = 0.0
    for at, (panel, (low, high)) in enumerate(zip(panels, windows, strict=True)):
        top = y + _TITLE + (_ROUNDS if at == 0 else 0.0)
        frame = plot.Frame(_LEFT, top, WIDTH - 8.0, top + _PANEL)
        across = plot.Scale(-0.015 * max(last, 1.0), 1.015 * max(last, 1.0), frame.left, frame.right)
        up = plot.Scale(math.exp(low), math.exp(high), frame.bottom, frame.top, is_log=True)
        marks += _panel(panel, frame, across, up, y + 14)
        marks += _round_names(panel, frame, across) if at == 0 else []
        y = frame.bottom + 8
    ticks = plot.clock_ticks(last, 8)
    marks += plot.bottom_axis(frame, across, ticks, axis, width=WIDTH, has_grid=False)
    return plot.drawing(WIDTH, y - 8 + _FOOT, title, description, marks, name="differences")


def _panel(panel: _Points, frame: plot.Frame, across: plot.Scale, up: plot.Scale, title_y: float) -> list[Markup]:
    look = "plain-" if panel.is_plain else ""
    marks = _stripes(panel, frame, across)
    if panel.estimate is not None:
        top, bottom = up(panel.estimate.hdi95[1]), up(panel.estimate.hdi95[0])
        marks.append(plot.rect(frame.left, top, frame.width, max(1.0, bottom - top), f"{look}band"))
    marks += plot.left_axis(frame, up, plot.overhead_ticks(up.low, up.high, 5, in_multiples=up.high >= _MULTIPLE_FROM))
    if up.holds(1.0):
        marks.append(plot.line(frame.left, up(1.0), frame.right, up(1.0), "zero"))
    if panel.estimate is not None:
        y = up(panel.estimate.median)
        marks.append(plot.line(frame.left, y, frame.right, y, f"{look}median"))
    figure = "" if panel.estimate is None else f": {median_text(panel.estimate)}"
    return [*marks, *_dots(panel, across, up, look), plot.text(0.0, title_y, f"{panel.label}{figure}", "strong")]


def _edges(panel: _Points, frame: plot.Frame, across: plot.Scale) -> list[tuple[int, float, float]]:
    """Each round with the pixels at which it begins and ends, half way to its neighbours."""
    seconds, rounds = np.array(panel.seconds), np.array(panel.rounds)
    found = [int(round_) for round_ in np.unique(rounds)]
    spans = [(float(seconds[rounds == r].min()), float(seconds[rounds == r].max())) for r in found]
    between = [across(0.5 * (a[1] + b[0])) for a, b in pairwise(spans)]
    return list(zip(found, [frame.left, *between], [*between, frame.right], strict=True))


def _stripes(panel: _Points, frame: plot.Frame, across: plot.Scale) -> list[Markup]:
    edges = _edges(panel, frame, across)
    return [
        plot.rect(left, frame.top, right - left, frame.height, "stripe") for round_, left, right in edges if round_ % 2
    ]


def _round_names(panel: _Points, frame: plot.Frame, across: plot.Scale) -> list[Markup]:
    """The rounds' numbers above the first panel; where they do not fit, every second, third, … only."""
    edges = _edges(panel, frame, across)
    words = [f"round {round_ + 1}" for round_, _, _ in edges]
    if any(
        plot.text_width(word, plot.SMALL) + 8 > right - left
        for word, (_, left, right) in zip(words, edges, strict=True)
    ):
        words = [str(round_ + 1) for round_, _, _ in edges]
    narrowest = min(right - left for _, left, right in edges)
    every = math.ceil((max(plot.text_width(word, plot.SMALL) for word in words) + 6) / max(1.0, narrowest))
    shown = list(zip(words, edges, strict=True))[::every]
    marks = [
        plot.text(0.5 * (left + right), frame.top - 6, word, "faint", "middle") for word, (_, left, right) in shown
    ]
    heading = (
        [] if words[0].startswith("round") else [plot.text(frame.left - 8, frame.top - 6, "round", "faint", "end")]
    )
    return [*heading, *marks]


def _dots(panel: _Points, across: plot.Scale, up: plot.Scale, look: str) -> list[Markup]:
    """Even rounds as discs, odd ones as open diamonds; two paths a panel, however many blocks there are."""
    discs, diamonds, beyond = [], [], []
    for seconds, value, round_ in zip(panel.seconds, panel.logs, panel.rounds, strict=True):
        x, ratio = across(seconds), math.exp(value)
        if not up.holds(ratio):
            beyond.append(_pointer(x, up, ratio))
        elif round_ % 2 == 0:
            discs.append(f"M{number(x)} {number(up(ratio))}h0")
        else:
            diamonds.append(f"M{number(x - 3.6)} {number(up(ratio))}l3.6-3.6 3.6 3.6-3.6 3.6z")
    drawn = ((discs, f"{look}points"), (diamonds, f"{look}points-odd"), (beyond, "beyond"))
    return [plot.path("".join(data), style) for data, style in drawn if data]


def _pointer(x: float, up: plot.Scale, ratio: float) -> str:
    is_above = ratio > up.high
    y = up.end + 8 if is_above else up.start - 8
    return f"M{number(x - 4)} {number(y)}h8l-4{'-7' if is_above else ' 7'}z"


def _words(panel: _Points) -> str:
    ratios = [math.exp(value) for value in panel.logs]
    spread = f"from {percent(min(ratios))} to {percent(max(ratios))}"
    return f"{panel.label}: {len(ratios)} points in {len(set(panel.rounds))} rounds, {spread}"


def _caption(together: int, beyond: int, *, moved: bool) -> str:
    each = "one block" if together == 1 else f"the mean of up to {together} neighbouring blocks of a round"
    window = " All panels have the same scale, each around its own estimate." if moved else ""
    outside = f" Triangles at an edge: {beyond} beyond it." if beyond else ""
    return (
        f"Point: {each}. Line and band: estimate and 95% interval. Rounds alternate between discs and open"
        f" diamonds.{window}{outside}"
    )


def _table(pairs: Iterable[PairedRatios], settings: RunSettings) -> Table:
    titles = ("blocks", "geometric mean", "least", "most")
    rows = [
        (f"{label(pair.condition, settings)}, round {round_ + 1}", *_round_cells(pair.ratio[pair.rounds == round_]))
        for pair in pairs
        for round_ in np.unique(pair.rounds)
    ]
    columns = [Column(""), *(Column(title, is_number=True) for title in titles)]
    return Table("Numbers: blocks' differences by round (every block: tdelta export)", columns, rows, folded=True)


def _round_cells(ratios: Iterable[float]) -> tuple[str, str, str, str]:
    found = np.array(list(ratios))
    mean = float(np.exp(np.log(found).mean()))
    return str(len(found)), percent(mean), percent(float(found.min())), percent(float(found.max()))
