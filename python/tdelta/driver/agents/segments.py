"""Which operations of a trial each agent does: those of its connections, dealt out in turn over all connections.

Operation k is drawn from seed, stream and k alone, so that one agent or ten do the same work (`Segment` in
crates/tdelta-core/src/load/orders.rs).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Segment:
    """The connections ``first`` up to ``last`` (not included), of ``of`` in all."""

    first: int
    last: int
    of: int

    @property
    def connections(self) -> int:
        """How many there are."""
        return self.last - self.first

    def as_json(self) -> dict[str, int]:
        """As the load loop reads it."""
        return {"from": self.first, "to": self.last, "of": self.of}


def segments(connections: int, agents: int) -> tuple[Segment, ...]:
    """Share connections among agents, as evenly as they go; each has one at least.

    Raises:
        ValueError: there are fewer connections than agents.
    """
    if not 1 <= agents <= connections:
        raise ValueError(f"expected 1 to {connections} agents for {connections} connections, found {agents}")
    edges = [connections * place // agents for place in range(agents + 1)]
    return tuple(Segment(first, last, connections) for first, last in pairwise(edges))
