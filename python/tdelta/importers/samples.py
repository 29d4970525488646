"""Response times, millions of them, reduced as they pass: sums, logarithmic bins, stretches in time order.

What a group of samples takes does not grow with their number: some 100 KiB. Importers `add` single values or `extend`
by NumPy chunks, in time order within a group, and ask for the `Samples` at the end.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tdelta.errors import ImportFault
from tdelta.importers.faults import number, place, plain_name
from tdelta.importers.importer import Belonging
from tdelta.inputs import out_of_range
from tdelta.messages import Caution, Refusal
from tdelta.records.observed import ALL, Bins, Group, Origin, Samples, Series

MOST_GROUPS = 1000
"""Groups (condition, levels, transaction, run) in one file. More is a column that is no factor."""

MOST_STRETCHES = 4096
LEAST_MS = 1e-9  # what is shorter is 0 to any clock
LONGEST_MS = 1e12  # thirty years: no response time, and its square is still far from what a float holds
_STEPS_A_DOUBLING = 36  # bins are ``2 ** (1 / 36)``, that is 1.94% wide
_FIRST_STEP = -30 * _STEPS_A_DOUBLING  # 2 ** -30 is just below LEAST_MS, 2 ** 40 just above LONGEST_MS
_LAST_STEP = 40 * _STEPS_A_DOUBLING
_EDGES: NDArray[np.float64] = np.exp2(np.arange(_FIRST_STEP, _LAST_STEP + 1) / _STEPS_A_DOUBLING)
_BUFFERED = 2048
_DUST = 1e-9  # what binary fractions leave of a decimal one, as a share

Key = TypeVar("Key", bound=Hashable)


class ExactSum:
    """A sum whose error does not grow with the number of terms (Neumaier 1974)."""

    __slots__ = ("_correction", "_sum")

    def __init__(self) -> None:
        self._sum = 0.0
        self._correction = 0.0

    def add(self, term: float) -> None:
        total = self._sum + term
        if abs(self._sum) >= abs(term):
            self._correction += (self._sum - total) + term
        else:
            self._correction += (term - total) + self._sum
        self._sum = total

    @property
    def value(self) -> float:
        return self._sum + self._correction


class Stretches:
    """Counts and sums of equally long stretches of a stream; whenever there are too many, neighbours are merged."""

    def __init__(self, most: int = MOST_STRETCHES) -> None:
        self._most = most
        self._length = 1
        self._totals: NDArray[np.float64] = np.zeros(0)
        self._rest: NDArray[np.float64] = np.zeros(0)

    def extend(self, values: NDArray[np.float64]) -> None:
        pending = np.concatenate((self._rest, values))
        while self._totals.size + pending.size // self._length > self._most:
            pending = np.concatenate((self._merge(), pending))
        whole = pending.size - pending.size % self._length
        if whole:
            added = pending[:whole].reshape(-1, self._length).sum(axis=1)
            self._totals = np.concatenate((self._totals, added))
        self._rest = pending[whole:].copy()

    def clusters(self) -> tuple[tuple[int, float], ...]:
        """``(count, total)`` of each stretch in time order; a last, shorter one comes last."""
        whole = [(self._length, total) for total in self._totals.tolist()]
        if self._rest.size and len(whole) < self._most:
            whole.append((int(self._rest.size), float(self._rest.sum())))
        elif self._rest.size:
            count, total = whole[-1]
            whole[-1] = (count + int(self._rest.size), total + float(self._rest.sum()))
        return tuple(whole)

    def _merge(self) -> NDArray[np.float64]:
        """Make stretches twice as long. An odd one at the end is no whole stretch any more: as values of its mean."""
        even = self._totals.size - self._totals.size % 2
        odd_one = np.repeat(self._totals[even:] / self._length, self._length)
        self._totals = self._totals[:even].reshape(-1, 2).sum(axis=1)
        self._length *= 2
        return odd_one


class Accumulator:
    def __init__(self) -> None:
        self.count = 0
        self.zeros = 0
        self._total = ExactSum()
        self._total_log = ExactSum()
        self._total_squares = ExactSum()
        self._minimum = np.inf
        self._maximum = 0.0
        self._unit_ms = 1e3
        self._bins: NDArray[np.int64] = np.zeros(_EDGES.size - 1, dtype=np.int64)
        self._stretches = Stretches()
        self._buffer = array("d")

    def add(self, value_ms: float) -> None:
        """One more response time: finite, not negative, at most `LONGEST_MS` (the caller has seen to that)."""
        self._buffer.append(value_ms)
        if len(self._buffer) >= _BUFFERED:
            self._flush()

    def extend(self, values_ms: NDArray[np.float64]) -> None:
        self._flush()
        self._take(values_ms)

    @property
    def is_nothing_but_zeros(self) -> bool:
        self._flush()
        return self.count == self.zeros

    def samples(self, group: Group, origin: Origin) -> Samples:
        self._flush()
        least = float(self._minimum) if self.count > self.zeros else self._unit_ms
        bins = _with_zeros(_sparse(self._bins), self.zeros, least)
        return Samples(
            group=group,
            origin=origin,
            count=self.count,
            total=self._total.value,
            total_log=self._total_log.value,
            total_squares=self._total_squares.value,
            minimum=0.0 if self.zeros else least,
            maximum=float(self._maximum),
            bins=bins,
            clusters=self._stretches.clusters(),
            zeros=self.zeros,
            rounding=clock_error(bins, self._unit_ms),
        )

    def _flush(self) -> None:
        if self._buffer:
            values = np.array(self._buffer, dtype=np.float64)
            self._buffer = array("d")
            self._take(values)

    def _take(self, values: NDArray[np.float64]) -> None:
        self.count += int(values.size)
        self._stretches.extend(values)
        positive = values[values >= LEAST_MS]
        self.zeros += int(values.size - positive.size)
        if not positive.size:
            return
        self._unit_ms = _common_unit(positive, self._unit_ms)
        logs = np.log(positive)
        self._total.add(float(positive.sum()))
        self._total_log.add(float(logs.sum()))
        self._total_squares.add(float(np.square(positive).sum()))
        self._minimum = min(self._minimum, float(positive.min()))
        self._maximum = max(self._maximum, float(positive.max()))
        self._bins += np.bincount(_bin_numbers(positive, logs), minlength=self._bins.size)


class Gathering(Generic[Key]):
    """Accumulators of many groups by a key of the importer's own; their number is bounded.

    `kind`: what the keys are, in the plural: ``transaction types``.
    """

    def __init__(self, file: str, kind: str = "groups of samples") -> None:
        self._file = file
        self._kind = kind
        self._groups: dict[Key, Accumulator] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def add(self, key: Key, value_ms: float, line: int | None = None) -> None:
        """One more response time of a group.

        Raises `ImportFault`: a value that is none, or more than `MOST_GROUPS` groups.
        """
        if not 0.0 <= value_ms <= LONGEST_MS:  # NaN is not, either
            raise ImportFault(no_response_time(repr(value_ms), place(self._file, line)))
        self._of(key, line).add(value_ms)

    def extend(self, key: Key, values_ms: NDArray[np.float64], line: int | None = None) -> None:
        """More response times of a group, in time order; checked as in `add`."""
        good = (values_ms >= 0.0) & (values_ms <= LONGEST_MS)
        if not good.all():
            raise ImportFault(no_response_time(repr(float(values_ms[~good][0])), place(self._file, line)))
        self._of(key, line).extend(values_ms)

    def samples(self, group_of: Callable[[Key], Group], origin: Origin) -> Iterator[Samples]:
        """All groups, in the order in which they were first seen; those with no time above 0, too.

        Raises `ImportFault`: no time in the file is above 0.
        """
        found: list[tuple[Group, Accumulator]] = [(group_of(key), it) for key, it in self._groups.items()]
        if found and all(accumulator.is_nothing_but_zeros for _, accumulator in found):
            zeros = sum(accumulator.zeros for _, accumulator in found)
            raise ImportFault(Refusal.of("all-times-zero", found=zeros).at(self._file))
        for group, accumulator in found:
            yield accumulator.samples(group, origin)

    def _of(self, key: Key, line: int | None) -> Accumulator:
        accumulator = self._groups.get(key)
        if accumulator is None:
            if len(self._groups) >= MOST_GROUPS:
                raise too_many_groups(self._file, line, self._kind)
            accumulator = self._groups[key] = Accumulator()
        return accumulator


def too_many_groups(file: str, line: int | None, kind: str) -> ImportFault:
    return ImportFault(Refusal.of("groups-too-many", most=MOST_GROUPS, kind=kind).at(place(file, line)))


def no_response_time(found: str, where: object = "") -> Refusal:
    return out_of_range("a response time", f"0 to {LONGEST_MS:g} ms", found, where)


def side_by_side(parts: list[Samples]) -> Samples:
    """The samples of threads that ran at the same time and wrote a file each, as those of their one run.

    Stretches are put together by their place in the run, the n-th of m parts of each file.
    """
    first = parts[0]
    cautions = tuple(dict.fromkeys(caution for part in parts for caution in part.origin.cautions))
    counts: NDArray[np.int64] = np.zeros(_EDGES.size - 1, dtype=np.int64)
    for part in parts:
        edges, of = np.array(part.bins.edges), np.array(part.bins.counts, dtype=np.int64)
        above = edges[:-1] > 0.0
        steps = np.rint(np.log2(edges[:-1][above]) * _STEPS_A_DOUBLING).astype(np.int64) - _FIRST_STEP
        np.add.at(counts, steps, of[above])
    zeros = sum(part.zeros for part in parts)
    bins = _with_zeros(_sparse(counts), zeros, min((part.bins.edges[1] for part in parts if part.zeros), default=0.0))
    return Samples(
        group=first.group,
        origin=replace(first.origin, line=None, cautions=cautions),
        count=sum(part.count for part in parts),
        total=_exact(part.total for part in parts),
        total_log=_exact(part.total_log for part in parts),
        total_squares=_exact(part.total_squares for part in parts),
        minimum=min(part.minimum for part in parts),
        maximum=max(part.maximum for part in parts),
        bins=bins,
        clusters=_interleaved([part.clusters for part in parts]),
        zeros=zeros,
        rounding=max(part.rounding for part in parts),
    )


def _exact(terms: Iterator[float]) -> float:
    total = ExactSum()
    for term in terms:
        total.add(term)
    return total.value


def _interleaved(parts: list[tuple[tuple[int, float], ...]]) -> tuple[tuple[int, float], ...]:
    stretches = min(len(part) for part in parts)
    counts = np.zeros(stretches, dtype=np.int64)
    totals = np.zeros(stretches)
    for part in parts:
        where = np.arange(len(part)) * stretches // len(part)
        np.add.at(counts, where, np.array([count for count, _ in part], dtype=np.int64))
        np.add.at(totals, where, np.array([total for _, total in part]))
    return tuple(zip(counts.tolist(), totals.tolist(), strict=True))


def _bin_numbers(values: NDArray[np.float64], logs: NDArray[np.float64]) -> NDArray[np.int64]:
    """Which bin each value is in. The logarithm may round across an edge: the edges themselves decide."""
    numbers: NDArray[np.int64] = np.floor(logs * (_STEPS_A_DOUBLING / np.log(2.0))).astype(np.int64) - _FIRST_STEP
    np.clip(numbers, 0, _EDGES.size - 2, out=numbers)
    numbers -= values < _EDGES[numbers]
    numbers += values >= _EDGES[numbers + 1]
    return numbers


def _sparse(counts: NDArray[np.int64]) -> Bins:
    """The bins that are not empty, and one empty bin for each gap between them."""
    used = np.flatnonzero(counts)
    edges: list[float] = []
    kept: list[int] = []
    for step, count in zip(used.tolist(), counts[used].tolist(), strict=True):
        low, high = float(_EDGES[step]), float(_EDGES[step + 1])
        if edges and edges[-1] != low:
            kept.append(0)
            edges.append(low)
        elif not edges:
            edges.append(low)
        kept.append(count)
        edges.append(high)
    return Bins(tuple(edges), tuple(kept))


def _with_zeros(bins: Bins, zeros: int, least: float) -> Bins:
    """The same with the times of 0, which are somewhere below the least time above 0."""
    if not zeros:
        return bins
    first = bins.edges[0] if bins.edges else least
    return Bins((0.0, *(bins.edges or (first,))), (zeros, *bins.counts))


def _common_unit(values_ms: NDArray[np.float64], unit_ms: float) -> float:
    """The largest power of ten, in ms and at most ``unit_ms``, that all values are whole multiples of."""
    while unit_ms > LEAST_MS:
        in_units = values_ms / unit_ms
        if (np.abs(in_units - np.rint(in_units)) < _DUST * np.maximum(in_units, 1.0)).all():
            break
        unit_ms /= 10.0
    return unit_ms


def clock_error(bins: Bins, unit_ms: float) -> float:
    """How far off a mean of times may be for the steps of their clock, in ms.

    A time is somewhere in its step: ``unit_ms``, or the gap to its neighbours where the clock leaves values out. The
    mean is off by half a step where one step holds all times. Where times are spread over many, what is off cancels: of
    exponential times of m steps all but 1/(24 m) of a step does (the first term of Euler and Maclaurin's sum), and
    half the square of the share of the fullest step is never less than that where it matters.
    """
    edges, counts = np.array(bins.edges), np.array(bins.counts, dtype=np.float64)
    full = counts > 0
    low, high, share = edges[:-1][full], edges[1:][full], counts[full] / counts.sum()
    gaps = np.concatenate(([0.0], np.maximum(low[1:] - high[:-1], 0.0), [0.0]))
    if low[0] == 0.0 and len(low) > 1:
        gaps[1] = low[1]  # all of it is below the first time above 0
    steps = np.maximum(0.5 * (gaps[:-1] + gaps[1:]), unit_ms)
    widths = np.where(low == 0.0, steps, high - low)
    fullest = float((share * np.minimum(steps / widths, 1.0)).max())
    return 0.5 * float(share @ steps) * fullest**2


# Readings at intervals, as strangers' files have them, made into a regular series.
#
# The first and the last reading under load each cover a part of their interval, and what lies outside is no load: both
# are left out. Where readings are missing, the longest stretch without a gap is taken. What was left out is said.

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
# Failed operations are counted, reported and left out: how long an error takes says nothing of the work.

MOST_TYPES = 100  # more are addresses with an id in each, and no types of requests


class Requests:
    """The requests of one run so far.

    `has_whole`: whether the whole mix is a group as well; not where rows are parts of one another, or not in order.
    Without it, all types are kept under the names that the importer gives them.
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
        name = kind or ALL
        if self._has_whole:
            self._all.add(ALL, value_ms, line)
            name = "requests named all" if kind == ALL else plain_name(kind) or ALL
        if name in self._names or len(self._names) < MOST_TYPES or not self._has_whole:
            self._names[name] = None
            self._types.add(name, value_ms, line)
        elif len(self._names) == MOST_TYPES:
            self._names[""] = None  # one too many: from here on they are not types

    def take_stamp(self, unix_ms: str) -> None:
        """When it began, in ms since 1970; what is none leaves the span as it is."""
        stamp = number(unix_ms)
        if stamp is not None and stamp > 0:
            self.span.take(stamp / 1e3)

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
