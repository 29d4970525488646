"""pgbench: its options (as getopt has them), its report, and its log of every transaction.

The report's mean counts failed transactions and, without a log, is computed from the run's length; so what is judged
comes from the log (``-l``), which has every transaction's time in µs, and only how long the whole took from the report.
"""

from __future__ import annotations

import getopt
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePath

from tdelta.driver.load_generator.connections import POSTGRES, Connection
from tdelta.driver.load_generator.results import (
    Finished,
    LoadResult,
    TimesSeen,
    histograms_of,
    number,
    only_seen,
    totals_of,
    unreadable,
)
from tdelta.driver.load_generator.tools import Amount, Filled, ToolRequest, threads_fault
from tdelta.messages import Caution, Refusal
from tdelta.records import SpanTotals

_SHORT = "ib:c:CdD:f:F:h:I:j:lL:M:nNp:P:qrR:s:St:T:U:vV?"
_LONG_OF_SHORT = {
    "b": "builtin",
    "c": "client",
    "C": "connect",
    "D": "define",
    "f": "file",
    "h": "host",
    "i": "initialize",
    "I": "init-steps",
    "j": "jobs",
    "l": "log",
    "L": "latency-limit",
    "n": "no-vacuum",
    "p": "port",
    "R": "rate",
    "S": "select-only",
    "t": "transactions",
    "T": "time",
    "U": "username",
    "V": "version",
    "?": "help",
}
_LONG = (
    "builtin= client= connect debug define= file= fillfactor= host= initialize init-steps= jobs= log latency-limit="
    " no-vacuum port= progress= protocol= quiet report-per-command rate= scale= select-only skip-some-updates time="
    " transactions= username= vacuum-all unlogged-tables tablespace= index-tablespace= sampling-rate="
    " aggregate-interval= progress-timestamp log-prefix= foreign-keys random-seed= show-script= partitions="
    " partition-method= failures-detailed max-tries= verbose-errors exit-on-abort continue-on-error dbname= version"
    " help report-latencies"
)
"""Of PostgreSQL 15, and what came later (``dbname``, ``exit-on-abort``, ``continue-on-error``)."""

_SCRIPTS = re.compile(r"^SQL script \d+: (.+)$", re.MULTILINE)
_ONE_SCRIPT = re.compile(r"^transaction type: (.+)$", re.MULTILINE)
_PROCESSED = r"^number of transactions actually processed: (\d+)"
_PER_SECOND = r"^tps = (\d+\.\d+)"
_MEAN_MS = r"^latency average = (\d+\.\d+) ms"
_RETRIES = r"^total number of retries: (\d+)"
_FAILED = r"^number of failed transactions: (\d+)"
_LINES_AT_ONCE = 1 << 16
_LEAST_COLUMNS = 6
_SAMPLE_OPTIONS = {
    "sampling-rate": "would leave times out of the log that the results are read from",
    "aggregate-interval": "would sum the log up that the results are read from",
}
_NO_LOAD = {
    "initialize": "makes tables; the copies' tables are made before a run, and `--load-generator` only works on them",
    "init-steps": "belongs to -i, which makes tables; `--load-generator` only works on them",
    "show-script": "shows a script and is no load",
    "version": "is no load",
    "help": "is no load",
}


@dataclass(frozen=True, slots=True)
class _Given:
    """The user's words, sorted: options by their long name (or their letter), and what is no option."""

    options: Mapping[str, str]
    others: tuple[str, ...]
    fault: Refusal | None = None

    @classmethod
    def of(cls, words: Sequence[str]) -> _Given:
        try:
            pairs, others = getopt.gnu_getopt(list(words), _SHORT, _LONG.split())
        except getopt.GetoptError as error:
            return cls({}, (), Refusal.of("invalid", kind="pgbench option", fault=error.msg))
        names = ((name.lstrip("-"), value) for name, value in pairs)
        return cls({_LONG_OF_SHORT.get(name, name): value for name, value in names}, tuple(others))

    def own(self, name: str) -> str | None:
        """An option's value if it is the user's own: given, and without a placeholder."""
        value = self.options.get(name)
        return None if value is None or "{" in value else value


class Pgbench:
    """The tool; see `tdelta.driver.load_generator.tools.Tool`."""

    name = "pgbench"
    install = "install the package postgresql-contrib, or add PostgreSQL's own bin folder to PATH"

    def fill(self, words: Sequence[str], asked: ToolRequest) -> Filled:
        """Check the words behind ``pgbench`` and add clients, transactions, seed and log where left out."""
        given = _Given.of(words)
        amount, ending = _amount(given)
        clients = given.options.get("client", "{threads}")
        added = ["--client={threads}"] if "client" not in given.options else []
        added += [f"--jobs={_jobs(clients)}"] if "jobs" not in given.options else []
        added += ending
        added += ["--random-seed={seed}"] if "random-seed" not in given.options else []
        added += ["--log"] if "log" not in given.options else []
        added += ["--log-prefix={log}"] if "log-prefix" not in given.options else []
        own = given.own("client")
        return Filled(
            words=(*added, *words),
            added=tuple(added),
            amount=amount,
            threads=int(own) if own and own.isdecimal() else None,
            cautions=tuple(_cautions(given, amount)),
            faults=tuple(_faults(given, asked)),
        )

    def connection_words(self, words: Sequence[str], connection: Connection) -> tuple[str, ...]:
        """Host (a socket's folder), port and user; the database where none is named."""
        given = _Given.of(words)
        wanted = {
            "host": connection.client_host,
            "port": str(connection.client_port),
            "username": connection.user,
        }
        options = tuple(f"--{name}={value}" for name, value in wanted.items() if value and name not in given.options)
        is_named = given.others or "dbname" in given.options
        return options if is_named else (*options, connection.database)

    def recognises(self, out: str) -> bool:
        return len(re.findall(_PROCESSED, out, re.MULTILINE)) == 1 and number(_PER_SECOND, out) is not None

    def read(self, finished: Finished) -> LoadResult:
        """How long it took from the report, everything else from the log (from the report where there is no log)."""
        processed, per_second = number(_PROCESSED, finished.out), number(_PER_SECOND, finished.out)
        if processed == 0:
            raise unreadable(finished, Refusal.of("load-output", what="a finished transaction"))
        if not processed or not per_second:
            raise unreadable(
                finished, Refusal.of("load-output", what="pgbench's report with `number of transactions …` and `tps`")
            )
        retries = int(number(_RETRIES, finished.out) or 0)
        elapsed_ns = round(processed / per_second * 1e9)
        if finished.log_folder is None:
            return _from_report(finished, int(processed), elapsed_ns, retries)
        times, failed = _from_logs(finished, _script_names(finished.out))
        totals = totals_of(times)
        logged = sum(span.count for span in totals.values())
        if logged != processed:
            raise unreadable(
                finished,
                Refusal.of("load-output", what=f"a complete log (of {processed:.0f} transactions it has {logged})"),
            )
        return LoadResult(
            operations=logged,
            elapsed_ns=elapsed_ns,
            transactions=totals,
            histograms=histograms_of(times),
            errors=only_seen(failed),
            retries=only_seen({"retry": retries}),
        )


def _from_report(finished: Finished, processed: int, elapsed_ns: int, retries: int) -> LoadResult:
    mean_ms = number(_MEAN_MS, finished.out)
    if mean_ms is None:
        raise unreadable(finished, Refusal.of("load-output", what="pgbench's report with `latency average`"))
    failed = int(number(_FAILED, finished.out.partition("SQL script")[0]) or 0)
    return LoadResult(
        operations=processed,
        elapsed_ns=elapsed_ns,
        transactions={"transaction": SpanTotals(processed, round(mean_ms * 1e6 * processed))},
        errors=only_seen({"failed": failed}),
        retries=only_seen({"retry": retries}),
    )


def _script_names(out: str) -> tuple[str, ...]:
    """The names of the scripts in the order of their numbers in the log; ones that occur twice are numbered."""
    names = _SCRIPTS.findall(out) or _ONE_SCRIPT.findall(out)
    short = [_short(name) for name in names]
    return tuple(name if short.count(name) == 1 else f"{name} {1 + i}" for i, name in enumerate(short))


def _short(name: str) -> str:
    """``<builtin: TPC-B (sort of)>`` is ``TPC-B (sort of)``, ``/home/me/scripts/pay.sql`` is ``pay``."""
    builtin = re.fullmatch(r"<builtin: (.+)>", name)
    return builtin.group(1) if builtin else PurePath(name).stem or name


def _from_logs(finished: Finished, scripts: Sequence[str]) -> tuple[TimesSeen, Counter[str]]:
    assert finished.log_folder is not None  # noqa: S101 - asked above
    times: TimesSeen = {name: Counter() for name in scripts}
    failed: Counter[str] = Counter()
    paths = sorted(finished.log_folder.glob(f"{finished.log_prefix}.*"))
    if not paths:
        raise unreadable(finished, Refusal.of("load-output", what="pgbench's log of its transactions"))
    try:
        for path in paths:
            _read_log(path, scripts, times, failed)
    except (ValueError, IndexError, OSError) as error:
        raise unreadable(finished, Refusal.of("load-output", what=f"a readable pgbench log ({error})")) from error
    return times, failed


def _read_log(path: Path, scripts: Sequence[str], times: TimesSeen, failed: Counter[str]) -> None:
    """Count the lines ``client number TIME SCRIPT seconds microseconds …`` of one thread, a part of them at a time."""
    with path.open(encoding="ascii") as lines:
        while part := list(islice(lines, _LINES_AT_ONCE)):
            columns = len(part[0].split())
            words = "".join(part).split()
            if columns < _LEAST_COLUMNS or len(words) != columns * len(part):
                raise ValueError(f"{path.name} has lines of different lengths")
            for (time, script), count in Counter(zip(words[2::columns], words[3::columns], strict=True)).items():
                if time.isdecimal():
                    times[scripts[int(script)]][int(time) * 1000] += count
                else:
                    failed[time] += count


def _amount(given: _Given) -> tuple[Amount, list[str]]:
    if "time" in given.options:
        return Amount.TIMED, []
    asked = given.options.get("transactions")
    if asked is None:
        return Amount.ASKED, ["--transactions={operations_per_thread}"]
    return (Amount.ASKED if "{operations" in asked else Amount.FIXED), []


def _jobs(clients: str) -> str:
    """As many threads as there are cores, but no more than clients; ``{jobs}`` where these are tdelta's to say."""
    return str(min(int(clients), os.cpu_count() or 1)) if clients.isdecimal() else "{jobs}"


def _cautions(given: _Given, amount: Amount) -> Iterator[Caution]:
    if amount is Amount.TIMED:
        yield Caution.of("load-timed")
    if "no-vacuum" not in given.options and "file" not in given.options:
        yield Caution.of("pgbench-vacuums")


def _faults(given: _Given, asked: ToolRequest) -> Iterator[Refusal]:
    if given.fault is not None:
        yield given.fault
        return
    if asked.protocol != POSTGRES:
        yield Refusal.of("unsupported", what="pgbench", by=f"{asked.protocol} servers, only by PostgreSQL")
    for name in ("host", "port"):
        if given.own(name) is not None:
            yield Refusal.of("load-option", option=f"--{name}", why="tdelta sets it for each copy")
    refused = {**_NO_LOAD, **_SAMPLE_OPTIONS}
    yield from (
        Refusal.of("load-option", option=f"--{name}", why=refused[name]) for name in refused if name in given.options
    )
    if given.own("log-prefix") is not None:
        yield Refusal.of("load-option", option="--log-prefix", why="tdelta reads the log from a private folder")
    if "time" in given.options and "transactions" in given.options:
        yield Refusal.of("conflict", one="-t", other="-T")
    yield from _database_faults(given)
    own = given.own("client")
    if own is not None and (fault := threads_fault("--client", own, asked.threads_levels)):
        yield fault


def _database_faults(given: _Given) -> Iterator[Refusal]:
    if "d" in given.options:
        yield Refusal.of("load-option", option="-d", why="ambiguous: write the database last, or --debug")
    if len(given.others) > 1:
        listed = " ".join(given.others)
        yield Refusal.of("unexpected", expected="one database at most", found=listed)
    if any("=" in word or "://" in word for word in (*given.others, given.options.get("dbname", ""))):
        yield Refusal.of("load-option", option="a connection string", why="tdelta sets it for each copy")
