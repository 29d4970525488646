"""How a server is brought to rest: data alone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settling:
    """What brings a server to rest after a trial, so that the next twin's trial does not pay for this one.

    ``statements`` are run, then ``query`` until its first value is at most ``at_most`` (None: no waiting), no longer
    than ``seconds``.
    """

    statements: tuple[str, ...] = ()
    query: str | None = None
    at_most: int = 0
    seconds: float = 30.0
