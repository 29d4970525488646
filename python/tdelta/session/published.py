"""What the published experiments found, figure by figure, to be set beside what is measured here.

Facts with their source, never an opinion of them. ``ratio`` is a cost with encryption over the same cost without, so
that above 1 is worse; where throughput was published it is plain over encrypted, which in a closed loop is the time of
an operation. Tables that were printed are files (`tdelta.session.tables`), read from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tdelta.findings.published import PublishedFigure
from tdelta.session.tables import PublishedTable, table

_RECURRENTNULL = "recurrentnull blog, 2015; Oracle 12.1.0.2"

_SWEEP_DATA_GB = 50
"""The sweep's data, of which buffer pools of 5 and 60 GB are 10% and 120%: levels of the factor ``cache``."""

_POOLS = {"5 GB": "5 GB of 50 GB cached", "60 GB": "all in memory"}
_PLAIN = "plain"
_LARGE = 10_000.0


def _sweep(found: PublishedTable) -> Iterator[PublishedFigure]:
    for plain, encrypted in _pairs(found):
        threads, pool = int(plain["threads"]), plain["buffer_pool"]
        tps = {row["condition"]: float(row["tps"]) for row in (plain, encrypted)}
        levels = (("threads", threads), ("cache", int(pool.split()[0]) / _SWEEP_DATA_GB))
        yield PublishedFigure(
            f"time per operation, {threads} thread{'' if threads == 1 else 's'}, {_POOLS[pool]}",
            f"{tps['encrypted']:,.0f} transactions/s encrypted, {tps[_PLAIN]:,.0f} plain",
            found.source,
            tps[_PLAIN] / tps["encrypted"],
            levels,
        )


def _warehouse(found: PublishedTable) -> Iterator[PublishedFigure]:
    for plain, encrypted in _pairs(found):
        for column, name in (("elapsed_ms", "elapsed"), ("cpu_ms", "CPU")):
            what = f"{name}, {plain['transaction']}"
            yield _quotient(what, float(encrypted[column]), float(plain[column]), "ms", found.source)


def _dml(found: PublishedTable) -> Iterator[PublishedFigure]:
    for plain, encrypted in _pairs(found):
        platform = plain["platform"].replace(", ", " with ")
        values = float(encrypted["elapsed_s"]), float(plain["elapsed_s"])
        yield _quotient(f"elapsed, {platform}", *values, "s", found.source)


def _pairs(found: PublishedTable) -> Iterator[tuple[Mapping[str, str], Mapping[str, str]]]:
    """The rows of a table two by two, the plain one first, as the files have them."""
    yield from zip(found.rows[::2], found.rows[1::2], strict=True)


def _quotient(what: str, encrypted: float, plain: float, unit: str, source: str) -> PublishedFigure:
    quote = f"{_number(encrypted)} {unit} encrypted, {_number(plain)} {unit} plain"
    return PublishedFigure(what, quote, source, encrypted / plain)


def _number(value: float) -> str:
    """Whole where it is large, else five figures."""
    return f"{value:,.0f}" if value >= _LARGE else f"{value:,.5g}"


PUBLISHED: Mapping[str, tuple[PublishedFigure, ...]] = {
    "order-entry": (
        PublishedFigure(
            "throughput of each transaction type, AES-128 and AES-256 against none, 4 users",
            "no difference beyond the standard deviations of 25–30 of each type",
            _RECURRENTNULL,
        ),
        PublishedFigure(
            "the same without the AES-NI kernel module",
            "no difference; the module serves the kernel only, so the instructions were never switched off",
            _RECURRENTNULL,
        ),
    ),
    "direct-load": (PublishedFigure("elapsed time, either AES size", "about 1.5 x, mostly CPU", _RECURRENTNULL, 1.5),),
    "read-only-sweep": tuple(_sweep(table("read-only-sweep"))),
    "warehouse": tuple(_warehouse(table("warehouse"))),
    "dml-trace": tuple(_dml(table("dml-trace"))),
    "spill": (
        PublishedFigure(
            "SQL Server",
            "tempdb is encrypted if any other database of the instance is, which may slow down those that are not",
            "Microsoft Learn, Transparent data encryption (TDE), section on tempdb; year not given",
        ),
        PublishedFigure(
            "PostgreSQL with pg_tde",
            "temporary files of queries that exceed work_mem are not encrypted, and may outlive a crash",
            "Percona, Limitations of pg_tde, 2026",
        ),
        PublishedFigure(
            "DuckDB",
            "temporary files are encrypted once an encrypted database is attached, or by temp_file_encryption",
            "DuckDB blog, Data-at-Rest Encryption in DuckDB, 2025",
        ),
    ),
    "backup": (
        PublishedFigure(
            "SQL Server before 2016, compressed backups with TDE",
            "the compression ratio is near 0: all the overhead of backup compression with none of the benefit",
            "Microsoft, SQL Server blog, It just works: Backup compression on TDE databases, 2020",
        ),
        PublishedFigure(
            "SQL Server before 2016, the same",
            "backup compression with TDE is not recommended: encrypted data is hard to compress",
            "MSSQLTips, Backup compression performance enhancements for TDE enabled databases, 2016",
        ),
    ),
    "replicate": (
        PublishedFigure(
            "managed PostgreSQL, pgbench at scale 2000, 10 connections",
            "encrypted: -15% on one server, up to -30% with a semi-synchronous standby",
            "Scaleway docs, Encryption at rest performance benchmark, 2024",
        ),
        PublishedFigure(
            "managed PostgreSQL, a load of 29 GB",
            "encrypted: +10% of the time on one server, +40% with a semi-synchronous standby",
            "Scaleway docs, Encryption at rest performance benchmark, 2024",
        ),
    ),
    "restart": (
        PublishedFigure(
            "PostgreSQL with pg_tde, crash recovery with an encrypted log",
            "not measured; it matters when something has gone wrong",
            "Percona, TDE performance in PostgreSQL, 2026",
        ),
        PublishedFigure(
            "SQLCipher, opening a connection",
            "3.8 ms with a raw key, 66 ms with a passphrase to derive it from",
            "marmot-protocol/mdk, issue 1791, 2026",
        ),
    ),
    "convert": (
        PublishedFigure(
            "SQL Server, the first scan",
            "about 30 s for just under 1 GB; the log cannot be truncated meanwhile",
            "techfura blog, Encrypting an existing database with TDE; McGiffen, 2023",
        ),
        PublishedFigure(
            "Oracle 12.2, online encryption of a tablespace",
            "while it goes on the database writer cannot keep up, and sessions wait for free buffers",
            "dbi services blog, Oracle 12cR2 online tablespace encryption, year not given",
        ),
        PublishedFigure(
            "MariaDB, background encryption threads",
            "as much as 200% CPU of two cores for more than 20 minutes, with nothing to encrypt (10.1)",
            "MariaDB, MDEV-11581, 2016",
        ),
    ),
    "response-times": (
        PublishedFigure(
            "difference of mean response times, Customer Registration, gamma model",
            "95% HDI −0.69 … +1.89 ms: no difference shown",
            _RECURRENTNULL,
        ),
    ),
}
"""By the name of the study."""
