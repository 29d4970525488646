"""Whose figures a file holds: its naming, together with what the file itself says of threads and runs.

Where both say something of a factor, the file is believed, in every format: it is what ran, and a name is typed by hand
and outlives a change of the command. That they differ is told. A file whose name is wrong may then have the levels of
another file, so its run's name keeps what its own name said: two files are not taken for one run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from tdelta.errors import ImportFault
from tdelta.importers.protocol import Naming, Source
from tdelta.importers.reading import printable
from tdelta.messages import Caution, Refusal
from tdelta.records.conditions import Level
from tdelta.records.observed import ALL, RESPONSE_TIME, THROUGHPUT, Group, Origin

Levels: TypeAlias = tuple[tuple[str, Level], ...]

_NO_CLAIM = frozenset({"name", "number"})
"""What only tells names apart says nothing of a factor."""


def with_said(levels: Levels, name: str, said: Level) -> tuple[Levels, Level | None]:
    """The levels of a file's name with what the file itself says of a factor.

    Returns:
        The levels, that factor last, and what the name says of it; None where that is nothing, or the same.
    """
    named = None if name in _NO_CLAIM else dict(levels).get(name)
    is_other = named is not None and _spelled(named) != _spelled(said)
    return (*(it for it in levels if it[0] != name), (name, said)), named if is_other else None


def contradiction(name: str, named: Level, said: Level) -> Caution:
    claims = {"factor": name, "named": named, "said": said}
    return Caution.of("name-contradicted", **{key: printable(str(it)) for key, it in claims.items()})


def apart(run: str, name: str, named: Level | None) -> str:
    """A run's name with what the file's name said wrongly of a factor; None where it did not."""
    return run if named is None else f"{run}, named {name} {named}"


def _spelled(level: Level) -> str:
    """``5 GB`` and ``5gb`` are one level, and so are 16 and 16.0."""
    is_whole = isinstance(level, float) and level.is_integer()
    return str(int(level) if is_whole else level).replace(" ", "").lower()


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
        """The group of response times of a transaction type, in ms."""
        return Group(self.condition, transaction, RESPONSE_TIME, "ms", self.run, self.levels)

    def throughput(self, transaction: str = ALL) -> Group:
        return Group(self.condition, transaction, THROUGHPUT, "/s", self.run, self.levels)

    def origin(self, line: int | None = None, *cautions: Caution) -> Origin:
        return Origin(self.file, self.format, line, (*self.cautions, *cautions), settings=self.settings)

    def with_level(self, name: str, value: Level | None) -> Belonging:
        """With what the file says of a factor, if anything; its name may say otherwise."""
        if value is None:
            return self
        levels, named = with_said(self.levels, name, value)
        noted = () if named is None else (contradiction(name, named, str(value)),)
        return replace(self, levels=levels, run=apart(self.run, name, named), cautions=(*self.cautions, *noted))

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
    """What the naming says of a file that cannot say its condition itself.

    Raises:
        ImportFault: it has no condition.
    """
    if naming.condition is None:
        raise ImportFault(
            Refusal.of("file-without-condition", format=file_format, name=source.path.name).at(source.name)
        )
    return Belonging(source.name, file_format, naming.condition, naming.run, naming.levels)
