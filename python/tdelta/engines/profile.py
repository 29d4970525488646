"""Facts about an engine that are known before anything of it is found, opened or queried: data alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from tdelta.design.takes import SERVER_DEFAULTS, Takes
from tdelta.profiling.functions import Names
from tdelta.workloads.dialect import Dialect

Headings: TypeAlias = Mapping[str, tuple[tuple[str, ...], str]]
"""By the customary headings of a statement trace: an engine's counters to add up, and the words for them."""

CLIENT_FACTORS = ("threads", "rate", "replication")
"""Factors that a server is not made by: conditions that differ in these only share an instance."""


@dataclass(frozen=True, slots=True)
class ServerProgram:
    """How the program of a private server is found.

    Attributes:
        names: what it may be called.
        products: patterns of what ``--version`` says, with the version as their group, each with the product's name;
            the first that fits.
        remedy: how to come by one.
        cache_setting: which of its settings is the size of its cache, as it is read back.
        oldest: the oldest version that tdelta can drive; nothing older is taken where a program is named.
    """

    names: tuple[str, ...]
    products: tuple[tuple[str, str], ...]
    remedy: str
    cache_setting: str = ""
    oldest: str = "0"


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """How a user's server is named in a DSN, and known on this machine.

    Attributes:
        schemes: what its DSNs begin with.
        port: the usual one.
        tls_port: the one that usually speaks TLS, where the usual one does not; then a DSN that says nothing of TLS is
            of a connection without. 0 where one port speaks both.
        processes: what the process of a server is called.
        socket_name: what the file of a socket is called, with ``{port}``, where a DSN may name its folder; empty where
            a DSN names the file.
        has_databases: whether a DSN names a database, in which tdelta makes its schema.
        needs_service: whether it has to name one, which is a service of the server's.
        place: the parameter of a DSN that names where within the server tdelta's tables lie, so that two places of one
            server can be twins; empty where there is none.
        worker: the program of the workers that connect to them.
        clients: the programs for the values of ``client=`` in a DSN.
        takes: the groups of options that they take beside those that all of users' servers do.
        takes_authority: whether a DSN may name the certificates to trust; else they are this machine's.
        loader: the vendor's own program that loads rows from a file; empty where tdelta knows none.
        is_cooled: whether their caches can be emptied by SQL, for all who use them.
        needs: what it takes to run on them, sentence by sentence, where that is all that can be run.
        publishing: what the vendor's licence says of results.
        is_untried: whether nobody of tdelta's ever ran it on a real server.
    """

    schemes: tuple[str, ...]
    port: int
    processes: frozenset[str]
    tls_port: int = 0
    socket_name: str = ""
    has_databases: bool = False
    needs_service: bool = False
    place: str = ""
    worker: str = "tdelta.processes.worker"
    clients: Mapping[str, str] = field(default_factory=dict)
    takes: frozenset[Takes] = frozenset()
    takes_authority: bool = True
    loader: str = ""
    is_cooled: bool = False
    needs: tuple[str, ...] = ()
    publishing: str = ""
    is_untried: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of an embedded engine, which its workers apply and each twin is checked for.

    Attributes:
        sql: the statement that sets ``{value}``.
        query: reads it back.
        levels: its values, each with what the query returns for it; empty: any value.
        reported: what the query returns for a value without levels.
        is_own: whether the engine itself chooses its value; else the option of the same name gives it.
    """

    sql: str
    query: str
    levels: Mapping[str, str] = field(default_factory=dict)
    reported: Callable[[Any], str] = str
    is_own: bool = False

    def expected(self, value: Any) -> str:
        """The query's answer while the value is in force."""
        return self.levels[value] if self.levels else self.reported(value)


@dataclass(frozen=True, slots=True)
class Profile:
    """One engine.

    Attributes:
        name: what ``--engine`` takes.
        product: the product, for people.
        dialect: whose SQL it speaks.
        takes: the groups of options that it takes.
        settings: the settings of an embedded engine's twins by name.
        defaults: the options of a run that have another default here than elsewhere, by their names.
        is_server: whether twins are servers, started by tdelta or by the user; else each is a file and a process.
        client_factors: factors that a twin does not see.
        fills_cpus: whether one connection keeps all CPUs busy: tasks that wait for one tell of no other load then.
        cold_operations: how many operations of a cold trial, on each thread, find nothing in any cache; None: all that
            fill it.
        warms_until_settled: whether warm-up goes on until cache misses settle, and is not one trial.
        headings: what it counts under the headings of a statement trace.
        shown: what a plain twin shows of itself and an encrypted one hides.
        unsearched: why twins are not searched for plaintext, where they cannot be.
        connects: whether a workload may open connections.
        most_cold: how many connections can be cold at once; None where it does not matter.
        functions: what its own functions and files are called.
        not_timed: why calls of its cipher cannot be timed, where that is so of every twin.
        widened_by: the setting that encrypts more than tables, by the class of the files, where there is one.
        program: how its private servers are found; None for what is not started as a server.
        address: how servers of users are reached; None where none can be.
        protocol: what clients of other programs speak to its twins, ``mysql`` or ``postgres``; empty where none can.
    """

    name: str
    product: str
    dialect: Dialect
    takes: frozenset[Takes] = frozenset({Takes.INSTANCES, Takes.CACHE})
    settings: Mapping[str, Setting] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    is_server: bool = False
    client_factors: tuple[str, ...] = ()
    fills_cpus: bool = False
    cold_operations: int | None = 1
    warms_until_settled: bool = False
    headings: Headings = field(default_factory=dict)
    shown: str = "planted rows in its tables"
    unsearched: str = ""
    connects: bool = True
    most_cold: int | None = None
    functions: Names = field(default_factory=Names)
    protocol: str = ""
    not_timed: str = ""
    widened_by: Mapping[str, str] = field(default_factory=dict)
    program: ServerProgram | None = None
    address: ServerAddress | None = None

    def accepts(self, option: str, takes: Takes | None) -> bool:
        """Whether it takes an option, or a factor, of that group."""
        if takes is Takes.SETTING:
            return option in self.settings and not self.settings[option].is_own
        return takes is None or takes in self.takes

    @property
    def cache_setting(self) -> str:
        """Which setting of its servers is the size of their cache; empty where there is none."""
        return "" if self.program is None else self.program.cache_setting


server_profile = partial(Profile, defaults=SERVER_DEFAULTS, is_server=True, client_factors=CLIENT_FACTORS)
"""The profile of an engine whose twins are servers."""


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """One engine as ``tdelta engines`` lists it, or one library of it.

    ``install`` is the remedy where it is not ``available``. ``option`` is what ``--library`` takes to test it, empty
    where there is no choice; ``crypto`` says whose code encrypts, empty where that is not known.
    """

    name: str
    available: bool
    version: str | None
    ciphers: tuple[str, ...]
    library: str
    install: str
    notes: str = ""
    option: str = ""
    crypto: str = ""
