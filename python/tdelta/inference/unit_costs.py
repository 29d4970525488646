"""Measurements for the cost breakdown apart from a run's trials: prices of pages, timed calls, and their counts.

A price is the mean, over the moments of a run at which it was measured, of the median of each moment's passes: a
machine may compute at two speeds, now one and now the other (two of them, 1.3 apart, were seen), work under load meets
both, and the median of all would choose one. Its uncertainty is that of *one* pass (the quartiles' spread over 1.349, a
normal's), and not of their median, since work under load is done at moments that differ from one another as passes do;
and to that comes `TRANSFER`, since pages under load lie in other caches than pages that are timed in a row. The caches
are one state of one machine, so all prices of a run share that error: drawn for each price, it would cancel in sums and
grow in differences. An error of a median over hundreds of passes would be a precision that is not there.

A preload times every call that a server makes into OpenSSL, in trials of instances of their own that nobody measures
(`tdelta.session.collectors.unit_costs`). A line of the breakdown has the mean over these trials, brought to as many
pages as the measured trials had, where both are counted, since a fresh instance's cache may miss more or less often.

Engines count pages differently: SQLite's cache counts those that it reads and writes, servers those of their buffer
pools, some of them those that were encrypted apart; where nobody counts, the bytes that were asked of the system tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tdelta.inference.posterior import FloatArray
from tdelta.records import ComponentKind, Measurement, TimedCalls

TRANSFER = 0.10
"""How far the prices of work under load are from those measured: a standard deviation, as a share of the prices.

HMACs injected in SQLCipher took 4 to 22% more, in busy runs, than their price (benches/components_injected.py).
"""

BLOCKS = "blocks"
"""Parts beside the ``cache`` and all ``bytes`` that are moved: these, but for rows that a load reads."""

_QUARTILES_OF_NORMAL = 1.349
_CACHE = ("cache_misses", "cache_writes")
_SERVED = (("pages_decrypted", "pages_read"), ("pages_encrypted", "pages_written"))
"""Counters of a server's pages: those that passed the cipher, else all that were read and written."""

_LEAST_SHARE = 0.005  # of the whole line: calls that took less are not listed


@dataclass(frozen=True, slots=True)
class Price:
    """The time of one page, call or byte, µs, and the quartiles of all passes."""

    us: float
    quartiles: tuple[float, float]

    @property
    def sd(self) -> float:
        return (self.quartiles[1] - self.quartiles[0]) / _QUARTILES_OF_NORMAL

    def draws(self, normal: FloatArray, transfer: FloatArray) -> FloatArray:
        """Draws under load, from as many of two standard normals: this price's own, and one of all prices of a run."""
        return self.us * (1.0 + TRANSFER * transfer) + self.sd * normal

    def less(self, other: Price) -> Price:
        us, half = self.us - other.us, math.hypot(*(q.quartiles[1] - q.quartiles[0] for q in (self, other))) / 2
        return Price(us, (us - half, us + half))


def price_of(moments: Iterable[Sequence[float]]) -> Price:
    """The price of passes that were made at some moments, at least one pass at each and one moment."""
    found = [np.array(passes, dtype=np.float64) for passes in moments]
    low, high = np.quantile(np.concatenate(found), (0.25, 0.75))
    return Price(float(np.mean([np.median(passes) for passes in found])), (float(low), float(high)))


@dataclass(frozen=True, slots=True)
class PagePrices:
    """The price of a page of the code under test, beyond a plain one where nothing else is said.

    ``counted`` says what is encrypted: all ``bytes`` that are moved, ``blocks`` by the same bytes (less the rows
    that a load reads), or pages that the ``cache`` reads and writes. ``read`` and ``write`` are with the MAC;
    ``bare_read`` and ``bare_write`` without it, None where it cannot be left out. ``plain_read`` and ``plain_write``
    are of a plain page, None where that is not known.
    ``cipher`` and ``mac`` are words.
    """

    page_bytes: int
    counted: str
    cipher: str
    mac: str
    read: Price
    write: Price
    plain_read: Price | None = None
    plain_write: Price | None = None
    bare_read: Price | None = None
    bare_write: Price | None = None


def prices_from_json(values: Mapping[str, Any] | None) -> dict[str, PagePrices]:
    """Prices by the encrypted condition's key.

    `values`: as a session stores them: ``{"KEY": [measurement, …]}``; None for none.
    """
    found: dict[str, PagePrices] = {}
    for key, measured in (values or {}).items():
        if paged := [one for one in measured if "passes" in one]:
            fixed: dict[str, Any] = {name: paged[0][name] for name in ("page_bytes", "counted", "cipher", "mac")}
            passes = {name: [one["passes"][name] for one in paged] for name in paged[0]["passes"]}
            prices: dict[str, Any] = {name: price_of(moments) for name, moments in passes.items()}
            found[key] = PagePrices(**fixed, **prices)
    return found


@dataclass(frozen=True, slots=True)
class TimedTrial:
    operations: int
    pages: tuple[float, float] | None
    calls: tuple[TimedCalls, ...]  # sums over the trial


@dataclass(frozen=True, slots=True)
class Timed:
    """All timed trials of one condition; ``fault`` says why there are none."""

    trials: tuple[TimedTrial, ...] = ()
    fault: str = ""

    def us(self, kind: ComponentKind, pages: tuple[float, float] | None) -> FloatArray:
        """The time of the calls of a line in each trial, µs per operation, at so many pages decrypted and encrypted."""
        return np.array([sum(one.us for one in calls) for calls in self._by_trial(kind, pages)])

    def mean(self, kind: ComponentKind, pages: tuple[float, float] | None) -> tuple[TimedCalls, ...]:
        """The calls of a line, of a mean operation, those that took most first."""
        found: dict[tuple[str, str, str], list[TimedCalls]] = {}
        for calls in self._by_trial(kind, pages):
            for one in calls:
                found.setdefault((one.name, one.kind, one.direction), []).append(one)
        means = [
            TimedCalls(*of, *(sum(getattr(one, name) for one in calls) for name in ("starts", "calls", "bytes", "us")))
            for of, calls in found.items()
        ]
        least = _LEAST_SHARE * sum(one.us for one in means)
        kept = [one.times(1 / len(self.trials)) for one in means if one.us >= least]
        return tuple(sorted(kept, key=lambda one: -one.us))

    def _by_trial(self, kind: ComponentKind, pages: tuple[float, float] | None) -> Iterator[list[TimedCalls]]:
        for trial in self.trials:
            timed = 0.0 if trial.pages is None else sum(trial.pages) / trial.operations
            more = sum(pages) / timed if pages is not None and timed and sum(pages) else 1.0
            yield [
                one.times(more / trial.operations)
                for one in trial.calls
                if (ComponentKind.INTEGRITY if one.kind == "mac" else ComponentKind.CIPHER) is kind
            ]


Counter: TypeAlias = Callable[[Measurement], float | None]  # a count of a trial; None where it is not known


def crossed(prices: PagePrices | None) -> tuple[Counter, Counter]:
    """Counters of pages decrypted and encrypted; those of a server, whose pages have no price, by its own counters."""
    if prices is None:
        return _first_of(*_SERVED[0]), _first_of(*_SERVED[1])
    if prices.counted in ("bytes", BLOCKS):
        return moved(prices.page_bytes)
    return _first_of(_CACHE[0]), _first_of(_CACHE[1])


def moved(page_bytes: int) -> tuple[Counter, Counter]:
    """Pages read and written, by the bytes that were asked of the system."""
    return (lambda m: m.usage.syscall_read_bytes / page_bytes), (lambda m: m.usage.syscall_written_bytes / page_bytes)


def _first_of(*names: str) -> Counter:
    return lambda m: next((m.engine_counters[name] for name in names if name in m.engine_counters), None)


def crossed_of(measured: Measurement, prices: PagePrices | None) -> tuple[float, float] | None:
    """Pages that one trial decrypted and encrypted, in all; None where they are not counted."""
    read, written = (counter(measured) for counter in crossed(prices))
    return None if read is None or written is None else (float(read), float(written))


def counts_of(measured: Sequence[Measurement], counter: Counter) -> FloatArray | None:
    found = [(counter(m), m.counted_operations) for m in measured]
    known = [count / done for count, done in found if count is not None and done]
    return np.array(known) if known and len(known) == len(found) else None
