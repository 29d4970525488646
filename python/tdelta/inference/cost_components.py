"""The components of a cost breakdown: pages × unit costs, timed calls, and which costs have no component.

Every component is draws: a count with its scatter over rounds × a unit cost with the uncertainty of
`tdelta.inference.prices`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tdelta.inference.costs import Panel
from tdelta.inference.draws import DRAWS, Draws
from tdelta.inference.page_counts import (
    BLOCKS,
    Counter,
    counts_of,
    crossed,
    crossed_pages,
    moved,
    trials_of,
)
from tdelta.inference.posterior import FloatArray
from tdelta.inference.prices import PagePrices, Price, less
from tdelta.inference.timed import Timed
from tdelta.messages import Reason
from tdelta.records import ComponentKind, Condition, CostItem, Measurement, TimedCalls

_CROSSED, _CHECKED = ("decrypted", "encrypted"), ("checked", "authenticated")
_TIMED = "timed in the server's own calls"


@dataclass(frozen=True, slots=True)
class Difference:
    """Draws of what an operation of one condition takes beyond its baseline, µs."""

    condition: Condition
    panel: Panel
    us: FloatArray


@dataclass(frozen=True, slots=True)
class Part:
    """A component as draws."""

    kind: ComponentKind
    us: FloatArray
    items: tuple[CostItem, ...]
    source: str
    is_timed: bool = False


def explaining_components(
    cpu: Difference, prices: PagePrices | None, timed: Timed | None, draws: Draws
) -> tuple[list[Part], list[Reason]]:
    """All components but the residual, and which costs have none, and why."""
    parts, absent = _counted_components(cpu, prices, draws)
    if timed is not None and timed.trials:
        return _timed_components(parts, timed, cpu, prices, draws)
    if timed is not None and timed.fault:
        absent.append(Reason.of("unexplained", what="timed calls", why=timed.fault))
    return parts, absent


def _timed_components(
    parts: list[Part], timed: Timed, cpu: Difference, prices: PagePrices | None, draws: Draws
) -> tuple[list[Part], list[Reason]]:
    """Components of the cipher and its MAC from the engine's own calls; of the others, extra I/O stays."""
    own = trials_of(cpu.panel, cpu.condition)
    pages = crossed_pages(cpu.panel, cpu.condition, prices)
    logs = np.log([m.cpu_seconds / m.counted_operations for m in own if m.counted_operations and m.cpu_seconds])
    scatter = float(logs.std(ddof=1)) if len(logs) > 1 else 0.0
    found = []
    for kind in (ComponentKind.CIPHER, ComponentKind.INTEGRITY):
        if calls := timed.mean(kind, pages):
            us = draws.timed(timed.us(kind, pages), scatter)
            found.append(Part(kind, us, tuple(map(_item, calls)), _TIMED, is_timed=True))
    kept = [part for part in parts if part.kind is ComponentKind.IO]
    without_io = (
        [] if kept else [Reason.of("unexplained", what="extra I/O", why="unknown unit cost of an unencrypted page")]
    )
    return [*found, *kept], [
        *without_io,
        Reason.of("unexplained", what="log", why="its calls are in the cipher's component"),
    ]


def _item(calls: TimedCalls) -> CostItem:
    """Starts of a cipher (its pages or records), and the time of one with all its calls."""
    count = calls.starts or calls.calls
    what = {"cipher": f"{calls.name} {calls.direction}ions", "mac": f"calls of {calls.name}"}.get(
        calls.kind, calls.name
    )
    us = calls.us / count
    return CostItem(what, count, us, (us, us))


def _counted_components(cpu: Difference, prices: PagePrices | None, draws: Draws) -> tuple[list[Part], list[Reason]]:
    if prices is None:
        return [], [Reason.of("unexplained", what="pages", why="unknown unit cost in this engine's code")]
    work = dict(cpu.condition.levels).get("work")
    own, plain = trials_of(cpu.panel, cpu.condition), trials_of(cpu.panel, cpu.panel.baseline)
    read, written = (counts_of(own, counter) for counter in crossed(prices))
    if read is None or written is None:
        return [], [Reason.of("unexplained", what="pages", why="not counted in these trials")]
    if prices.counted == BLOCKS and work == "load":
        read = np.zeros_like(read)  # what such a load reads are the rows, out of files of their own
    rounds = cpu.panel.rounds
    parts = list(_page_parts(prices, (draws.mean(read, rounds), draws.mean(written, rounds)), draws))
    if prices.plain_read is not None and prices.plain_write is not None:
        extra = [_extra(own, plain, counter, rounds, draws) for counter in moved(prices.page_bytes)]
        parts.append(_io((prices.plain_read, prices.plain_write), extra, _what(prices), draws))
    return parts, list(_absent(prices))


def _what(prices: PagePrices) -> str:
    """The unit that the engine encrypts."""
    return "blocks" if prices.counted == BLOCKS else "pages"


def _absent(prices: PagePrices) -> Iterator[Reason]:
    if prices.mac and prices.bare_read is None:
        yield Reason.of("unexplained", what="integrity", why=f"{prices.mac} is part of the cipher's component")
    if prices.counted == BLOCKS:
        yield Reason.of("unexplained", what="log", why="counted as blocks; the residual has the rest of short records")
    else:
        yield Reason.of("unexplained", what="log", why="its pages are in the cipher's component")
    if prices.plain_read is None:
        yield Reason.of("unexplained", what="extra I/O", why="unknown unit cost of an unencrypted page")


def _page_parts(prices: PagePrices, counts: tuple[FloatArray, FloatArray], draws: Draws) -> Iterator[Part]:
    read, write, bare_read, bare_write = prices.read, prices.write, prices.bare_read, prices.bare_write
    names, checked = (tuple(f"{_what(prices)} {d}" for d in each) for each in (_CROSSED, _CHECKED))
    if bare_read is None or bare_write is None:
        yield _priced(ComponentKind.CIPHER, counts, (read, write), names, prices.cipher, draws)
        return
    source = f"{prices.cipher} without its MAC"
    yield _priced(ComponentKind.CIPHER, counts, (bare_read, bare_write), names, source, draws)
    macs = (less(read, bare_read), less(write, bare_write))
    yield _priced(ComponentKind.INTEGRITY, counts, macs, checked, prices.mac, draws)


def _priced(
    kind: ComponentKind,
    counts: Sequence[FloatArray],
    prices: Sequence[Price],
    done: Sequence[str],
    source: str,
    draws: Draws,
) -> Part:
    products = [
        count * price.draws(draws.normal(), draws.transfer) for count, price in zip(counts, prices, strict=True)
    ]
    items = tuple(
        CostItem(what, float(count.mean()), price.us, price.quartiles)
        for what, count, price in zip(done, counts, prices, strict=True)
    )
    return Part(kind, sum(products, np.zeros(DRAWS)), items, source)


def _io(plain: Sequence[Price], extra: Sequence[FloatArray], what: str, draws: Draws) -> Part:
    done = tuple(f"{what} {moved} beyond plain" for moved in ("read", "written"))
    return _priced(ComponentKind.IO, extra, plain, done, f"plain {what}", draws)


def _extra(
    own: Sequence[Measurement],
    plain: Sequence[Measurement],
    counter: Counter,
    rounds: NDArray[np.intp],
    draws: Draws,
) -> FloatArray:
    """A count beyond the baseline's, block by block, since work differs between blocks."""
    counts, others = counts_of(own, counter), counts_of(plain, counter)
    return np.zeros(DRAWS) if counts is None or others is None else draws.mean(counts - others, rounds)
