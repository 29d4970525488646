"""tpcc-mysql's output: new orders of each interval, response times of each transaction, TpmC.

As ``main.c`` prints it, today's layout (``10, trx: 12920, 95%: 9.483, …``) and the one before 2016
(``10, 12920(0):0.8|1.0, …``). Intervals begin when the ramp-up is over. Throughput is of new orders, as TpmC is;
response times are in ms, with one decimal, which is said with them.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

from tdelta.errors import ImportFault
from tdelta.importers.accumulating import LONGEST_MS
from tdelta.importers.belonging import Belonging, belonging_of
from tdelta.importers.intervals import FEWEST, uneven_steps, usual_step
from tdelta.importers.protocol import Importer, Naming, Source
from tdelta.importers.reading import excerpt, head_lines
from tdelta.importers.rounding import half_unit
from tdelta.messages import Caution, Refusal
from tdelta.records.observed import Figure, Observation, Series, Summary

NEW_ORDERS = "new orders"
TRANSACTIONS = ("new order", "payment", "order status", "delivery", "stock level")
"""By the numbers that they have in the output."""
MOST_INTERVALS = 1_000_000
MOST_RUNS = 1000

_INTERVAL = re.compile(r"(\d{1,9}), (?:trx: (\d{1,12}), 95%?: |(\d{1,12})\(\d{1,12}\):\d)")
_RAW = re.compile(
    r"\[([0-4])\] sc:(\d{1,12}) lt:(\d{1,12})  ?rt:(\d{1,12})  ?fl:(\d{1,12}) avg_rt: (\d{1,12}(?:\.\d{1,6})?) "
)
_TPMC = re.compile(r"(\d{1,12}(?:\.\d{1,6})?) TpmC$")
_CONNECTIONS = re.compile(r"\[connection\]: (\d{1,9})$")
_WAREHOUSES = re.compile(r"\[warehouse\]: (\d{1,9})$")
_MEASURED = re.compile(r"\[measure\]: (\d{1,9}) \(sec\.\)$")
_BANNER = "*** ###easy### TPC-C Load Generator ***"


class TpccMysql:
    """The format; see `tdelta.importers.protocol.Importer`."""

    name = "tpcc-mysql"

    def recognizes(self, source: Source) -> bool:
        """Whether its beginning has a line that only tpcc-mysql prints."""
        return any(self.is_mark(line.strip()) for line in head_lines(source))

    def is_mark(self, line: str) -> bool:
        """Whether a line begins a run, or has the new orders of an interval."""
        return line == _BANNER or (_INTERVAL.match(line) is not None and "|" in line)

    def has_results(self, source: Source) -> bool:
        """Whether there is an interval, or a TpmC."""
        lines = (line.strip() for _, line in source.text_lines())
        return any(_TPMC.match(line) or (_INTERVAL.match(line) and "|" in line) for line in lines)

    def read(self, source: Source, naming: Naming) -> Iterator[Observation]:
        """Its runs; with the same number of connections they are told apart by their order."""
        belonging = belonging_of(source, self.name, naming)
        seen: dict[object, int] = {}
        found = False
        for run in _runs(source):
            seen[run.connections] = position = seen.get(run.connections, 0) + 1
            for one in run.observations(belonging.of_run(position, position)):
                found = True
                yield one
        if not found:
            raise ImportFault(
                Refusal.of("no-result-of-tool", expected="'10, trx: …' or '… TpmC' of tpcc-mysql").at(source.name)
            )


IMPORTERS: tuple[Importer, ...] = (TpccMysql(),)


@dataclass(slots=True)
class _Run:
    """One run so far."""

    connections: int | None = None
    warehouses: int | None = None
    lasted: float | None = None
    seconds: array[float] = field(default_factory=lambda: array("d"))
    orders: array[float] = field(default_factory=lambda: array("d"))
    raw: dict[int, tuple[int, str, int, int]] = field(default_factory=dict)
    tpmc: str = ""

    def take(self, number: int, line: str, file: str) -> None:
        """One more line."""
        if match := _INTERVAL.match(line):
            if len(self.seconds) >= MOST_INTERVALS:
                raise ImportFault(Refusal.of("intervals-too-many", most=MOST_INTERVALS).at(f"{file}:{number}"))
            self.seconds.append(float(match[1]))
            self.orders.append(float(match[2] or match[3]))
        elif match := _RAW.match(line):
            self.raw.setdefault(int(match[1]), (int(match[2]) + int(match[3]), match[6], int(match[5]), number))
        elif match := _TPMC.match(line):
            self.tpmc = match[1]
        elif match := _CONNECTIONS.match(line):
            self.connections = int(match[1]) or None
        elif match := _WAREHOUSES.match(line):
            self.warehouses = int(match[1]) or None
        elif match := _MEASURED.match(line):
            self.lasted = float(match[1]) or None

    def observations(self, belonging: Belonging) -> Iterator[Observation]:
        """What there is of the run."""
        own = belonging.with_level("connections", self.connections).with_level("warehouses", self.warehouses)
        if not self.tpmc:
            own = own.noting(Caution.of("report-of-tool-missing", expected="TpmC"))
        yield from self._series(own)
        if self.tpmc and float(self.tpmc) > 0:
            yield Figure(
                own.throughput(NEW_ORDERS),
                own.origin(),
                float(self.tpmc) / 60,
                rounding=half_unit(self.tpmc) / 60,
                duration_seconds=self.lasted,
            )
        for which, (count, printed, failed, line) in sorted(self.raw.items()):
            mean = float(printed)
            if not count or not 0 < mean <= LONGEST_MS:
                continue
            noted = (Caution.of("failed-transactions", transactions=float(failed)),) if failed else ()
            yield Summary(
                own.response_times(TRANSACTIONS[which]),
                own.origin(line, *noted),
                count,
                mean,
                None,
                rounding=half_unit(printed),
                duration_seconds=self.lasted,
            )

    def _series(self, belonging: Belonging) -> Iterator[Series]:
        if len(self.seconds) < FEWEST:
            return
        step = usual_step(self.seconds, alone=self.seconds[0])
        if step <= 0:
            raise ImportFault(Refusal.of("intervals-without-length").at(belonging.file))
        noted = uneven_steps(self.seconds, step)
        values = tuple(count / step for count in self.orders)
        yield Series(
            belonging.throughput(NEW_ORDERS),
            belonging.origin(None, *noted),
            step,
            values,
            max(self.seconds[0] - step, 0.0),
            rounding=0.5 / step,
            duration_seconds=self.lasted,
        )


def _runs(source: Source) -> Iterator[_Run]:
    """A banner, or a clock that is set back, begins another run."""
    run, runs = _Run(), 0
    for number, text in source.text_lines():
        line = text.strip()
        interval = _INTERVAL.match(line)
        begins = line == _BANNER or (interval and run.seconds and float(interval[1]) <= run.seconds[-1])
        if begins and (run.seconds or run.tpmc):
            runs += 1
            if runs > MOST_RUNS:
                raise ImportFault(
                    Refusal.of("runs-too-many-in-file", most=MOST_RUNS).at(f"{source.name}:{number}: {excerpt(line)}")
                )
            yield run
            run = _Run()
        run.take(number, line, source.name)
    if run.seconds or run.tpmc:
        yield run
