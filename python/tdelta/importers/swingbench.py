"""Swingbench results (``results.xml``): count, mean, percentiles of each transaction type, throughput by the second.

Elements are matched by local name, in any namespace, wherever they stand, so that old and new layouts are read alike;
the misspelt names are Swingbench's own.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from tdelta.importers.faults import Problems, half_unit, number, plain_name, shown, whole
from tdelta.importers.importer import Belonging, Importer
from tdelta.importers.reading import Source
from tdelta.importers.samples import longest_stretch
from tdelta.importers.xml_document import Unusable, XmlDocument
from tdelta.inputs import missing, out_of_range, too_many, unexpected
from tdelta.messages import Caution
from tdelta.records.observed import Observation, Series, Summary

LONGEST_TEXT = 4096  # characters of one element, ``TPSReadings`` apart
MOST_TRANSACTIONS = 1000
MOST_ELEMENTS = 100_000
_MOST_PARTS = 100  # elements of one ``Result`` that are kept: it has some thirty
_PIECE_BYTES = 64 * 1024
_READINGS = "tpsreadings"
_RESULTS = frozenset(("result", "transactionresult"))
_OVERVIEW = frozenset(
    (
        "averagetransactionspersecond", "numberofusers", "totalruntime", "benchmarkname", "minimuminterthinktime",
        "maximuminterthinktime", "minimumintrathinktime", "maximumintrathinktime",
    )
)  # fmt: skip


@dataclass(slots=True)
class Transaction:
    line: int
    name: str
    texts: dict[str, tuple[str, int]] = field(default_factory=dict)


class Document(XmlDocument):
    """A results document: its transactions, its overview, its readings; filled by `parse`."""

    longest_markup = 256 * 1024

    def __init__(self, problems: Problems) -> None:
        super().__init__(problems)
        self.transactions: list[Transaction] = []
        self.overview: dict[str, tuple[str, int]] = {}
        self.epoch_ms = array("d")  # epoch_ms, rates: of the readings by the second
        self.rates = array("d")
        self._rest = ""  # of the readings, after the last comma
        self._is_damaged = False
        self._text: list[str] = []
        self._text_length = 0
        self._elements = 0

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        if self._elements > MOST_ELEMENTS:
            raise Unusable(too_many("elements", MOST_ELEMENTS))
        if name in _RESULTS:
            if len(self.transactions) >= MOST_TRANSACTIONS:
                raise Unusable(too_many("Result elements", MOST_TRANSACTIONS))
            self.transactions.append(Transaction(self.line, attributes.get("id", "").strip()))
        self._text, self._text_length = [], 0

    def text(self, text: str) -> None:
        if self.path[-1] == _READINGS:
            self._add_readings(text)
            return
        self._text_length += len(text)
        if self._text_length <= LONGEST_TEXT:
            self._text.append(text)

    def end(self, name: str) -> None:
        text = "".join(self._text).strip()
        self._text, self._text_length = [], 0
        if name == _READINGS:
            self._end_readings()
        elif self.path and self.path[-1] in _RESULTS:
            transaction = self.transactions[-1]
            if len(transaction.texts) < _MOST_PARTS:
                transaction.texts.setdefault(name, (text, self.line))
            if name == "name" and not transaction.name:
                transaction.name = text
        elif name in _OVERVIEW:
            self.overview.setdefault(name, (text, self.line))

    def _add_readings(self, text: str) -> None:
        """Pairs of epoch ms and transactions per second, with a comma after each. After damage no more are read."""
        if self._is_damaged:
            return
        *parts, self._rest = (self._rest + text).split(",")
        if len(self._rest) > LONGEST_TEXT:
            parts.append(self._rest)
        for part in parts:
            value = number(part) if len(part) <= LONGEST_TEXT else None
            if value is not None and value >= 0:
                (self.rates if len(self.epoch_ms) > len(self.rates) else self.epoch_ms).append(value)
            elif part.strip() or len(part) > LONGEST_TEXT:
                self._is_damaged = True
                expected = "epoch ms and transactions per second in TPSReadings"
                self.problems.add(unexpected(expected, shown(part.strip())), self.line)
                break

    def _end_readings(self) -> None:
        self._add_readings(",")
        if not self._is_damaged and len(self.epoch_ms) > len(self.rates):
            expected = "pairs of a time and a rate in TPSReadings"
            self.problems.add(unexpected(expected, "a time without its rate"), self.line)
        del self.epoch_ms[len(self.rates) :]


LARGEST_BYTES = 16 * 1024 * 1024  # a reading a second for nine days: no honest file comes near it
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
"""Settings of the test, by their elements."""
_RUN_TIME = re.compile(r"(\d{1,5}):([0-5]?\d):([0-5]?\d)", re.ASCII)
_WHOLE_MS = 1.0  # minimum and maximum are whole ms, the mean is not
_UNLIKELY = 10.0  # readings this many times off the overview's average are not transactions per second


class SwingbenchImporter(Importer):
    name = "Swingbench"

    def recognizes(self, source: Source) -> bool:
        lower = source.head_text.lower()
        return _ROOT.search(source.head_text) is not None and any(word in lower for word in _OWN_WORDS)

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        document = Document(problems)
        content = source.content(LARGEST_BYTES)
        document.parse(content[at : at + _PIECE_BYTES] for at in range(0, len(content), _PIECE_BYTES))
        users = whole(document.overview.get("numberofusers", ("", 0))[0])
        own = belonging.with_level("threads", users or None).with_settings(
            {words: plain_name(document.overview.get(key, ("", 0))[0].strip('"')) for key, words in _SETTINGS.items()}
        )
        yield from _observations(document, own, problems)
        if not problems and not document.transactions and not document.rates:
            problems.add(missing("a Result with AverageResponse, or TPSReadings,"))


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
        yield from _summary(transaction, belonging, problems)
    text, line = document.overview.get("averagetransactionspersecond", ("", 0))
    average = number(text)
    series, doubts = _series(document, average, belonging)
    if text and (average is None or average < 0):
        problems.add(unexpected("a number in AverageTransactionsPerSecond", shown(text)), line)
    elif average:
        yield belonging.noting(*doubts).printed_rate(text, line, _lasted(document))
    if series is not None:
        yield series


def _lasted(document: Document) -> float | None:
    match = _RUN_TIME.fullmatch(document.overview.get("totalruntime", ("", 0))[0].strip())
    return None if match is None else float(int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3]))


def _summary(transaction: Transaction, belonging: Belonging, problems: Problems) -> Iterator[Summary]:
    """One transaction type; nothing if it never ran, or if its figures are no figures (which is noted)."""
    count = _needed(transaction, "transactioncount", whole, "a count in TransactionCount", problems)
    mean = _needed(transaction, "averageresponse", number, "milliseconds in AverageResponse", problems)
    if count is None or mean is None or count == 0:
        return
    if mean <= 0:
        line = transaction.texts["averageresponse"][1]
        problems.add(unexpected(f"an AverageResponse above 0 of {shown(transaction.name)}", mean), line)
        return
    minimum, maximum = _value(transaction, "minimumresponse"), _value(transaction, "maximumresponse")
    if minimum is not None and maximum is not None and not minimum - _WHOLE_MS <= mean <= maximum + _WHOLE_MS:
        problems.add(
            out_of_range(
                f"AverageResponse of {shown(transaction.name)}",
                f"between its minimum and maximum ({minimum:g} and {maximum:g})",
                mean,
            ),
            transaction.line,
        )
        return
    failed = _value(transaction, "failedtransactioncount")
    notes = [Caution.of("failed-transactions", transactions=failed)] if failed else []
    origin = belonging.origin(transaction.line, *notes)
    rounding = half_unit(transaction.texts["averageresponse"][0])
    group = belonging.response_times(transaction.name)
    yield Summary(group, origin, int(count), mean, None, _quantiles(transaction), rounding=rounding)


def _needed(
    transaction: Transaction, key: str, read: Callable[[object], float | None], expected: str, problems: Problems
) -> float | None:
    text, line = transaction.texts.get(key, ("nothing", transaction.line))
    value = read(text)
    if value is None:
        problems.add(unexpected(f"{expected} of {shown(transaction.name)}", shown(text)), line)
    return value


def _value(transaction: Transaction, key: str) -> float | None:
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


def _series(
    document: Document, average: float | None, belonging: Belonging
) -> tuple[Series | None, tuple[Caution, ...]]:
    if not document.rates:
        return None, ()
    mean = sum(document.rates) / len(document.rates)
    if average and not 1 / _UNLIKELY < mean / average < _UNLIKELY:
        return None, (Caution.of("not-used", what=f"TPSReadings with a mean of {mean:g}", why="not per second"),)
    stretch = longest_stretch(np.asarray(document.epoch_ms) / 1000, document.rates)
    if stretch is None:
        return None, (Caution.of("not-used", what="TPSReadings", why="too few, or irregular"),)
    origin = belonging.origin(None, *stretch.notes)
    return stretch.series(belonging.throughput(), origin, began=document.epoch_ms[0] / 1000), ()
