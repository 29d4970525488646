"""Load tools, with one file for each, and the results that a tool reported, in the units of a trial."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from tdelta import _native
from tdelta.errors import LoadFault
from tdelta.messages import Caution, Refusal
from tdelta.processes.load_generator.connections import Connection
from tdelta.records import Measurement, SpanTotals

_LAST_LINES = 12
_LAST_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that ended by itself: its status, how long it took, what it printed, where a log of it may lie."""

    status: int
    elapsed_ns: int
    out: str
    err: str
    log_folder: Path | None = None
    log_prefix: str = ""

    @property
    def last_lines(self) -> str:
        """The end of what it said, for people. The errors come last: they are what is looked for."""
        lines = [line for text in (self.out, self.err) for line in text.splitlines() if line.strip()]
        return "\n".join(f"    {line}" for line in lines[-_LAST_LINES:])[-_LAST_CHARACTERS:] or "    it said nothing"


def unreadable(finished: Finished, expected: str) -> LoadFault:
    where = "the load generator ended, but its results cannot be read"
    return LoadFault(Refusal.of("load-output", what=expected).at(where), words=finished.last_lines)


class Amount(StrEnum):
    """How a trial of a command ends.

    ``asked``: the number of operations that tdelta asks for. ``fixed``: a number of the user's own. ``timed``: a time,
    so that twins do different amounts of work. ``own``: the command knows.
    """

    ASKED = "asked"
    FIXED = "fixed"
    TIMED = "timed"
    OWN = "own"


@dataclass(frozen=True, slots=True)
class Filled:
    """A command's words behind its program, those that tdelta adds among them; placeholders are still in them.

    ``added`` are the words that tdelta added, ``threads`` is the user's own number of connections.
    """

    words: tuple[str, ...]
    added: tuple[str, ...] = ()
    amount: Amount = Amount.OWN
    threads: int | None = None
    cautions: tuple[Caution, ...] = ()
    faults: tuple[Refusal, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Given:
    """The user's words, sorted: options by their one name, and what is no option."""

    options: Mapping[str, str]
    others: tuple[str, ...] = ()
    fault: Refusal | None = None

    def own(self, name: str) -> str | None:
        """An option's value if it is the user's own: given, and without a placeholder."""
        value = self.options.get(name)
        return None if value is None or "{" in value else value

    def missing(self, **options: str) -> list[str]:
        """The words of options that the user left to tdelta, each with its value; underscores stand for hyphens."""
        named = {name.replace("_", "-"): value for name, value in options.items()}
        return [f"--{name}={value}".rstrip("=") for name, value in named.items() if name not in self.options]


class Tool(ABC):
    """A load tool: the name of its program, how people get it, its option for the number of connections."""

    name: str
    install: str
    threads: str = ""

    def fill(self, words: Sequence[str], protocol: str, threads_levels: Collection[int] = ()) -> Filled:
        """Check the words behind the program's name and add what the user left to tdelta. All faults at once.

        Args:
            threads_levels: the levels of ``threads`` that the run varies; empty where the command may choose.
        """
        given = self._given(words)
        amount, added = self._added(given, protocol)
        own = given.own(self.threads)
        faults = list(self._faults(given, protocol)) if given.fault is None else [given.fault]
        if given.fault is None and own is not None:
            faults += self._threads_faults(own, threads_levels)
        return Filled(
            words=(*added, *words),
            added=tuple(added),
            amount=amount,
            threads=int(own) if own and own.isdecimal() else None,
            cautions=tuple(self._cautions(given, amount, protocol)),
            faults=tuple(faults),
        )

    @abstractmethod
    def _given(self, words: Sequence[str]) -> Given:
        """The words, as this tool reads them."""

    @abstractmethod
    def _added(self, given: Given, protocol: str) -> tuple[Amount, list[str]]:
        """The end of a trial, and the words to add to the command."""

    def _faults(self, _given: Given, _protocol: str) -> Iterator[Refusal]:
        yield from ()

    def _threads_faults(self, given: str, levels: Collection[int]) -> Iterator[Refusal]:
        option = f"--{self.threads} {given}"
        if not given.isdecimal() or int(given) == 0:
            yield Refusal.of("load-option", option=option, why="not a whole number above 0")
        elif any(level != int(given) for level in levels):
            listed = ", ".join(map(str, sorted(levels)))
            yield Refusal.of("load-option", option=option, why=f"the run's threads are {listed}")

    def _cautions(self, _given: Given, amount: Amount, _protocol: str) -> Iterator[Caution]:
        if amount is Amount.TIMED:
            yield Caution.of("load-timed")

    def connection_words(self, _words: Sequence[str], _connection: Connection) -> tuple[str, ...]:
        return ()

    def recognises(self, _out: str) -> bool:
        """Whether this is one report of the tool, and no more than one."""
        return False

    @abstractmethod
    def read(self, finished: Finished) -> Measurement:
        """The results in what it printed and logged; raises ``LoadFault`` where there are none that can be read."""


def histograms_of(times: Mapping[str, Mapping[int, int]]) -> dict[str, bytes]:
    """A payload for each transaction, from how often each time in ns was seen."""
    return {f"tx:{name}": _native.histogram_of(list(seen), list(seen.values())) for name, seen in times.items() if seen}


def totals_of(times: Mapping[str, Mapping[int, int]]) -> dict[str, SpanTotals]:
    return {
        name: SpanTotals(sum(seen.values()), sum(ns * count for ns, count in seen.items()))
        for name, seen in times.items()
        if seen
    }


def only_seen(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def number(pattern: str, text: str) -> float | None:
    """The last number that a pattern's group finds; None without one (``NaN`` is none)."""
    found = re.findall(pattern, text, re.MULTILINE)
    return float(found[-1]) if found else None


TimesSeen = dict[str, Counter[int]]
"""By transaction: how often each time in ns was seen."""
