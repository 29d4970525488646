"""What a load generator reported, in the units of a trial, and how the reports of tools become that."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tdelta import _native
from tdelta.errors import LoadFault
from tdelta.messages import Refusal
from tdelta.records import SpanTotals

_LAST_LINES = 12
_LAST_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that ended by itself: its status, how long it took, what it printed, where a log of it may lie."""

    status: int
    elapsed_ns: int
    out: str
    err: str
    log_folder: Path | None = None
    log_prefix: str = ""

    @property
    def last_lines(self) -> str:
        """The end of what it said, for people. The errors come last: they are what is looked for."""
        lines = [line for text in (self.out, self.err) for line in text.splitlines() if line.strip()]
        return "\n".join(f"    {line}" for line in lines[-_LAST_LINES:])[-_LAST_CHARACTERS:] or "    it said nothing"


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What was done and how long it took; keyed as in `tdelta.records.Measurement`."""

    operations: int
    elapsed_ns: int
    transactions: Mapping[str, SpanTotals]
    histograms: Mapping[str, bytes] = field(default_factory=dict)
    errors: Mapping[str, int] = field(default_factory=dict)
    retries: Mapping[str, int] = field(default_factory=dict)


def unreadable(finished: Finished, expected: Refusal) -> LoadFault:
    """A result that is not what its tool prints."""
    where = "the load generator ended, but its results cannot be read"
    return LoadFault(expected.at(where), words=finished.last_lines)


def histograms_of(times: Mapping[str, Mapping[int, int]]) -> dict[str, bytes]:
    """A payload for each transaction, from how often each time in ns was seen."""
    return {f"tx:{name}": _native.histogram_of(list(seen), list(seen.values())) for name, seen in times.items() if seen}


def totals_of(times: Mapping[str, Mapping[int, int]]) -> dict[str, SpanTotals]:
    """Exact totals of each transaction, from how often each time in ns was seen."""
    return {
        name: SpanTotals(sum(seen.values()), sum(ns * count for ns, count in seen.items()))
        for name, seen in times.items()
        if seen
    }


def only_seen(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts without those that are 0."""
    return {name: count for name, count in counts.items() if count}


def number(pattern: str, text: str) -> float | None:
    """The last number that a pattern's group finds; None without one (``NaN`` is none)."""
    found = re.findall(pattern, text, re.MULTILINE)
    return float(found[-1]) if found else None


TimesSeen = dict[str, Counter[int]]
"""By transaction: how often each time in ns was seen."""
