"""What prices are: passes of a measurement as JSON values, and how sure they are.

A price is the mean, over the moments of a run at which it was measured, of the median of each moment's passes: a
machine may compute at two speeds, now one and now the other (two of them, 1.3 apart, were seen), work under load meets
both, and the median of all would choose one. Its uncertainty is that of *one* pass (the quartiles' spread over 1.349, a
normal's), and not of their median, since work under load is done at moments that differ from one another as passes do;
and to that comes `TRANSFER`, since pages under load lie in other caches than pages that are timed in a row. The caches
are one state of one machine, so all prices of a run share that error: drawn for each price, it would cancel in sums and
grow in differences. An error of a median over hundreds of passes would be a precision that is not there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tdelta.inference.posterior import FloatArray

_QUARTILES_OF_NORMAL = 1.349

TRANSFER = 0.10
"""How far the prices of work under load are from those measured: a standard deviation, as a share of the prices.

HMACs injected in SQLCipher took 4 to 22% more, in busy runs, than their price (benches/components_injected.py).
"""


@dataclass(frozen=True, slots=True)
class Price:
    """What one page, call or byte takes, µs, and the quartiles of all passes."""

    us: float
    quartiles: tuple[float, float]

    @property
    def sd(self) -> float:
        """How far one pass is from another."""
        return (self.quartiles[1] - self.quartiles[0]) / _QUARTILES_OF_NORMAL

    def draws(self, normal: FloatArray, transfer: FloatArray) -> FloatArray:
        """Draws under load, from as many of two standard normals: this price's own, and one of all prices of a run."""
        return self.us * (1.0 + TRANSFER * transfer) + self.sd * normal


def price_of(moments: Iterable[Sequence[float]]) -> Price:
    """The price of passes that were made at some moments, at least one pass at each and one moment."""
    found = [np.array(passes, dtype=np.float64) for passes in moments]
    low, high = np.quantile(np.concatenate(found), (0.25, 0.75))
    return Price(float(np.mean([np.median(passes) for passes in found])), (float(low), float(high)))


@dataclass(frozen=True, slots=True)
class PagePrices:
    """What a page costs the code under test, beyond a plain one where nothing else is said.

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

    Args:
        values: as a session stores them: ``{"KEY": [measurement, …]}``; None for none.
    """
    found = values or {}
    paged = {key: [one for one in measured if "passes" in one] for key, measured in found.items()}
    return {key: _page_prices(measured) for key, measured in paged.items() if measured}


def _page_prices(measured: Sequence[Mapping[str, Any]]) -> PagePrices:
    first = measured[0]
    names = first["passes"]
    prices: dict[str, Any] = {name: price_of(one["passes"][name] for one in measured) for name in names}
    fixed: dict[str, Any] = {name: first[name] for name in ("page_bytes", "counted", "cipher", "mac")}
    return PagePrices(**fixed, **prices)


def less(price: Price, other: Price) -> Price:
    """A difference of two prices, as unsure as both."""
    us, half = price.us - other.us, math.hypot(*(q.quartiles[1] - q.quartiles[0] for q in (price, other))) / 2
    return Price(us, (us - half, us + half))
