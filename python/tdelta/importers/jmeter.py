"""JMeter's results (``.jtl``), as XML and as CSV: ``elapsed`` is the response time, the label is the transaction.

As ``SampleResult`` and ``CSVSaveService`` of JMeter 2 to 5 write them. Samples within samples (redirects, embedded
resources) are parts of the one that they stand in. Latency is the time to the first byte, and not used. Samples that
say of themselves that they failed are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.parsers import expat

from tdelta.errors import ImportFault
from tdelta.importers.csv_columns import one_spelling
from tdelta.importers.csv_dialect import as_name, chunks_of, sniffed
from tdelta.importers.faults import Problems, number, place, shown, whole
from tdelta.importers.importer import Belonging, Importer
from tdelta.importers.reading import Source, excerpt
from tdelta.importers.samples import Requests, no_response_time
from tdelta.importers.xml_document import XmlDocument
from tdelta.inputs import missing, unexpected
from tdelta.messages import Caution
from tdelta.records.observed import Observation

_SAMPLES = frozenset(("sample", "httpsample"))
_COLUMNS = frozenset(("time_stamp", "elapsed", "label"))


class XmlImporter(Importer):
    name = "JMeter"

    def recognizes(self, source: Source) -> bool:
        return source.head_text.startswith("<") and "<testResults" in source.head_text

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        document = _Document(source, problems)
        document.parse(document.lines())
        problems.raise_if_any()
        noted = () if document.cut_off is None else (Caution.of("file-cut-off", line=document.cut_off),)
        own = belonging.noting(*noted).with_settings({"threads": document.users or None})
        yield from document.requests.samples(own)


class CsvImporter(Importer):
    name = "JMeter CSV"

    def recognizes(self, source: Source) -> bool:
        try:
            table = sniffed(source)
        except ImportFault:
            return False
        return table is not None and {one_spelling(cell) for cell in table.header} >= _COLUMNS

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        table = sniffed(source)
        if table is None:
            raise ImportFault(missing("a header with timeStamp, elapsed and label").at(source.name))
        at = {one_spelling(cell): index for index, cell in enumerate(table.header)}
        requests, users = Requests(source.name, has_whole=False), 0
        for lines, rows in chunks_of(source, table):
            for line, row in zip(lines, rows, strict=True):
                if "success" in at and row[at["success"]].strip().lower() == "false":
                    requests.failed += 1
                    continue
                elapsed = number(row[at["elapsed"]])
                if elapsed is None:
                    problems.add(no_response_time(excerpt(row[at["elapsed"]])), line)
                    continue
                requests.add(as_name(row[at["label"]], place(source.name, line)), elapsed, line)
                requests.take_stamp(row[at["time_stamp"]])
                users = max(users, whole(row[at["all_threads"]]) or 0) if "all_threads" in at else users
        problems.raise_if_any()
        yield from requests.samples(belonging.with_settings({"threads": users or None}))


IMPORTERS: tuple[Importer, ...] = (XmlImporter(), CsvImporter())


class _Document(XmlDocument):
    longest_markup = 2 << 20

    def __init__(self, source: Source, problems: Problems) -> None:
        super().__init__(problems, "utf-8")
        self.requests = Requests(source.name, has_whole=False)
        self.users = 0
        self.cut_off: int | None = None
        self._source = source
        self._last = 1

    def lines(self) -> Iterator[str]:
        for line, text in self._source.text_lines():
            self._last = line
            yield f"{text}\n"

    def finish(self) -> None:
        """A test that was stopped leaves its file without an end."""
        try:
            super().finish()
        except expat.ExpatError:
            if not self.path and not self.requests:
                raise
            self.cut_off = self._last

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        """One sample. Old versions wrote ``time``, ``label`` and ``success`` in full."""
        if name not in _SAMPLES or len(self.path) != 1:
            return
        elapsed = number(attributes.get("t", attributes.get("time", "")))
        if elapsed is None or elapsed < 0:
            found = shown(attributes.get("t"))
            self.problems.add(unexpected("a sample with its elapsed time in ms ('t')", found), self.line)
            return
        if attributes.get("s", attributes.get("success", "true")).lower() == "false":
            self.requests.failed += 1
            return
        label = attributes.get("lb", attributes.get("label", ""))
        self.requests.add(as_name(label, place(self._source.name, self.line)), elapsed, self.line)
        self.users = max(self.users, whole(attributes.get("na")) or 0)
        self.requests.take_stamp(attributes.get("ts", attributes.get("timeStamp", "")))
