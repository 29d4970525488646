"""What tdelta knows of a load tool: a small protocol, with one file for each tool."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

from tdelta.driver.load_generator.connections import Connection
from tdelta.driver.load_generator.results import Finished, LoadResult
from tdelta.messages import Caution, Refusal


class Amount(StrEnum):
    """What ends a trial of a command.

    ``asked``: the number of operations that tdelta asks for. ``fixed``: a number of the user's own. ``timed``: a time,
    so that twins do different amounts of work. ``own``: the command knows.
    """

    ASKED = "asked"
    FIXED = "fixed"
    TIMED = "timed"
    OWN = "own"


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """What a tool's words are checked against: the protocol of the twins, the levels of ``threads`` of the run."""

    protocol: str
    threads_levels: Collection[int] = ()


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


class Tool(Protocol):
    @property
    def name(self) -> str:
        """The program's name."""

    @property
    def install(self) -> str:
        """How people get it."""

    def fill(self, words: Sequence[str], asked: ToolRequest) -> Filled:
        """Check the words behind the program's name and add what the user left to tdelta. All faults at once."""

    def read(self, finished: Finished) -> LoadResult:
        """The results in what it printed and logged.

        Raises:
            LoadFault: there are none that can be read.
        """


@runtime_checkable
class KnownTool(Tool, Protocol):
    """A tool whose options and reports are known."""

    def connection_words(self, words: Sequence[str], connection: Connection) -> tuple[str, ...]:
        """The options that connect to one twin, less those that the user gave."""

    def recognises(self, out: str) -> bool:
        """Whether this is one report of the tool, and no more than one."""


def threads_fault(option: str, given: str, levels: Collection[int]) -> Refusal | None:
    """What is wrong with the user's own number of connections, given those that the run varies."""
    if not given.isdecimal() or int(given) == 0:
        return Refusal.of("load-option", option=f"{option} {given}", why="not a whole number above 0")
    if any(level != int(given) for level in levels):
        listed = ", ".join(str(level) for level in sorted(levels))
        return Refusal.of("load-option", option=f"{option} {given}", why=f"the run's threads are {listed}")
    return None
