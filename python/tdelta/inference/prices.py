"""What prices are: passes of a measurement as JSON values, and how sure they are.

A price is the median of its passes, taken all over a run. Its uncertainty is that of *one* pass (the quartiles' spread
over 1.349, a normal's), and not of their median: work under load is done at moments that differ from one another as
passes do, and in caches that differ more; an error of a median over hundreds of passes would be a precision that is not
there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tdelta.inference.posterior import FloatArray

_QUARTILES_OF_NORMAL = 1.349


@dataclass(frozen=True, slots=True)
class Price:
    """What one page, call or byte takes, µs: the median of its passes between their quartiles."""

    us: float
    quartiles: tuple[float, float]

    @property
    def sd(self) -> float:
        """How far one pass is from another."""
        return (self.quartiles[1] - self.quartiles[0]) / _QUARTILES_OF_NORMAL

    def draws(self, normal: FloatArray) -> FloatArray:
        """Draws, from as many of a standard normal."""
        return self.us + self.sd * normal


def price_of(passes: Iterable[float]) -> Price:
    """The price of these passes, at least one."""
    low, median, high = np.quantile(np.array(list(passes), dtype=np.float64), (0.25, 0.5, 0.75))
    return Price(float(median), (float(low), float(high)))


@dataclass(frozen=True, slots=True)
class PagePrices:
    """What a page costs the code under test, beyond a plain one where nothing else is said.

    ``read`` and ``write`` are with the MAC; ``bare_read`` and ``bare_write`` without it, None where it cannot be left
    out. ``plain_read`` and ``plain_write`` are of a plain page. ``by_bytes``: all that is moved is encrypted; else what
    the cache reads and writes is. ``cipher`` and ``mac`` are words.
    """

    page_bytes: int
    by_bytes: bool
    cipher: str
    mac: str
    read: Price
    write: Price
    plain_read: Price
    plain_write: Price
    bare_read: Price | None = None
    bare_write: Price | None = None


def prices_from_json(values: Mapping[str, Any] | None) -> dict[str, PagePrices]:
    """Prices by the condition's key, as a session stores them: ``{"KEY": [measurement, …]}``; empty for none."""
    return {key: _page_prices(measured) for key, measured in (values or {}).items() if measured}


def _page_prices(measured: list[Mapping[str, Any]]) -> PagePrices:
    first = measured[0]
    names = first["passes"]
    prices = {name: price_of(us for one in measured for us in one["passes"][name]) for name in names}
    fixed = {name: first[name] for name in ("page_bytes", "by_bytes", "cipher", "mac")}
    return PagePrices(**fixed, **prices)
