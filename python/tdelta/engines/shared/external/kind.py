"""What an engine says of servers that are not tdelta's: who they are, what they encrypt, what may be made there.

An adapter asks by SQL alone and opens nothing: it is given a callable. On such a server everything takes place in one
schema (PostgreSQL: schema, MySQL: database) that tdelta makes, marks as its own, and drops at the end; nothing else is
written, and no setting is changed but those of tdelta's own sessions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tdelta.engines.shared.sessions import Ask
from tdelta.messages import Caution, Refusal

if TYPE_CHECKING:
    from tdelta.design.actions import AskedAction
    from tdelta.engines.servers import Tracing
    from tdelta.engines.shared.describing import Catalog

DATA = "data"
"""The scope that is the tables themselves."""

MARK = "tdelta run "
"""What the comment begins with by which tdelta knows a schema of its own; the run's name follows."""

ANSWER_SECONDS = 60.0
"""Settings, catalogues, rights and counters are asked for: a server that answers no sooner does not answer."""

LOCK_SECONDS = 60
"""How long the session that drops schemas waits for whoever holds a table of them."""

PREFIX = "tdelta_"
"""What the name of a schema begins with, unless the user names it."""

SCHEMA_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}\Z")
"""Names that every one of these engines takes unquoted, whatever it makes of upper case."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who answers: ``engine`` by tdelta's name, ``product`` for people, ``user`` as the server knows it.

    ``machine`` is the name or the address that the server gives for its host; empty where it gives none.
    """

    engine: str
    product: str
    version: str
    user: str
    machine: str = ""

    @property
    def described(self) -> str:
        return f"{self.product} {self.version}"


@dataclass(frozen=True, slots=True)
class Scope:
    """Whether one kind of file is encrypted, and the settings that say so. None: the server cannot tell."""

    name: str
    is_encrypted: bool | None
    said: str


@dataclass(frozen=True, slots=True)
class Encryption:
    """What a server encrypts. ``can_be_asked``: tables can be encrypted where that is not the default.

    ``remedy`` is how tables come to be encrypted, where they are not.
    """

    scopes: tuple[Scope, ...]
    can_be_asked: bool
    remedy: str

    def scope(self, name: str) -> Scope | None:
        return next((scope for scope in self.scopes if scope.name == name), None)

    @property
    def encrypted(self) -> tuple[str, ...]:
        return tuple(scope.name for scope in self.scopes if scope.is_encrypted)


@dataclass(frozen=True, slots=True)
class Probe:
    """A lock that one session takes and every other of the same server sees: it needs no rights and leaves nothing.

    ``seen`` answers ``1`` where a session holds the lock.
    """

    take: str
    seen: str
    release: str


def lock_name(schema: str) -> str:
    """The lock that a living run holds for a schema; within the 64 characters that MySQL allows."""
    return f"schema {schema}"[:64]


@dataclass(frozen=True, slots=True)
class LeftoverSchema:
    """A schema of tdelta's. ``run_id`` is None where the mark is missing: tdelta was killed as it made the schema."""

    schema: str
    run_id: str | None


@dataclass(frozen=True, slots=True)
class SettingsRule:
    """Which settings are compared: ``left_out`` are identity, paths, encryption and the session's own.

    ``important`` are the patterns of those that decide speed, the most important first.
    """

    left_out: re.Pattern[str]
    important: tuple[re.Pattern[str], ...] = field(default=())

    def rank(self, name: str) -> int:
        """The place of the first pattern that matches; all that is of no importance comes last."""
        places = (place for place, pattern in enumerate(self.important) if pattern.match(name))
        return next(places, len(self.important))


@dataclass(frozen=True, slots=True)
class NewSchema:
    """A schema that tdelta makes. ``is_encrypted``: how its tables are to be; None: as the server has it."""

    name: str
    run_id: str
    is_encrypted: bool | None = None


@dataclass(frozen=True, slots=True)
class InForce:
    """What sessions have set for themselves: ``sql`` reads it, in one row with a column for each of ``expected``."""

    sql: str
    expected: Mapping[str, str]

    def as_json(self) -> dict[str, object]:
        return {"sql": self.sql, "expected": [*self.expected.items()]}


@dataclass(frozen=True, slots=True)
class SchemaSessions:
    """How sessions come to work in a schema: the database to connect to (None: the DSN's), and what they run first."""

    database: str | None = None
    setup: tuple[str, ...] = ()


class Examined(Protocol):
    @property
    def identity(self) -> Identity:
        """Who answered."""

    @property
    def session_sql(self) -> tuple[str, ...]:
        """What every session of tdelta's runs first, so that it is not cut off while other twins are at work."""

    @property
    def in_force(self) -> InForce | None:
        """What `session_sql` sets, as every session reads it back; None where it sets nothing."""

    @property
    def rule(self) -> SettingsRule:
        """Which settings are compared."""

    def standing_faults(self, ask: Ask) -> tuple[Refusal, ...]:
        """What makes the server as it stands no twin: a replica, read-only."""

    def cautions(self, ask: Ask, option: str) -> tuple[Caution, ...]:
        """What goes on there that a measurement would disturb, or be disturbed by."""

    def missing_grants(self, ask: Ask) -> tuple[str, ...]:
        """The statements that would give the rights that are missing, whichever schema is made."""

    def encryption(self, ask: Ask) -> Encryption:
        """What is encrypted."""

    def settings(self, ask: Ask) -> Mapping[str, str]:
        """All settings in force."""

    def probe(self, name: str) -> Probe:
        """A lock of that name."""

    @property
    def counters(self) -> tuple[str, ...]:
        """Queries for counters, as `tdelta.engines.servers.Observed.counters` has them, that need no rights."""


class HoldsSchemas(Protocol):
    def has_schema(self, ask: Ask, schema: str) -> bool:
        """Whether a schema of that name exists, as far as this user may see."""

    def make_sql(self, schema: NewSchema) -> tuple[str, ...]:
        """What makes the schema and marks it."""

    def sessions(self, schema: NewSchema) -> SchemaSessions:
        """How sessions work in it."""

    @property
    def waiting_sql(self) -> tuple[str, ...]:
        """What the session that drops schemas runs first, so that it does not wait without end for their tables."""

    def own_schemas(self, ask: Ask) -> tuple[LeftoverSchema, ...]:
        """The schemas that tdelta made, of any run."""

    def drop_sql(self, schema: str) -> str:
        """What removes the schema with all that is in it."""


class HoldsTables(Protocol):
    def tables(self, ask: Ask, schema: str) -> Mapping[str, bool | None]:
        """Whether each table of the schema is encrypted, read from the engine's own catalog."""

    def statistics_sql(self, tables: Iterable[str]) -> tuple[str, ...]:
        """What gathers the statistics by which statements are planned, once tables are loaded."""

    def drop_tables_sql(self, tables: Sequence[str]) -> tuple[str, ...]:
        """What removes these tables of tdelta's schema, where they exist; what others refer to comes last in them."""

    def data_bytes_sql(self, schema: str) -> str:
        """A query for how large the tables of the schema are with their indexes."""


class EndsSessions(Protocol):
    """How sessions of a run that was killed are found and ended by another of the same user's: that needs no rights."""

    def mark_session_sql(self, mark: str) -> str:
        """What a session runs first so that others find it by its mark."""

    def marked_sessions(self, ask: Ask, mark: str) -> tuple[str, ...]:
        """The ids of the sessions that have this mark, the one that asks left out."""

    def end_session_sql(self, session: str) -> str:
        """What ends one of them, and the statement that it is at."""

    def hurry_sql(self, seconds: int) -> str:
        """What a session runs so that its statements wait no longer for what other sessions hold."""


class ExternalServer(Examined, HoldsSchemas, HoldsTables, EndsSessions, Protocol):
    """A user's server as its engine asks it. What only some can, is asked by ``isinstance``."""


@runtime_checkable
class GrantsBySchema(Protocol):
    """A server whose users have rights on schemas that are not there yet."""

    def missing_schema_grants(self, ask: Ask, schema: str) -> tuple[str, ...]:
        """The statements that would give the rights on a schema that are missing."""


@dataclass(frozen=True, slots=True)
class ReadOnly:
    """The statement ``sql`` makes a session read-only; the expression ``asked`` then has the value ``expected``."""

    sql: str
    asked: str
    expected: str


@runtime_checkable
class ReadsOnly(Protocol):
    """A server whose sessions can be kept from writing, and that describes what a schema holds."""

    @property
    def read_only(self) -> ReadOnly:
        """What keeps a session from writing."""

    @property
    def catalog(self) -> Catalog:
        """What describes a schema."""


@runtime_checkable
class HasPlaces(Protocol):
    """A server whose tables lie in places of which some are encrypted and some are not: two of them can be twins."""

    @property
    def place(self) -> str:
        """Where tables of tdelta's are to lie."""

    @property
    def shared(self) -> str:
        """What the places of one server share, for people."""

    def within(self, ask: Ask, place: str) -> ExternalServer:
        """The same server, for the place that a DSN names.

        Raises:
            Refused: there is none of that name where tables could lie.
        """


@runtime_checkable
class AccountsCpu(Protocol):
    """A server that says itself how much CPU time it used: what is read where its processes are not on this machine."""

    @property
    def cpu_sql(self) -> str:
        """A query whose one value is the CPU seconds of all its sessions so far; only differences mean something."""


@runtime_checkable
class EmptiesCaches(Protocol):
    """A server whose caches SQL can empty, for all who use it."""

    @property
    def cooling_sql(self) -> tuple[str, ...]:
        """What empties them."""


@dataclass(frozen=True, slots=True)
class SqlRestore:
    """How a backup of a schema is restored as another one, until that answers.

    Attributes:
        name: given the schema, what the other one is called.
        backup: given the schema and the action as it was asked for, what makes the backup; not measured.
        answer: given the other schema and a table of it, a query that reads all of that table.
        remove: given the schema, what removes the other one and the backup, as far as they are there.
    """

    name: Callable[[str], str]
    backup: Callable[[str, AskedAction], tuple[str, ...]]
    answer: Callable[[str, str], str]
    remove: Callable[[str], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class SqlAction:
    """An action that a server carries out by SQL alone (`tdelta.design.actions`), as a trial by itself.

    Attributes:
        knobs: its knobs, each with the words that it takes, the default first; () where it takes a number.
        numbers: the numbers that such a knob takes.
        sql: given the schema and the action as it was asked for, the statements that are it.
        counted: given the schema, a query of one row, whose columns are what it came to; asked when it is over.
        restore: what goes before a restore and after it, where it is one.
    """

    knobs: Mapping[str, tuple[str, ...]]
    numbers: Mapping[str, range]
    sql: Callable[[str, AskedAction], tuple[str, ...]]
    counted: Callable[[str], str]
    restore: SqlRestore | None = None


@runtime_checkable
class ActsBySql(Protocol):
    """A server that something can be done to by SQL alone. Its module has the same as ``ACTIONS``."""

    @property
    def actions(self) -> Mapping[str, SqlAction]:
        """By the names of `tdelta.design.actions`."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """How the encryption of a schema stands, and how the server says it. ``is_encrypted`` is None while it changes.

    ``percent_done`` is how far a change is, where the server says that; 0 where none goes on. ``is_possible`` is False
    of a schema whose tables lie where others' may, too: it is never to be converted.
    """

    is_encrypted: bool | None
    said: str
    percent_done: float = 0.0
    is_possible: bool = True


@runtime_checkable
class ConvertsSchemas(HoldsTables, Protocol):
    """A server that encrypts and decrypts a schema which has rows, in the background."""

    def convert_sql(self, schema: str, *, is_encrypted: bool) -> str:
        """What begins it."""

    def suspend_sql(self, schema: str) -> str:
        """What suspends it; empty where this version cannot."""

    def resume_sql(self, schema: str) -> str:
        """What has it go on."""

    def conversion(self, ask: Ask, schema: str) -> Conversion:
        """How it stands."""


@runtime_checkable
class ConvertsBeside(ConvertsSchemas, Protocol):
    """A server whose schemas have keys of their own: that of tdelta is converted while a load goes on.

    Its module has as ``BESIDE`` which actions of `tdelta.design.actions` that are, each with its knobs.
    """

    def key_sql(self, schema: str) -> str:
        """What gives a plain schema its key; empty where encrypting it does."""

    def rekey_sql(self, schema: str) -> str:
        """What begins to encrypt an encrypted one with another key."""

    def unkey_sql(self, schema: str) -> tuple[str, ...]:
        """What takes its key from a schema that is plain; one that has none is let be."""

    @property
    def executed_sql(self) -> str:
        """A query whose one value is how many statements the server has executed so far; differences are used."""


@runtime_checkable
class ConvertsInStatement(Protocol):
    """A server whose statement ends when the conversion does, however long that takes: on a session of its own."""

    @property
    def converts_in_statement(self) -> bool:
        """Whether it is so."""


@runtime_checkable
class ConvertsOffline(Protocol):
    """A server that can also convert a schema in its place, while its rows cannot be used."""

    def offline_sql(self, schema: str) -> str:
        """What takes its rows away: statements that need them fail, and a load tries them again until they are back."""

    def convert_offline_sql(self, schema: str, *, is_encrypted: bool) -> str:
        """What encrypts or decrypts it meanwhile; the statement ends when that is done."""

    def online_sql(self, schema: str) -> str:
        """What brings its rows back."""


@runtime_checkable
class Presizes(Protocol):
    """A server whose files grow as rows come, each as it happens to, unless they are given their size."""

    def presize_sql(self, schema: str, data_bytes: int) -> tuple[str, ...]:
        """What gives the files of a schema, which has so many bytes of rows, room for all that a run writes."""


@runtime_checkable
class RemembersPlans(Protocol):
    """A server that remembers the plans of statements which it ran."""

    def plan_hashes(self, ask: Ask, schema: str, scripts: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
        """What distinguishes the plans of each statement of transactions, by its name; none of what was not run yet."""


@runtime_checkable
class MetersStatements(Protocol):
    """A server whose statements can be metered one by one, with the rights that a run needs anyway."""

    @property
    def tracing(self) -> Tracing:
        """What is read around every statement."""


@runtime_checkable
class LimitsSessions(Protocol):
    """A server whose sessions can be given less memory for sorts, joins and temporary tables, by themselves."""

    def memory_sql(self, session_bytes: int) -> tuple[str, ...]:
        """What a session runs so that more than these bytes go to files."""


@runtime_checkable
class ExplainsBySteps(Protocol):
    """A server that is asked for a plan by two statements: one explains, the other reads what that left."""

    def explain_sql(self, statement: str) -> str:
        """What explains a statement, its parameters given."""

    @property
    def explained_sql(self) -> str:
        """What reads the last plan that the session had explained."""

    def plan(self, rows: Sequence[Sequence[str | None]]) -> Mapping[str, object]:
        """That plan as JSON values, without what differs from server to server where plans are the same."""
