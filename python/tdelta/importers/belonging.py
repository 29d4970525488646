"""Whose figures a file holds: its naming, together with what the file itself says of threads and runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tdelta.errors import ImportFault
from tdelta.importers.problems import shown
from tdelta.importers.protocol import Naming, Source
from tdelta.records.conditions import Level
from tdelta.records.observed import ALL, RESPONSE_TIME, THROUGHPUT, Group, Origin


@dataclass(frozen=True, slots=True)
class Belonging:
    """A file, the format it has, and whose figures are in it.

    ``cautions`` are said with every figure: what of the file was not taken as it stands.
    """

    file: str
    format: str
    condition: str
    run: str
    levels: tuple[tuple[str, Level], ...]
    cautions: tuple[str, ...] = ()

    def response_times(self, transaction: str = ALL) -> Group:
        """The group of response times of a transaction type, in ms."""
        return Group(self.condition, transaction, RESPONSE_TIME, "ms", self.run, self.levels)

    def throughput(self, transaction: str = ALL) -> Group:
        """The group of a throughput, a second."""
        return Group(self.condition, transaction, THROUGHPUT, "/s", self.run, self.levels)

    def origin(self, line: int | None = None, *cautions: str) -> Origin:
        """Where figures were read, and what must be said of them."""
        return Origin(self.file, self.format, line, (*self.cautions, *cautions))

    def with_level(self, name: str, value: Level | None) -> Belonging:
        """With what the file says of a factor. The name wins: it is what the user said."""
        named = dict(self.levels).get(name)
        if value is None or named == value:
            return self
        if named is None:
            return replace(self, levels=(*self.levels, (name, value)))
        note = f"the file says {name} {shown(str(value))}, its name {shown(str(named))}: taken as its name says"
        return replace(self, cautions=(*self.cautions, note))

    def of_run(self, position: int, runs: int) -> Belonging:
        """With a run of its own, where one file has several (``position`` from 1)."""
        return self if runs == 1 else replace(self, run=f"{self.run}.{position}")

    def noting(self, *cautions: str) -> Belonging:
        """With more that is said of every figure."""
        return replace(self, cautions=(*self.cautions, *cautions))


def belonging_of(source: Source, file_format: str, naming: Naming) -> Belonging:
    """What the naming says of a file that cannot say its condition itself.

    Raises:
        ImportFault: it has no condition.
    """
    if naming.condition is None:
        raise ImportFault(
            f"{source.name}: expected a condition, found none in its name, and {file_format} writes none into the file."
            f" Say it: --condition NAME='{source.path.name}'"
        )
    return Belonging(source.name, file_format, naming.condition, naming.run, naming.levels)
