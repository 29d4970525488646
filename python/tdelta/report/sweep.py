"""A run over several numbers of threads as a grid: a row for each number, a column for each level of the rest.

Sorts what was judged, measured and published into cells; computes none of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from tdelta.document.blocks import Block, Medium, Paragraph, Table, columns
from tdelta.document.effect import limits
from tdelta.document.labels import compared_label, level_text, metric_name, surroundings
from tdelta.document.quantities import MISSING, decimals, interval, percent
from tdelta.findings.published import PublishedCell
from tdelta.records import Condition, Role, RunResult, Verdict

THREADS = "threads"


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
    if len({c.level(THREADS) for c in result.settings.conditions if THREADS in dict(c.levels)}) < 2:
        return ()
    published = {cell.condition.key: cell for cell in result.of(PublishedCell)}
    return tuple(
        SweepCell(
            verdict=verdict,
            threads=int(verdict.condition.level(THREADS)),
            compared=compared_label(verdict.condition),
            panel=panel_of(verdict.condition, result),
            published=published.get(verdict.condition.key),
        )
        for verdict in judged
    )


def panel_of(condition: Condition, result: RunResult) -> str:
    """What varies beside threads, in words: ``cache 10%``."""
    return ", ".join(surroundings(condition, result.settings, besides=THREADS))


def panels(cells: Iterable[SweepCell]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cell.panel for cell in cells))


def sweep_grid(result: RunResult) -> Iterator[Block]:
    """A terminal's table of a sweep: threads by all else that varies; nothing for another run."""
    cells = sweep_cells(result)
    if not cells:
        return
    has_published = {panel: any(c.published for c in cells if c.panel == panel) for panel in panels(cells)}
    titles: list[str] = []
    for panel, has in has_published.items():
        titles += [panel or "overhead", *(["published"] if has else [])]
    rows = [
        (
            name,
            *chain.from_iterable(
                _cell(row.get(panel), result, has_published=has) for panel, has in has_published.items()
            ),
        )
        for name, row in _rows(cells).items()
    ]
    yield Table("", columns(*titles), rows, medium=Medium.TERMINAL)
    note = f"Overhead in {metric_name(result.settings.metric, result.settings)} against threads, with its 95% interval."
    yield Paragraph(note + _sources(cells), "note", Medium.TERMINAL)


def _rows(cells: Sequence[SweepCell]) -> dict[str, dict[str, SweepCell]]:
    """The cells of each row by their columns; with several ciphers, one's rows before the next one's."""
    compared = list(dict.fromkeys(cell.compared for cell in cells))
    rows: dict[str, dict[str, SweepCell]] = {}
    for cell in sorted(cells, key=lambda c: compared.index(c.compared)):
        threads = level_text(THREADS, cell.threads)
        rows.setdefault(threads if len(compared) == 1 else f"{cell.compared}, {threads}", {})[cell.panel] = cell
    return rows


def _sources(cells: Sequence[SweepCell]) -> str:
    sources = dict.fromkeys(c.published.source for c in cells if c.published is not None)
    return f" Published: {'; '.join(sources)}; another product and machine, no check of this one." if sources else ""


def _cell(cell: SweepCell | None, result: RunResult, *, has_published: bool) -> list[str]:
    if cell is None:
        return ["", *([""] if has_published else [])]
    ratio = cell.verdict.ratio
    places = decimals((ratio.median, *ratio.hdi95), limits(result.settings))
    shown = (
        f"{percent(ratio.median, places)} ({interval(ratio.hdi95, places)})" if cell.verdict.baseline_value else MISSING
    )
    return [shown, *([_published_text(cell)] if has_published else [])]


def _published_text(cell: SweepCell) -> str:
    return MISSING if cell.published is None else percent(cell.published.ratio)
