"""One engine's servers: how one is made, configured and asked. Opens nothing itself.

A server is started by tdelta, here or on a host, or is a user's and named by a DSN: its `ServerEngine.origin` says
which. The engine's class derives from `ServerEngine` and overrides what its servers can; what it leaves as it is, they
cannot.

Of a server of tdelta's an adapter turns settings into a `Recipe`; what starts and supervises the process is
`tdelta.processes.servers`. Twins share every setting but what their factors say: everything that an adapter writes
depends on `ServerSettings` alone, and what differs between two recipes is what differs between their settings.

A user's server is asked by SQL alone, through a callable. On it everything takes place in one schema (PostgreSQL:
schema, MySQL: database) that tdelta makes, marks as its own, and drops at the end; nothing else is written, and no
setting is changed but those of tdelta's own sessions.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from tdelta.engines.profile import Profile
from tdelta.engines.server.evidence import ServerEvidence, Settling
from tdelta.engines.server.sessions import Ask
from tdelta.errors import Defect
from tdelta.messages import Caution, Detail, Refusal
from tdelta.processes.servers.recipes import Recipe, ServerPaths
from tdelta.records import StatementCost

if TYPE_CHECKING:
    from tdelta.engines.server.catalog import Catalog
    from tdelta.engines.server.replicas import Replication
    from tdelta.processes.backups import EngineAction

_NOTHING: Mapping[str, Any] = MappingProxyType({})

PLAIN_SCOPE = "none"
"""The scope of a twin without a cipher."""

DATABASE = "tdelta"
"""The only database (MySQL: schema) of a private server that tdelta makes, and the user it connects as."""

DATA = "data"
"""The scope that is the tables themselves."""

MARK = "tdelta run "
"""The beginning of the comment by which tdelta knows its own schemas; the run's name follows."""

ANSWER_SECONDS = 60.0
"""Settings, catalogues, rights and counters are asked for: a server that answers no sooner does not answer."""

LONG_SECONDS = 70
"""How long `ServerEngine.long_sql` takes: longer than the limits that drivers and servers have of their own accord."""

LOCK_SECONDS = 60
"""How long the session that drops schemas waits for whoever holds a table of them."""

_MOST_NAMED = 5

PREFIX = "tdelta_"
"""The beginning of a schema's name, unless the user names it."""

SCHEMA_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}\Z")
"""Names that every one of these engines takes unquoted, whatever it makes of upper case."""


@dataclass(frozen=True, slots=True)
class ServerBinary:
    """A server program that was found, told apart by what ``--version`` says, never by its name.

    ``kind`` is the engine's name (``mariadb``, ``mysql``, ``postgres``), ``product`` for people (``Percona Server``),
    ``version`` digits and dots, ``text`` the whole line. ``launcher`` is what runs a program that brings its own C
    library (``ld-linux-x86-64.so.2 --library-path …``); ``root`` the folder that such a program was unpacked into.
    ``loader`` is the dynamic loader that a program names in its own head.
    """

    kind: str
    product: str
    path: Path
    version: str
    text: str
    launcher: tuple[str, ...] = ()
    root: Path | None = None
    loader: Path | None = None


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The settings of a twin's server and of the connections to it.

    ``scope`` is what is encrypted, ``none`` for a plain twin: ``data`` (tables), ``+log`` (these and the redo log),
    ``+temp`` (these and temporary files), ``+binlog`` (these and the binary log), ``all`` (all that the engine can).
    Each ``+`` level is ``data`` and that one thing, so that its cost can be told apart.

    ``session_bytes`` is what a sort, a join or a temporary table of one session has before it goes to files (0: as the
    server has it). ``threads`` is how many connections the condition's load opens, ``connections`` the most that all
    conditions on the server do together. ``cache_bytes`` is the buffer pool's
    size (0: the engine's least). ``has_binlog``: every twin of the run writes a binary log (MySQL family).
    ``is_durable``: commits reach the disk. ``is_loading``: the server is started to load data, and nothing is measured
    on it. ``is_cold``: it is started anew for each trial, with the system's caches emptied. ``becomes`` is the
    cipher that plain twins of the run are encrypted with beside their load, on every twin; empty where none are.
    ``replication`` is what the server's replica does beside the condition's load
    (`tdelta.design.factors.REPLICATIONS`); empty where it has none.
    ``is_buffered``: files are read and written through the system's cache, on every twin of a run that varies storage,
    since some storage takes no other way. ``compression`` is how pages of tables are compressed before they are
    encrypted, ``none`` among them; empty in runs that do not vary it. ``keys`` is the source of an encrypted twin's
    keys (`tdelta.design.factors.KEYS`); empty where that is not varied, and on plain twins. ``server`` is which of
    several versions it is, by the level of the factor of that name; empty in runs with one. ``cores`` is how many CPUs
    it may use; 0 for all.
    """

    cipher: str
    scope: str = PLAIN_SCOPE
    threads: int = 1
    connections: int = 64
    cache_bytes: int = 0
    session_bytes: int = 0
    aes_instructions: str = "on"
    has_binlog: bool = False
    is_durable: bool = True
    is_loading: bool = False
    is_cold: bool = False
    becomes: str = ""
    replication: str = ""
    is_buffered: bool = False
    compression: str = ""
    keys: str = ""
    server: str = ""
    cores: int = 0

    @property
    def is_encrypted(self) -> bool:
        return self.scope != PLAIN_SCOPE

    @property
    def keyed_cipher(self) -> str:
        """The cipher that the server needs a key for: its own, or that which it is encrypted with; empty without."""
        return self.cipher if self.is_encrypted else self.becomes

    @property
    def is_compressed(self) -> bool:
        return self.compression not in ("", "none")

    @property
    def template_key(self) -> tuple[str, ...]:
        """The settings that decide how rows lie in the files: twins that agree in them are copies of one load."""
        return (self.cipher, self.scope, *(part for part in (self.compression, self.server) if part))

    def covers(self, part: str) -> bool:
        """Whether ``part`` (``data``, ``log``, ``temp``, ``binlog``) is encrypted on this twin."""
        return self.scope == "all" or (self.is_encrypted and part == "data") or self.scope == f"+{part}"


@dataclass(frozen=True, slots=True)
class ServerResources:
    """The resources that a server without data takes, measured (docs/engines.md).

    ``disk_bytes`` is with its logs at their fullest and the temporary files of a search. ``memory_bytes`` leaves out
    the buffer pool, ``connection_bytes`` is what each connection adds that is at work. ``initialize_seconds`` are until
    a new one takes connections and is stopped again.
    """

    disk_bytes: int
    memory_bytes: int
    connection_bytes: int
    initialize_seconds: float
    start_seconds: float


@dataclass(frozen=True, slots=True)
class Tracing:
    """How the statements of one connection are metered.

    Attributes:
        thread: a query for the system's number of the thread that serves the connection which asks; empty where it
            is not known.
        counters: queries whose rows are a counter's name and its value, up to date within a transaction; ``cpu_ns``
            is the CPU time, where the server accounts for it itself.
        nearest: what stands under the customary headings: ``physical``, ``logical`` and ``current`` by the names of
            counters to add up, and the words for them; a heading that the engine has nothing for is left out.
        session: a query whose answer, on the connection that is traced, stands for ``{session}`` in ``counters``, which
            another one asks.
        statements: a query whose answers, asked once when a trace begins, stand as literals for ``{statements}`` in
            ``counters``: the ids by which the server accounts for the statements of tdelta's schema.
    """

    thread: str
    counters: tuple[str, ...]
    nearest: Mapping[str, tuple[tuple[str, ...], str]]
    session: str = ""
    statements: str = ""


@dataclass(frozen=True, slots=True)
class RoutineTracing:
    """How a server itself meters the statements of a routine, call by call, into a trace.

    ``begin`` and ``end`` are for the session that calls the routine, ``lines`` is the query for the trace, and
    ``costs`` reads its lines: by statement and kind of call.
    """

    begin: str
    end: str
    lines: str
    costs: Callable[[Sequence[str]], Mapping[str, StatementCost]]


@dataclass(frozen=True, slots=True)
class PageList:
    """How a server writes the list of the pages in its cache, and reads them from its files again.

    ``file`` is the list, in the data directory. The last value that the queries
    ``written`` and ``fetched`` answer has the word ``done`` in it once that is; ``give_up`` ends what still goes on.
    """

    file: str
    write: tuple[str, ...]
    written: str
    fetch: tuple[str, ...]
    fetched: str
    done: str
    give_up: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DumpEncryption:
    """How dumps of an engine say which tables are encrypted, which is the twins' to decide.

    Attributes:
        options: the words, for people.
        remedy: a filter that takes them out of a dump.
        refusal: a pattern for what a client says of a plain server that refuses them.
        plain_sql: a query for tables that a dump left plain on an encrypted server, where a plain one cannot show that
            it says so.
    """

    options: str
    remedy: str
    refusal: str
    plain_sql: str = ""

    def fault(self, tables: Sequence[str]) -> Refusal:
        """A message about a dump that leaves these tables encrypted or plain; or with the client's words alone."""
        said = ", ".join(tables[:_MOST_NAMED])
        return Refusal.of("dump-encrypts", said=said, options=self.options, remedy=self.remedy)


@dataclass(frozen=True, slots=True)
class RestoreTarget:
    """The private server that a dump is loaded into, as its engine's own clients find it.

    Attributes:
        placeholders: the values of ``{socket}``, ``{port}``, ``{user}``, ``{database}`` and ``{folder}``, which
            is one of the run's, for files of the command's own.
        variables: the clients' own variables with the server's whereabouts.
        option_file: the same for clients of MySQL, which believe it more; empty for others.
        encryption: how dumps of the engine say which tables are encrypted.
    """

    placeholders: Mapping[str, str]
    variables: Mapping[str, str]
    option_file: str = ""
    encryption: DumpEncryption | None = None


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
    """The encryption of a server. ``can_be_asked``: tables can be encrypted where that is not the default.

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


def leftover_schemas(marks: Mapping[str, str], unmarked: Iterable[str] = ()) -> tuple[LeftoverSchema, ...]:
    """Those whose mark is tdelta's, by name; and those of its name that were made but not marked."""
    runs = {name: mark.removeprefix(MARK) for name, mark in marks.items() if mark.startswith(MARK)}
    marked = (LeftoverSchema(name, run) for name, run in sorted(runs.items()))
    return (*marked, *(LeftoverSchema(name, None) for name in sorted(unmarked)))


class SettingsRule:
    """Which settings are compared, by patterns of their names.

    Args:
        left_out: identity, paths, encryption and the session's own.
        important: those that decide speed, the most important first.
    """

    def __init__(self, left_out: str, *important: str) -> None:
        self.left_out = re.compile(rf"(?:{left_out})\Z")
        self.important = tuple(re.compile(rf"(?:{pattern})\Z") for pattern in important)

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
    """Settings of sessions: ``sql`` reads them in one row, with a column for each of ``expected``."""

    sql: str
    expected: Mapping[str, str]

    def as_json(self) -> dict[str, object]:
        return {"sql": self.sql, "expected": [*self.expected.items()]}


@dataclass(frozen=True, slots=True)
class SchemaSessions:
    """How sessions come to work in a schema: the database to connect to (None: the DSN's), and what they run first."""

    database: str | None = None
    setup: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadOnly:
    """The statement ``sql`` makes a session read-only; the expression ``asked`` then has the value ``expected``."""

    sql: str
    asked: str
    expected: str


@dataclass(frozen=True, slots=True)
class Conversion:
    """How the encryption of a schema stands, and how the server says it. ``is_encrypted`` is None while it changes.

    ``percent_done`` is how far a change is, where the server says that; 0 where none goes on. ``is_possible`` is False
    of a schema whose tables lie where others' may, too: it is never to be converted. ``key`` is another one after a
    change of keys; empty where the statement for that ends with the change.
    """

    is_encrypted: bool | None
    said: str
    percent_done: float = 0.0
    is_possible: bool = True
    key: str = ""


class ServerEngine:
    """The servers of one engine. Every default says that they cannot, or that there is nothing.

    Args:
        origin: the program of one that tdelta starts, or who answered of one that a DSN names.
    """

    profile: Profile
    catalog: Catalog
    """How it is asked what is in a database."""

    counters: tuple[str, ...] = ()
    """Queries whose rows are a counter's name and its value; a trial keeps the differences. They need no rights.

    The names that reports know: ``pages_read``, ``pages_written``, ``pages_encrypted``, ``pages_decrypted``,
    ``buffer_reads`` (misses), ``buffer_requests``, ``log_bytes``, ``checkpoints``, and those of
    `tdelta.findings.temporary`; an engine leaves out what it does not count, and may add its own.
    """

    routine_tracing: RoutineTracing | None = None
    tracing: Tracing | None = None
    """How statements are metered one by one, with the rights that a run needs anyway."""

    flushing: tuple[str, ...] = ()
    """The statements that each connection of the load runs after a trial, where sessions keep their own counts."""

    def __init__(self, origin: ServerBinary | Identity) -> None:
        self.origin = origin

    @property
    def binary(self) -> ServerBinary:
        if not isinstance(self.origin, ServerBinary):
            raise Defect(f"{self.profile.product}: the program of a user's server was asked for")
        return self.origin

    @property
    def identity(self) -> Identity:
        """Who answered on a user's server."""
        if not isinstance(self.origin, Identity):
            raise Defect(f"{self.profile.product}: the identity of a server of tdelta's was asked for")
        return self.origin

    def quoted(self, name: str) -> str:
        return self.profile.dialect.quoted(name)

    def data_bytes_sql(self, schema: str) -> str:
        """A query for how large the tables of a schema are with their indexes, bytes."""
        raise NotImplementedError

    # Of servers that tdelta starts.

    ciphers: tuple[str, ...]
    """The levels of the factor ``cipher``, ``none`` among them."""

    scopes: tuple[str, ...]
    """The levels of the factor ``scope``."""

    crypto: str
    """Whose code encrypts, ``openssl``, or ``own`` where CPUID is asked."""

    socket_name: str
    """The name that the socket's file must have."""

    resources: ServerResources
    """The resources of one of its servers beside its data."""

    facts: Mapping[str, str]
    """Queries for the settings that all twins share, by name; the first value of each is compared between them."""

    settling: Settling
    """The work after each trial that writes, such as a checkpoint."""

    evidence: ServerEvidence
    """How its files are searched."""

    schema = DATABASE
    """The schema of `DATABASE` that rows come into (MySQL: the database itself)."""

    admin_database = ""
    """The database to connect to before `DATABASE` exists; empty for none."""

    actions: Mapping[str, EngineAction] = _NOTHING
    """Its actions, by the names of `tdelta.design.actions`."""

    replication: Replication | None = None
    page_list: PageList | None = None
    """How its cache is filled from a list of pages."""

    work_sql = ""
    """A query whose last column says how many statements of loads were executed so far: prepared ones."""

    compressions: tuple[str, ...] = ()
    """The levels of the factor ``compression`` that it has, ``none`` among them."""

    rotation_needs = ""
    """The level of the factor ``keys`` without which a key has no other version; empty: none."""

    def key_store_fault(self, _keys: str, _ciphers: Sequence[str]) -> Refusal | None:
        """Why it cannot have keys of these ciphers from there; None if it can."""
        return None

    compresses_new_tables = False
    """Whether a setting decides for every new table; else each has to be changed once it is there."""

    page_size_sql: str
    """A query for the bytes of a page."""

    encryption_options_sql = ""
    """A query for the tables that a dump has encrypted or not, whatever the server does; empty: it cannot."""

    def recipe(self, place: ServerPaths, settings: ServerSettings) -> Recipe:
        """How the server of a twin is made and run, but for keys that tdelta draws; see `keyed`."""
        raise NotImplementedError

    def keyed(self, recipe: Recipe, _settings: ServerSettings, _key: str) -> Recipe:
        """The recipe of an encrypted twin with what holds its key, 64 hexadecimal digits, where tdelta draws it."""
        return recipe

    def home(self, _settings: ServerSettings) -> Path | None:
        """The folder in which such a twin must be made; None: anywhere."""
        return None

    def encrypts_folder(self, _settings: ServerSettings) -> bool:
        """Whether a twin's files are encrypted by a file system under its data directory."""
        return False

    def can_be_searched(self, _settings: ServerSettings) -> bool:
        """Whether the bytes that lie on the disk can be read: what the kernel decrypts, it shows in the clear."""
        return True

    def schema_sql(self, settings: ServerSettings) -> tuple[str, ...]:
        """Statements before tables are made, connected to no database: the database itself, default encryption."""
        raise NotImplementedError

    def before_load_sql(self, _settings: ServerSettings) -> tuple[str, ...]:
        """Statements on the new database before tables are made (extensions, keys, access methods)."""
        return ()

    def after_load_sql(self, settings: ServerSettings, tables: Iterable[str]) -> tuple[str, ...]:
        """Statements once rows and indexes exist: statistics, background encryption, compression of pages."""
        raise NotImplementedError

    def cipher_facts(self, settings: ServerSettings) -> Mapping[str, str]:
        """Queries for what the server says of its encryption, by name, read back from its catalog."""
        raise NotImplementedError

    def cipher_fault(self, settings: ServerSettings, found: Mapping[str, str]) -> Detail | None:
        """A fault of the encryption in force, given the answers to `cipher_facts`; None if it is as asked."""
        raise NotImplementedError

    def differing_settings(self, _settings: ServerSettings) -> tuple[str, ...]:
        """The server's own names of the settings in which this twin differs from a plain one, for people."""
        return ()

    def cautions(self, _settings: ServerSettings) -> tuple[Caution, ...]:
        """Cautions that belong to every figure of such a twin."""
        return ()

    def proof_sql(self, _settings: ServerSettings, _pages: int) -> Mapping[str, str]:
        """Queries that have 16 KiB encrypted or decrypted so often (``encrypted``), and all but that (``plain``).

        None for a twin without any process that could show whether it has the AES instructions.
        """
        return {}

    def restore_target(self, recipe: Recipe, folder: Path) -> RestoreTarget:
        """How a command finds a server that runs; ``folder`` is for its files."""
        raise NotImplementedError

    # Of servers that a DSN names.

    rule: SettingsRule
    """Which settings are compared."""

    session_sql: tuple[str, ...] = ()
    """The first statements of every session, so that it is not cut off while other twins are at work."""

    waiting_sql: tuple[str, ...] = ()
    """The first statements of the session that drops schemas, so that its wait for their tables is limited."""

    in_force: InForce | None = None
    """The settings of `session_sql`, as every session reads them back; None where it sets nothing."""

    read_only: ReadOnly | None = None
    """How a session is kept from writing; None where it cannot be."""

    place = ""
    """Where tables of tdelta's are to lie, where some places are encrypted and some not: two of them can be twins."""

    shared = ""
    """The parts that the places of one server share, for people."""

    cpu_sql = ""
    """A query for the CPU seconds of all its sessions so far, where it accounts for them; only differences mean
    something. It is read where its processes are not on this machine."""

    cooling_sql: tuple[str, ...] = ()
    """The statements that empty its caches, for all its users."""

    schema_actions: ClassVar[Mapping[str, EngineAction]] = _NOTHING
    """Actions on a schema, by the names of `tdelta.design.actions`; beside its load only those that are
    `ConvertsSchemas`."""

    long_sql = ""
    """A statement that waits for `LONG_SECONDS`."""

    census: tuple[str, ...] = ()
    """Queries for what else is on the server, such as databases and devices: the same before tdelta came and after it
    left."""

    explained_sql = ""
    """The query for the last plan that `explain_sql` explained; empty where one statement does both."""

    @classmethod
    def answering(cls, ask: Ask) -> ServerEngine | None:
        """The server that answers; None where it is another engine's that speaks the same protocol."""
        raise NotImplementedError

    def within(self, _ask: Ask, _place: str) -> ServerEngine:
        """The same server, for the place that a DSN names.

        Raises:
            Refused: there is none of that name where tables could lie.
        """
        return self

    def standing_faults(self, _ask: Ask) -> Iterable[Refusal]:
        """Reasons why the server cannot be a twin: a replica, read-only."""
        return ()

    def schema_faults(self, _ask: Ask, _schemas: Sequence[str], _data_bytes: int) -> Iterable[Refusal]:
        """Reasons why schemas of these names, each with so many bytes of rows, cannot be made there."""
        return ()

    def disturbances(self, _ask: Ask, _option: str) -> tuple[Caution, ...]:
        """Cautions about activity there that a measurement would disturb, or be disturbed by."""
        return ()

    def missing_grants(self, _ask: Ask) -> tuple[str, ...]:
        """The statements that would give the rights that are missing, whichever schema is made."""
        return ()

    def missing_work_grants(self, _ask: Ask, _works: Collection[str]) -> tuple[str, ...]:
        """The same of what trials do beside a load: names of actions, and ``cold`` where caches are emptied."""
        return ()

    def missing_schema_grants(self, _ask: Ask, _schema: str) -> tuple[str, ...]:
        """The statements that would give the rights on a schema, which is not there yet, that are missing."""
        return ()

    def encryption(self, ask: Ask) -> Encryption:
        """The encryption of the server."""
        raise NotImplementedError

    def settings(self, ask: Ask) -> Mapping[str, str]:
        """All settings in force."""
        raise NotImplementedError

    def probe(self, name: str) -> Probe:
        """A lock of that name."""
        raise NotImplementedError

    def has_schema(self, ask: Ask, schema: str) -> bool:
        """Whether a schema of that name exists, as far as this user may see."""
        raise NotImplementedError

    def make_sql(self, schema: NewSchema) -> tuple[str, ...]:
        """The statements that make the schema and mark it."""
        raise NotImplementedError

    def sessions(self, schema: NewSchema) -> SchemaSessions:
        """How sessions work in it: by default they connect to it."""
        return SchemaSessions(database=schema.name)

    def own_schemas(self, ask: Ask, *_named: str) -> tuple[LeftoverSchema, ...]:
        """The schemas that tdelta made, of any run; with another prefix than its own only those that are named."""
        raise NotImplementedError

    def drop_sql(self, schema: str) -> str:
        """The statement that removes the schema and its content."""
        raise NotImplementedError

    def drop_unmarked_sql(self, schema: str) -> str:
        """The statement that removes one without a mark, which is to be empty."""
        return self.drop_sql(schema)

    def tables(self, ask: Ask, schema: str) -> Mapping[str, bool | None]:
        """Whether each table of the schema is encrypted, read from the engine's own catalog."""
        raise NotImplementedError

    def indexes_sql(self, _schema: str) -> str:
        """A query for the names of the indexes of a schema that can be used; empty where loads cannot lose any."""
        return ""

    def statistics_sql(self, _tables: Iterable[str]) -> tuple[str, ...]:
        """The statements that gather the planner's statistics once tables are loaded."""
        return ()

    def drop_tables_sql(self, tables: Sequence[str]) -> tuple[str, ...]:
        """The statements that drop these tables of tdelta's schema, where they exist; referenced tables come last.

        In one statement, so that it waits for other sessions once.
        """
        return (f"DROP TABLE IF EXISTS {', '.join(map(self.quoted, tables))}",)

    def presize_sql(self, _schema: str, _data_bytes: int) -> tuple[str, ...]:
        """The statements that give the files of a schema with so many bytes of rows room for the run's writes."""
        return ()

    def memory_sql(self, _session_bytes: int) -> tuple[str, ...]:
        """The statements by which sorts and temporary tables of a session above these bytes go to files."""
        return ()

    def parallel_sql(self, _cpus: int) -> str:
        """The statement by which a statement in the session's schema uses so many CPUs at most."""
        raise NotImplementedError

    def mark_session_sql(self, _mark: str) -> str:
        """The statement that marks a session, so that others find and end it without rights; or empty."""
        return ""

    def marked_sessions(self, _ask: Ask, _mark: str) -> tuple[str, ...]:
        """The ids of the sessions that have this mark, the one that asks left out."""
        return ()

    def end_session_sql(self, session: str) -> str:
        """The statement that ends one of them, and its current statement."""
        raise NotImplementedError

    def hurry_sql(self, _seconds: int) -> str:
        """The statement that limits a session's waits for locks of others; or empty."""
        return ""

    def plan_hashes(self, _ask: Ask, _schema: str, _scripts: Mapping[str, str]) -> Mapping[str, Sequence[str]] | None:
        """Hashes of the plans of each statement of transactions that it ran, by name; None: it keeps none."""
        return None

    def explain_sql(self, statement: str) -> str:
        """The statement that explains a statement with its parameters; `explained_sql` reads the plan."""
        raise NotImplementedError

    def plan(self, rows: Sequence[Sequence[str | None]]) -> Mapping[str, object]:
        """A plan as JSON values, without what differs from server to server where plans are the same."""
        raise NotImplementedError


class ConvertsSchemas(ServerEngine):
    """Servers that encrypt and decrypt a schema of tdelta's which has rows, in the background."""

    executed_sql: str
    """A query whose one value is how many statements the server has executed so far; differences are used."""

    converts_in_statement = False
    """Whether the statement ends when the conversion does, however long that takes: on a session of its own."""

    def convert_sql(self, schema: str, *, is_encrypted: bool) -> str:
        """The statements that begin it."""
        raise NotImplementedError

    def conversion(self, ask: Ask, schema: str) -> Conversion:
        """How it stands."""
        raise NotImplementedError

    def rekey_sql(self, schema: str) -> str:
        """The statements that begin to encrypt an encrypted one with another key."""
        raise NotImplementedError

    def key_sql(self, _schema: str) -> str:
        """The statements that give a plain schema its key; empty where encrypting it does."""
        return ""

    def unkey_sql(self, _schema: str) -> tuple[str, ...]:
        """The statements that take the key from a plain schema, if it has one."""
        return ()

    def suspend_sql(self, _schema: str) -> str:
        """The statements that suspend it; empty where this version cannot."""
        return ""

    def resume_sql(self, _schema: str) -> str:
        """The statements that resume it."""
        return ""

    def offline_sql(self, _schema: str) -> str:
        """The statements that take its rows away, for a conversion in place; empty where there is none. Statements that
        need the rows fail then, and a load tries them again until they are back.
        """
        return ""

    def convert_offline_sql(self, schema: str, *, is_encrypted: bool) -> str:
        """The statement that encrypts or decrypts it meanwhile, and ends when that is done."""
        raise NotImplementedError

    def online_sql(self, schema: str) -> str:
        """The statements that bring its rows back."""
        raise NotImplementedError


def recipe_of(engine: ServerEngine, place: ServerPaths, settings: ServerSettings, key: str | None) -> Recipe:
    """How the server of a twin is made and run; ``key`` is 64 hexadecimal digits, None where none is drawn."""
    recipe = dataclasses.replace(engine.recipe(place, settings), cores=settings.cores)
    return recipe if key is None else engine.keyed(recipe, settings, key)
