"""sysbench 1.0: its options (``--name=value`` only, underscores and hyphens alike) and its report.

Its latency histogram has 1024 steps from 1 µs to 100 s, each 1.8% wide (sysbench 1.0, src/sb_histogram.c), while the
sum of all latencies in its report is exact: the mean of a trial is exact, and its percentiles are not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from tdelta.messages import Caution, Refusal
from tdelta.processes.load_generator.connections import MYSQL, Connection
from tdelta.processes.load_generator.tools import (
    Amount,
    Finished,
    Given,
    Tool,
    histograms_of,
    number,
    only_seen,
    unreadable,
)
from tdelta.records import Measurement, SpanTotals

_DRIVERS = {MYSQL: "mysql", "postgres": "pgsql"}
_WITHOUT_DATABASE = frozenset(("cpu", "fileio", "memory", "mutex", "threads"))
_OTHER_NAMES = {"num-threads": "threads", "max-requests": "events", "max-time": "time", "tx-rate": "rate"}
_PLACES = ("host", "port", "socket")
_REPORT = "General statistics:"
_EVENTS = r"^ *total number of events: +(\d+)$"
_SECONDS = r"^ *total time: +(\d+\.\d+)s$"
_SUM_MS = r"^ *sum: +(\d+\.\d+)$"
_BAR = re.compile(r"^ *(\d+\.\d{3}) \|\**\s+(\d+)$", re.MULTILINE)
_IGNORED = r"^ *ignored errors: +(\d+) "
_RECONNECTS = r"^ *reconnects: +(\d+) "


class Sysbench(Tool):
    name = "sysbench"
    install = "install the package sysbench"
    threads = "threads"

    def _given(self, words: Sequence[str]) -> Given:
        options = {}
        for word in words:
            if word.startswith("--"):
                name, _, value = word[2:].partition("=")
                name = name.replace("_", "-")
                options[_OTHER_NAMES.get(name, name)] = value
        return Given(options, tuple(word for word in words if not word.startswith("--")))

    def _added(self, given: Given, protocol: str) -> tuple[Amount, list[str]]:
        amount, ending = _amount(given)
        first = given.missing(db_driver=_DRIVERS[protocol], threads="{threads}")
        histogram = given.missing(histogram="") if _has_histogram(given) else []
        return amount, [*first, *ending, *given.missing(rand_seed="{seed}"), *histogram]

    def _faults(self, given: Given, protocol: str) -> Iterator[Refusal]:
        yield from _test_faults(given)
        yield from _connection_faults(given, protocol)
        yield from _report_faults(given)

    def _cautions(self, given: Given, amount: Amount, protocol: str) -> Iterator[Caution]:
        yield from super()._cautions(given, amount, protocol)
        yield Caution.of("sysbench-histogram") if _has_histogram(given) else Caution.of("sysbench-no-histogram")

    def connection_words(self, words: Sequence[str], connection: Connection) -> tuple[str, ...]:
        given = self._given(words).options
        driver = _DRIVERS[connection.protocol]
        wanted = {"user": connection.user, "db": connection.database}
        if driver == "mysql":
            wanted["socket"] = str(connection.socket)
        else:
            wanted |= {"host": connection.host, "port": connection.port}
        options = {f"{driver}-{name}": value for name, value in wanted.items()}
        return tuple(f"--{name}={value}" for name, value in options.items() if name not in given)

    def recognises(self, out: str) -> bool:
        return out.count(_REPORT) == 1 and out.count("Latency (ms):") == 1

    def read(self, finished: Finished) -> Measurement:
        text = finished.out
        events, seconds, sum_ms = (number(pattern, text) for pattern in (_EVENTS, _SECONDS, _SUM_MS))
        if events is None or seconds is None or sum_ms is None:
            raise unreadable(finished, "sysbench's report with `total time`, `total number of events` and `sum`")
        if events == 0:
            raise unreadable(finished, "a finished event")
        # Two decimals of a ms: of a short trial this is coarse, of a second it is 0.001%.
        totals = SpanTotals(int(events), round(sum_ms * 1e6))
        errors = {"ignored": int(number(_IGNORED, text) or 0), "reconnect": int(number(_RECONNECTS, text) or 0)}
        return Measurement(
            operations=int(events),
            elapsed_ns=round(seconds * 1e9),
            transactions={"event": totals},
            statements={},
            histograms=histograms_of({"event": _bars(text)}),
            errors=only_seen(errors),
        )


def _bars(text: str) -> Counter[int]:
    seen: Counter[int] = Counter()
    for milliseconds, count in _BAR.findall(text):
        seen[round(float(milliseconds) * 1e6)] += int(count)
    return seen


def _amount(given: Given) -> tuple[Amount, list[str]]:
    """How a trial ends, and the options that are added for it. The value ``0`` sets no limit."""
    events, time = (given.options.get(name, "0") for name in ("events", "time"))
    if time != "0":
        return Amount.TIMED, []
    no_time = [] if "time" in given.options else ["--time=0"]  # else it is 10 s
    if events == "0":
        return Amount.ASKED, [*no_time, "--events={operations}"]
    return (Amount.ASKED if "{operations}" in events else Amount.FIXED), no_time


def _is_on(given: Given, name: str) -> bool | None:
    return None if name not in given.options else given.options[name] not in ("off", "0", "false", "no")


def _has_histogram(given: Given) -> bool:
    return _is_on(given, "histogram") is not False and given.options.get("percentile") != "0"


def _test_faults(given: Given) -> Iterator[Refusal]:
    match given.others:
        case [test, "run"] if PurePath(test).name not in _WITHOUT_DATABASE:
            return
        case [test, *_] if test in _WITHOUT_DATABASE:
            yield Refusal.of("load-command", found=f"sysbench {test}")
        case [_, ("prepare" | "prewarm" | "cleanup" | "help") as command]:
            yield Refusal.of("load-command", found=command)
        case _:
            listed = " ".join(given.others) or "neither"
            yield Refusal.of("load-command", found=listed)


def _connection_faults(given: Given, protocol: str) -> Iterator[Refusal]:
    driver = _DRIVERS[protocol]
    for name in given.options:
        found, _, part = name.partition("-")
        if found not in _DRIVERS.values():
            continue
        if found != driver:
            yield Refusal.of("load-option", option=f"--{name}", why=f"{protocol} requires options --{driver}-…")
        elif part in _PLACES and given.own(name) is not None:
            yield Refusal.of("load-option", option=f"--{name}", why="tdelta sets it for each copy")
    if given.own("db-driver") not in (None, driver):
        option = f"--db-driver={given.options['db-driver']}"
        yield Refusal.of("load-option", option=option, why=f"{protocol} requires {driver}")
    if _is_on(given, "mysql-dry-run"):
        yield Refusal.of("load-option", option="--mysql-dry-run", why="nothing would reach the server")


def _report_faults(given: Given) -> Iterator[Refusal]:
    if given.options.get("report-checkpoints"):
        yield Refusal.of("load-option", option="--report-checkpoints", why="it resets the counts within a trial")
    if given.options.get("verbosity", "3") in ("0", "1", "2"):
        yield Refusal.of("load-option", option="--verbosity", why="below 3 it hides the report with the results")
    if _is_on(given, "histogram") and given.options.get("percentile") == "0":
        yield Refusal.of("conflict", one="--percentile=0", other="--histogram")
    for name in ("help", "version"):
        if _is_on(given, name):
            yield Refusal.of("load-option", option=f"--{name}", why="not a workload")
