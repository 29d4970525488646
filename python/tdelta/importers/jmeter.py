"""JMeter's results (``.jtl``), as XML and as CSV: ``elapsed`` is the response time, the label is the transaction.

As ``SampleResult`` and ``CSVSaveService`` of JMeter 2 to 5 write them. Samples within samples (redirects, embedded
resources) are parts of the one that they stand in. Latency is the time to the first byte, and not used. Samples that
say of themselves that they failed are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.parsers import expat

from tdelta.errors import ImportFault
from tdelta.importers.csv_columns import is_jmeter
from tdelta.importers.csv_dialect import sniffed
from tdelta.importers.csv_rows import CsvRows
from tdelta.importers.importer import Belonging, Importer
from tdelta.importers.intervals import Requests
from tdelta.importers.problems import Problems, number, shown, too_many, unexpected, whole
from tdelta.importers.reading import Source
from tdelta.messages import Caution, Refusal
from tdelta.records.observed import Observation

DEEPEST = 32
_LONGEST_MARKUP_BYTES = 2 << 20
"""Of one tag or comment: expat holds all of it."""
_SAMPLES = frozenset(("sample", "httpsample"))


class XmlImporter(Importer):
    name = "JMeter"
    most_faults = 100

    def recognizes(self, source: Source) -> bool:
        head = source.head.decode("utf-8", errors="replace")
        return "<testResults" in head and head.lstrip("\ufeff \r\n\t").startswith("<")

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        document = _Document(source, problems)
        document.parse()
        problems.raise_if_any()
        if not document.requests:
            raise ImportFault(document.requests.nothing().at(source.name))
        noted = () if document.cut_off is None else (Caution.of("file-cut-off", line=document.cut_off),)
        own = belonging.noting(*noted).with_settings({"threads": document.users or None})
        yield from document.requests.samples(own)


class CsvImporter(CsvRows):
    name = "JMeter CSV"
    has_conditions = False

    def recognizes(self, source: Source) -> bool:
        try:
            table = sniffed(source)
        except ImportFault:
            return False
        return table is not None and is_jmeter(table.header)


IMPORTERS: tuple[Importer, ...] = (XmlImporter(), CsvImporter())


class _Unusable(Exception):
    """The document is refused where the parser stands."""

    def __init__(self, said: Refusal) -> None:
        super().__init__(said)
        self.said = said


class _Document:
    """One file being read, line by line; nothing but sums is kept."""

    def __init__(self, source: Source, problems: Problems) -> None:
        self.requests = Requests(source.name, has_whole=False)
        self.users = 0
        self.cut_off: int | None = None
        self._source = source
        self._problems = problems
        self._path: list[str] = []
        self._silent_bytes = 0
        self._last = 1
        self._parser = expat.ParserCreate("utf-8")
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.EntityDeclHandler = self._refuse
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    def parse(self) -> None:
        """Reads it. What is wrong with it is noted; a test that was stopped leaves it without its end."""
        try:
            for line, text in self._source.text_lines():
                self._silent_bytes += len(text)
                if self._silent_bytes > _LONGEST_MARKUP_BYTES:
                    raise _Unusable(unexpected("short tags", "one without an end"))
                self._last = line
                self._parser.Parse(f"{text}\n", False)
            self._end_of_file()
        except _Unusable as refused:
            self._problems.add(refused.said, self._parser.CurrentLineNumber)
        except expat.ExpatError as error:
            words = expat.errors.messages.get(error.code, "no XML")
            self._problems.add(Refusal.of("invalid", kind="XML", fault=words), error.lineno)

    def _end_of_file(self) -> None:
        try:
            self._parser.Parse(b"", True)
        except expat.ExpatError:
            if not self._path and not self.requests:
                raise
            self.cut_off = self._last

    def _refuse(self, *_declared: object) -> None:
        raise _Unusable(unexpected("results only", "a document type or entity"))

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._silent_bytes = 0
        local = name.rpartition(":")[2].lower()
        if len(self._path) >= DEEPEST:
            raise _Unusable(too_many("levels of elements", DEEPEST))
        if local in _SAMPLES and len(self._path) == 1:
            self._take(attributes)
        self._path.append(local)

    def _take(self, attributes: dict[str, str]) -> None:
        """One sample. Old versions wrote ``time``, ``label`` and ``success`` in full."""
        line = self._parser.CurrentLineNumber
        elapsed = number(attributes.get("t", attributes.get("time", "")))
        if elapsed is None or elapsed < 0:
            self._problems.add(
                unexpected("a sample with its elapsed time in ms ('t')", shown(attributes.get("t"))), line
            )
            return
        if attributes.get("s", attributes.get("success", "true")).lower() == "false":
            self.requests.failed += 1
            return
        self.requests.add(attributes.get("lb", attributes.get("label", "")), elapsed, line)
        self.users = max(self.users, whole(attributes.get("na")) or 0)
        stamp = number(attributes.get("ts", attributes.get("timeStamp", "")))
        if stamp is not None and stamp > 0:
            self.requests.span.take(stamp / 1e3)

    def _end(self, _name: str) -> None:
        self._silent_bytes = 0
        self._path.pop()

    def _characters(self, _text: str) -> None:
        self._silent_bytes = 0
