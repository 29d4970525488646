"""The options that say what is tested: the engine and its data, what a trial does, what twins are made with."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tdelta.design.factors import SCOPES
from tdelta.engines.registry import ENGINES
from tdelta.engines.server.dsn import parse_dsn
from tdelta.engines.sqlite.libraries import SQLITE3MC, WHEELS
from tdelta.engines.takes import Takes
from tdelta.session import values
from tdelta.session.groups import Group
from tdelta.session.options import option
from tdelta.workloads import BUILT_IN


@dataclass(frozen=True, slots=True)
class _Named(values.Value):
    names: Collection[str] = ()

    def offered(self) -> Iterable[str]:
        return self.names


@dataclass(frozen=True, slots=True)
class _NamedOrPath(_Named):
    """One of some names, or the path of what is there."""

    def within(self, folder: Path, value: Any) -> Any:
        return value if value in self.names else str(folder / value)

    def to_json(self, value: Any) -> str:
        return value if value in self.names else str(Path(value).absolute())


@dataclass(frozen=True, slots=True)
class _Dsn(values.Value):
    """A server of the user's, without its password."""

    metavar: str = "DSN"

    def within(self, folder: Path, value: Any) -> Any:
        return _with_files(value, folder)

    def to_json(self, value: Any) -> str:
        return _with_files(value, Path.cwd())


def _with_files(text: str, folder: Path) -> str:
    """A DSN whose files are meant from a folder."""
    dsn = parse_dsn(text)
    password, authority = (path and str(folder / path) for path in (dsn.password_file, dsn.tls_ca))
    return str(dataclasses.replace(dsn, password_file=password, tls_ca=authority))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What is tested: an engine with generated rows or the user's own, or two servers of the user's.

    ``library`` is the name of a SQLite library or the path of one. With ``database``, a file of the user's, twins are
    copies of it. ``restore`` is a command of the user's that loads a dump into a private server, whose twins then hold
    that. ``baseline`` and ``encrypted`` are DSNs of two servers of the user's (`tdelta.engines.server.dsn`).
    """

    study: str | None = option(
        "STUDY",
        values.Value(),
        "Published experiment to repeat.",
        of_pilot=False,
        of_study=False,
        decides_defaults=True,
        group=Group.COMMON,
    )
    engine: str = option(
        "--engine",
        _Named("NAME", names=ENGINES),
        f"Database engine: {', '.join(ENGINES)}.",
        "sqlite",
        calibrates=True,
        decides_defaults=True,
        group=Group.COMMON,
    )
    library: str = option(
        "--library",
        _NamedOrPath("NAME|PATH", names=WHEELS),
        "SQLite library: sqlite3mc, sqlcipher, or a path.",
        SQLITE3MC.name,
        takes=Takes.LIBRARY,
        calibrates=True,
        group=Group.SETTINGS,
    )
    server_binary: Path | None = option(
        "--server-binary",
        values.PathValue(),
        "Server program to test: mariadbd, mysqld or postgres.",
        shown="the newest that is found",
        takes=Takes.SERVER,
        calibrates=True,
        group=Group.PRIVATE_SERVERS,
    )
    study_size: str = option(
        "--study-size",
        values.Choice(names=("small", "published")),
        "Size of STUDY: small enough for a laptop, or as published.",
        "small",
        decides_defaults=True,
        group=Group.WORKLOAD,
    )
    database: Path | None = option(
        "--database",
        values.PathValue("FILE"),
        "Your SQLite file; it is only read.",
        shown="generated rows",
        takes=Takes.LIBRARY,
        calibrates=True,
        group=Group.COMMON,
    )
    restore: str | None = option(
        "--restore",
        values.Value("CMD"),
        "Command that loads your dump into each server: 'psql -1 -f app.sql'.",
        shown="generated rows",
        takes=Takes.SERVER,
        group=Group.DATA,
    )
    baseline: str | None = option(
        "--baseline",
        _Dsn(),
        "Your unencrypted server: mysql://USER@HOST/?password-env=NAME.",
        decides_defaults=True,
        group=Group.YOUR_SERVERS,
    )
    encrypted: str | None = option(
        "--encrypted",
        _Dsn(),
        "Your encrypted server, to compare with it.",
        decides_defaults=True,
        group=Group.YOUR_SERVERS,
    )
    schema: str | None = option(
        "--schema",
        values.Value("NAME"),
        "Schema to create on both servers and drop afterwards; your own, only read, if the workload has no schema.sql.",
        shown="tdelta_RUN",
        takes=Takes.OWN_SERVERS,
        group=Group.YOUR_SERVERS,
    )
    assume_encrypted: bool = option(
        "--assume-encrypted",
        values.Flag(),
        "Trust that the encrypted server's disk is encrypted, if SQL cannot confirm it (PostgreSQL).",
        False,
        takes=Takes.OWN_SERVERS,
        group=Group.YOUR_SERVERS,
    )
    size_bytes: int = option("--size", values.Size(), "Data per copy.", 50_000_000, calibrates=True, group=Group.COMMON)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a trial does.

    ``agents`` is how many processes share the load, on nodes of the Ray cluster at the address ``ray``; None: one,
    which needs no Ray. ``hosts`` is on how many nodes of that cluster the twins' servers run, each on another in the
    next round; None: on this machine. ``load_generator`` is a command of the user's that is run as the load instead of
    a workload's transactions, ``load_operations`` a pattern for the number of its operations in what it prints.
    ``rate`` makes the loop open: operations per second over all threads, or the text of a share of the baseline's
    capacity (``60%``).
    ``cold`` empties all caches before each trial.
    """

    workload: str | None = option(
        "--workload",
        _NamedOrPath("NAME|DIR", names=BUILT_IN),
        "Built-in workload, or your folder.",
        shown="order-entry",
        calibrates=True,
        group=Group.COMMON,
    )
    load_generator: str | None = option(
        "--load-generator",
        values.Value("CMD"),
        "Load generator to run instead of the workload: 'sysbench oltp_read_only run'.",
        shown="the workload's mix",
        takes=Takes.SERVER,
        group=Group.WORKLOAD,
    )
    load_operations: str | None = option(
        "--load-operations",
        values.Value("REGEX"),
        "Regex whose first group captures the operation count in the output of CMD.",
        shown="built in for sysbench and pgbench",
        takes=Takes.SERVER,
        group=Group.WORKLOAD,
    )
    agents: int | None = option(
        "--agents",
        values.WholeNumber(),
        "Processes that share the clients and operations of each trial, placed by Ray.",
        shown="tdelta's own process",
        takes=Takes.AGENTS,
        decides_trial=True,
        of_study=False,
        group=Group.DISTRIBUTED,
    )
    ray: str | None = option(
        "--ray",
        values.Value("ADDRESS"),
        "Ray cluster on which agents or copies are placed: HOST:PORT, or auto.",
        shown="one on this machine, for the run's agents",
        takes=Takes.AGENTS,
        calibrates=True,
        of_study=False,
        group=Group.DISTRIBUTED,
    )
    hosts: int | None = option(
        "--hosts",
        values.WholeNumber(least=2),
        "Rotate the copies among N cluster nodes so that host differences cancel out.",
        shown="this machine alone",
        takes=Takes.SERVER,
        of_study=False,
        group=Group.DISTRIBUTED,
    )
    threads: int = option(
        "--threads", values.WholeNumber(), "Concurrent clients.", 1, decides_trial=True, group=Group.COMMON
    )
    cold: bool = option(
        "--cold",
        values.Flag(),
        "Start every trial with cold caches.",
        False,
        factor="work",
        decides_trial=True,
        group=Group.WORKLOAD,
    )
    rate: float | str | None = option(
        "--rate",
        values.Rate(),
        "Target transactions per second, or percentage of the unencrypted database's maximum; latency includes"
        " queueing.",
        shown="as fast as possible",
        decides_trial=True,
        group=Group.WORKLOAD,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinOptions:
    """What twins are made with.

    ``scope`` is what an engine encrypts (None: all that it can), ``encrypted_dir`` a folder of the user's that is
    encrypted, in which PostgreSQL's encrypted twins live. ``cache`` is a share of the data size, or the text of a
    size, ``session_memory`` bytes. ``page_size`` is a database's own where it is None. ``key`` says how a library is
    given keys.
    """

    scope: str | None = option(
        "--scope",
        values.Choice(names=SCOPES),
        "What to encrypt: tables, tables plus one other kind of data, or everything.",
        shown="everything the engine can encrypt",
        takes=Takes.SCOPE,
        group=Group.SETTINGS,
    )
    encrypted_dir: Path | None = option(
        "--encrypted-dir",
        values.PathValue("DIR", is_file=False),
        "Folder on an encrypted file system, for PostgreSQL's encrypted copies.",
        shown="gocryptfs, or pg_tde",
        takes=Takes.ENCRYPTED_FOLDER,
        group=Group.PRIVATE_SERVERS,
    )
    cache: float | str = option(
        "--cache",
        values.CacheSize(),
        "Page cache or buffer pool: a share of the data, or a size such as 4GB.",
        0.10,
        takes=Takes.CACHE,
        decides_trial=True,
        group=Group.SETTINGS,
    )
    session_memory: int | None = option(
        "--session-memory",
        values.Size(),
        "Memory per session for sorts, joins and temporary tables before they spill to files.",
        shown="engine default",
        takes=Takes.SESSION_MEMORY,
        decides_trial=True,
        group=Group.SETTINGS,
    )
    page_size: int | None = option(
        "--page-size",
        values.PageSize(),
        "Database page.",
        shown="4096; with --database its own",
        takes=Takes.LIBRARY,
        decides_trial=True,
        group=Group.SETTINGS,
    )
    synchronous: str = option(
        "--synchronous",
        values.Value("LEVEL"),
        "off, normal, full or extra.",
        "normal",
        takes=Takes.LIBRARY,
        decides_trial=True,
        group=Group.SETTINGS,
    )
    temp_store: str = option(
        "--temp-store",
        values.Choice(names=("default", "file", "memory")),
        "Where temporary tables and sorts go.",
        "default",
        shown="library default",
        takes=Takes.LIBRARY,
        decides_trial=True,
        group=Group.SETTINGS,
    )
    key: str | None = option(
        "--key",
        values.Choice(names=("passphrase", "raw")),
        "How SQLCipher gets its keys: derived from a passphrase, or raw.",
        shown="raw; passphrase if connections are part of the work",
        takes=Takes.LIBRARY,
        of_study=False,
        group=Group.SETTINGS,
    )
