"""Files without a header that hold one number a line: what ``awk '{print $1}'`` leaves of a log."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from tdelta.errors import ImportFault
from tdelta.importers.csv_columns import measure_of_unit
from tdelta.importers.faults import Problems, number
from tdelta.importers.importer import Importer, Naming, belonging_of
from tdelta.importers.reading import Source, excerpt, head_lines
from tdelta.importers.samples import LONGEST_MS, Gathering, no_response_time
from tdelta.inputs import too_many, unexpected
from tdelta.messages import Caution, Refusal
from tdelta.records.observed import ALL, RESPONSE_TIME, Observation, Series

FEWEST = 5  # a file with fewer is a process id, or a version
MOST_READINGS = 1_000_000


class NumbersOnly(Importer):
    name = "numbers"

    def recognizes(self, source: Source) -> bool:
        filled = [line for line in head_lines(source, only_whole=True) if line.strip()]
        return len(filled) >= FEWEST and all(number(line) is not None for line in filled)

    def read(self, source: Source, naming: Naming) -> Iterator[Observation]:
        measure = measure_of_unit(naming.unit or "")
        if measure is None:
            raise ImportFault(Refusal.of("numbers-without-unit").at(source.name))
        belonging = belonging_of(source, self.name, naming)
        if measure.metric == RESPONSE_TIME:
            gathering: Gathering[str] = Gathering(source.name, "files")
            for line, value in _values(source):
                if value * measure.scale > LONGEST_MS:
                    raise ImportFault(no_response_time(f"{value:g}", f"{source.name}:{line}"))
                gathering.add(ALL, value * measure.scale, line)
            yield from gathering.samples(lambda _: belonging.response_times(), belonging.origin())
            return
        readings = array("d")
        for line, value in _values(source):
            if len(readings) >= MOST_READINGS:
                raise ImportFault(too_many("readings", MOST_READINGS, f"{source.name}:{line}"))
            readings.append(value * measure.scale)
        origin = belonging.origin(None, Caution.of("numbers-as-readings"))
        yield Series(belonging.throughput(), origin, 1.0, tuple(readings))


def _values(source: Source) -> Iterator[tuple[int, float]]:
    faults = Problems(source.name)
    for line, text in source.text_lines():
        if not text.strip():
            continue
        value = number(text)
        if value is None or value < 0:
            faults.add(unexpected("a number of 0 or more", excerpt(text.strip())), line)
        else:
            yield line, value
    faults.raise_if_any()


IMPORTERS: tuple[Importer, ...] = (NumbersOnly(),)
