"""Overheads against the number of threads: a panel for each cipher and cache, all at one scale, threads on a log axis.

Beside each condition stand its A/A twin, in grey, and what was published for the same levels, as a diamond: three marks
that are told apart by shape and place, not by colour alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tdelta.document import plot
from tdelta.document.blocks import WIDTH, Column, Figure, Table
from tdelta.document.forest import Limits, RowStyle
from tdelta.document.labels import compared_label, level_text, surroundings
from tdelta.document.quantities import MISSING, interval_of, percent
from tdelta.document.wording import decided, has_amount, is_known, median_text
from tdelta.findings.published import PublishedCell
from tdelta.records import Condition, Decision, Estimate, Role, RunResult, Verdict

THREADS = "threads"
_LEFT = 62.0
_RIGHT = 16.0
_TITLE = 30.0
_PANEL = 230.0
_BETWEEN = 66.0
_FOOT = 48.0
_ASIDE = 9.0


@dataclass(frozen=True, slots=True)
class SweepCell:
    """One encrypted condition of a sweep. ``panel`` is what else varies (``cache 10%``), empty if nothing does."""

    verdict: Verdict
    threads: int
    compared: str
    panel: str
    published: PublishedCell | None

    @property
    def condition(self) -> Condition:
        return self.verdict.condition


def sweep_cells(result: RunResult) -> tuple[SweepCell, ...]:
    """The primary verdicts of the encrypted conditions, in the design's order; none where threads do not vary."""
    judged = [v for v in result.primary if v.condition.role is Role.TREATMENT]
    if len({c.level(THREADS) for c in result.settings.conditions if c.get(THREADS)}) < 2:
        return ()
    published = {cell.condition.key: cell for cell in result.of(PublishedCell)}
    return tuple(
        SweepCell(
            verdict=verdict,
            threads=int(verdict.condition.level(THREADS)),
            compared=compared_label(verdict.condition),
            panel=", ".join(surroundings(verdict.condition, result.settings, besides=THREADS)),
            published=published.get(verdict.condition.key),
        )
        for verdict in judged
    )


@dataclass(frozen=True, slots=True)
class _Panel:
    """The cells of one cipher under one level of all else; ``noise`` are A/A twins by the number of threads."""

    title: str
    cells: Sequence[SweepCell]
    noise: Mapping[int, Estimate]


def sweep_figure(result: RunResult, limits: Limits, what: str, caption: str) -> Figure | None:
    """The figure with its numbers; None for a run whose threads do not vary.

    Args:
        limits: the tolerance or the budget.
        what: the metric, in words.
    """
    panels = _panels(result)
    if not panels:
        return None
    title = f"Overhead in {what}, against threads"
    description = "; ".join(_words(panel, limits) for panel in panels) + "."
    drawn = _layout(panels, limits, title, description)
    published = " Diamond: published figure." if any(c.published for p in panels for c in p.cells) else ""
    words = (
        "Higher is slower; all panels have the same scale. Circle: best estimate; thick bar: 95% interval; thin bar:"
        f" 99% interval; {caption}. Gray square: A/A control (noise).{published}"
    )
    return Figure("sweep", title, drawn, words, _table(panels, limits))


def _panels(result: RunResult) -> list[_Panel]:
    cells = [cell for cell in sweep_cells(result) if has_amount(cell.verdict)]
    aa = [f for f in result.noise_floor if f.condition is None and f.metric is result.settings.metric]
    floors = {f.stratum: f.ratio for f in aa}
    is_single = len({cell.compared for cell in cells}) == 1
    found = []
    for compared, panel in dict.fromkeys((cell.compared, cell.panel) for cell in cells):
        own = sorted((c for c in cells if (c.compared, c.panel) == (compared, panel)), key=lambda c: c.threads)
        noise = {c.threads: floors[c.condition.stratum] for c in own if c.condition.stratum in floors}
        title = ", ".join(part for part in ("" if is_single and panel else compared, panel) if part)
        found.append(_Panel(title, own, {n: ratio for n, ratio in noise.items() if is_known(ratio)}))
    return found


def _layout(panels: Sequence[_Panel], limits: Limits, title: str, description: str) -> Markup:
    columns = 2 if len(panels) > 1 else 1
    cell = WIDTH / columns
    marks: list[Markup] = []
    bottom = 0.0
    for at, panel in enumerate(panels):
        row, column = divmod(at, columns)
        top = row * (_TITLE + _PANEL + _BETWEEN) + _TITLE
        frame = plot.Frame(column * cell + _LEFT, top, (column + 1) * cell - _RIGHT, top + _PANEL)
        marks += _drawn(panel, frame, _across(panels, frame), _up(panels, limits, frame), limits, (column + 1) * cell)
        bottom = frame.bottom
    return plot.drawing(WIDTH, bottom + _FOOT, title, description, marks, name="sweep")


def _across(panels: Sequence[_Panel], frame: plot.Frame) -> plot.Scale:
    threads = [float(cell.threads) for panel in panels for cell in panel.cells]
    return plot.scale_over(threads, frame.left, frame.right, is_log=True, margin=0.09)


def _up(panels: Sequence[_Panel], limits: Limits, frame: plot.Frame) -> plot.Scale:
    values = [*limits.values]
    for panel in panels:
        values += [end for ratio in panel.noise.values() for end in ratio.hdi95]
        values += [end for cell in panel.cells for end in cell.verdict.ratio.hdi99]
        values += [cell.published.ratio for cell in panel.cells if cell.published is not None]
    return plot.ratio_scale(values, frame.bottom, frame.top)


def _drawn(
    panel: _Panel, frame: plot.Frame, across: plot.Scale, up: plot.Scale, limits: Limits, right: float
) -> list[Markup]:
    ticks = [plot.Tick(float(threads), f"{threads:,}") for threads in sorted({cell.threads for cell in panel.cells})]
    marks = [plot.text(frame.left - _LEFT, frame.top - 14, panel.title, "strong")]
    if limits.tolerance is not None:
        low, high = up(limits.tolerance[0]), up(limits.tolerance[1])
        marks.append(plot.rect(frame.left, high, frame.width, max(1.0, low - high), "tolerance"))
    marks += plot.left_axis(frame, up, plot.overhead_ticks(up.low, up.high, 6, in_multiples=up.is_log))
    marks += plot.bottom_axis(frame, across, ticks, "threads", width=right, has_grid=False)
    marks.append(plot.line(frame.left, up(1.0), frame.right, up(1.0), "zero"))
    if limits.budget is not None:
        marks.append(plot.line(frame.left, up(limits.budget), frame.right, up(limits.budget), "limit"))
    for cell in panel.cells:
        marks.append(plot.group(*_cell_marks(cell, panel.noise.get(cell.threads), across(cell.threads), up)))
    return marks


def _cell_marks(cell: SweepCell, noise: Estimate | None, x: float, up: plot.Scale) -> Iterator[Markup]:
    if noise is not None:
        yield plot.line(x - _ASIDE, up(noise.hdi95[0]), x - _ASIDE, up(noise.hdi95[1]), "plain-hdi99")
        yield plot.square(x - _ASIDE, up(noise.median), 3.0, "plain-dot")
    style = RowStyle.ALARM if cell.verdict.decision is Decision.INVALID else RowStyle.JUDGED
    ratio = cell.verdict.ratio
    yield plot.line(x, up(ratio.hdi99[0]), x, up(ratio.hdi99[1]), f"{style}hdi99")
    yield plot.line(x, up(ratio.hdi95[0]), x, up(ratio.hdi95[1]), f"{style}hdi95")
    yield plot.circle(x, up(ratio.median), 4.2, f"{style}dot")
    if cell.published is not None:
        yield plot.diamond(x + _ASIDE, up(cell.published.ratio), 4.5, "truth")


def _words(panel: _Panel, limits: Limits) -> str:
    shown = (f"{level_text(THREADS, c.threads)} {median_text(c.verdict.ratio, limits.values)}" for c in panel.cells)
    return f"{panel.title}: {', '.join(shown)}"


def _table(panels: Sequence[_Panel], limits: Limits) -> Table:
    rows = [
        (
            f"{panel.title}, {cell.threads:,}",
            median_text(cell.verdict.ratio, limits.values),
            interval_of(cell.verdict.ratio, cell.verdict.ratio.hdi95, limits.values),
            decided(cell.verdict),
            percent(panel.noise[cell.threads].median) if cell.threads in panel.noise else MISSING,
            MISSING if cell.published is None else percent(cell.published.ratio),
        )
        for panel in panels
        for cell in panel.cells
    ]
    columns = [Column("threads"), Column("overhead", is_number=True), Column("95% interval", is_number=True)]
    columns += [Column("verdict"), Column("A/A control", is_number=True), Column("published", is_number=True)]
    return Table("Numbers: overhead against threads", columns, rows, folded=True)
