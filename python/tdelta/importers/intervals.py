"""Readings at intervals, as strangers' files have them, made into a regular series.

The first and the last reading under load each cover a part of their interval, and what lies outside is no load: both
are left out. Where readings are missing, the longest stretch without a gap is taken. What was left out is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tdelta.errors import ImportFault
from tdelta.importers.accumulating import Gathering
from tdelta.importers.importer import Belonging
from tdelta.importers.problems import plain_name
from tdelta.messages import Caution, Refusal
from tdelta.records.observed import ALL, Group, Origin, Samples, Series

Readings: TypeAlias = Sequence[float] | NDArray[np.float64]

FEWEST = 3  # readings that make a series
_SLACK = 0.5  # a reading counts as the next one if its distance is within this share of the usual distance
_LONGEST_SECONDS = 86_400.0  # the longest interval that is believed


@dataclass(frozen=True, slots=True)
class Stretch:
    """Regular readings; ``notes`` say what was left out, ``means`` are of what ``values`` are the rates of."""

    interval_seconds: float
    starts_at_seconds: float
    values: tuple[float, ...]
    notes: tuple[Caution, ...]
    means: tuple[float, ...] = ()

    def series(self, group: Group, origin: Origin, *, began: float | None = None, rounding: float = 0.0) -> Series:
        """As a series; ``began`` is when the first of all readings was taken, in seconds since 1970, if known."""
        return Series(
            group,
            origin,
            self.interval_seconds,
            self.values,
            self.starts_at_seconds,
            rounding=rounding,
            started_unix_seconds=None if began is None else began + self.starts_at_seconds,
            duration_seconds=None if began is None else self.interval_seconds * len(self.values),
        )

    def series_of_means(self, group: Group, origin: Origin) -> Series:
        counts = tuple(rate * self.interval_seconds for rate in self.values)
        return Series(group, origin, self.interval_seconds, self.means, self.starts_at_seconds, counts)


@dataclass(slots=True)
class Span:
    """From the first to the last of some moments, in seconds since 1970."""

    begin: float | None = None
    end: float = 0.0

    @property
    def seconds(self) -> float | None:
        return None if self.begin is None else self.end - self.begin

    def take(self, *moments: float) -> None:
        self.begin = min(moments) if self.begin is None else min(self.begin, *moments)
        self.end = max(self.end, *moments)


def usual_step(seconds: Sequence[float], *, alone: float) -> float:
    """The median distance of readings that were taken one after the other; ``alone`` where there is only one."""
    steps = [after - before for before, after in pairwise(seconds)]
    return median(steps) if steps else alone


def uneven_steps(seconds: Sequence[float], usual: float, *, slack: float = 0.0) -> tuple[Caution, ...]:
    """A remark on readings whose distance is off the usual one by more than ``slack``; nothing where none is."""
    uneven = sum(abs(after - before - usual) > slack for before, after in pairwise(seconds))
    if not uneven:
        return ()
    return (Caution.of("intervals-uneven", uneven=uneven, of=len(seconds) - 1, seconds=usual),)


def longest_stretch(
    seconds: Readings,  # when each reading was taken; the first one is the start of the run
    values: Readings,  # the readings, none negative
    means: Readings = (),  # where values are rates, means of what was done at them, if there are any
) -> Stretch | None:
    """The longest regular stretch under load; None where fewer than three readings are left."""
    times, figures = np.asarray(seconds, dtype=np.float64), np.asarray(values, dtype=np.float64)
    under_load = np.flatnonzero(figures)
    if not len(under_load):
        return None
    first, last = int(under_load[0]) + 1, int(under_load[-1])
    if last - first < FEWEST:
        return None
    kept = times[first:last]
    steps = np.diff(kept)
    forward = steps[steps > 0]
    if not len(forward):
        return None
    interval = float(np.median(forward))
    if interval > _LONGEST_SECONDS:
        return None
    begin, end = _longest_run(np.abs(steps - interval) <= _SLACK * interval)
    if end - begin < FEWEST:
        return None
    return Stretch(
        interval,
        max(float(kept[begin] - times[0]), 0.0),
        tuple(figures[first + begin : first + end].tolist()),
        _notes(idle=len(figures) - (last - first) - 2, beside_gaps=(last - first) - (end - begin)),
        tuple(np.asarray(means, dtype=np.float64)[first + begin : first + end].tolist()),
    )


def _longest_run(regular: NDArray[np.bool_]) -> tuple[int, int]:
    """Of readings one step apart each: the first one, and the one behind the last, of the longest run of True."""
    breaks = np.flatnonzero(~regular)
    begins = np.concatenate(([0], breaks + 1))
    ends = np.concatenate((breaks + 1, [len(regular) + 1]))
    longest = int(np.argmax(ends - begins))
    return int(begins[longest]), int(ends[longest])


def _notes(idle: int, beside_gaps: int) -> tuple[Caution, ...]:
    notes = [Caution.of("left-out", what="the first and the last reading, which cover part of an interval")]
    if idle:
        notes.append(Caution.of("left-out", what=f"{idle} readings of 0 before and after the load"))
    if beside_gaps:
        notes.append(Caution.of("left-out", what=f"{beside_gaps} readings outside the longest gap-free part"))
    return tuple(notes)


# Single response times as tools log them, a line a request: of all requests, and of each type of them.
#
# What failed is counted, reported and left out: how long an error takes says nothing of the work.

MOST_TYPES = 100  # more are addresses with an id in each, and no types of requests


class Requests:
    """The requests of one run so far.

    `has_whole`: whether the whole mix is a group as well; not where rows are parts of one another, or not in order.
    """

    def __init__(self, file: str, *, has_whole: bool = True) -> None:
        self.failed = 0
        self.span = Span()
        self._has_whole = has_whole
        self._all: Gathering[str] = Gathering(file, "files")
        self._types: Gathering[str] = Gathering(file, "types of requests")
        self._names: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self._names)

    def add(self, kind: str, value_ms: float, line: int) -> None:
        """One more that succeeded. Raises ``ImportFault`` for a time that is none."""
        name = plain_name(kind) or ALL
        if self._has_whole:
            self._all.add(ALL, value_ms, line)
            name = "requests named all" if kind == ALL else name
        if name in self._names or len(self._names) < MOST_TYPES or not self._has_whole:
            self._names[name] = None
            self._types.add(name, value_ms, line)
        elif len(self._names) == MOST_TYPES:
            self._names[""] = None  # one too many: from here on they are not types

    def samples(self, belonging: Belonging) -> Iterator[Samples]:
        """Of all requests and of each type. Raises ``ImportFault`` where none succeeded."""
        if not self:
            raise ImportFault(Refusal.of("no-successful-requests", failed=self.failed).at(belonging.file))
        noted = [Caution.of("rows-failed", rows=self.failed)] if self.failed else []
        has_types = "" not in self._names
        if not has_types:
            noted.append(Caution.of("types-too-many", most=MOST_TYPES))
        origin = belonging.origin(None, *noted)
        found: list[Samples] = []
        if self._has_whole:
            found += self._all.samples(belonging.response_times, origin)
        if not self._has_whole or (has_types and len(self._names) > 1):
            found += self._types.samples(belonging.response_times, origin)
        for one in found:
            yield replace(one, started_unix_seconds=self.span.begin, duration_seconds=self.span.seconds)
