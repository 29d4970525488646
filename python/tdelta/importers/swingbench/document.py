"""A Swingbench results document, read by expat: the few elements that matter are kept.

What a document can do to its reader is bounded: no DTD, no entities, so many levels and elements, so long tags.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from xml.parsers import expat

from tdelta.importers.problems import Problems, number, shown, too_many, unexpected
from tdelta.messages import Refusal

DEEPEST = 32
LONGEST_TEXT = 4096
"""Characters of one element, ``TPSReadings`` apart."""

MOST_TRANSACTIONS = 1000
MOST_ELEMENTS = 100_000
_MOST_PARTS = 100
"""Elements of one ``Result`` that are kept: it has some thirty."""

_PIECE_BYTES = 64 * 1024
_LONGEST_MARKUP_BYTES = 256 * 1024
"""Of one tag or comment: expat holds all of it, and each attribute takes a hundred times its length."""

_RESULTS = frozenset(("result", "transactionresult"))
_OVERVIEW = frozenset(
    (
        "averagetransactionspersecond", "numberofusers", "totalruntime", "benchmarkname", "minimuminterthinktime",
        "maximuminterthinktime", "minimumintrathinktime", "maximumintrathinktime",
    )
)  # fmt: skip


@dataclass(slots=True)
class Transaction:
    """One ``Result``: its elements' texts by lower-case local name, and the lines they stand on."""

    line: int
    name: str
    texts: dict[str, tuple[str, int]] = field(default_factory=dict)


class _Unusable(Exception):
    """The document is refused where the parser stands."""

    def __init__(self, said: Refusal) -> None:
        super().__init__(said)
        self.said = said


class Document:
    """A results document: its transactions, its overview, its readings; filled by `parse`."""

    def __init__(self, problems: Problems) -> None:
        self.transactions: list[Transaction] = []
        self.overview: dict[str, tuple[str, int]] = {}
        self.readings = Readings()
        self._problems = problems
        self._path: list[str] = []
        self._text: list[str] = []
        self._text_length = 0
        self._elements = 0
        self._silent_bytes = 0
        self._parser = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._refuse_declarations
        self._parser.EntityDeclHandler = self._refuse_declarations
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    def parse(self, content: bytes) -> None:
        """Reads a document. What is wrong with it is noted; what came before stays."""
        try:
            for begin in range(0, len(content), _PIECE_BYTES):
                piece = content[begin : begin + _PIECE_BYTES]
                self._silent_bytes += len(piece)
                self._parser.Parse(piece, False)
                if self._silent_bytes > _LONGEST_MARKUP_BYTES:
                    raise _Unusable(unexpected("short tags", "one without an end"))
            self._parser.Parse(b"", True)
        except _Unusable as refused:
            self._problems.add(refused.said, self._parser.CurrentLineNumber)
        except expat.ExpatError as error:
            words = expat.errors.messages.get(error.code, "no XML")
            self._problems.add(Refusal.of("invalid", kind="XML", fault=words), error.lineno)
        except (ValueError, LookupError):
            self._problems.add(unexpected("XML in a known encoding (UTF-8)", "another"), 1)

    def _refuse_declarations(self, *_declared: object) -> None:
        raise _Unusable(unexpected("results only", "a document type or entity"))

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = _local(name)
        self._silent_bytes, self._elements = 0, self._elements + 1
        if self._elements > MOST_ELEMENTS:
            raise _Unusable(too_many("elements", MOST_ELEMENTS))
        if len(self._path) >= DEEPEST:
            raise _Unusable(too_many("levels of elements", DEEPEST))
        if local in _RESULTS:
            if len(self.transactions) >= MOST_TRANSACTIONS:
                raise _Unusable(too_many("Result elements", MOST_TRANSACTIONS))
            self.transactions.append(Transaction(self._parser.CurrentLineNumber, attributes.get("id", "").strip()))
        self._path.append(local)
        self._text, self._text_length = [], 0

    def _characters(self, text: str) -> None:
        self._silent_bytes = 0
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
            if len(transaction.texts) < _MOST_PARTS:
                transaction.texts.setdefault(local, (text, line))
            if local == "name" and not transaction.name:
                transaction.name = text
        elif local in _OVERVIEW:
            self.overview.setdefault(local, (text, line))


class Readings:
    """``TPSReadings``: pairs of epoch ms and transactions per second, with a comma behind each, read in pieces."""

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
            problems.add(unexpected("pairs of a time and a rate in TPSReadings", "a time without its rate"), line)
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
        problems.add(unexpected("epoch ms and transactions per second in TPSReadings", shown(part.strip())), line)


def _local(name: str) -> str:
    """The local name, in lower case: ``sb:Result`` is ``result``."""
    return name.rpartition(":")[2].lower()
