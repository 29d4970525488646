"""sysbench 1.0: its options (``--name=value`` only, underscores and hyphens alike) and its report.

Its latency histogram has 1024 steps from 1 µs to 100 s, each 1.8% wide (sysbench 1.0, src/sb_histogram.c), while the
sum of all latencies in its report is exact: the mean of a trial is exact, and its percentiles are not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from tdelta.driver.load_generator.connections import MYSQL, Connection
from tdelta.driver.load_generator.results import Finished, LoadResult, histograms_of, number, only_seen, unreadable
from tdelta.driver.load_generator.tools import Amount, Filled, ToolRequest, threads_fault
from tdelta.messages import Caution, Refusal
from tdelta.records import SpanTotals

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


@dataclass(frozen=True, slots=True)
class _Given:
    """The user's words, sorted: options by their one name, and what is no option."""

    options: Mapping[str, str]
    others: tuple[str, ...]

    @classmethod
    def of(cls, words: Sequence[str]) -> _Given:
        options = {}
        for word in words:
            if word.startswith("--"):
                name, _, value = word[2:].partition("=")
                name = name.replace("_", "-")
                options[_OTHER_NAMES.get(name, name)] = value
        return cls(options, tuple(word for word in words if not word.startswith("--")))

    def own(self, name: str) -> str | None:
        """An option's value if it is the user's own: given, and without a placeholder."""
        value = self.options.get(name)
        return None if value is None or "{" in value else value

    def is_on(self, name: str) -> bool | None:
        """A switch: on, off, or not given."""
        return None if name not in self.options else self.options[name] not in ("off", "0", "false", "no")


class Sysbench:
    """The tool; see `tdelta.driver.load_generator.tools.Tool`."""

    name = "sysbench"
    install = "install the package sysbench"

    def fill(self, words: Sequence[str], asked: ToolRequest) -> Filled:
        """Check the words behind ``sysbench`` and add threads, events, seed, driver and histogram where left out."""
        given = _Given.of(words)
        amount, ending = _amount(given)
        added = [f"--db-driver={_DRIVERS[asked.protocol]}"] if "db-driver" not in given.options else []
        added += ["--threads={threads}"] if "threads" not in given.options else []
        added += ending
        added += ["--rand-seed={seed}"] if "rand-seed" not in given.options else []
        has_histogram = given.is_on("histogram") is not False and given.options.get("percentile") != "0"
        added += ["--histogram"] if has_histogram and "histogram" not in given.options else []
        threads = given.own("threads")
        return Filled(
            words=(*added, *words),
            added=tuple(added),
            amount=amount,
            threads=int(threads) if threads and threads.isdecimal() else None,
            cautions=tuple(_cautions(amount, has_histogram)),
            faults=tuple(_faults(given, asked)),
        )

    def connection_words(self, words: Sequence[str], connection: Connection) -> tuple[str, ...]:
        given = _Given.of(words).options
        driver = _DRIVERS[connection.protocol]
        wanted = {"user": connection.user, "db": connection.database}
        if driver == "mysql" and connection.socket is not None:
            wanted["socket"] = str(connection.socket)
        else:
            wanted |= {"host": connection.client_host, "port": str(connection.client_port)}
        return tuple(
            f"--{driver}-{name}={value}" for name, value in wanted.items() if value and f"{driver}-{name}" not in given
        )

    def recognises(self, out: str) -> bool:
        return out.count(_REPORT) == 1 and out.count("Latency (ms):") == 1

    def read(self, finished: Finished) -> LoadResult:
        """Events, seconds and the sum of latencies; the histogram where there is one."""
        text = finished.out
        events, seconds, sum_ms = (number(pattern, text) for pattern in (_EVENTS, _SECONDS, _SUM_MS))
        if events is None or seconds is None or sum_ms is None:
            raise unreadable(
                finished,
                Refusal.of(
                    "load-output", what="sysbench's report with `total time`, `total number of events` and `sum`"
                ),
            )
        if events == 0:
            raise unreadable(finished, Refusal.of("load-output", what="a finished event"))
        # Two decimals of a ms: of a short trial this is coarse, of a second it is 0.001%.
        totals = SpanTotals(int(events), round(sum_ms * 1e6))
        errors = {"ignored": int(number(_IGNORED, text) or 0), "reconnect": int(number(_RECONNECTS, text) or 0)}
        return LoadResult(
            operations=int(events),
            elapsed_ns=round(seconds * 1e9),
            transactions={"event": totals},
            histograms=histograms_of({"event": _bars(text)}),
            errors=only_seen(errors),
        )


def _bars(text: str) -> Counter[int]:
    seen: Counter[int] = Counter()
    for milliseconds, count in _BAR.findall(text):
        seen[round(float(milliseconds) * 1e6)] += int(count)
    return seen


def _amount(given: _Given) -> tuple[Amount, list[str]]:
    """What ends a trial, and the options that this needs beside the user's. ``0`` is none, for either option."""
    events, time = (given.options.get(name, "0") for name in ("events", "time"))
    if time != "0":
        return Amount.TIMED, []
    no_time = [] if "time" in given.options else ["--time=0"]  # else it is 10 s
    if events == "0":
        return Amount.ASKED, [*no_time, "--events={operations}"]
    return (Amount.ASKED if "{operations}" in events else Amount.FIXED), no_time


def _cautions(amount: Amount, has_histogram: bool) -> Iterator[Caution]:
    if amount is Amount.TIMED:
        yield Caution.of("load-timed")
    yield Caution.of("sysbench-histogram") if has_histogram else Caution.of("sysbench-no-histogram")


def _faults(given: _Given, asked: ToolRequest) -> Iterator[Refusal]:
    yield from _test_faults(given)
    yield from _connection_faults(given, asked)
    yield from _report_faults(given)
    own = given.own("threads")
    if own is not None and (fault := threads_fault("--threads", own, asked.threads_levels)):
        yield fault


def _test_faults(given: _Given) -> Iterator[Refusal]:
    match given.others:
        case [test, "run"] if PurePath(test).name not in _WITHOUT_DATABASE:
            return
        case [test, *_] if test in _WITHOUT_DATABASE:
            yield Refusal.of("load-command", found=f"sysbench {test}")
        case [_, ("prepare" | "prewarm" | "cleanup" | "help") as command]:
            yield (Refusal.of("load-command", found=command))
        case [_, _, _, *_]:
            listed = " ".join(given.others)
            yield Refusal.of("load-command", found=listed)
        case _:
            listed = " ".join(given.others) or "neither"
            yield Refusal.of("load-command", found=listed)


def _connection_faults(given: _Given, asked: ToolRequest) -> Iterator[Refusal]:
    driver = _DRIVERS[asked.protocol]
    for name in given.options:
        found, _, part = name.partition("-")
        if found not in _DRIVERS.values():
            continue
        if found != driver:
            yield Refusal.of("load-option", option=f"--{name}", why=f"{asked.protocol} requires options --{driver}-…")
        elif part in _PLACES and given.own(name) is not None:
            yield Refusal.of("load-option", option=f"--{name}", why="tdelta sets it for each copy")
    if given.own("db-driver") not in (None, driver):
        yield Refusal.of(
            "load-option", option=f"--db-driver={given.options['db-driver']}", why=f"{asked.protocol} requires {driver}"
        )
    if given.is_on("mysql-dry-run"):
        yield Refusal.of("load-option", option="--mysql-dry-run", why="nothing would reach the server")


def _report_faults(given: _Given) -> Iterator[Refusal]:
    if given.options.get("report-checkpoints"):
        yield Refusal.of("load-option", option="--report-checkpoints", why="it resets the counts within a trial")
    if given.options.get("verbosity", "3") in ("0", "1", "2"):
        yield Refusal.of("load-option", option="--verbosity", why="below 3 it hides the report with the results")
    if given.is_on("histogram") and given.options.get("percentile") == "0":
        yield Refusal.of("conflict", one="--percentile=0", other="--histogram")
    for name in ("help", "version"):
        if given.is_on(name):
            yield Refusal.of("load-option", option=f"--{name}", why="not a workload")
