"""A sweep in a terminal: overheads against threads, and what servers did, plain and encrypted one below the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from rich.table import Table
from rich.text import Text

from tdelta.records import RunResult, ServerMeasures, SettingsCompared
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.labels import level_text, metric_name
from tdelta.report.quantities import MISSING, amounts, decimals, interval, percent, rate, small_count
from tdelta.report.sentence import limits
from tdelta.report.sweep import SweepCell, panels, server_groups, server_label, sweep_cells

_NOTE = (
    "Medians over the trials; CPU, pages and log are of one operation. Bottleneck: CPU where 85 % of all CPUs are busy,"
    " else the largest part of the threads' time: CPU of server or client, I/O, or other waiting (locks, network,"
    " scheduling)."
)


def sweep_lines(result: RunResult, width: int) -> list[Text | Table]:
    """The overheads as a grid of threads by all else that varies, with what was published for each cell."""
    cells = sweep_cells(result)
    if not cells:
        return []
    columns = panels(cells)
    has_published = {panel: any(c.published for c in cells if c.panel == panel) for panel in columns}
    headings: list[tuple[str, bool]] = [("", False)]
    for panel in columns:
        headings += [(panel or "overhead", True), *([("published", True)] if has_published[panel] else [])]
    table = plain_table(headings)
    table.padding = (0, 1, 0, 0)
    for name, row in _rows(cells).items():
        texts = (_cell(row.get(panel), result, has_published=has_published[panel]) for panel in columns)
        table.add_row(name, *chain.from_iterable(texts))
    note = f"Overhead in {metric_name(result.settings.metric, result.settings)} against threads, with its 95 % HDI."
    note += _sources(cells)
    return [table, Text(), *paragraph(note, width, "dim")]


def _rows(cells: Sequence[SweepCell]) -> dict[str, dict[str, SweepCell]]:
    """The cells of each row by their columns; with several ciphers, one's rows before the next one's."""
    compared = list(dict.fromkeys(cell.compared for cell in cells))
    rows: dict[str, dict[str, SweepCell]] = {}
    for cell in sorted(cells, key=lambda c: compared.index(c.compared)):
        threads = level_text("threads", cell.threads)
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
    return [shown, *([_published(cell)] if has_published else [])]


def _published(cell: SweepCell) -> str:
    return MISSING if cell.published is None else percent(cell.published.ratio)


def server_lines(result: RunResult, width: int) -> list[Text | Table]:
    """What servers and clients did, group by group; nothing where the engine is embedded."""
    groups = server_groups(result)
    if not groups:
        return []
    columns = [column for column in _COLUMNS if any(column[1](m) not in _NOTHING for g in groups.values() for m in g)]
    table = plain_table([("", False), *((title, True) for title, _ in columns), ("bottleneck", False)])
    table.padding = (0, 1, 0, 0)
    for name, group in groups.items():
        if name:
            table.add_row(Text(name, style="bold"))
        for measured in group:
            cells = [of(measured) for _, of in columns]
            label = f"{'  ' if name else ''}{server_label(measured, result)}"
            table.add_row(label, *cells, measured.bottleneck.value)
    return [table, Text(), *paragraph(_NOTE, width, "dim")]


def differing_lines(result: RunResult) -> list[str]:
    """In which settings encrypted twins differ from plain ones; of servers, whose settings are many."""
    compared = result.one(SettingsCompared)
    if compared is None or not result.of(ServerMeasures):
        return []
    return [f"set on {kind} and not on plain twins: {', '.join(names)}" for kind, names in compared.differing.items()]


_NOTHING = (MISSING, "0", "0 B")

_COLUMNS: tuple[tuple[str, Callable[[ServerMeasures], str]], ...] = (
    ("op/s", lambda m: rate(m.throughput.median)),
    ("server\nCPU", lambda m: amounts((m.server_cpu_us.median,), "µs")[0]),
    ("client\nCPU", lambda m: amounts((m.client_cpu_us.median,), "µs")[0]),
    ("CPUs\nbusy", lambda m: f"{m.time.server_cores + m.time.client_cores:.2f}"),
    ("cache\nhits", lambda m: MISSING if m.cache is None else f"{100 * m.cache.hit_ratio.median:.2f} %"),
    ("pages\nread", lambda m: small_count(m.moved.pages_read)),
    ("pages\nwritten", lambda m: small_count(m.moved.pages_written)),
    ("log", lambda m: MISSING if m.moved.log_bytes is None else amounts((m.moved.log_bytes,), "bytes")[0]),
)
"""Heading and figure of each column; one that has nothing to say of any server is left out."""
