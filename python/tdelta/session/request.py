"""What a user asks of ``tdelta run``: every option, declared once, and the request that they make.

An option is a field of one of the records here; its annotation says all else there is to say of it
(`tdelta.session.options`). A new one is one such field, and what uses it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from tdelta.design.factors import SCOPES
from tdelta.engines.dsn import ENGINES, parse_dsn
from tdelta.engines.registry import servers
from tdelta.engines.sqlite.libraries import SQLITE3MC, WHEELS
from tdelta.engines.takes import Takes
from tdelta.errors import UnknownName
from tdelta.records import DEFAULT_ROPE, DatabaseFacts, Level, Metric
from tdelta.session.options import Option, options_of
from tdelta.session.studies import study
from tdelta.session.values import (
    Argument,
    Bytes,
    Choice,
    Duration,
    Factors,
    Flag,
    Number,
    Percent,
    Percents,
    Place,
    ResponseTime,
    Rounds,
    Size,
    Value,
    Whole,
)
from tdelta.workloads import BUILT_IN


@dataclass(frozen=True, slots=True)
class _Library(Value):
    """A library's name or path."""

    def to_json(self, value: Any) -> str:
        """The name, or the absolute path."""
        return value if value in WHEELS else str(Path(value).absolute())


@dataclass(frozen=True, slots=True)
class _Workload(Value):
    """A workload's name or folder."""

    def to_json(self, value: Any) -> str:
        """The name, or the absolute path of the folder that is there."""
        return str(Path(value).resolve()) if value not in BUILT_IN and Path(value).is_dir() else value


@dataclass(frozen=True, slots=True)
class _Dsn(Value):
    """A server of the user's, without its password."""

    metavar: str = "DSN"

    def to_json(self, value: Any) -> str:
        """The DSN as it can be typed anywhere, its files' paths absolute."""
        dsn = parse_dsn(value)
        password, authority = (path and str(Path(path).absolute()) for path in (dsn.password_file, dsn.tls_ca))
        return str(dataclasses.replace(dsn, password_file=password, tls_ca=authority))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What is tested: an engine with generated rows or the user's own, or two servers of the user's.

    ``library`` is the name of a SQLite library or the path of one. With ``database``, a file of the user's, twins are
    copies of it. ``restore`` is a command of the user's that loads a dump into a private server, whose twins then hold
    that. ``baseline`` and ``encrypted`` are DSNs of two servers of the user's (`tdelta.engines.dsn`).
    """

    study: Annotated[
        str | None,
        Option(
            "STUDY",
            Argument(),
            "Published experiment to repeat.",
            of_pilot=False,
            of_study=False,
            takes=Takes.INSTANCES,
            decides_defaults=True,
        ),
    ]
    engine: Annotated[
        str,
        Option(
            "--engine",
            Value("NAME"),
            "Engine to test; see `tdelta engines`.",
            "sqlite",
            calibrates=True,
            decides_defaults=True,
        ),
    ]
    library: Annotated[
        str,
        Option(
            "--library",
            _Library("NAME|PATH"),
            "SQLite library: sqlite3mc, sqlcipher, or a path.",
            SQLITE3MC.name,
            takes=Takes.LIBRARY,
            calibrates=True,
        ),
    ]
    server_binary: Annotated[
        Path | None,
        Option(
            "--server-binary",
            Place(),
            "Server program to test: mariadbd, mysqld or postgres.",
            shown="the newest that is found",
            takes=Takes.SERVER,
            calibrates=True,
        ),
    ]
    scale: Annotated[
        str,
        Option(
            "--scale",
            Choice(names=("laptop", "published")),
            "Size of STUDY: a laptop's or its own.",
            "laptop",
            takes=Takes.INSTANCES,
            decides_defaults=True,
        ),
    ]
    database: Annotated[
        Path | None,
        Option(
            "--database",
            Place("FILE"),
            "SQLite file of your own, which is only read: twins are copies of it.",
            shown="generated rows",
            takes=Takes.LIBRARY,
            calibrates=True,
        ),
    ]
    restore: Annotated[
        str | None,
        Option(
            "--restore",
            Value("CMD"),
            "Command that loads a dump of your own into each kind of private server: 'psql -1 -f app.sql'.",
            shown="generated rows",
            takes=Takes.SERVER,
        ),
    ]
    baseline: Annotated[
        str | None,
        Option(
            "--baseline",
            _Dsn(),
            "Server of your own that is plain: mysql://USER@HOST/?password-env=NAME.",
            decides_defaults=True,
        ),
    ]
    encrypted: Annotated[
        str | None,
        Option(
            "--encrypted",
            _Dsn(),
            "Server of your own that is encrypted, to be compared with it.",
            decides_defaults=True,
        ),
    ]
    schema: Annotated[
        str | None,
        Option(
            "--schema",
            Value("NAME"),
            "Schema that is made on both, and removed.",
            shown="tdelta_RUN",
            takes=Takes.OWN_SERVERS,
        ),
    ]
    assume_encrypted: Annotated[
        bool,
        Option(
            "--assume-encrypted",
            Flag(),
            "Take the encrypted server's disk for encrypted, where the server cannot tell (PostgreSQL).",
            False,
            takes=Takes.OWN_SERVERS,
        ),
    ]
    size_bytes: Annotated[int, Option("--size", Size(), "Data of each twin.", 50_000_000, calibrates=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a trial does.

    ``load`` is a command of the user's that is run as the load instead of a workload's transactions,
    ``load_operations`` a pattern for the number of its operations in what it prints. ``rate`` (a second, over all
    threads) makes the loop open, and so does ``at``, a share of the baseline's capacity. ``cold`` empties all caches
    before each trial.
    """

    workload: Annotated[
        str | None,
        Option(
            "--workload",
            _Workload("NAME|DIR"),
            "Built-in workload, or a folder of your own.",
            shown="order-entry",
            calibrates=True,
        ),
    ]
    load: Annotated[
        str | None,
        Option(
            "--load",
            Value("CMD"),
            "Command that is the load, on a server: 'sysbench oltp_read_only run', any.",
            shown="the workload's mix",
            takes=Takes.SERVER,
        ),
    ]
    load_operations: Annotated[
        str | None,
        Option(
            "--load-operations",
            Value("REGEX"),
            "What finds the number of operations in what CMD prints, in its group.",
            shown="known of sysbench and pgbench",
            takes=Takes.SERVER,
        ),
    ]
    threads: Annotated[int, Option("--threads", Whole(), "Clients at work at once.", 1, decides_trial=True)]
    cold: Annotated[
        bool,
        Option(
            "--cold",
            Flag(),
            "Start a twin's server anew for each trial (DuckDB: attach its file anew), all caches emptied.",
            False,
            takes=Takes.INSTANCES,
            factor="work",
            decides_trial=True,
        ),
    ]
    rate: Annotated[
        float | None,
        Option(
            "--rate",
            Number("PER_SECOND"),
            "Operations due a second, over all threads; latency counts from the due time.",
            shown="as fast as they can",
            decides_trial=True,
        ),
    ]
    at: Annotated[
        float | None,
        Option(
            "--at",
            Percent(),
            "Operations due at this share of what the baseline can do; vary it with --vary at=30%,60%,80%.",
            decides_trial=True,
        ),
    ]
    arrivals: Annotated[
        str,
        Option(
            "--arrivals",
            Choice(names=("poisson", "constant")),
            "Law of arrivals with --rate or --at.",
            "poisson",
            calibrates=True,
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinOptions:
    """What twins are made with.

    ``scope`` is what a server encrypts (None: all that it can), ``encrypted_dir`` a folder of the user's that is
    encrypted, in which PostgreSQL's encrypted twins live. ``cache`` is a share of the data size. ``page_size`` is a
    database's own where it is None. ``key`` says how a library is given keys.
    """

    scope: Annotated[
        str | None,
        Option(
            "--scope",
            Choice(names=SCOPES),
            "What a server encrypts: its tables, these and one thing more, or all.",
            shown="all that it can",
            takes=Takes.SERVER,
        ),
    ]
    encrypted_dir: Annotated[
        Path | None,
        Option(
            "--encrypted-dir",
            Place("DIR", is_file=False),
            "Folder on an encrypted file system, for PostgreSQL's encrypted twins.",
            shown="gocryptfs, or pg_tde",
            takes=Takes.ENCRYPTED_FOLDER,
        ),
    ]
    cache: Annotated[
        float,
        Option(
            "--cache",
            Percent(),
            "Page cache or buffer pool, as a share of the data.",
            0.10,
            takes=Takes.INSTANCES,
            decides_trial=True,
        ),
    ]
    page_size: Annotated[
        int | None,
        Option(
            "--page-size",
            Bytes(),
            "Database page.",
            shown="4096; with --database its own",
            takes=Takes.LIBRARY,
            decides_trial=True,
        ),
    ]
    journal_mode: Annotated[
        str,
        Option(
            "--journal-mode",
            Value("MODE"),
            "wal, delete, truncate, persist, memory or off.",
            "wal",
            takes=Takes.LIBRARY,
            decides_trial=True,
        ),
    ]
    synchronous: Annotated[
        str,
        Option(
            "--synchronous",
            Value("LEVEL"),
            "off, normal, full or extra.",
            "normal",
            takes=Takes.LIBRARY,
            decides_trial=True,
        ),
    ]
    temp_store: Annotated[
        str,
        Option(
            "--temp-store",
            Choice(names=("default", "file", "memory")),
            "Where temporary tables and sorts go.",
            "default",
            shown="as the library was built",
            takes=Takes.LIBRARY,
            decides_trial=True,
        ),
    ]
    reserve: Annotated[
        str,
        Option(
            "--reserve",
            Choice(names=("equal", "natural")),
            "Reserved bytes a page: the same on every twin, or what each cipher needs.",
            "equal",
            takes=Takes.LIBRARY,
        ),
    ]
    key: Annotated[
        str | None,
        Option(
            "--key",
            Choice(names=("passphrase", "raw")),
            "How SQLCipher gets its keys: to derive them from, or as they are.",
            shown="raw; passphrase where connections are part of the work",
            takes=Takes.LIBRARY,
            of_study=False,
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What is compared, and how trials are laid out. Times are seconds.

    ``vary`` maps a factor to its levels in the user's order; ``cipher`` always gains the level ``none``.
    ``slice_seconds`` is how long a twin runs before another of its block takes its turn (for each thread; 0: a whole
    trial). ``discard_seconds`` is how much of the head of a trial is not recorded; None is a tenth of it.
    ``step_blocks`` is how many of a round's blocks, its first ones, have loads and rebuilds (None: all). ``bb_twin``:
    whether a second instance of an encrypted condition runs beside it; None where there is room for one. ``trace``:
    after each measured trial its twin runs some transactions with every statement metered by itself. ``profile``: after
    the measured trials of a round, twins are run once more and sampled by ``perf``.
    """

    vary: Annotated[
        Mapping[str, tuple[Level, ...]],
        Option(
            "--vary",
            Factors(),
            "Factor and its levels, e.g. cipher=aes-128,aes-256 or threads=1,4; repeatable, all combinations run.",
            {},
            shown="cipher=aes-256",
            of_study=False,
        ),
    ]
    trial_seconds: Annotated[
        float,
        Option(
            "--trial-seconds",
            Number("SECONDS"),
            "Length of a trial of the baseline.",
            0.25,
            on_servers=2.0,
            open_loop=2.0,
            decides_trial=True,
        ),
    ]
    slice_seconds: Annotated[
        float,
        Option(
            "--slice",
            Duration(zero=True),
            "How long a twin runs before the next takes its turn; 0s: a whole trial.",
            0.0,
            takes=Takes.SLICES,
            decides_trial=True,
        ),
    ]
    discard_seconds: Annotated[
        float | None,
        Option(
            "--discard",
            Duration(zero=True),
            "Head of a trial that is run and not recorded.",
            shown="a tenth",
            on_servers=0.5,
            decides_trial=True,
        ),
    ]
    blocks_per_round: Annotated[int, Option("--blocks", Whole(), "Blocks a round.", 6, on_servers=8, calibrates=True)]
    step_blocks: Annotated[
        int | None,
        Option(
            "--step-blocks",
            Whole(),
            "How many of these have the loads and rebuilds of --vary work=…, which take longest.",
            shown="all",
        ),
    ]
    aa: Annotated[
        bool,
        Option(
            "--aa", Flag(), "Compare identical plain twins: does this machine tell the truth?", False, of_pilot=False
        ),
    ]
    aa_twin: Annotated[
        bool,
        Option(
            "--no-aa-twin",
            Flag(stands_for=False),
            "Leave the A/A twin out; the noise floor is then unknown.",
            True,
            of_pilot=False,
        ),
    ]
    bb_twin: Annotated[
        bool | None,
        Option(
            "--no-bb-twin",
            Flag(stands_for=False),
            "Leave the B/B twin out, a second encrypted instance.",
            shown="there is one where a round has room",
            absent=False,
            of_pilot=False,
        ),
    ]
    plant: Annotated[
        tuple[float, ...],
        Option("--plant", Percents(), "One more plain twin, slowed by this much; repeatable.", (), of_pilot=False),
    ]
    trace: Annotated[
        bool,
        Option(
            "--trace",
            Flag(),
            "Meter every statement by itself in extra trials: CPU, elapsed, reads, rows.",
            False,
            takes=Takes.TRACES,
            of_pilot=False,
        ),
    ]
    profile: Annotated[
        bool,
        Option(
            "--profile",
            Flag(),
            "Sample the twins' functions by perf in trials that are not measured: where the CPU time goes.",
            False,
            of_pilot=False,
            of_study=False,
        ),
    ]
    seed: Annotated[
        int | None,
        Option(
            "--seed",
            Whole(least=0, most=2**63 - 1),
            "Draws everything; recorded either way.",
            shown="drawn",
            calibrates=True,
            of_study=False,
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionOptions:
    """How long a run goes on, and what it decides. Shares are quotients less one: ``rope=0.02``.

    ``rope_is_given``: the ROPE is what the user said, and not the default, though it may be as large. ``slo_seconds``
    is what a transaction may take; how often it took longer is told, and never decided on. ``use_calibration``: a run
    begins with what `tdelta calibrate` found here, where anything fits.
    """

    min_rounds: Annotated[
        int,
        Option(
            "--rounds",
            Rounds(),
            "Rounds of fresh twins.",
            3,
            shown="3, as many as time allows",
            also="max_rounds",
            of_pilot=False,
        ),
    ]
    max_rounds: Annotated[int | None, Option("", Whole(), "The most rounds.")]
    max_seconds: Annotated[
        float,
        Option("--max-time", Duration(), "Wall clock, set-up included.", 85.0, on_servers=600.0, of_pilot=False),
    ]
    rope: Annotated[
        float,
        Option(
            "--rope",
            Percent(),
            "Overhead you would not care about, either way.",
            DEFAULT_ROPE,
            calibrates=True,
            of_pilot=False,
        ),
    ]
    rope_is_given: Annotated[bool, Option("", Flag(), "Whether --rope was typed.", False, of_study=False)] = field(
        compare=False
    )
    budget: Annotated[
        float | None,
        Option(
            "--budget", Percent(), "Overhead you allow: turns the run into a gate, exit code 5 if over.", of_pilot=False
        ),
    ]
    metric: Annotated[
        Metric,
        Option(
            "--metric",
            Choice("NAME", names=tuple(metric.value for metric in Metric), make=Metric),
            f"Cost that decides: {', '.join(Metric)}.",
            Metric.RESPONSE_TIME,
        ),
    ]
    slo_seconds: Annotated[
        float | None,
        Option(
            "--slo",
            ResponseTime(),
            "Time a transaction may take, e.g. 20ms: how often each twin takes longer is told, and decides nothing.",
            of_study=False,
        ),
    ]
    use_calibration: Annotated[
        bool,
        Option(
            "--no-calibration",
            Flag(stands_for=False),
            "Begin without what `tdelta calibrate` found here.",
            True,
            of_study=False,
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where files go."""

    directory: Annotated[
        Path | None,
        Option(
            "--dir",
            Place("DIR"),
            "Where the twins' files go.",
            shown="~/.cache/tdelta",
            calibrates=True,
            of_study=False,
        ),
    ]
    store: Annotated[
        Path | None,
        Option(
            "--store",
            Place("FILE", is_folder=False),
            "File that keeps the results.",
            shown="TDELTA_STORE, else the user's data folder",
            calibrates=True,
            of_study=False,
        ),
    ]


@dataclass(frozen=True, slots=True, init=False)
class RunRequest:
    """What was asked of ``tdelta run``, parsed but not yet checked against engine and workload.

    It is made from the options that are given, by their fields' names; the rest is as on the command line: the study's
    settings, the engine's defaults, those of an open loop. A factor that is given replaces the study's levels of that
    factor, and its setting where it has one; the study's other factors stay.

    Raises:
        UnknownName: there is no such option, or no such study.
        UsageError: this version cannot run the study.
    """

    tested: Tested
    work: Work
    twins: TwinOptions
    design: Design
    decision: DecisionOptions
    where: Where

    def __init__(self, **given: Any) -> None:
        self._set(_completed({name: _option(name).value.taken(value) for name, value in given.items()}))

    def _set(self, values: Mapping[str, Any]) -> None:
        for record, kind in _RECORDS.items():
            own = {name: values[name] for name, option in OPTIONS.items() if option.record == record}
            object.__setattr__(self, record, kind(**own))

    @classmethod
    def _of(cls, values: Mapping[str, Any]) -> RunRequest:
        """The request of exactly these values, one for each option."""
        made = object.__new__(cls)
        made._set(values)
        return made

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> RunRequest:
        """The request that `to_json` wrote, also in a version that did not have all of the options yet."""
        stored = {
            name: value if value is None else _option(name).value.from_json(value) for name, value in values.items()
        }
        return cls._of({**{option.name: option.before_it_was for option in OPTIONS.values()}, **stored})

    def to_json(self) -> dict[str, Any]:
        """The options as JSON values, from which `from_json` makes the same request, its paths absolute."""
        return {
            name: value if value is None else OPTIONS[name].value.to_json(value) for name, value in self.values.items()
        }

    def replace(self, **changes: Any) -> RunRequest:
        """The same with other values of some options."""
        return self._of({**self.values, **{name: _option(name).value.taken(value) for name, value in changes.items()}})

    @property
    def values(self) -> dict[str, Any]:
        """Every option's value, by its name."""
        return {name: getattr(getattr(self, option.record), name) for name, option in OPTIONS.items()}

    @property
    def is_served(self) -> bool:
        """Whether twins are servers, private ones or the user's own."""
        return self.tested.engine in servers() or self.tested.baseline is not None

    def changed(self) -> Iterator[Option]:
        """The options that are not as they would be on this engine if nothing were typed."""
        usual = RunRequest(engine=self.tested.engine).values
        return (OPTIONS[name] for name, value in self.values.items() if value != usual[name])


_RECORDS: Mapping[str, type[Any]] = get_type_hints(RunRequest)

OPTIONS: Mapping[str, Option] = {
    option.name: option for record, kind in _RECORDS.items() for option in options_of(record, kind)
}
"""Every option by its name, in the order in which help texts have them."""


def _option(name: str) -> Option:
    if name not in OPTIONS:
        raise UnknownName("option", name, sorted(OPTIONS))
    return OPTIONS[name]


def _completed(given: Mapping[str, Any]) -> dict[str, Any]:
    """A value for every option: what was given, then the study's, the engine's, the usual one."""
    if engine := _engine_of_servers(given):
        given = {"engine": engine, **given}
    if any(name in given or name in given.get("vary", {}) for name in ("rate", "at")):
        given = {**{o.name: o.open_loop for o in OPTIONS.values() if o.has_open_loop_default}, **given}
    name = given.get("study")
    settings = study(name).settings_for(given.get("engine"), given.get("scale", "")) if name else {}
    if given.get("engine", settings.get("engine")) in servers():
        settings = {**{o.name: o.on_servers for o in OPTIONS.values() if o.has_servers_default}, **settings}
        if "trial_seconds" in given and "discard_seconds" not in given:
            settings.pop("discard_seconds")  # half a second is of trials of two
    vary = given.get("vary", {})
    settings = {name: value for name, value in settings.items() if name not in vary}
    factors = {factor: levels for factor, levels in settings.pop("vary", {}).items() if factor not in given}
    usual = {option.name: option.default for option in OPTIONS.values()}
    return {**usual, **settings, "rope_is_given": "rope" in given, **given, "vary": {**factors, **vary}}


def _engine_of_servers(given: Mapping[str, Any]) -> str | None:
    """The engine of the user's servers, by what their DSN begins with; faults of a DSN are told where it is read."""
    dsn = given.get("baseline") or given.get("encrypted")
    return None if dsn is None else ENGINES.get(str(dsn).partition(":")[0].lower())


def overridden(request: RunRequest) -> tuple[str, ...]:
    """Which of the study's settings the request has changed, in words: ``threads 1 instead of 4``."""
    if request.tested.study is None:
        return ()
    tested = request.tested
    return tuple(_changes(request, RunRequest(study=tested.study, engine=tested.engine, scale=tested.scale)))


def _changes(request: RunRequest, original: RunRequest) -> Iterator[str]:
    now, then = request.values, original.values
    for factor in dict.fromkeys((*then["vary"], *now["vary"])):
        levels = [_levels(values["vary"].get(factor), values.get(factor)) for values in (now, then)]
        if levels[0] != levels[1]:
            yield f"{_words(factor)} {levels[0]} instead of {levels[1]}"
    for name, option in OPTIONS.items():
        if option.of_study and now[name] != then[name] and name not in now["vary"]:
            yield f"{_words(name)} {now[name]} instead of {then[name]}"


def _levels(varied: tuple[object, ...] | None, fixed: object) -> str:
    if varied:
        return ", ".join(map(str, varied))
    return "not varied" if fixed is None else str(fixed)


def _words(name: str) -> str:
    return name.removesuffix("_seconds").removesuffix("_bytes").replace("_", " ")


@dataclass(frozen=True, slots=True)
class TableLine:
    """A table of a user's database, in a dry run."""

    name: str
    rows: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class TransactionLine:
    """A transaction type on a user's database, in a dry run. ``share`` is its share of all transactions."""

    name: str
    title: str
    share: float
    script: str


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a run would take, before anything is made (``--dry-run``).

    ``seconds_least`` is the shortest run there is, ``seconds_at_least`` one of the fewest rounds asked for. ``faults``
    say why the run would be refused; empty where it would not. What follows the cautions is of a user's database only:
    its tables, the transactions on it, what a proposal left out, and the folder to which the proposal was written.
    """

    conditions: tuple[str, ...]
    seconds_least: float
    seconds_at_least: float
    seconds_at_most: float
    disk_bytes: int
    disk_free_bytes: int
    memory_bytes: int
    memory_free_bytes: int
    directory: str
    trials_at_least: int
    faults: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    database: DatabaseFacts | None = None
    tables: tuple[TableLine, ...] = ()
    transactions: tuple[TransactionLine, ...] = ()
    notes: tuple[str, ...] = ()
    written: str | None = None
