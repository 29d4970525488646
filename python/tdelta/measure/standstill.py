"""Whether something stood still while a trial ran: stopped by a signal, frozen, or suspended with the machine.

Watched by a thread of the process that is concerned, see crates/tdelta-core/src/process/standstill.rs: pauses of a
second or more are found, shorter ones are not. A process that waits for a CPU does not stand still.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tdelta import _native
from tdelta.measure.procfs import read_text

_STOPPED = frozenset("Tt")


class Watched:
    """The standstill that was seen, once it is over: words for people, empty where nothing stood still."""

    def __init__(self) -> None:
        self.standstill = ""


@contextlib.contextmanager
def watching(who: str, others: Sequence[int] = (), called: str = "") -> Iterator[Watched]:
    """Within the block it is watched whether this process, ``who``, stands still, or others do, ``called`` so."""
    seen, watch = Watched(), _native.Watch(others)
    try:
        yield seen
    finally:
        seen.standstill = in_words(watch.end(), who, called)


def in_words(found: Mapping[str, Any] | None, who: str, others: str = "the server") -> str:
    if not found:
        return ""
    if found["suspended_ns"]:
        return f"the machine was suspended for {found['suspended_ns'] / 1e9:.0f} s"
    if found["stopped"]:
        return f"{others} was stopped by a signal"
    return f"{who} stood still for {found['paused_ns'] / 1e9:.0f} s" if found["paused_ns"] else ""


def is_stopped(process: int, root: Path = Path("/")) -> bool:
    """Whether a process is stopped by a signal or a debugger; one that has gone is not."""
    _, _, rest = (read_text(root / f"proc/{process}/stat") or "").rpartition(") ")
    return rest[:1] in _STOPPED if rest else False
