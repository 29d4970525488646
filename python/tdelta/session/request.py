"""What a user asks of ``tdelta run``, checked at the edge: every fault of a request is reported at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tdelta.engines.registry import servers
from tdelta.engines.sqlite.libraries import SQLITE3MC
from tdelta.records import DEFAULT_ROPE, DatabaseFacts, Level, Metric


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The options of ``tdelta run``, parsed but not yet checked against engine and workload.

    Shares are quotients less one (``rope=0.02``), sizes are bytes, times seconds. ``vary`` maps a factor to its levels
    in the user's order; ``cipher`` always gains the level ``none``. ``cache`` is a share of the data size. ``rate`` (a
    second, over all threads) makes the loop open, and so does ``at``, a share of the baseline's capacity.
    ``slo_seconds`` is what a transaction may take; how often it took longer is told, and never decided on.
    ``step_blocks`` is how many of a round's blocks, its first ones, have loads and rebuilds, which take longer than
    the rest (None: all). ``slice_seconds`` is how long a twin runs before another of its block takes its turn (for
    each thread; 0: a whole trial). ``library`` is the name of a SQLite library or the path of one, ``key`` how it
    is given keys. ``None`` means "the default". ``scale`` is a study's size, ``laptop`` or ``published``; a study's
    settings are in here already (`tdelta.session.studies.request_for`).

    Of servers: ``server_binary`` is the program to test, ``scope`` what is encrypted (None: all that the engine can),
    ``encrypted_dir`` a folder of the user's that is encrypted, in which PostgreSQL's encrypted twins live,
    ``cold`` restarts a twin's server before each of its trials, with the caches of the system emptied.
    ``discard_seconds`` is how much of the head of a trial is not recorded; None is a tenth of it.

    ``load`` is a command of the user's that is run as the load instead of a workload's transactions,
    ``load_operations`` a pattern for the number of its operations in what it prints.

    ``baseline`` and ``encrypted`` are DSNs of two servers of the user's (`tdelta.engines.dsn`, without passwords),
    ``schema`` what tdelta's schema on both is called (None: by the run), ``assume_encrypted`` that the user says the
    disk under the second is encrypted. ``restore`` is a command of the user's that loads a dump into a private server,
    whose twins then hold that instead of generated rows.

    ``bb_twin``: whether a second instance of an encrypted condition runs beside it; None where there is room for one.

    ``trace``: after each measured trial its twin runs some transactions with every statement metered by itself.
    ``profile``: after the measured trials of a round, twins are run once more and sampled by ``perf``.

    ``rope_is_given``: the ROPE is what the user said, and not the default, though it may be as large.

    ``use_calibration``: a run begins with what `tdelta calibrate` found here, where anything fits.

    With ``database``, a file of the user's, twins are copies of it: ``workload`` is then a folder of transactions, or
    None for a proposal, and ``page_size`` is the file's own where it is None.
    """

    study: str | None = None
    scale: str = "laptop"
    engine: str = "sqlite"
    library: str = SQLITE3MC.name
    key: str | None = None
    workload: str | None = None
    database: Path | None = None
    vary: Mapping[str, tuple[Level, ...]] = field(default_factory=dict)
    threads: int = 1
    cache: float = 0.10
    page_size: int | None = None
    journal_mode: str = "wal"
    synchronous: str = "normal"
    temp_store: str = "default"
    reserve: str = "equal"
    size_bytes: int = 50_000_000
    rate: float | None = None
    at: float | None = None
    arrivals: str = "poisson"
    trial_seconds: float = 0.25
    slice_seconds: float = 0.0
    blocks_per_round: int = 6
    step_blocks: int | None = None
    min_rounds: int = 3
    max_rounds: int | None = None
    max_seconds: float = 85.0
    rope: float = DEFAULT_ROPE
    rope_is_given: bool = field(default=False, compare=False)
    budget: float | None = None
    metric: Metric = Metric.RESPONSE_TIME
    slo_seconds: float | None = None
    aa: bool = False
    aa_twin: bool = True
    bb_twin: bool | None = None
    plant: tuple[float, ...] = ()
    discard_seconds: float | None = None
    server_binary: Path | None = None
    encrypted_dir: Path | None = None
    load: str | None = None
    load_operations: str | None = None
    scope: str | None = None
    cold: bool = False
    trace: bool = False
    baseline: str | None = None
    encrypted: str | None = None
    schema: str | None = None
    assume_encrypted: bool = False
    restore: str | None = None
    use_calibration: bool = True
    profile: bool = False
    seed: int | None = None
    directory: Path | None = None
    store: Path | None = None

    @property
    def is_served(self) -> bool:
        """Whether twins are servers, private ones or the user's own."""
        return self.engine in servers() or self.baseline is not None


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
