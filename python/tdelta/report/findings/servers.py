"""What servers and their client did, plain and encrypted one below the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tdelta.document.blocks import Block, Cell, Column, Heading, Medium, Paragraph, Table, columns, for_page
from tdelta.document.quantities import MISSING, amounts, rate, share, small_count
from tdelta.records import RunResult, ServerMeasures, SettingsCompared, Typical
from tdelta.report.page.figures.serving import time_figure
from tdelta.report.sweep import server_groups, server_label

_NOTE = (
    "Medians over the trials; CPU, pages and log are of one operation. Bottleneck: CPU where 85% of all CPUs are busy,"
    " or of those that the server is kept to, else the largest part of the threads' time: CPU of server or client, I/O,"
    " or other waiting (locks, network, scheduling)."
)
_INTRODUCTION = (
    "The work of the servers and of the client while they were measured: described, not judged. Twins whose caches met"
    " different shares of their requests would not be twins; the table below the figure has the hit ratio of each."
)


def differing_lines(result: RunResult) -> list[str]:
    """In which settings encrypted twins differ from plain ones; of servers, whose settings are many."""
    compared = result.one(SettingsCompared)
    if compared is None or not result.of(ServerMeasures):
        return []
    return [f"set on {kind} and not on plain twins: {', '.join(names)}" for kind, names in compared.differing.items()]


_NOTHING = (MISSING, "0", "0 B")


@dataclass(frozen=True, slots=True)
class _Column:
    """A heading and its figure. ``is_brief``: a terminal has it, too."""

    title: str
    of: Callable[[ServerMeasures], str | Cell]
    is_brief: bool = True

    def says_anything(self, measured: Iterable[ServerMeasures]) -> bool:
        return any(self.of(one) not in _NOTHING for one in measured)


def _time(of: Typical) -> Cell:
    low, median, high = amounts((of.low, of.median, of.high), "µs")
    return Cell(f"{median} ({low.split(' ')[0]} … {high.split(' ')[0]})", brief=median)


def _hits(of: Typical) -> Cell:
    median = f"{100 * of.median:.2f}%"
    return Cell(f"{median} ({100 * of.low:.2f} … {100 * of.high:.2f})", brief=median)


def _bytes(value: float | None) -> str:
    return MISSING if value is None else amounts((value,), "bytes")[0]


def _share(value: float | None) -> str:
    return MISSING if value is None else share(round(value, 3))


_COLUMNS = (
    _Column("op/s", lambda m: rate(m.throughput.median)),
    _Column("response", lambda m: _time(m.response_us), is_brief=False),
    _Column("server\nCPU", lambda m: _time(m.server_cpu_us)),
    _Column("client\nCPU", lambda m: _time(m.client_cpu_us)),
    _Column("CPUs\nbusy", lambda m: f"{m.time.server_cores + m.time.client_cores:.2f}"),
    _Column("server", lambda m: _share(m.time.server_share), is_brief=False),
    _Column("client", lambda m: _share(m.time.client_share), is_brief=False),
    _Column("waiting", lambda m: _share(m.time.waiting_share), is_brief=False),
    _Column("of that I/O", lambda m: _share(m.time.io_share), is_brief=False),
    _Column("CPU\npressure", lambda m: _share(m.time.cpu_pressure), is_brief=False),
    _Column("I/O\npressure", lambda m: _share(m.time.io_pressure), is_brief=False),
    _Column("cache\nhits", lambda m: MISSING if m.cache is None else _hits(m.cache.hit_ratio)),
    _Column("cache\nmisses", lambda m: MISSING if m.cache is None else small_count(m.cache.misses), is_brief=False),
    _Column("pages\nread", lambda m: small_count(m.moved.pages_read)),
    _Column("pages\nwritten", lambda m: small_count(m.moved.pages_written)),
    _Column("pages\nencrypted", lambda m: small_count(m.moved.pages_encrypted), is_brief=False),
    _Column("pages\ndecrypted", lambda m: small_count(m.moved.pages_decrypted), is_brief=False),
    _Column("log", lambda m: _bytes(m.moved.log_bytes)),
    _Column("read from\nthe device", lambda m: _bytes(m.moved.device_read_bytes), is_brief=False),
    _Column("written to\nthe device", lambda m: _bytes(m.moved.device_written_bytes), is_brief=False),
)
"""One that has nothing to say of any server is left out."""


def blocks(result: RunResult) -> Iterator[Block]:
    """What servers and their client did, on the page with a figure; nothing where the engine is embedded."""
    groups = server_groups(result)
    if not groups:
        return
    shown = [column for column in _COLUMNS if column.says_anything(m for group in groups.values() for m in group)]
    rows: list[tuple[str | Cell, ...]] = []
    for name, group in groups.items():
        rows += [(name,)] if name else []
        rows += [(server_label(m, result), *(column.of(m) for column in shown), m.bottleneck.value) for m in group]
    more = [column.title for column in shown if not column.is_brief]
    titles = columns(*(column.title for column in shown), "bottleneck", texts=("bottleneck",), more=more)
    caption = (
        "Numbers: medians over the trials, in brackets their quartiles; server, client and waiting are shares of the"
        " threads' time; CPU, pages and bytes are of one operation"
    )
    yield Paragraph(_INTRODUCTION, medium=Medium.PAGE)
    yield time_figure(groups, result, Table(caption, titles, rows, folded=True))
    yield Paragraph(_NOTE, "note", Medium.TERMINAL)


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
