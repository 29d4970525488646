"""Measurements of other tools: as importers read them, and as `tdelta.inference` judges them.

An importer keeps what a model needs and no more, so that ten million rows take the memory of ten. Times are in
milliseconds, throughput in operations per second, whatever the file says.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tdelta.messages import Caution
from tdelta.records.conditions import Level

ALL = "all"
"""The transaction of figures that are of the whole mix."""

RESPONSE_TIME = "response_time"
THROUGHPUT = "throughput"
"""The metrics that every tool has; a published table may name others (``cpu``, ``elapsed``, ``query_gets``)."""


@dataclass(frozen=True, slots=True)
class Group:
    """Whose observations they are.

    Attributes:
        condition: what the user calls it (``plain``, ``aes-256``); the baseline is found later, by name or by option.
        levels: further factors, ``(("threads", 16), ("cache", "5 GB"))``, in the order of the file.
        transaction: a transaction type, a statement, a step; ``all`` for the whole mix.
        metric: ``response_time`` (milliseconds), ``throughput`` (a second), or as a published table calls it.
        unit: of the values: ``ms``, ``/s``, or as the table says.
        run: which run of that condition; several runs are rounds.
    """

    condition: str
    transaction: str = ALL
    metric: str = RESPONSE_TIME
    unit: str = "ms"
    run: str = "1"
    levels: tuple[tuple[str, Level], ...] = ()

    @property
    def is_throughput(self) -> bool:
        """Whether more is better, so that its inverse is the cost that is judged."""
        return self.metric == THROUGHPUT


@dataclass(frozen=True, slots=True)
class Origin:
    """Where figures were read, and what the file itself says about them.

    Attributes:
        file: as the user named it.
        format: the importer's name.
        line: where one line has them.
        cautions: what whoever reads the figures must know: rows that were failed or skipped, a file cut off, ….
        source: where published figures come from, as the file says it (``# source: …`` in a CSV).
        settings: what the file says of the test that gave them: its type, its scale, its threads, ….
    """

    file: str
    format: str
    line: int | None = None
    cautions: tuple[Caution, ...] = field(default=(), metadata={"json": ""})
    source: str | None = field(default=None, metadata={"json": ""})
    settings: tuple[tuple[str, Level], ...] = field(default=(), metadata={"json": ""})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """Facts that a file gives about a run beside its figures.

    Attributes:
        rounding: how far off a printed figure may be, half a unit of its last digit, in the figure's own unit; of a
            series, of each value; of single times, their mean. 0 where it is exact, or nobody knows.
        started_unix_seconds: when the run began, in seconds since 1970: the order of runs, where several say it.
        duration_seconds: how long it was measured.
        is_encryption: whether the file itself says that its conditions differ in encryption (a column of that name).
    """

    rounding: float = 0.0
    started_unix_seconds: float | None = None
    duration_seconds: float | None = None
    is_encryption: bool = False


@dataclass(frozen=True, slots=True)
class Samples(RunFacts):
    """Single response times, reduced to what the gamma likelihood needs.

    Attributes:
        count: how many; ``zeros`` of them are 0, shorter than the steps of the clock that timed them.
        total: sum of the values.
        total_log: sum of the natural logarithms of those above 0.
        total_squares: sum of their squares.
        bins: shape as `Binned.counts` over `Binned.edges`; logarithmic, at most 2% wide, below them one from 0 for
            times of 0: for the predictive check, quantiles and tails, never for the likelihood.
        rounding: how far off their mean may be for the steps of their clock.
        clusters: the same sums for stretches of the run in time order, ``(count, total)`` each, at most 4096 of them
            of equal length in rows: what autocorrelation is judged by.
    """

    group: Group
    origin: Origin
    count: int
    total: float
    total_log: float
    total_squares: float
    minimum: float
    maximum: float
    bins: Bins
    clusters: tuple[tuple[int, float], ...] = ()
    zeros: int = 0


@dataclass(frozen=True, slots=True)
class Bins:
    """Counts between edges: ``counts[i]`` values in ``edges[i] <= value < edges[i + 1]``; edges increase."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Binned(RunFacts):
    """A histogram and nothing finer (``sysbench --histogram``): interval-censored response times."""

    group: Group
    origin: Origin
    bins: Bins


@dataclass(frozen=True, slots=True)
class Summary(RunFacts):
    """Count, mean and standard deviation of response times; ``sd`` is None where the tool does not print it.

    ``quantiles`` are what else it prints, ``{0.95: 4.1}``: shown, never modelled. ``published`` is what the authors
    printed for it, in words.
    """

    group: Group
    origin: Origin
    count: int
    mean: float
    sd: float | None
    quantiles: Mapping[float, float] = field(default_factory=dict)
    published: str | None = None


@dataclass(frozen=True, slots=True)
class Series(RunFacts):
    """A figure at regular intervals of one run: throughput a second, or a mean response time with its count.

    Attributes:
        interval_seconds: between figures.
        values: in time order, the first one after ``starts_at_seconds`` of the run.
        counts: of mean response times, how many operations each is of, 0 of an interval without any, which has no mean;
            empty of throughput.
    """

    group: Group
    origin: Origin
    interval_seconds: float
    values: tuple[float, ...]
    starts_at_seconds: float = 0.0
    counts: tuple[float, ...] = ()

    @property
    def mean(self) -> float:
        """Of all operations where each figure is a mean of some of them, else of the figures; 0 of none."""
        if not self.counts:
            return math.fsum(self.values) / len(self.values) if self.values else 0.0
        total = math.fsum(self.counts)
        return math.fsum(map(operator.mul, self.values, self.counts)) / total if total else 0.0

    def first(self, count: int) -> Series:
        return replace(self, values=self.values[:count], counts=self.counts[:count])


@dataclass(frozen=True, slots=True)
class Figure(RunFacts):
    """One figure of a condition, as published tables and final reports have them.

    ``published`` is what the authors printed for its comparison with the baseline, in words (``1.09``, ``+50%``).
    """

    group: Group
    origin: Origin
    value: float
    published: str | None = None


Observation: TypeAlias = Samples | Binned | Summary | Series | Figure
