"""pgbench: its options (as getopt has them), its report, and its log of every transaction.

The report's mean counts failed transactions and, without a log, is computed from the run's length; so what is judged
comes from the log (``-l``), which has every transaction's time in µs, and only how long the whole took from the report.
"""

from __future__ import annotations

import getopt
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePath

from tdelta.messages import Caution, Refusal
from tdelta.processes.load_generator.connections import POSTGRES, Connection
from tdelta.processes.load_generator.tools import (
    Amount,
    Finished,
    Given,
    TimesSeen,
    Tool,
    histograms_of,
    number,
    only_seen,
    totals_of,
    unreadable,
)
from tdelta.records import Measurement, SpanTotals

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
_REFUSED = {
    "initialize": "makes tables; the copies' tables are made before a run, and `--load-generator` only works on them",
    "init-steps": "belongs to -i, which makes tables; `--load-generator` only works on them",
    "show-script": "shows a script and is no load",
    "version": "is no load",
    "help": "is no load",
    "sampling-rate": "would leave times out of the log that the results are read from",
    "aggregate-interval": "would sum the log up that the results are read from",
}


class Pgbench(Tool):
    name = "pgbench"
    install = "install the package postgresql-contrib, or add PostgreSQL's own bin folder to PATH"
    threads = "client"

    def _given(self, words: Sequence[str]) -> Given:
        try:
            pairs, others = getopt.gnu_getopt(list(words), _SHORT, _LONG.split())
        except getopt.GetoptError as error:
            return Given({}, fault=Refusal.of("invalid", kind="pgbench option", fault=error.msg))
        names = ((name.lstrip("-"), value) for name, value in pairs)
        return Given({_LONG_OF_SHORT.get(name, name): value for name, value in names}, tuple(others))

    def _added(self, given: Given, _protocol: str) -> tuple[Amount, list[str]]:
        amount, ending = _amount(given)
        jobs = _jobs(given.options.get("client", "{threads}"))
        first = given.missing(client="{threads}", jobs=jobs)
        return amount, [*first, *ending, *given.missing(random_seed="{seed}", log="", log_prefix="{log}")]

    def _faults(self, given: Given, protocol: str) -> Iterator[Refusal]:
        if protocol != POSTGRES:
            yield Refusal.of("unsupported", what="pgbench", by=f"{protocol} servers, only by PostgreSQL")
        for name in ("host", "port"):
            if given.own(name) is not None:
                yield Refusal.of("load-option", option=f"--{name}", why="tdelta sets it for each copy")
        for name, why in _REFUSED.items():
            if name in given.options:
                yield Refusal.of("load-option", option=f"--{name}", why=why)
        if given.own("log-prefix") is not None:
            yield Refusal.of("load-option", option="--log-prefix", why="tdelta reads the log from a private folder")
        if "time" in given.options and "transactions" in given.options:
            yield Refusal.of("conflict", one="-t", other="-T")
        yield from _database_faults(given)

    def _cautions(self, given: Given, amount: Amount, protocol: str) -> Iterator[Caution]:
        yield from super()._cautions(given, amount, protocol)
        if "no-vacuum" not in given.options and "file" not in given.options:
            yield Caution.of("pgbench-vacuums")

    def connection_words(self, words: Sequence[str], connection: Connection) -> tuple[str, ...]:
        given = self._given(words)
        wanted = {"host": connection.host, "port": connection.port, "username": connection.user}
        options = tuple(f"--{name}={value}" for name, value in wanted.items() if name not in given.options)
        is_named = given.others or "dbname" in given.options
        return options if is_named else (*options, connection.database)

    def recognises(self, out: str) -> bool:
        return len(re.findall(_PROCESSED, out, re.MULTILINE)) == 1 and number(_PER_SECOND, out) is not None

    def read(self, finished: Finished) -> Measurement:
        """How long it took from the report, everything else from the log (from the report where there is no log)."""
        processed, per_second = number(_PROCESSED, finished.out), number(_PER_SECOND, finished.out)
        if processed == 0:
            raise unreadable(finished, "a finished transaction")
        if not processed or not per_second:
            raise unreadable(finished, "pgbench's report with `number of transactions …` and `tps`")
        retries = int(number(_RETRIES, finished.out) or 0)
        elapsed_ns = round(processed / per_second * 1e9)
        if finished.log_folder is None:
            return _from_report(finished, int(processed), elapsed_ns, retries)
        times, failed = _from_logs(finished, _script_names(finished.out))
        totals = totals_of(times)
        logged = sum(span.count for span in totals.values())
        if logged != processed:
            raise unreadable(finished, f"a complete log (of {processed:.0f} transactions it has {logged})")
        return Measurement(
            operations=logged,
            elapsed_ns=elapsed_ns,
            transactions=totals,
            statements={},
            histograms=histograms_of(times),
            errors=only_seen(failed),
            retries=only_seen({"retry": retries}),
        )


def _from_report(finished: Finished, processed: int, elapsed_ns: int, retries: int) -> Measurement:
    mean_ms = number(_MEAN_MS, finished.out)
    if mean_ms is None:
        raise unreadable(finished, "pgbench's report with `latency average`")
    failed = int(number(_FAILED, finished.out.partition("SQL script")[0]) or 0)
    totals = {"transaction": SpanTotals(processed, round(mean_ms * 1e6 * processed))}
    errors, again = only_seen({"failed": failed}), only_seen({"retry": retries})
    return Measurement(processed, elapsed_ns, totals, {}, errors=errors, retries=again)


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
        raise unreadable(finished, "pgbench's log of its transactions")
    try:
        for path in paths:
            _read_log(path, scripts, times, failed)
    except (ValueError, IndexError, OSError) as error:
        raise unreadable(finished, f"a readable pgbench log ({error})") from error
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


def _amount(given: Given) -> tuple[Amount, list[str]]:
    if "time" in given.options:
        return Amount.TIMED, []
    asked = given.options.get("transactions")
    if asked is None:
        return Amount.ASKED, ["--transactions={operations_per_thread}"]
    return (Amount.ASKED if "{operations" in asked else Amount.FIXED), []


def _jobs(clients: str) -> str:
    """As many threads as there are cores, but no more than clients; ``{jobs}`` where these are tdelta's to say."""
    return str(min(int(clients), os.cpu_count() or 1)) if clients.isdecimal() else "{jobs}"


def _database_faults(given: Given) -> Iterator[Refusal]:
    if "d" in given.options:
        yield Refusal.of("load-option", option="-d", why="ambiguous: write the database last, or --debug")
    if len(given.others) > 1:
        listed = " ".join(given.others)
        yield Refusal.of("unexpected", expected="one database at most", found=listed)
    if any("=" in word or "://" in word for word in (*given.others, given.options.get("dbname", ""))):
        yield Refusal.of("load-option", option="a connection string", why="tdelta sets it for each copy")
