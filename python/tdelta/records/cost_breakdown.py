"""The cost breakdown of a run: of what the extra CPU and the extra time of encryption are made."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tdelta.messages import Reason
from tdelta.records.conditions import Condition
from tdelta.records.findings import Finding
from tdelta.records.profile import FunctionShare


class ComponentKind(StrEnum):
    """A line of a breakdown.

    ``cipher``: pages decrypted and encrypted. ``integrity``: their MAC. ``log``: log and binary log encrypted.
    ``io``: pages, bytes or system time beyond the plain twins'. ``residual``: what the components do not explain; it is
    negative where they add up to more than was measured.
    """

    CIPHER = "cipher"
    INTEGRITY = "integrity"
    IO = "io"
    RESIDUAL = "residual"


@dataclass(frozen=True, slots=True)
class Amount:
    """A time of one operation, µs, and its 95% HDI."""

    us: float
    hdi95: tuple[float, float]


@dataclass(frozen=True, slots=True)
class CostItem:
    """One product in a component: ``count`` of ``what`` per operation, at ``unit_cost_us`` each, with its quartiles."""

    what: str
    count: float
    unit_cost_us: float
    unit_cost_quartiles: tuple[float, float]


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
        counts = (self.starts, self.calls, self.bytes, self.us)
        return TimedCalls(self.name, self.kind, self.direction, *(factor * count for count in counts))


@dataclass(frozen=True, slots=True)
class CostComponent:
    """One component. ``share`` is of the CPU difference, None where that is not surely above zero.

    ``items`` are empty where a component is not a product of counts and unit costs; ``source`` says what the unit costs
    are of. ``is_timed``: they are what the engine's own calls took where they happened.
    """

    kind: ComponentKind
    amount: Amount
    share: float | None
    share_hdi95: tuple[float, float] | None
    items: tuple[CostItem, ...] = ()
    source: str = ""
    is_timed: bool = False


@dataclass(frozen=True, slots=True)
class CostBreakdown(Finding):
    """What one condition took beyond the baseline of its stratum, per operation, and which components that has.

    ``cpu`` is the difference in CPU time, ``components`` its parts in the order of `ComponentKind`, the residual last;
    their medians need not add up exactly. ``elapsed`` is the difference in response time and ``off_cpu`` that less
    ``cpu``: the longer waits, those for a CPU included. ``unattributed`` lists the costs without a component, and
    why. Where the residual is large, ``functions`` are those that a profile attributes it to, the largest difference
    first, and ``where_unknown`` says why there are none.
    """

    FINDING = "cost_breakdown"

    condition: Condition
    baseline: Condition
    cpu: Amount
    components: tuple[CostComponent, ...]
    elapsed: Amount | None
    off_cpu: Amount | None
    unattributed: tuple[Reason, ...] = ()
    functions: tuple[FunctionShare, ...] = ()
    where_unknown: Reason | None = None

    def component(self, kind: ComponentKind) -> CostComponent | None:
        """One component, or None where it is absent."""
        return next((one for one in self.components if one.kind is kind), None)
