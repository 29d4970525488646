"""What counts the pages that an engine moved, decrypted and encrypted, and whatever else has a price.

Engines count differently: SQLite's cache counts the pages that it reads and writes, servers those of their buffer
pools, some of them those that were encrypted apart; where nobody counts, the bytes that were asked of the system tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tdelta.records import Condition, Measurement

if TYPE_CHECKING:
    from tdelta.inference.costs import Panel
    from tdelta.inference.posterior import FloatArray
    from tdelta.inference.prices import PagePrices

_MOVED = (("cache_misses", "cache_writes"), ("pages_read", "pages_written"))
"""What counts pages read and written: SQLite's caches, servers' buffer pools."""

_CACHE = ("cache_misses", "cache_writes")

_SERVED = (("pages_decrypted", "pages_read"), ("pages_encrypted", "pages_written"))
"""What counts a server's pages: those that passed the cipher, else all that were read and written."""

BLOCKS = "blocks"
"""What else counts, beside the ``cache`` and all ``bytes`` that are moved: these, but for rows that a load reads."""

Counter = Callable[[Measurement], float | None]
"""A count of one operation of a trial; None where it is not known."""


def counted_names(counters: Mapping[str, int]) -> tuple[str, ...]:
    """The names under which these counters hold pages read and pages written; none where they do not."""
    return next((names for names in _MOVED if names[0] in counters), ())


def crossed_pages(panel: Panel, condition: Condition, prices: PagePrices | None) -> tuple[float, float] | None:
    """Pages that an operation decrypts and encrypts under one condition, means over trials; None where not counted."""
    read, written = (counts_of(trials_of(panel, condition), counter) for counter in crossed(prices))
    return None if read is None or written is None else (float(read.mean()), float(written.mean()))


def crossed_of(measured: Measurement, prices: PagePrices | None) -> tuple[float, float] | None:
    """Pages that one trial decrypted and encrypted, in all; None where they are not counted."""
    read, written = (counter(measured) for counter in crossed(prices))
    return None if read is None or written is None else (float(read), float(written))


def crossed(prices: PagePrices | None) -> tuple[Counter, Counter]:
    """What counts pages decrypted and encrypted; those of a server, whose pages have no price, by its own counters."""
    if prices is None:
        read, written = map(_first_of, _SERVED)
        return read, written
    if prices.counted in ("bytes", BLOCKS):
        return moved(prices.page_bytes)
    return counter_of(_CACHE[0]), counter_of(_CACHE[1])


def moved(page_bytes: int) -> tuple[Counter, Counter]:
    """Pages read and written, by the bytes that were asked of the system."""
    return (lambda m: m.usage.syscall_read_bytes / page_bytes), (lambda m: m.usage.syscall_written_bytes / page_bytes)


def trials_of(panel: Panel, condition: Condition) -> list[Measurement]:
    """What was measured of one condition of a panel, block by block."""
    at = panel.conditions.index(condition)
    return [row[at].measurement for row in panel.trials]


def _first_of(names: Sequence[str]) -> Counter:
    """The first of these counts that an engine has."""

    def count(measured: Measurement) -> float | None:
        return next((measured.engine_counters[name] for name in names if name in measured.engine_counters), None)

    return count


def counter_of(name: str) -> Counter:
    """What an engine counts under this name."""

    def count(measured: Measurement) -> float | None:
        return measured.engine_counters.get(name)

    return count


def counts_of(measured: Sequence[Measurement], counter: Counter) -> FloatArray | None:
    """A count an operation of every trial; None where any has none."""
    import numpy as np  # not for `counted_names`, which every answer asks

    found = [(counter(m), m.counted_operations) for m in measured]
    known = [count / done for count, done in found if count is not None and done]
    return np.array(known) if known and len(known) == len(found) else None
