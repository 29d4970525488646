"""What servers and their client did, plain and encrypted one below the other."""

from __future__ import annotations

from collections.abc import Callable

from rich.table import Table
from rich.text import Text

from tdelta.records import RunResult, ServerMeasures, SettingsCompared
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.page.blocks import Block, Paragraph
from tdelta.report.page.figures.serving import moved_table, share_table, time_figure
from tdelta.report.quantities import MISSING, amounts, rate, small_count
from tdelta.report.sweep import server_groups, server_label

_NOTE = (
    "Medians over the trials; CPU, pages and log are of one operation. Bottleneck: CPU where 85 % of all CPUs are busy,"
    " or of those that the server is kept to, else the largest part of the threads' time: CPU of server or client, I/O,"
    " or other waiting (locks, network, scheduling)."
)


def text(result: RunResult, width: int) -> list[Text | Table]:
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


def blocks(result: RunResult) -> list[Block]:
    """What servers and their client did; None where the engine is embedded."""
    figure = time_figure(result)
    if figure is None:
        return []
    lead = Paragraph(
        "What the servers and the client did while they were measured: described, never judged. Twins whose caches met"
        " other shares of their requests would not be twins, so those stand side by side."
    )
    return [lead, figure, share_table(result), moved_table(result)]
