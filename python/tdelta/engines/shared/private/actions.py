"""What can be done to a private server beside its load: the part that all engines share.

An engine says which actions it has (`Acts`): each makes an `Act` for one instance, out of its
`Site`. A clean restart, a start after a crash and a storm of connections are the same for all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

from tdelta.driver.acting import Act, Halt
from tdelta.driver.backups import BackupTool, choices_of
from tdelta.driver.protocol import Tables
from tdelta.driver.servers.recipes import Recipe
from tdelta.driver.servers.server import Server
from tdelta.engines.servers import DATABASE, ServerEngine, ServerSettings
from tdelta.engines.shared.sessions import AdminConnection

MakeRecipe: TypeAlias = Callable[[ServerSettings], Recipe]


@dataclass(frozen=True, slots=True)
class TwinRows:
    tables: Tables
    needles: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """One instance, as an action sees it.

    Attributes:
        server: the server, which runs.
        recipe: how it is made and run.
        settings: what it was made with.
        halt: says whether the action is to end.
        restarted: to be called by an action that started the server anew.
        beside: makes the recipe of another server of the run's beside it, with other settings.
        knobs: the values that were asked for, by name.
        choices: the words that were asked for, by name.
        engine: how its servers are asked.
        rows: what the run's tables hold.
    """

    server: Server
    recipe: Recipe
    settings: ServerSettings
    halt: Halt
    restarted: Callable[[], None]
    beside: MakeRecipe
    knobs: Mapping[str, int]
    choices: Mapping[str, str]
    engine: ServerEngine
    rows: TwinRows

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.rows.tables)

    def connect(self) -> AdminConnection:
        """A connection, in another process; the caller closes it."""
        return AdminConnection({**self.recipe.connect, "database": DATABASE})

    @contextlib.contextmanager
    def session(self) -> Iterator[AdminConnection]:
        asking = self.connect()
        try:
            yield asking
        finally:
            asking.close()

    def run(self, *statements: str) -> None:
        with self.session() as asking:
            for statement in statements:
                asking.run(statement)


MakeAct: TypeAlias = Callable[[Site], Act]


@dataclass(frozen=True, slots=True)
class ServerAction:
    """An action of an engine: what makes it, what it does in the engine's words, and the knobs that it has.

    ``is_work``: it can be a trial by itself; ``is_during``: it can go on beside a load. ``knobs`` take numbers;
    ``tools`` are those that make its backups, of which it takes one as a choice.
    """

    make: MakeAct
    words: str
    knobs: tuple[str, ...] = ()
    is_during: bool = False
    is_work: bool = False
    tools: Mapping[str, BackupTool] = field(default_factory=dict)


def knobs_of(actions: Mapping[str, ServerAction], factor: str) -> dict[str, Mapping[str, tuple[str, ...]]]:
    """Those that are levels of a factor, by name, with their knobs (`tdelta.engines.base.Engine.actions`)."""
    found = {n: one for n, one in actions.items() if (one.is_during if factor == "during" else one.is_work)}
    return {name: {**dict.fromkeys(one.knobs, ()), **choices_of(one.tools)} for name, one in found.items()}


@runtime_checkable
class Acts(Protocol):
    @property
    def actions(self) -> Mapping[str, ServerAction]:
        """Its actions, by the names of `tdelta.design.actions`."""


@runtime_checkable
class CountsWork(Protocol):
    @property
    def work_sql(self) -> str:
        """A query whose last column says how many statements of loads were executed so far: prepared ones."""
