"""Faults of a workload folder: collected, so that a user sees all of them at once, each with file and line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One fault. ``line`` counts from 1; 0 where a file as a whole is at fault."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.text}"


@dataclass(slots=True)
class Faults:
    """The faults found so far."""

    found: list[Fault] = field(default_factory=list)

    def add(self, file: str, line: int, text: str) -> None:
        """Notes one fault."""
        self.found.append(Fault(file, line, text))

    def __bool__(self) -> bool:
        return bool(self.found)

    def texts(self) -> list[str]:
        """Every fault once, by file and line."""
        return [str(fault) for fault in sorted(set(self.found))]


def hint(found: str, known: Iterable[str]) -> str:
    """`` Did you mean 'x'?`` for the nearest of ``known``, else a list of them, else nothing."""
    names = sorted(known)
    near = get_close_matches(found, names, n=1)
    if near:
        return f" Did you mean {near[0]!r}?"
    return f" Expected one of {', '.join(names)}." if names else ""
