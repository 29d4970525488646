"""What an engine that is a server says of its servers: how one is made, configured and asked. Opens nothing itself.

An adapter turns settings into a `Recipe`; what starts and supervises the process is `tdelta.driver.servers`. Twins
share every setting but what their factors say: everything that an adapter writes depends on `ServerSettings` alone, and
what differs between two recipes is what differs between their settings.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from tdelta.driver.servers.recipes import Recipe, ServerPaths
from tdelta.engines.profile import Profile
from tdelta.engines.shared.describing import Catalog
from tdelta.engines.shared.evidence import ServerEvidence
from tdelta.engines.shared.private.restore import RestoreTarget
from tdelta.engines.shared.settling import Settling
from tdelta.messages import Caution, Detail

PLAIN_SCOPE = "none"
"""The scope of a twin without a cipher."""

DATABASE = "tdelta"
"""The only database (MySQL: schema) of a private server that tdelta makes, and the user it connects as."""


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
    """What decides a twin's server and the connections to it.

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
    encrypted, ``none`` among them; empty in runs that do not vary it. ``server`` is which of several versions it is, by
    the level of the factor of that name; empty in runs with one. ``cores`` is how many CPUs it may use; 0 for all.
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
    server: str = ""
    cores: int = 0

    @property
    def is_encrypted(self) -> bool:
        """Whether the twin has a cipher."""
        return self.scope != PLAIN_SCOPE

    @property
    def keyed_cipher(self) -> str:
        """The cipher that the server needs a key for: its own, or that which it is encrypted with; empty without."""
        return self.cipher if self.is_encrypted else self.becomes

    @property
    def is_compressed(self) -> bool:
        """Whether pages of tables are compressed."""
        return self.compression not in ("", "none")

    @property
    def template_key(self) -> tuple[str, ...]:
        """What decides how the rows lie in the files: twins that agree in it are copies of the same load."""
        return (self.cipher, self.scope, *(part for part in (self.compression, self.server) if part))

    def covers(self, part: str) -> bool:
        """Whether ``part`` (``data``, ``log``, ``temp``, ``binlog``) is encrypted on this twin."""
        return self.scope == "all" or (self.is_encrypted and part == "data") or self.scope == f"+{part}"


@dataclass(frozen=True, slots=True)
class ServerCipher:
    """One level of the factor ``cipher`` on a server. ``asked`` is what the engine is told, for people."""

    asked: str


@dataclass(frozen=True, slots=True)
class ServerResources:
    """What a server takes before it holds any data, measured (docs/engines.md).

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


class PrivateServer(Protocol):
    """How a server is made."""

    @property
    def profile(self) -> Profile:
        """What is known of its engine."""

    @property
    def binary(self) -> ServerBinary:
        """The program."""

    @property
    def ciphers(self) -> Mapping[str, ServerCipher]:
        """The levels of the factor ``cipher``, ``none`` among them."""

    @property
    def scopes(self) -> tuple[str, ...]:
        """The levels of the factor ``scope`` that this engine has."""

    @property
    def crypto(self) -> str:
        """Whose code encrypts, ``openssl``, or ``own`` where CPUID is asked."""

    @property
    def socket_name(self) -> str:
        """What the socket's file must be called."""

    @property
    def resources(self) -> ServerResources:
        """What one of its servers takes beside its data."""

    def recipe(self, place: ServerPaths, settings: ServerSettings) -> Recipe:
        """How the server of a twin is made and run, but for keys that tdelta draws; see `Keyed`."""


class Filled(Protocol):
    """How rows come into a server that was just made."""

    @property
    def admin_database(self) -> str:
        """What to connect to before `DATABASE` is there; empty for none."""

    def schema_sql(self, settings: ServerSettings) -> tuple[str, ...]:
        """What is run before tables are made, connected to no database: the database itself, default encryption."""

    def after_load_sql(self, settings: ServerSettings, tables: Iterable[str]) -> tuple[str, ...]:
        """What is run once rows and indexes are there: statistics, background encryption, compression of pages."""

    @property
    def data_bytes_sql(self) -> str:
        """A query for how large the tables of `DATABASE` are with their indexes, bytes."""


class Verified(Protocol):
    """What a server says of its settings, its encryption among them."""

    @property
    def facts(self) -> Mapping[str, str]:
        """Queries for the settings that all twins share, by name; the first value of each is compared between them."""

    def cipher_facts(self, settings: ServerSettings) -> Mapping[str, str]:
        """Queries for what the server says of its encryption, by name, read back from its catalog."""

    def cipher_fault(self, settings: ServerSettings, found: Mapping[str, str]) -> Detail | None:
        """What is wrong with the encryption in force, given the answers to `cipher_facts`; None if it is as asked."""

    def differing_settings(self, settings: ServerSettings) -> tuple[str, ...]:
        """The server's own names of the settings in which this twin differs from a plain one, for people."""


class Observed(Protocol):
    """What is read of a server while it works, and after it."""

    @property
    def counters(self) -> tuple[str, ...]:
        """Queries whose rows are a counter's name and its value; a trial keeps the differences.

        The names that reports know: ``pages_read``, ``pages_written``, ``pages_encrypted``, ``pages_decrypted``,
        ``buffer_reads`` (misses), ``buffer_requests``, ``log_bytes``, ``checkpoints``, and those of
        `tdelta.findings.temporary`; an engine leaves out what it does not count, and may add its own.
        """

    @property
    def tracing(self) -> Tracing:
        """How statements are metered one by one."""

    @property
    def settling(self) -> Settling:
        """What is done after each trial that writes."""

    @property
    def evidence(self) -> ServerEvidence:
        """How its files are searched."""


class ServerEngine(PrivateServer, Filled, Verified, Observed, Protocol):
    """How twins of a server engine are made and asked. What only some engines can, is asked by ``isinstance``."""


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


@runtime_checkable
class ListsPages(Protocol):
    """A server that can fill its cache from a list."""

    @property
    def page_list(self) -> PageList:
        """How."""


@runtime_checkable
class Keyed(Protocol):
    """A server whose keys are tdelta's to draw."""

    def keyed(self, recipe: Recipe, settings: ServerSettings, key: str) -> Recipe:
        """The recipe of an encrypted twin with what holds its key, 64 hexadecimal digits."""


@runtime_checkable
class Prepared(Protocol):
    """A server whose database wants more than tables."""

    def before_load_sql(self, settings: ServerSettings) -> tuple[str, ...]:
        """What is run on the new database before tables are made (extensions, keys, access methods)."""


@runtime_checkable
class Flushed(Protocol):
    """A server whose sessions keep counts to themselves for a while."""

    @property
    def flushing(self) -> tuple[str, ...]:
        """What each connection of the load runs when a trial has ended, so that `counters` holds all it did."""


def flushing(engine: object) -> list[str]:
    """Statements by which a session adds what it has counted to the counters; none where it does so at once."""
    return list(engine.flushing) if isinstance(engine, Flushed) else []


@runtime_checkable
class FolderEncrypted(Protocol):
    """A server whose files may be encrypted by what lies under its data directory."""

    def home(self, settings: ServerSettings) -> Path | None:
        """The folder in which such a twin must be made; None: anywhere."""

    def encrypts_folder(self, settings: ServerSettings) -> bool:
        """Whether a twin's files are encrypted by a file system under its data directory."""

    def can_be_searched(self, settings: ServerSettings) -> bool:
        """Whether the bytes that lie on the disk can be read: what the kernel decrypts, it shows in the clear."""


@runtime_checkable
class Cautioned(Protocol):
    """A server of which there is something to be said."""

    def cautions(self, settings: ServerSettings) -> tuple[Caution, ...]:
        """What must be said beside every figure of such a twin."""


@runtime_checkable
class Compresses(Protocol):
    """A server that can compress the pages of its tables."""

    @property
    def compressions(self) -> tuple[str, ...]:
        """The levels of the factor ``compression`` that it has, ``none`` among them."""

    @property
    def compresses_new_tables(self) -> bool:
        """Whether a setting decides for every new table; else each has to be changed once it is there."""


@runtime_checkable
class Proven(Protocol):
    """A server that shows whether its processes have the AES instructions."""

    def proof_sql(self, settings: ServerSettings, pages: int) -> Mapping[str, str]:
        """Queries that have 16 KiB encrypted or decrypted so often (``encrypted``), and all but that (``plain``).

        None for a twin without any process that could show it.
        """


@runtime_checkable
class Restorable(Protocol):
    """A server that a user's dump can be restored into, and what it then holds be described."""

    @property
    def catalog(self) -> Catalog:
        """How it is asked what is in a database."""

    @property
    def schema(self) -> str:
        """The schema of `DATABASE` that a dump comes into (MySQL: the database itself)."""

    @property
    def page_size_sql(self) -> str:
        """A query for the bytes of a page."""

    @property
    def encryption_options_sql(self) -> str:
        """A query for the tables that a dump has encrypted or not, whatever the server does; empty: it cannot."""

    def restore_target(self, recipe: Recipe, folder: Path) -> RestoreTarget:
        """How a command finds a server that runs; ``folder`` is for its files."""


@runtime_checkable
class RestorableEngine(ServerEngine, Restorable, Protocol):
    """A server engine that dumps can be restored into."""


def recipe_of(engine: ServerEngine, place: ServerPaths, settings: ServerSettings, key: str | None) -> Recipe:
    """How the server of a twin is made and run.

    Args:
        engine: whose server.
        place: where.
        settings: the twin's.
        key: 64 hexadecimal digits; None for a plain twin, and where none is drawn.
    """
    recipe = dataclasses.replace(engine.recipe(place, settings), cores=settings.cores)
    return engine.keyed(recipe, settings, key) if key is not None and isinstance(engine, Keyed) else recipe
