"""The built-in studies, each a published experiment at a size that a laptop finishes.

A study is a set of options for `tdelta.session.request.RunRequest`; options that are typed go before them, and what
they changed is told in the answer (`overridden` there).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tdelta.engines.registry import ENGINES, profile, study_settings
from tdelta.engines.shared.study_settings import BACKUPS, WAREHOUSE_WORK
from tdelta.errors import UnknownName, UsageError
from tdelta.findings.published import PublishedFigure
from tdelta.messages import Refusal
from tdelta.session.published import PUBLISHED


@dataclass(frozen=True, slots=True)
class Study:
    """A study as ``tdelta studies`` lists it. ``runs`` says whether it is a run, and not an analysis of its tables.

    ``settings`` are the options in which it differs from a run without a study (those in which it differs once more on
    an engine stand in the engine's folder), ``at_published_size`` those with ``--study-size published``. ``tables`` are
    the published ones that ``tdelta analyze published:NAME`` takes.
    """

    name: str
    title: str
    published: str
    runs: bool
    note: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    at_published_size: Mapping[str, Any] = field(default_factory=dict)
    tables: tuple[str, ...] = ()

    def settings_for(self, engine: str | None, size: str) -> dict[str, Any]:
        """The options of a request on that engine (None: the study's own) at that size.

        Raises:
            UsageError: there is no published size to run it at.
        """
        if size == PUBLISHED_SIZE and not self.at_published_size:
            raise UsageError(Refusal.of("conflict", one="--study-size", other=f"study {self.name}, which has one size"))
        own = study_settings(engine or self.settings.get("engine", "")).get(self.name, {})
        return {**self.settings, **own, **(self.at_published_size if size == PUBLISHED_SIZE else {})}

    def runs_on(self, engine: str) -> bool:
        """Whether it runs on that engine: on its own and those that have settings for it, or on any."""
        own = self.settings.get("engine")
        return self.runs and (own is None or engine == own or self.name in study_settings(engine))

    @property
    def command(self) -> str:
        tables = " ".join(f"published:{name}" for name in self.tables)
        return f"tdelta run {self.name}" if self.runs else f"tdelta analyze {tables}"

    @property
    def figures(self) -> tuple[PublishedFigure, ...]:
        """What was published, figure by figure, with its source; empty where nothing comparable was."""
        return PUBLISHED.get(self.name, ())


PUBLISHED_SIZE = "published"
"""The level of ``--study-size`` that repeats a study at the size at which it was published."""

_CONVERSIONS = (
    "encrypt:threads=1:iops=100",
    "encrypt:threads=1:iops=10000",
    "encrypt:threads=4:iops=100",
    "encrypt:threads=4:iops=10000",
    "encrypt:threads=16:iops=10000",
)
"""Every setting of the curve of ``convert``: threads and iops far apart, so that it shows which of them matters."""


def _on(study: str, engine: str) -> str:
    """On which engines a study runs: its own, and those that have settings for it and that it was run on."""
    others = ", ".join(name for name in ENGINES if name != engine and study in study_settings(name) and _is_tried(name))
    return f"{profile(engine).product}, or --engine {others}"


def _is_tried(engine: str) -> bool:
    address = profile(engine).address
    return address is None or not address.is_untried


_STUDIES = (
    Study(
        "order-entry",
        "order entry on the embedded engine: plain, AES-128 and AES-256, with and without the CPU's AES instructions",
        "Oracle 12c, Swingbench Order Entry, 4 users: cipher none/AES-128/AES-256 x AES kernel module present/absent:"
        " no difference beyond the standard deviations",
        True,
        "4 users and a cache of half the data, as there; the published test could not switch the instructions off:"
        " its kernel module does not serve databases",
        {
            "workload": "order-entry",
            "vary": {"cipher": ("aes-128", "aes-256"), "aes_instructions": ("on", "off")},
            "threads": 4,
            "cache": 0.5,
            "max_seconds": 300.0,
        },
    ),
    Study(
        "direct-load",
        "one serial bulk load: plain, AES-128 and AES-256, with and without the CPU's AES instructions",
        "Oracle 12c, SQL*Loader direct path, serial: 1.5 x elapsed, mostly CPU, with either AES size",
        True,
        f"{_on('direct-load', 'mariadb')}: a million rows of the warehouse's fact table, by each engine's fastest path,"
        " on one connection; ciphers are those that the engine has",
        {
            "engine": "mariadb",
            "workload": "warehouse",
            "vary": {"work": ("load",), "cipher": ("aes-128", "aes-256"), "aes_instructions": ("on", "off")},
            "size_bytes": 98_000_000,
            "cache": 0.5,
            "blocks_per_round": 3,
            "min_rounds": 2,
            "max_rounds": 3,
            "max_seconds": 840.0,
        },
    ),
    Study(
        "read-only-sweep",
        "point and range selects on a server, against threads and cache",
        "Percona Server 8.0, sysbench oltp_read_only: +9% at 1 thread, none from 64",
        True,
        "tables are encrypted and nothing else, as there; sysbench's own transaction and rows, in one table."
        f" {_on('read-only-sweep', 'mariadb')}; --study-size published repeats it at its own size, which was not done"
        f" here",
        {
            "engine": "mariadb",
            "workload": "read-only",
            "vary": {"cipher": ("aes-256",), "threads": (1, 4, 16, 64), "cache": (0.10, 1.20)},
            "scope": "data",
            "size_bytes": 300_000_000,
            "trial_seconds": 2.0,
            "blocks_per_round": 8,
            "min_rounds": 2,
            "max_rounds": 2,
            "max_seconds": 1500.0,
        },
        at_published_size={
            "vary": {
                "cipher": ("aes-256",),
                "threads": (1, 4, 16, 32, 64, 96, 128, 256, 512, 1024, 2048),
                "cache": (0.10, 1.20),
            },
            "size_bytes": 43_400_000_000,
            "trial_seconds": 300.0,
            "warmup_seconds": 30.0,
            "blocks_per_round": 4,
            "max_seconds": 10 * 24 * 3600.0,
        },
        tables=("read-only-sweep",),
    ),
    Study(
        "warehouse",
        "a fact table of 23 columns: load, rebuild, queries from memory and from disk",
        "SQL Server Fast Track: rebuild +30% elapsed; SUM from disk +372% CPU, from memory 0%",
        True,
        f"{_on('warehouse', 'duckdb')}: the published sum and three more queries, 2 million rows (published: 100"
        " million); each engine's nearest to a rebuild with page compression, which its notes name",
        {
            "engine": "duckdb",
            "workload": "warehouse",
            "vary": {"work": WAREHOUSE_WORK},
            "cache": 1.2,
            "size_bytes": 196_000_000,
            "trial_seconds": 0.5,
            "blocks_per_round": 3,
            "min_rounds": 3,
            "max_rounds": 6,
            "max_seconds": 870.0,
        },
        at_published_size={"size_bytes": 9_800_000_000, "trial_seconds": 10.0, "max_seconds": 6 * 3600.0},
        tables=("warehouse",),
    ),
    Study(
        "dml-trace",
        "inserts, deletes, updates and selects in groups of 100 rows, statement by statement",
        "Oracle 19c: 2.2 x elapsed on AIX, 1.34 x on Linux",
        True,
        f"{_on('dml-trace', 'mariadb')}: CPU, elapsed, reads and rows of each statement, log encrypted where the engine"
        " can do that; an insert of 100 rows by one statement stands for an array insert",
        {
            "engine": "mariadb",
            "workload": "dml-trace",
            "vary": {"cipher": ("aes-256",)},
            "size_bytes": 60_000_000,
            "cache": 1.2,
            "trace": True,
            "trial_seconds": 1.0,
            "blocks_per_round": 4,
            "min_rounds": 4,
            "max_rounds": 6,
            "max_seconds": 600.0,
        },
        at_published_size={"size_bytes": 300_000_000, "trial_seconds": 60.0, "max_seconds": 6 * 3600.0},
        tables=("dml-trace", "dml-statements"),
    ),
    Study(
        "spill",
        "sorts, joins and temporary tables larger than a session's memory: what temporary files cost, and show",
        "no figures: SQL Server encrypts tempdb if any database is; pg_tde leaves temporary files in the clear",
        True,
        "MariaDB with and without encryption of temporary files, or --engine duckdb the same, sqlite, mysql, postgres;"
        " every trial must have written temporary files, which a check of the run shows",
        {
            "engine": "mariadb",
            "workload": "spill",
            "vary": {"cipher": ("aes-256",), "scope": ("data", "+temp")},
            "size_bytes": 10_000_000,
            "session_memory": 1 << 20,
            "trial_seconds": 2.0,
            "warmup_seconds": 0.0,
            "blocks_per_round": 6,
            "min_rounds": 3,
            "max_rounds": 4,
            "max_seconds": 840.0,
        },
    ),
    Study(
        "capacity",
        "CPUs and response time at the load of a working day: operations due at 60, 80 and 90% of what plain can do",
        "no figures: tests as fast as the database can go show its throughput, and not what users wait at a given load",
        True,
        "order entry on SQLite, or any engine, workload or database; near saturation a little more work for an"
        " operation is much more waiting",
        {
            "workload": "order-entry",
            "vary": {"rate": ("60%", "80%", "90%")},
            "threads": 4,
            "trial_seconds": 2.5,
            "blocks_per_round": 6,
            "max_seconds": 840.0,
        },
    ),
    Study(
        "soak",
        "the same copies at work for a long time: splits, purging, growing logs, checkpoints within trials",
        "no figures: tests of encryption begin with fresh databases and end within the hour",
        True,
        "order entry on SQLite, or any engine, workload or database: four or five pairs one after another, each for"
        " twenty blocks; --blocks, --trial-time and --max-time make it longer",
        {
            "workload": "order-entry",
            "vary": {"cipher": ("aes-256",)},
            "trial_seconds": 1.5,
            "blocks_per_round": 20,
            "min_rounds": 4,
            "max_rounds": 5,
            "bb_control": False,
            "max_seconds": 870.0,
        },
    ),
    Study(
        "replicate",
        "a primary and its replica, both plain or both encrypted: commits, apply rate, lag",
        "Scaleway, managed PostgreSQL, pgbench: -15% on one server, up to -30% with a semi-synchronous standby",
        True,
        f"{_on('replicate', 'mariadb')}: every commit is a row; the replica is stopped beside the load, asynchronous or"
        " semi-synchronous, and on this machine, whose CPUs and disks it shares",
        {
            "engine": "mariadb",
            "workload": "insert",
            "vary": {"cipher": ("aes-256",), "replication": ("none", "async", "semisync")},
            "threads": 4,
            "size_bytes": 20_000_000,
            "trial_seconds": 0.8,
            "warmup_seconds": 0.0,
            "blocks_per_round": 8,
            "min_rounds": 2,
            "max_rounds": 3,
            "max_seconds": 840.0,
        },
        tables=("scaleway", "scaleway-load"),
    ),
    Study(
        "restart",
        "a clean restart, starts after a crash, many connections at once: how long until the first answer",
        "no figures: how long a crash takes to recover from with an encrypted log, Percona names as not measured",
        True,
        "MariaDB, or --engine mysql, postgres: stop and start, a start with 8 and 32 MB of log to be read, 64"
        " connections; what opens the keys is part of each start. Of sqlite and duckdb the file is opened anew",
        {
            "engine": "mariadb",
            "vary": {"work": ("restart", "recovery:mb=8", "recovery:mb=32", "storm")},
            "size_bytes": 30_000_000,
            "blocks_per_round": 4,
            "min_rounds": 2,
            "max_rounds": 4,
            "max_seconds": 840.0,
        },
    ),
    Study(
        "convert",
        "a database is encrypted while its load goes on: how long that takes against what it costs meanwhile",
        "few figures: SQL Server about 30 s for just under 1 GB; MariaDB's threads once took both CPUs to no end",
        True,
        "MariaDB: background encryption with five settings of threads and iops, beside order entry on data larger than"
        " the buffer pool; each copy is decrypted again before its next trial. Or --engine mysql: tables one after"
        " another, and the master key; postgres: a base backup at three rates; sqlite, duckdb: the file, by itself",
        {
            "engine": "mariadb",
            "vary": {"during": _CONVERSIONS},
            "size_bytes": 100_000_000,
            "cache": 0.2,
            "trial_seconds": 3.0,
            "warmup_seconds": 0.6,
            "blocks_per_round": 4,
            "min_rounds": 2,
            "max_rounds": 4,
            "max_seconds": 870.0,
        },
    ),
    Study(
        "backup",
        "backups, physical and logical, compressed and restored: time, CPU, size, and what of them lies in the clear",
        "SQL Server: of encrypted databases the compression ratio of backups is near 0; not recommended with TDE",
        True,
        "SQLite, or --engine mariadb, mysql, postgres, duckdb: every backup is searched for planted markers, every"
        " restore compared row by row; it needs the program zstd, and each server's own",
        {
            "engine": "sqlite",
            "vary": {"work": BACKUPS, "cipher": ("aes-256",)},
            "size_bytes": 30_000_000,
            "blocks_per_round": 6,
            "min_rounds": 3,
            "max_rounds": 3,
            "max_seconds": 840.0,
        },
    ),
    Study(
        "response-times",
        "gamma model of response times",
        "JAGS on Swingbench response times: 95% HDI of the difference -0.69 ... +1.89 ms",
        False,
        "an analysis of results that are there: nothing is run",
        tables=("response-times",),
    ),
)


def studies() -> tuple[Study, ...]:
    """All studies of the design, those that run first in their published order."""
    return _STUDIES


def study(name: str) -> Study:
    """The study of that name.

    Raises:
        UnknownName: there is no such study.
        UsageError: it is an analysis, and no run.
    """
    known = {study.name: study for study in _STUDIES}
    if name not in known:
        raise UnknownName("study", name, known)
    if not known[name].runs:
        raise UsageError(Refusal.of("study-does-not-run", study=name, command=known[name].command))
    return known[name]
