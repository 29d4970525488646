"""Faults of a workload folder: collected, so that a user sees all of them at once, each with file and line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches

from tdelta.messages import Refusal
from tdelta.workloads.limits import MOST_FAULTS

_LONGEST_SHOWN = 80
_LONGEST_PARAMETER = 500  # a message may contain one twice
_MOST_KNOWN = 200


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. ``line`` counts from 1; 0 where a file as a whole is at fault."""

    file: str
    line: int
    said: Refusal

    def placed(self) -> Refusal:
        """The fault with its place; nothing in it moves a terminal's cursor."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        given = {name: _printable(it) if isinstance(it, str) else it for name, it in self.said.parameters.items()}
        return Refusal(self.said.code, given).at(_printable(place))


@dataclass(slots=True)
class Faults:
    found: list[Fault] = field(default_factory=list)

    def add(self, file: str, line: int, said: Refusal) -> None:
        self.found.append(Fault(file, line, said))

    def __bool__(self) -> bool:
        return bool(self.found)

    def refusals(self) -> list[Refusal]:
        """Every fault once, by file and line; of very many the first ones and how many more."""
        faults = sorted(set(self.found), key=lambda fault: (fault.file, fault.line, fault.said.text))
        found = [fault.placed() for fault in faults[:MOST_FAULTS]]
        more = len(faults) - MOST_FAULTS
        return found if more <= 0 else [*found, Refusal.of("more-faults", more=more)]


def unknown(kind: str, name: str, known: Iterable[str], found: str | None = None) -> Refusal:
    """That nothing is called so, with the nearest name that there is; ``found`` is how the user wrote it."""
    return Refusal.of("unknown", kind=kind, found=shown(name) if found is None else found, hint=hint(name, known))


def hint(found: str, known: Iterable[str]) -> str:
    names = sorted(known)
    if len(names) > _MOST_KNOWN:  # neither can all be compared, nor does anybody read so many
        return ""
    near = get_close_matches(found, names, n=1)
    if near:
        return f" Did you mean {near[0]!r}?"
    return f" Expected one of {', '.join(names)}." if names else ""


def shown(value: object) -> str:
    """A value as a message quotes it: on one line, and shortened."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # Python writes no number of more than 4300 digits
        return "one that is too long to show"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _printable(text: str) -> str:
    """The beginning of a text, without what would move a terminal's cursor."""
    short = text if len(text) <= _LONGEST_PARAMETER else f"{text[:_LONGEST_PARAMETER]}…"
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in short)
