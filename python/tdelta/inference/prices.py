"""What prices are: passes of a measurement as JSON values, and how sure they are.

A price is the mean, over the moments of a run at which it was measured, of the median of each moment's passes: a
machine may compute at two speeds, now one and now the other (two of them, 1.3 apart, were seen), work under load meets
both, and the median of all would choose one. Its uncertainty is that of *one* pass (the quartiles' spread over 1.349, a
normal's), and not of their median, since work under load is done at moments that differ from one another as passes do;
and to that comes `TRANSFER`, since pages under load lie in other caches than pages that are timed in a row. An error of
a median over hundreds of passes would be a precision that is not there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tdelta.inference.posterior import FloatArray
from tdelta.records import Condition, Role

_QUARTILES_OF_NORMAL = 1.349

TRANSFER = 0.10
"""How far the price of work under load is from the one measured: a standard deviation, as a share of the price.

HMACs planted in SQLCipher took 4 to 22 % more, in busy runs, than their price (benches/components_planted.py).
"""


@dataclass(frozen=True, slots=True)
class Price:
    """What one page, call or byte takes, µs, and the quartiles of all passes."""

    us: float
    quartiles: tuple[float, float]

    @property
    def sd(self) -> float:
        """How unsure it is of work under load: one pass from another, and `TRANSFER`."""
        of_passes = (self.quartiles[1] - self.quartiles[0]) / _QUARTILES_OF_NORMAL
        return math.hypot(of_passes, TRANSFER * self.us)

    def draws(self, normal: FloatArray) -> FloatArray:
        """Draws, from as many of a standard normal."""
        return self.us + self.sd * normal


def price_of(moments: Iterable[Sequence[float]]) -> Price:
    """The price of passes that were made at some moments, at least one pass at each and one moment."""
    found = [np.array(passes, dtype=np.float64) for passes in moments]
    low, high = np.quantile(np.concatenate(found), (0.25, 0.75))
    return Price(float(np.mean([np.median(passes) for passes in found])), (float(low), float(high)))


@dataclass(frozen=True, slots=True)
class PagePrices:
    """What a page costs the code under test, beyond a plain one where nothing else is said.

    ``counted`` says what is encrypted: all ``bytes`` that are moved, ``blocks`` by the same bytes (less the rows
    that a load reads), pages that the ``cache`` reads and writes, or those that the ``engine`` counts as encrypted,
    or all ``pages`` of a server. ``read`` and ``write`` are with the MAC; ``bare_read`` and ``bare_write`` without
    it, None where it cannot be left out. ``plain_read`` and ``plain_write`` are of a plain page, None where that is
    not known. ``log`` is what log costs more than on a plain twin, for each of what ``log_counted`` counts.
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
    log: Price | None = None
    log_counted: str = ""


def prices_from_json(values: Mapping[str, Any] | None, conditions: Iterable[Condition]) -> dict[str, PagePrices]:
    """Prices by the encrypted condition's key.

    Args:
        values: as a session stores them: ``{"KEY": [measurement, …]}``; None for none.
        conditions: the run's.
    """
    found = values or {}
    plain = {c.stratum: c.key for c in conditions if c.role is Role.BASELINE}
    stratum = {c.key: c.stratum for c in conditions}
    paged = {key: [one for one in measured if "passes" in one] for key, measured in found.items()}
    return {
        key: _page_prices(measured, found.get(plain.get(stratum.get(key, -1), ""), []))
        for key, measured in paged.items()
        if measured
    }


def _page_prices(measured: Sequence[Mapping[str, Any]], plain: Sequence[Mapping[str, Any]]) -> PagePrices:
    first = measured[0]
    names = first["passes"]
    prices: dict[str, Any] = {name: price_of(one["passes"][name] for one in measured) for name in names}
    fixed: dict[str, Any] = {name: first[name] for name in ("page_bytes", "counted", "cipher", "mac")}
    log, counted = _log(_logged(measured), _logged(plain))
    return PagePrices(**fixed, **prices, log=log, log_counted=counted)


_Passes: TypeAlias = Sequence[Mapping[str, float]]


def _logged(measured: Iterable[Mapping[str, Any]]) -> list[_Passes]:
    return [measurement["log"] for measurement in measured if measurement.get("log")]


def _log(own: Sequence[_Passes], plain: Sequence[_Passes]) -> tuple[Price | None, str]:
    """The extra CPU of logging the same rows, over the writes to the log buffer, or if need be the bytes.

    A server that encrypts record by record pays for starts and hardly for bytes, so writes are the better measure.
    """
    for name in ("log_writes", "log_bytes"):
        counts = [one.get(name, 0) for passes in own for one in passes]
        if counts and plain and min(counts) > 0:
            count = float(np.median(counts))
            prices = [price_of([one["cpu_us"] / count for one in passes] for passes in of) for of in (own, plain)]
            return less(*prices), name
    return None, ""


def less(price: Price, other: Price) -> Price:
    """A difference of two prices, as unsure as both."""
    us, half = price.us - other.us, math.hypot(*(q.quartiles[1] - q.quartiles[0] for q in (price, other))) / 2
    return Price(us, (us - half, us + half))
