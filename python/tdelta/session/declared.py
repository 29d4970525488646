"""The options of ``tdelta run``, each declared once: a field of `Options`, in the order of help texts.

`tdelta.session.options` says what is derived from a declaration. A new option is one such field, and what uses it; a
default that only some engines have is in their profiles.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tdelta.design.factors import SCOPES
from tdelta.design.takes import Takes
from tdelta.engines.registry import ENGINES
from tdelta.engines.server.dsn import parse_dsn
from tdelta.engines.sqlite.libraries import SQLITE3MC, WHEELS
from tdelta.records import DEFAULT_TOLERANCE, ENCRYPTION, Level, Metric
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
class Options:
    """All options of `tdelta run`, with the defaults of the command line: seconds, bytes, and shares as quotients.

    What is tested. ``library`` is the name of a SQLite library or the path of one. With ``database``, a file of the
    user's, copies of it are compared. ``restore`` is a command of the user's that loads a dump into a private server,
    whose copies then hold that. ``baseline`` and ``encrypted`` are DSNs of two servers of the user's
    (`tdelta.engines.server.dsn`).

    The work of a trial. ``agents`` is how many processes share the load, on nodes of the Ray cluster at the address
    ``ray``; None: one, which needs no Ray. ``hosts`` is on how many nodes of that cluster the servers run, each on
    another in the next round; None: on this machine. ``load_generator`` is a command of the user's that is run as the
    load instead of a workload's transactions, ``load_operations`` a pattern for the number of its operations in what it
    prints. ``rate`` makes the loop open: operations per second over all threads, or the text of a share of the
    baseline's capacity (``60%``). ``cold`` empties all caches before each trial.

    The copies. ``scope`` is what an engine encrypts (None: all that it can), ``encrypted_dir`` a folder of the user's
    that is encrypted, in which PostgreSQL's encrypted copies live. ``cache`` is a share of the data size, or the text
    of a size. ``page_size`` is a database's own where it is None. ``key`` says how a library is given keys.

    The design. ``vary`` maps a factor to its levels in the user's order; ``cipher`` always gains the level ``none``.
    ``contrast`` is ``cipher``, or of `tdelta compare` the factor whose levels are builds, none of which encrypts.
    ``warmup_seconds`` is how much of the head of a trial is not recorded; None is a tenth of it.
    ``bb_control``: whether a second instance of an encrypted condition runs beside it; None where there is room for
    one. ``trace``: after each measured trial its copy runs some transactions with every statement metered by itself.
    ``profile``: after the measured trials of a round, copies are run once more and sampled by ``perf``.

    The decision. ``latency_limit_seconds`` is what a transaction may take; how often it took longer is reported, never
    decided on. ``use_calibration``: a run begins with what `tdelta calibrate` found here, where anything fits.

    ``typed`` names those of `TOLD` that were typed, though it may be as their defaults: blocks are fewer, and the time
    is longer, where that helps and nobody said how many; a tolerance is the user's own word.
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
        takes=Takes.SETTING,
        decides_trial=True,
        group=Group.SETTINGS,
    )
    temp_store: str = option(
        "--temp-store",
        values.Choice(names=("default", "file", "memory")),
        "Where temporary tables and sorts go.",
        "default",
        shown="library default",
        takes=Takes.SETTING,
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
    vary: Mapping[str, tuple[Level, ...]] = option(
        "--vary",
        values.Factors(),
        "Levels to compare: threads=1,4.",
        {},
        shown="cipher=aes-256",
        of_study=False,
        group=Group.COMMON,
    )
    contrast: str = option("", values.Value(), "Factor whose first level is the baseline.", ENCRYPTION, of_study=False)
    trial_seconds: float = option(
        "--trial-time",
        values.Duration(),
        "Length of a trial of the unencrypted copy.",
        0.25,
        open_loop=2.0,
        decides_trial=True,
        group=Group.ADVANCED,
    )
    warmup_seconds: float | None = option(
        "--warmup",
        values.Duration(zero=True),
        "Warm-up at the start of each trial, not recorded.",
        shown="a tenth",
        decides_trial=True,
    )
    blocks_per_round: int = option("--blocks", values.WholeNumber(), "Blocks per round.", 6, calibrates=True)
    self_test: bool = option(
        "--self-test",
        values.Flag(),
        "Compare identical unencrypted copies: is this machine stable enough?",
        False,
        of_pilot=False,
        group=Group.COMPARISON,
    )
    aa_control: bool = option(
        "--no-aa",
        values.Flag(stands_for=False),
        "Omit the A/A control; the noise is then unknown.",
        True,
        of_pilot=False,
        group=Group.ADVANCED,
    )
    bb_control: bool | None = option(
        "--no-bb",
        values.Flag(stands_for=False),
        "Omit the B/B control, a second encrypted copy.",
        shown="included if time permits",
        of_pilot=False,
        group=Group.ADVANCED,
    )
    inject: tuple[float, ...] = option(
        "--inject",
        values.Percents(),
        "Add an unencrypted copy that is slowed by this much; repeatable.",
        (),
        of_pilot=False,
        group=Group.COMPARISON,
    )
    trace: bool = option(
        "--trace",
        values.Flag(),
        "Meter each statement separately in extra trials: CPU, elapsed time, reads, rows.",
        False,
        takes=Takes.TRACES,
        of_pilot=False,
        group=Group.DIAGNOSTICS,
    )
    profile: bool = option(
        "--profile",
        values.Flag(),
        "Sample the functions of each copy with perf in unmeasured trials, to see where CPU time goes.",
        False,
        of_pilot=False,
        of_study=False,
        group=Group.DIAGNOSTICS,
    )
    seed: int | None = option(
        "--seed",
        values.WholeNumber(least=0, most=2**63 - 1),
        "Random seed; recorded either way.",
        shown="random",
        calibrates=True,
        of_study=False,
        group=Group.ADVANCED,
    )
    min_rounds: int = option(
        "--rounds",
        values.Rounds(),
        "Rounds with new copies.",
        3,
        shown="3, as many as time allows",
        also="max_rounds",
        of_pilot=False,
        group=Group.COMPARISON,
    )
    max_rounds: int | None = option("", values.WholeNumber(), "The most rounds.")
    max_seconds: float = option(
        "--max-time", values.Duration(), "Total time, set-up included.", 85.0, of_pilot=False, group=Group.COMMON
    )
    tolerance: float = option(
        "--tolerance",
        values.Percent(),
        "Differences below this count as none.",
        DEFAULT_TOLERANCE,
        calibrates=True,
        of_pilot=False,
        group=Group.COMMON,
    )
    budget: float | None = option(
        "--budget",
        values.Percent(),
        "Fail with exit code 5 if the overhead is larger.",
        of_pilot=False,
        group=Group.COMMON,
    )
    metric: Metric = option(
        "--metric",
        values.Choice("NAME", names=tuple(metric.value for metric in Metric), make=Metric),
        f"Cost that decides: {', '.join(Metric)}.",
        Metric.RESPONSE_TIME,
        group=Group.COMPARISON,
    )
    latency_limit_seconds: float | None = option(
        "--latency-limit",
        values.ResponseTime(),
        "Report how often transactions exceed TIME (20ms); informational only.",
        of_study=False,
        group=Group.COMPARISON,
    )
    use_calibration: bool = option(
        "--no-calibration",
        values.Flag(stands_for=False),
        "Ignore what `tdelta calibrate` found here.",
        True,
        of_study=False,
    )
    directory: Path | None = option(
        "--dir",
        values.PathValue("DIR"),
        "Folder for the files of the copies.",
        shown="~/.cache/tdelta",
        calibrates=True,
        of_study=False,
        group=Group.CONTROL,
    )
    store: Path | None = option(
        "--store",
        values.PathValue("FILE", is_folder=False),
        "File that keeps the results.",
        shown="TDELTA_STORE, else the user's data folder",
        calibrates=True,
        of_study=False,
        group=Group.OUTPUT,
    )
    labels: tuple[str, ...] = option(
        "--label",
        values.Labels(),
        "Label by which commands find the run; repeatable.",
        (),
        of_pilot=False,
        of_study=False,
        group=Group.OUTPUT,
    )
    typed: tuple[str, ...] = option(
        "", values.Several(is_repeated=True), "What was typed.", (), of_pilot=False, of_study=False, compare=False
    )


TOLD = ("tolerance", "max_seconds", "blocks_per_round", "trial_seconds", "work")
"""Options, and factors, of which it matters whether they were typed."""
