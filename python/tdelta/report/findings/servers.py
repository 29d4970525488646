"""What servers and their client did, plain and encrypted one below the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tdelta.records import RunResult, ServerMeasures, SettingsCompared
from tdelta.report.page.blocks import Block, Column, Heading, Medium, Paragraph, Table, columns, for_page
from tdelta.report.page.figures.serving import moved_table, share_table, time_figure
from tdelta.report.quantities import MISSING, amounts, rate, small_count
from tdelta.report.sweep import server_groups, server_label

_NOTE = (
    "Medians over the trials; CPU, pages and log are of one operation. Bottleneck: CPU where 85 % of all CPUs are busy,"
    " or of those that the server is kept to, else the largest part of the threads' time: CPU of server or client, I/O,"
    " or other waiting (locks, network, scheduling)."
)


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


def blocks(result: RunResult) -> Iterator[Block]:
    """What servers and their client did, on the page with figures; nothing where the engine is embedded."""
    groups = server_groups(result)
    if not groups:
        return
    shown = [column for column in _COLUMNS if any(column[1](m) not in _NOTHING for g in groups.values() for m in g)]
    rows: list[tuple[str, ...]] = []
    for name, group in groups.items():
        rows += [(name,)] if name else []
        rows += [(server_label(m, result), *(of(m) for _, of in shown), m.bottleneck.value) for m in group]
    titles = columns(*(title for title, _ in shown), "bottleneck", texts=("bottleneck",))
    yield Table("", titles, rows, medium=Medium.TERMINAL)
    yield Paragraph(_NOTE, "note", Medium.TERMINAL)
    yield from for_page(_of_page(result))


def _of_page(result: RunResult) -> Iterator[Block]:
    figure = time_figure(result)
    if figure is None:
        return
    yield Paragraph(
        "What the servers and the client did while they were measured: described, never judged. Twins whose caches met"
        " other shares of their requests would not be twins, so those stand side by side."
    )
    yield from (figure, share_table(result), moved_table(result))


def setting_blocks(result: RunResult) -> Iterator[Block]:
    """In what the twins differ beside their rows' ciphertext, and what they share."""
    yield from for_page(_settings(result))


def _settings(result: RunResult) -> Iterator[Block]:
    compared = result.one(SettingsCompared)
    if compared is None:
        return
    yield Heading("Settings of the twins")
    if compared.differing:
        rows = [(kind, ", ".join(names)) for kind, names in compared.differing.items()]
        yield Table(
            "What encrypted twins are given and plain ones are not", [Column("twins"), Column("settings")], rows
        )
    if compared.varied:
        varied = [(name, ", ".join(values)) for name, values in compared.varied.items()]
        columns = [Column("setting"), Column("values")]
        yield Table("What differs between strata, as their factors say", columns, varied, folded=True)
    shared = list(compared.shared.items())
    yield Table("What all twins share, read back from each", [Column("setting"), Column("value")], shared, folded=True)
