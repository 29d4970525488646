"""An importer, and whose figures a file holds: its naming, with what the file itself says of threads and runs.

An importer reads what strangers wrote: old and new layouts, counts that are wrong, files cut off in the middle. It
yields what can be used and raises one `ImportFault` that names everything it cannot use, with its place; it never
guesses a figure. It holds one piece of a file at a time, whatever the file's size.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from tdelta.errors import ImportFault
from tdelta.importers.faults import LARGEST_JSON_BYTES, Problems, half_unit, json_text, shown
from tdelta.importers.reading import Source, printable
from tdelta.inputs import unexpected
from tdelta.messages import Caution, Refusal
from tdelta.records.conditions import Level
from tdelta.records.observed import ALL, RESPONSE_TIME, THROUGHPUT, Figure, Group, Observation, Origin

Levels: TypeAlias = tuple[tuple[str, Level], ...]


@dataclass(frozen=True, slots=True)
class Naming:
    """Facts about everything in a file from its name and folder, or from the user."""

    condition: str | None  # its condition; None where the file itself must say (a column of a CSV)
    run: str = "1"
    levels: Levels = ()  # what tells its configurations apart in names, ``(("name", "warm"),)``
    unit: str | None = None  # of figures of which the file says none (``ms``, ``tps``), as the user says it
    column: str | None = None  # where the figures are, as the user says it: a column, a metric, a unit of results


@dataclass(frozen=True, slots=True)
class Belonging:
    """A file, the format it has, and whose figures are in it.

    ``cautions`` are said with every figure: what of the file was not taken as it stands. ``settings`` are what the file
    says of the test.
    """

    file: str
    format: str
    condition: str
    run: str
    levels: Levels
    cautions: tuple[Caution, ...] = ()
    settings: Levels = ()

    def response_times(self, transaction: str = ALL) -> Group:
        return Group(self.condition, transaction, RESPONSE_TIME, "ms", self.run, self.levels)

    def throughput(self, transaction: str = ALL) -> Group:
        return Group(self.condition, transaction, THROUGHPUT, "/s", self.run, self.levels)

    def origin(self, line: int | None = None, *cautions: Caution) -> Origin:
        return Origin(self.file, self.format, line, (*self.cautions, *cautions), settings=self.settings)

    def printed_rate(self, printed: str, line: int | None = None, seconds: float | None = None) -> Figure:
        """Throughput as a tool prints it, which may be off by half of its last digit; of a run of so many seconds."""
        rounding = half_unit(printed)
        return Figure(self.throughput(), self.origin(line), float(printed), rounding=rounding, duration_seconds=seconds)

    def with_level(self, name: str, value: Level | None) -> Belonging:
        """With what the file says of a factor, if anything."""
        return self if value is None else replace(self, levels=(*self.levels, (name, value)))

    def with_settings(self, found: Mapping[str, Level | None]) -> Belonging:
        """With what the file says of the test, by the tool's own names; None is what it does not say."""
        known = {name: printable(it) if isinstance(it, str) else it for name, it in found.items() if it is not None}
        return replace(self, settings=(*self.settings, *known.items()))

    def of_run(self, position: int, runs: int) -> Belonging:
        """With a run of its own, where one file has several (``position`` from 1)."""
        return self if runs == 1 else replace(self, run=f"{self.run}.{position}")

    def noting(self, *cautions: Caution) -> Belonging:
        return replace(self, cautions=(*self.cautions, *cautions))


def belonging_of(source: Source, file_format: str, naming: Naming) -> Belonging:
    """The condition of a file that cannot name it itself, from the naming.

    Raises `ImportFault`: it has no condition.
    """
    if naming.condition is None:
        raise ImportFault(
            Refusal.of("file-without-condition", format=file_format, name=source.path.name).at(source.name)
        )
    return Belonging(source.name, file_format, naming.condition, naming.run, naming.levels)


class Importer:
    """A format. Those with marks print lines that are known each by itself, wherever they stand in a file."""

    name: str  # as the result names it: ``sysbench``, ``pgbench log``
    is_general = False  # tried only if no tool's importer recognizes the file
    has_columns = False  # whether files hold several figures, of which the user may choose one (`Naming.column`)
    has_conditions = False  # whether a column may be the condition
    is_per_thread = False  # whether each thread of a run writes a file of its own

    def recognizes(self, source: Source) -> bool:
        """Whether the content, by its head, is of this format. No two importers of tools may recognize one file."""
        raise NotImplementedError

    def read(self, source: Source, naming: Naming) -> Iterator[Observation]:
        """Observations of the file.

        Raises `ImportFault`: what was expected, what was found, ``file:line``, and what to do; all faults at once.
        """
        problems = Problems(source.name)
        yield from self.observations(source, belonging_of(source, self.name, naming), problems)
        problems.raise_if_any()

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        """Observations of a file whose condition is known; faults are noted, or raised."""
        raise NotImplementedError

    def is_mark(self, _line: str) -> bool:
        """Whether a line, without spaces around it, is one that only this tool prints of a run."""
        return False

    def has_results(self, _source: Source) -> bool:
        """Whether a file of this format holds a result at all; logs of a build or of a load do not."""
        return True

    def has_column(self, _source: Source, _column: str) -> bool:
        """Whether it is a table with a column that the user names, though none that is known."""
        return False

    def says_conditions(self, _source: Source) -> bool:
        """Whether the file itself names its conditions."""
        return False


def json_value(source: Source, problems: Problems, largest_bytes: int = LARGEST_JSON_BYTES) -> object:
    """The content of a JSON file; None, with a fault, for other files. Raises `ImportFault`: it is larger than that."""
    try:
        return json_text(source.content(largest_bytes).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        problems.add(unexpected("UTF-8", f"the byte {error.object[error.start]:#04x}"))
    except json.JSONDecodeError as error:
        problems.add(Refusal.of("invalid", kind="JSON", fault=error.msg), error.lineno)
    except (ValueError, RecursionError):
        problems.add(Refusal.of("invalid", kind="JSON", fault="a number or a nesting that is too long"))
    return None


def json_object(source: Source, problems: Problems, largest_bytes: int = LARGEST_JSON_BYTES) -> Mapping[str, object]:
    """The object that the file holds; empty, with a fault, where it holds none."""
    found = json_value(source, problems, largest_bytes)
    if isinstance(found, dict):
        return found
    if not problems:
        problems.add(unexpected("a JSON object", shown(found)))
    return {}
