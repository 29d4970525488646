"""Swingbench results (``results.xml``): count, mean, percentiles of each transaction type, throughput by the second.

Elements are matched by local name, in any namespace, wherever they stand, so that old and new layouts are read alike;
the misspelt names are Swingbench's own. A standard deviation is written only with ``-stats full``. The tool's author
shows the figure, not its element's name (dominicgiles.com, "New build of swingbench with improved stats"): whatever has
``StandardDeviation`` is taken, else ``Variance``, and only if it can belong to minimum, mean, maximum and percentiles.

What a document can do to its reader is bounded: see `document`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

import numpy as np

from tdelta.importers.accumulating import Printed, is_possible
from tdelta.importers.importer import Belonging, Importer, Naming, belonging_of
from tdelta.importers.intervals import longest_stretch
from tdelta.importers.problems import (
    Problems,
    half_unit,
    number,
    out_of_range,
    plain_name,
    shown,
    unexpected,
    whole,
)
from tdelta.importers.reading import Source
from tdelta.importers.swingbench.document import Document, Readings, Transaction
from tdelta.messages import Caution, Refusal
from tdelta.records.observed import Figure, Observation, Series, Summary

LARGEST_BYTES = 16 * 1024 * 1024
"""A reading a second for nine days: no honest file comes near it."""

_ROOT = re.compile(r"<(?:[\w.-]+:)?Results[\s>]")
_OWN_WORDS = ("swingbench", "<overview", ":overview", "transactionresults", "tpsreadings", "averageresponse")
_DECILES = {
    "tenth": 0.1,
    "twentieth": 0.2,
    "thirtieth": 0.3,
    "fortieth": 0.4,
    "fiftyth": 0.5,
    "fiftieth": 0.5,
    "sixtieth": 0.6,
    "seventieth": 0.7,
    "eightieth": 0.8,
    "ninetieth": 0.9,
    "ninetyfifth": 0.95,
    "ninetyninth": 0.99,
}
_SETTINGS = {
    "benchmarkname": "benchmark",
    "minimuminterthinktime": "least think time between transactions",
    "maximuminterthinktime": "most think time between transactions",
    "minimumintrathinktime": "least think time within transactions",
    "maximumintrathinktime": "most think time within transactions",
}
"""What a document says of the test, by its elements."""
_ROUNDING_MS = 1.0
"""Minimum, maximum and percentiles are whole ms; the mean is not."""

_RUN_TIME = re.compile(r"(\d{1,5}):([0-5]?\d):([0-5]?\d)", re.ASCII)
_UNLIKELY = 10.0
"""Readings this many times off the overview's average are not transactions per second."""


class SwingbenchImporter(Importer):
    name = "Swingbench"

    def recognizes(self, source: Source) -> bool:
        head = source.head.decode("utf-8", errors="replace")
        lower = head.lower()
        return _ROOT.search(head) is not None and any(word in lower for word in _OWN_WORDS)

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        document = Document(problems)
        document.parse(source.content(LARGEST_BYTES))
        users = whole(document.overview.get("numberofusers", ("", 0))[0])
        own = belonging.with_level("threads", users or None).with_settings(
            {words: plain_name(document.overview.get(key, ("", 0))[0].strip('"')) for key, words in _SETTINGS.items()}
        )
        yield from _observations(document, own, problems)
        if not problems and not document.transactions and not document.readings:
            problems.add(Refusal.of("missing", what="a Result with AverageResponse, or TPSReadings,"))


IMPORTERS: tuple[Importer, ...] = (SwingbenchImporter(),)


def _observations(document: Document, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
    names: set[str] = set()
    for transaction in document.transactions:
        if not transaction.texts:
            continue
        name = plain_name(transaction.name)
        if name is None or name in names:
            problems.add(unexpected("a Result with its own id", shown(transaction.name)), transaction.line)
            continue
        transaction.name = name
        names.add(name)
        summary = _summary(transaction, belonging, problems)
        if summary is not None:
            yield summary
    text, line = document.overview.get("averagetransactionspersecond", ("", 0))
    average = number(text)
    series, doubts = _series(document.readings, average, belonging)
    if text and (average is None or average < 0):
        problems.add(unexpected("a number in AverageTransactionsPerSecond", shown(text)), line)
    elif average:
        origin = belonging.origin(line, *doubts)
        yield Figure(
            belonging.throughput(), origin, average, rounding=half_unit(text), duration_seconds=_lasted(document)
        )
    if series is not None:
        yield series


def _lasted(document: Document) -> float | None:
    match = _RUN_TIME.fullmatch(document.overview.get("totalruntime", ("", 0))[0].strip())
    return None if match is None else float(int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3]))


def _summary(transaction: Transaction, belonging: Belonging, problems: Problems) -> Summary | None:
    """One transaction type; None if it never ran, or if its figures are no figures (which is noted)."""
    count = _needed(transaction, "transactioncount", whole, "a count in TransactionCount", problems)
    mean = _needed(transaction, "averageresponse", number, "milliseconds in AverageResponse", problems)
    if count is None or mean is None or count == 0:
        return None
    if mean <= 0:
        line = transaction.texts["averageresponse"][1]
        problems.add(unexpected(f"an AverageResponse above 0 of {shown(transaction.name)}", mean), line)
        return None
    quantiles = _quantiles(transaction)
    minimum, maximum = _value(transaction, "minimumresponse"), _value(transaction, "maximumresponse")
    sd: float | None = None
    notes: list[Caution] = []
    if minimum is not None and maximum is not None:
        printed = Printed(int(count), mean, minimum, maximum, quantiles, _ROUNDING_MS)
        if not printed.is_consistent:
            problems.add(
                out_of_range(
                    f"AverageResponse of {shown(transaction.name)}",
                    f"between its minimum and maximum ({minimum:g} and {maximum:g})",
                    mean,
                ),
                transaction.line,
            )
            return None
        sd, notes = _standard_deviation(transaction, printed)
    failed = _value(transaction, "failedtransactioncount")
    if failed:
        notes.append(Caution.of("failed-transactions", transactions=failed))
    origin = belonging.origin(transaction.line, *notes)
    rounding = half_unit(transaction.texts["averageresponse"][0])
    group = belonging.response_times(transaction.name)
    return Summary(group, origin, int(count), mean, sd, quantiles, rounding=rounding)


def _needed(
    transaction: Transaction, key: str, read: Callable[[object], float | None], expected: str, problems: Problems
) -> float | None:
    """A figure without which there is no summary."""
    text, line = transaction.texts.get(key, ("nothing", transaction.line))
    value = read(text)
    if value is None:
        problems.add(unexpected(f"{expected} of {shown(transaction.name)}", shown(text)), line)
    return value


def _value(transaction: Transaction, key: str) -> float | None:
    """A figure that may be missing; a negative one is none."""
    value = number(transaction.texts.get(key, ("", 0))[0])
    return value if value is not None and value >= 0 else None


def _quantiles(transaction: Transaction) -> dict[float, float]:
    """The percentiles, by share. Swingbench writes ``TenthPrecentile`` and ``EightiethPercentile``."""
    found = {}
    for key in transaction.texts:
        stem, spelling, _rest = key.partition("precentile" if "precentile" in key else "percentile")
        value = _value(transaction, key)
        if spelling and stem in _DECILES and value is not None:
            found[_DECILES[stem]] = value
    return dict(sorted(found.items()))


def _standard_deviation(transaction: Transaction, printed: Printed) -> tuple[float | None, list[Caution]]:
    """The standard deviation if it is there and possible, and what must be said if it is there and is not."""
    found = next((_value(transaction, key) for key in transaction.texts if "standarddeviation" in key), None)
    variance = next((_value(transaction, key) for key in transaction.texts if "variance" in key), None)
    sd = math.sqrt(variance) if found is None and variance is not None else found
    if sd is None or printed.count < 2:
        return None, []
    if not is_possible(sd, printed) or sd == 0:
        return None, [
            Caution.of("not-used", what=f"a standard deviation of {sd:g} ms", why="it does not fit the other figures")
        ]
    return sd, []


def _series(
    readings: Readings, average: float | None, belonging: Belonging
) -> tuple[Series | None, tuple[Caution, ...]]:
    """The readings as a series, or why they are none."""
    if not readings:
        return None, ()
    mean = sum(readings.rates) / len(readings.rates)
    if average and not 1 / _UNLIKELY < mean / average < _UNLIKELY:
        return None, (Caution.of("not-used", what=f"TPSReadings with a mean of {mean:g}", why="not per second"),)
    stretch = longest_stretch(np.asarray(readings.epoch_ms) / 1000, readings.rates)
    if stretch is None:
        return None, (Caution.of("not-used", what="TPSReadings", why="too few, or irregular"),)
    origin = belonging.origin(None, *stretch.notes)
    return stretch.series(belonging.throughput(), origin, began=readings.epoch_ms[0] / 1000), ()
