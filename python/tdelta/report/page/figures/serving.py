"""Where the time of a server's load goes. Descriptive.

A bar is the time of the CPUs that a load could keep busy, one for each thread and no more than there are: the full part
worked for the server, the light part for the client, and the empty part waited with the threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from tdelta.document.blocks import WIDTH, Figure, Medium, Table
from tdelta.document.plot import drawing, rect, text, wrapped
from tdelta.document.quantities import share
from tdelta.document.wording import label
from tdelta.records import Role, RunResult, ServerMeasures
from tdelta.report.sweep import server_label

_BAR = 14.0
_STEP = 24.0
_LINE = 15.0
_HEADING = 34.0
_LABEL = 200.0
_NOTE = 214.0


def time_figure(groups: dict[str, list[ServerMeasures]], result: RunResult, table: Table) -> Figure:
    """Where the time goes, plain and encrypted, against threads, with the table of what the servers did."""
    title = "Where the time of the load goes"
    description = "; ".join(_words(m, result) for rows in groups.values() for m in rows) + "."
    drawn = _layout(groups, result, title, description)
    caption = (
        "A bar is the time of the CPUs that the load could keep busy: one for each thread, and no more than there are."
        " Full: they worked for the server, its background threads included; light: for the client; empty: nothing was"
        " to be done, since all threads waited for I/O, locks or the network. Plain twins are grey. The word is what"
        " held the load back: CPU where 85% of all CPUs are busy, or of those that the server is kept to, else the"
        " largest part of the threads' time, waiting being I/O as far as the device's requests in flight account for"
        " it."
    )
    return Figure("time", title, drawn, caption, table, Medium.BOTH)


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


def _share(value: float) -> str:
    return share(round(value, 3))
