"""Swingbench results (``results.xml``): count, mean, percentiles of each transaction type, and throughput by the second.

Elements are matched by local name, in any namespace, wherever they stand, so that old and new layouts are read alike; the
misspelt names are Swingbench's own. The standard deviation is there only with ``-stats full``, under a name that this
module's author has not seen in a real file: whatever contains ``StandardDeviation`` is taken, else ``Variance``, and only
if it can belong to the minimum, mean, maximum and percentiles beside it.

What a document can do to its reader is bounded: no DTD and no entities, at most 32 levels and 32 MiB.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from tdelta.importers.belonging import Belonging, belonging_of
from tdelta.importers.intervals import longest_stretch
from tdelta.importers.moments import Printed, is_possible
from tdelta.importers.problems import Problems, number, problems_of, shown, whole
from tdelta.importers.protocol import Importer, Naming, Source
from tdelta.records.observed import Figure, Observation, Series, Summary

FORMAT = "Swingbench"

LARGEST_BYTES = 32 * 1024 * 1024
"""A reading a second for three weeks; no honest file comes near it."""

DEEPEST = 32
LONGEST_TEXT = 4096
"""Of one element, ``TPSReadings`` apart."""

MOST_TRANSACTIONS = 1000

_ROOT = re.compile(r"<(?:[\w.-]+:)?Results[\s>]")
_OWN_WORDS = ("swingbench", "<overview", ":overview", "transactionresults", "tpsreadings", "averageresponse")
_RESULTS = frozenset(("result", "transactionresult"))
_OVERVIEW = frozenset(("averagetransactionspersecond", "numberofusers"))
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
_ROUNDING_MS = 1.0
"""Minimum, maximum and percentiles are whole ms; the mean is not."""

_UNLIKELY = 10.0
"""Readings this many times off the overview's average are not transactions a second."""


@dataclass(slots=True)
class _Transaction:
    """One ``Result``: its elements' texts by lower-case local name, and the lines they stand on."""

    line: int
    name: str
    texts: dict[str, tuple[str, int]] = field(default_factory=dict)


class SwingbenchImporter:
    """Results XML of Swingbench 2 and newer."""

    name = FORMAT

    def recognizes(self, source: Source) -> bool:
        """A root element ``Results`` with Swingbench's own elements or namespace."""
        head = source.head.decode("utf-8", errors="replace")
        lower = head.lower()
        return _ROOT.search(head) is not None and any(word in lower for word in _OWN_WORDS)

    def read(self, source: Source, naming: Naming) -> Iterator[Observation]:
        """A summary a transaction type, the average throughput, and its readings."""
        belonging = belonging_of(source, FORMAT, naming)
        problems = problems_of(source, FORMAT)
        document = _Document(problems)
        document.parse(source.content(LARGEST_BYTES))
        users = whole(document.overview.get("numberofusers", ("", 0))[0])
        yield from _observations(document, belonging.with_level("threads", users or None), problems)
        if not problems and not document.transactions and not document.readings:
            problems.add("expected Result elements with AverageResponse, or TPSReadings; found neither")
        problems.raise_if_any()


IMPORTERS: tuple[Importer, ...] = (SwingbenchImporter(),)


class _Unusable(Exception):
    """The document is refused where the parser stands."""


class _Document:
    """A results document, read by expat: the few elements that matter are kept."""

    def __init__(self, problems: Problems) -> None:
        self.transactions: list[_Transaction] = []
        self.overview: dict[str, tuple[str, int]] = {}
        self.readings = _Readings()
        self._problems = problems
        self._path: list[str] = []
        self._text: list[str] = []
        self._text_length = 0
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._refuse_declarations
        self._parser.EntityDeclHandler = self._refuse_declarations
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    def parse(self, content: bytes) -> None:
        """Reads a document. What is wrong with it is noted; what came before stays."""
        try:
            self._parser.Parse(content, True)
        except _Unusable as refused:
            self._problems.add(str(refused), self._parser.CurrentLineNumber)
        except expat.ExpatError as error:
            words = expat.errors.messages.get(error.code, "no XML")
            self._problems.add(f"expected well-formed XML, found: {words}", error.lineno)
        except (ValueError, LookupError):
            self._problems.add("expected XML in UTF-8 or another encoding that it names, found one that is not known", 1)

    def _refuse_declarations(self, *_declared: object) -> None:
        raise _Unusable("expected results alone, found a document type or an entity declaration, which are not read")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = _local(name)
        if len(self._path) >= DEEPEST:
            raise _Unusable(f"expected at most {DEEPEST} levels of elements, found more")
        if local in _RESULTS:
            if len(self.transactions) >= MOST_TRANSACTIONS:
                raise _Unusable(f"expected at most {MOST_TRANSACTIONS} Result elements, found more")
            self.transactions.append(_Transaction(self._parser.CurrentLineNumber, attributes.get("id", "")))
        self._path.append(local)
        self._text, self._text_length = [], 0

    def _characters(self, text: str) -> None:
        if self._path[-1:] == ["tpsreadings"]:
            self.readings.add(text, self._parser.CurrentLineNumber, self._problems)
            return
        self._text_length += len(text)
        if self._text_length <= LONGEST_TEXT:
            self._text.append(text)

    def _end(self, _name: str) -> None:
        local = self._path.pop()
        if local == "tpsreadings":
            self.readings.end(self._parser.CurrentLineNumber, self._problems)
        text, line = "".join(self._text).strip(), self._parser.CurrentLineNumber
        self._text, self._text_length = [], 0
        if self._path and self._path[-1] in _RESULTS:
            transaction = self.transactions[-1]
            transaction.texts.setdefault(local, (text, line))
            if local == "name" and not transaction.name:
                transaction.name = text
        elif local in _OVERVIEW:
            self.overview.setdefault(local, (text, line))


class _Readings:
    """``TPSReadings``: pairs of epoch ms and transactions a second, with a comma behind each, read in pieces."""

    def __init__(self) -> None:
        self.epoch_ms = array("d")
        self.rates = array("d")
        self._rest = ""
        self._is_damaged = False

    def __bool__(self) -> bool:
        return bool(self.rates)

    def add(self, text: str, line: int, problems: Problems) -> None:
        """Reads on. After the first damage nothing is: what was a time and what a rate is no longer known."""
        if self._is_damaged:
            return
        *whole_ones, self._rest = (self._rest + text).split(",")
        for part in whole_ones:
            self._take(part, line, problems)
            if self._is_damaged:
                return
        if len(self._rest) > LONGEST_TEXT:
            self._damaged(self._rest, line, problems)

    def end(self, line: int, problems: Problems) -> None:
        """The element ends: the last pair may lack its comma."""
        if not self._is_damaged and self._rest.strip():
            self._take(self._rest, line, problems)
        if not self._is_damaged and len(self.epoch_ms) > len(self.rates):
            problems.add("expected pairs of a time and a rate in TPSReadings, found a time without its rate", line)
            self.epoch_ms.pop()
        self._rest = ""

    def _take(self, part: str, line: int, problems: Problems) -> None:
        value = number(part)
        if value is None or value < 0:
            self._damaged(part, line, problems)
        elif len(self.epoch_ms) == len(self.rates):
            self.epoch_ms.append(value)
        else:
            self.rates.append(value)

    def _damaged(self, part: str, line: int, problems: Problems) -> None:
        self._is_damaged = True
        del self.epoch_ms[len(self.rates) :]
        problems.add(f"expected epoch ms and transactions a second in TPSReadings, found {shown(part.strip())}", line)


def _observations(document: _Document, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
    names: set[str] = set()
    for transaction in document.transactions:
        if not transaction.texts:
            continue
        if not transaction.name or transaction.name in names:
            problems.add(f"expected a Result with an id of its own, found {shown(transaction.name)}", transaction.line)
            continue
        names.add(transaction.name)
        summary = _summary(transaction, belonging, problems)
        if summary is not None:
            yield summary
    text, line = document.overview.get("averagetransactionspersecond", ("", 0))
    average = number(text)
    series, doubts = _series(document.readings, average, belonging)
    if text and (average is None or average < 0):
        problems.add(f"expected a number in AverageTransactionsPerSecond, found {shown(text)}", line)
    elif average:
        yield Figure(belonging.throughput(), belonging.origin(line, *doubts), average)
    if series is not None:
        yield series


def _summary(transaction: _Transaction, belonging: Belonging, problems: Problems) -> Summary | None:
    """One transaction type; None if it never ran, or if its figures are no figures (which is noted)."""
    count = _needed(transaction, "transactioncount", whole, "a count in TransactionCount", problems)
    mean = _needed(transaction, "averageresponse", number, "milliseconds in AverageResponse", problems)
    if count is None or mean is None or count == 0:
        return None
    if mean <= 0:
        line = transaction.texts["averageresponse"][1]
        problems.add(f"expected an AverageResponse above 0 of {shown(transaction.name)}, found {mean:g}", line)
        return None
    quantiles = _quantiles(transaction)
    minimum, maximum = _value(transaction, "minimumresponse"), _value(transaction, "maximumresponse")
    sd, notes = None, []
    if minimum is not None and maximum is not None:
        printed = Printed(int(count), mean, minimum, maximum, quantiles, _ROUNDING_MS)
        if not printed.is_consistent:
            problems.add(
                f"expected the AverageResponse of {shown(transaction.name)} between its minimum and maximum, "
                f"found {mean:g} and {minimum:g} … {maximum:g}",
                transaction.line,
            )
            return None
        sd, notes = _standard_deviation(transaction, printed)
    failed = _value(transaction, "failedtransactioncount")
    if failed:
        notes.append(f"{failed:.0f} failed transactions")
    origin = belonging.origin(transaction.line, *notes)
    return Summary(belonging.response_times(transaction.name), origin, int(count), mean, sd, quantiles)


def _needed(
    transaction: _Transaction, key: str, read: Callable[[object], float | None], expected: str, problems: Problems
) -> float | None:
    """A figure without which there is no summary."""
    text, line = transaction.texts.get(key, ("nothing", transaction.line))
    value = read(text)
    if value is None:
        problems.add(f"expected {expected} of {shown(transaction.name)}, found {shown(text)}", line)
    return value


def _value(transaction: _Transaction, key: str) -> float | None:
    """A figure that may be missing; a negative one is none."""
    value = number(transaction.texts.get(key, ("", 0))[0])
    return value if value is not None and value >= 0 else None


def _quantiles(transaction: _Transaction) -> dict[float, float]:
    """The percentiles, by share. Swingbench writes ``TenthPrecentile`` and ``EightiethPercentile``."""
    found = {}
    for key in transaction.texts:
        stem, spelling, _rest = key.partition("precentile" if "precentile" in key else "percentile")
        value = _value(transaction, key)
        if spelling and stem in _DECILES and value is not None:
            found[_DECILES[stem]] = value
    return dict(sorted(found.items()))


def _standard_deviation(transaction: _Transaction, printed: Printed) -> tuple[float | None, list[str]]:
    """The standard deviation if it is there and possible, and what must be said if it is there and is not."""
    found = next((_value(transaction, key) for key in transaction.texts if "standarddeviation" in key), None)
    variance = next((_value(transaction, key) for key in transaction.texts if "variance" in key), None)
    sd = math.sqrt(variance) if found is None and variance is not None else found
    if sd is None or printed.count < 2:
        return None, []
    if not is_possible(sd, printed) or sd == 0:
        return None, [f"a standard deviation of {sd:g} ms cannot belong to the other figures: not used"]
    return sd, []


def _series(
    readings: _Readings, average: float | None, belonging: Belonging
) -> tuple[Series | None, tuple[str, ...]]:
    """The readings as a series, or why they are none."""
    if not readings:
        return None, ()
    mean = sum(readings.rates) / len(readings.rates)
    if average and not 1 / _UNLIKELY < mean / average < _UNLIKELY:
        return None, (f"TPSReadings with a mean of {mean:g} are not transactions a second: not used",)
    stretch = longest_stretch([ms / 1000 for ms in readings.epoch_ms], readings.rates)
    if stretch is None:
        return None, ("TPSReadings are too few, or too irregular: not used",)
    origin = belonging.origin(None, *stretch.notes)
    return Series(
        belonging.throughput(), origin, stretch.interval_seconds, stretch.values, stretch.starts_at_seconds
    ), ()


def _local(name: str) -> str:
    """The local name, in lower case: ``sb:Result`` is ``result``."""
    return name.rpartition(":")[2].lower()
