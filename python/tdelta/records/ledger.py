"""The ledger of a run: of what the extra CPU and the extra time of encryption are made."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tdelta.records.conditions import Condition
from tdelta.records.findings import Finding
from tdelta.records.profile import FunctionShare


class LedgerKind(StrEnum):
    """A line of a ledger.

    ``cipher``: pages decrypted and encrypted. ``integrity``: their MAC. ``log``: log and binary log encrypted.
    ``io``: pages, bytes or system time beyond the plain twins'. ``rest``: what no line explains; negative where the
    lines come to more than was measured.
    """

    CIPHER = "cipher"
    INTEGRITY = "integrity"
    LOG = "log"
    IO = "io"
    REST = "rest"


@dataclass(frozen=True, slots=True)
class Amount:
    """A time of one operation, µs, and its 95 % HDI."""

    us: float
    hdi95: tuple[float, float]


@dataclass(frozen=True, slots=True)
class LedgerItem:
    """One product of a line: ``count`` of ``what`` an operation, at ``price_us`` each (its quartiles beside it)."""

    what: str
    count: float
    price_us: float
    price_quartiles: tuple[float, float]


@dataclass(frozen=True, slots=True)
class TimedCalls:
    """Calls of one cipher in one direction: ``starts`` are those that brought a key or an initialization vector.

    ``kind`` is ``cipher``, ``mac``, ``random`` or ``context``, ``direction`` ``encrypt`` or ``decrypt``.
    """

    name: str
    kind: str
    direction: str
    starts: float
    calls: float
    bytes: float
    us: float

    def times(self, factor: float) -> TimedCalls:
        """So many times as much of it."""
        counts = (self.starts, self.calls, self.bytes, self.us)
        return TimedCalls(self.name, self.kind, self.direction, *(factor * count for count in counts))


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One line. ``share`` is of the CPU difference, None where that is not surely above zero.

    ``items`` are empty where a line is no product of counts and prices; ``source`` says what the prices are of.
    ``is_timed`` says that they are what the engine's own calls took where they happened.
    """

    kind: LedgerKind
    amount: Amount
    share: float | None
    share_hdi95: tuple[float, float] | None
    items: tuple[LedgerItem, ...] = ()
    source: str = ""
    is_timed: bool = False


@dataclass(frozen=True, slots=True)
class Ledger(Finding):
    """What one condition took beyond the baseline of its stratum, an operation, and of what that is made.

    ``cpu`` is the difference in CPU time, ``lines`` its parts in the order of `LedgerKind`, the rest last; medians of
    lines need not add up exactly. ``elapsed`` is the difference in response time and ``waiting`` that less ``cpu``:
    what threads waited longer, for a CPU, too. ``in_rest`` says which costs have no line here, and why.
    Where the rest is much, ``functions`` are those that a profile says it is made of, the largest difference first, and
    ``where_unknown`` says why there are none.
    """

    FINDING = "ledger"

    condition: Condition
    baseline: Condition
    cpu: Amount
    lines: tuple[LedgerLine, ...]
    elapsed: Amount | None
    waiting: Amount | None
    in_rest: tuple[str, ...] = ()
    functions: tuple[FunctionShare, ...] = ()
    where_unknown: str = ""

    def line(self, kind: LedgerKind) -> LedgerLine | None:
        """One line, or None where it is absent."""
        return next((line for line in self.lines if line.kind is kind), None)
