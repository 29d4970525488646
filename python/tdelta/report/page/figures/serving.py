"""Where the time of a server's load goes, and the tables of all that its servers did. Descriptive.

A bar is the time of the CPUs that a load could keep busy, one for each thread and no more than there are: the full part
worked for the server, the light part for the client, and the empty part waited with the threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from tdelta.records import Role, RunResult, ServerMeasures, Typical
from tdelta.report.page.blocks import WIDTH, Column, Figure, Table
from tdelta.report.page.plot import drawing, rect, text, wrapped
from tdelta.report.page.wording import label
from tdelta.report.quantities import MISSING, amounts, rate, share, small_count
from tdelta.report.sweep import server_groups, server_label

_BAR = 14.0
_STEP = 24.0
_LINE = 15.0
_HEADING = 34.0
_LABEL = 200.0
_NOTE = 214.0
_LONG_TABLE = 8


def time_figure(result: RunResult) -> Figure | None:
    """Where the time goes, plain and encrypted, against threads; None where the engine is no server."""
    groups = server_groups(result)
    if not groups:
        return None
    title = "Where the time of the load goes"
    description = "; ".join(_words(m, result) for rows in groups.values() for m in rows) + "."
    drawn = _layout(groups, result, title, description)
    caption = (
        "A bar is the time of the CPUs that the load could keep busy: one for each thread, and no more than there are."
        " Full: they worked for the server, its background threads included; light: for the client; empty: nothing was"
        " to be done, since all threads waited for I/O, locks or the network. Plain twins are grey. The word is what"
        " held the load back: CPU where 85 % of all CPUs are busy, or of those that the server is kept to, else the"
        " largest part of the threads' time, waiting being I/O as far as the device's requests in flight account for"
        " it."
    )
    return Figure("time", title, drawn, caption, _time_table(result))


def _layout(groups: dict[str, list[ServerMeasures]], result: RunResult, title: str, description: str) -> Markup:
    marks: list[Markup] = []
    y = 0.0
    for name, rows in groups.items():
        if name:
            marks.append(text(0.0, y + 18, name, "strong"))
            y += _HEADING
        for measured in rows:
            words = wrapped(server_label(measured, result), _LABEL - 12)
            height = max(_STEP, _LINE * len(words) + 8)
            marks += _row(measured, words, y + height / 2)
            y += height
        y += 12
    return drawing(WIDTH, y, title, description, marks, name="time")


def _row(measured: ServerMeasures, words: Sequence[str], middle: float) -> list[Markup]:
    first = middle + 4.5 - _LINE * (len(words) - 1) / 2
    return [
        *(text(0.0, first + _LINE * at, line, "label") for at, line in enumerate(words)),
        *_bar(measured, _LABEL, WIDTH - _LABEL - _NOTE, middle),
        text(WIDTH - _NOTE + 12, middle + 4.5, _note(measured), "label"),
    ]


def _bar(measured: ServerMeasures, left: float, width: float, middle: float) -> Iterator[Markup]:
    """What worked, of what could; of its own sum, where background threads make that larger."""
    look = "plain-" if measured.condition.role is Role.BASELINE else ""
    time = measured.time
    pixels = width / max(float(time.cores_at_most), time.server_cores + time.client_cores)
    top = middle - _BAR / 2
    server, client = time.server_cores * pixels, time.client_cores * pixels
    yield rect(left, top, width, _BAR, "bar-rest")
    yield rect(left, top, server, _BAR, f"{look}bar")
    yield rect(left + server, top, client, _BAR, f"{look}bar-second")


def _note(measured: ServerMeasures) -> str:
    busy = measured.time.server_cores + measured.time.client_cores
    return f"{measured.bottleneck.value}; {busy:.2f} CPUs busy"


def _words(measured: ServerMeasures, result: RunResult) -> str:
    time = measured.time
    parts = (f"server CPU {_share(time.server_share)}", f"client CPU {_share(time.client_share)}")
    return (
        f"{label(measured.condition, result.settings)}: {', '.join(parts)}, waiting {_share(time.waiting_share)},"
        f" held back by {measured.bottleneck.value}"
    )


def _time_table(result: RunResult) -> Table:
    titles = ("op/s", "response", "server CPU", "client CPU", "server CPUs busy", "client CPUs busy")
    rows = [
        (
            label(m.condition, result.settings),
            rate(m.throughput.median),
            _time(m.response_us),
            _time(m.server_cpu_us),
            _time(m.client_cpu_us),
            f"{m.time.server_cores:.2f}",
            f"{m.time.client_cores:.2f}",
            m.bottleneck.value,
        )
        for m in result.of(ServerMeasures)
    ]
    columns = [Column(""), *(Column(title, is_number=True) for title in titles), Column("bottleneck")]
    caption = "Numbers: where the time goes; medians over the trials, in brackets their quartiles"
    return Table(caption, columns, rows, folded=True)


def share_table(result: RunResult) -> Table:
    titles = ("server CPU", "client CPU", "waiting", "of that I/O", "CPU pressure", "I/O pressure")
    rows = [
        (
            label(m.condition, result.settings),
            *(_share(part) for part in (m.time.server_share, m.time.client_share, m.time.waiting_share)),
            *(_share_or_none(part) for part in (m.time.io_share, m.time.cpu_pressure, m.time.io_pressure)),
        )
        for m in result.of(ServerMeasures)
    ]
    columns = [Column(""), *(Column(title, is_number=True) for title in titles)]
    return Table("The time of all threads in parts, and pressure on the machine: medians", columns, rows, folded=True)


def moved_table(result: RunResult) -> Table:
    """Cache, pages and bytes of all servers, A/A twins included."""
    titles = ("cache hits", "misses", "pages read", "pages written", "encrypted", "decrypted", "log", "from the device")
    rows = [
        (
            label(m.condition, result.settings),
            MISSING if m.cache is None else _hits(m.cache.hit_ratio),
            MISSING if m.cache is None else small_count(m.cache.misses),
            *(small_count(n) for n in (m.moved.pages_read, m.moved.pages_written)),
            *(small_count(n) for n in (m.moved.pages_encrypted, m.moved.pages_decrypted)),
            MISSING if m.moved.log_bytes is None else _bytes(m.moved.log_bytes),
            _bytes(m.moved.device_read_bytes),
            _bytes(m.moved.device_written_bytes),
        )
        for m in result.of(ServerMeasures)
    ]
    columns = [Column(""), *(Column(title, is_number=True) for title in (*titles, "to the device"))]
    caption = "Cache, pages and bytes of one operation, the twins side by side: medians over the trials"
    return Table(caption, columns, rows, folded=len(rows) > _LONG_TABLE)


def _time(of: Typical) -> str:
    low, median, high = amounts((of.low, of.median, of.high), "µs")
    return f"{median} ({low.split(' ')[0]} … {high.split(' ')[0]})"


def _hits(of: Typical) -> str:
    return f"{100 * of.median:.2f} % ({100 * of.low:.2f} … {100 * of.high:.2f})"


def _bytes(value: float) -> str:
    return amounts((value,), "bytes")[0]


def _share(value: float) -> str:
    return share(round(value, 3))


def _share_or_none(value: float | None) -> str:
    return MISSING if value is None else _share(value)
