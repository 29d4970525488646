from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tdelta.messages import Refusal


class Outcome(StrEnum):
    """How one ability did. ``not offered``: the adapter has it not, and says so; ``not tried``: one failed before."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_OFFERED = "not offered"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class ServerCheckStep:
    """One ability. ``found`` are counts and words of the server's about encryption: no rows, no names, no addresses.

    ``refusals`` say why it failed, is not offered or was not tried; what a server said in them is redacted.
    """

    ability: str
    outcome: Outcome
    seconds: float = 0.0
    found: Mapping[str, str | int | float] = field(default_factory=dict)
    refusals: tuple[Refusal, ...] = field(default=(), metadata={"json": ""})


@dataclass(frozen=True, slots=True)
class ServerCheck:
    """A server check that was tried: on which product, through which client, and all steps in their order.

    ``versions`` are what the two servers say; ``system`` is what tdelta ran with.
    """

    engine: str
    product: str
    versions: tuple[str, ...]
    client: str
    system: Mapping[str, str]
    seconds: float
    steps: tuple[ServerCheckStep, ...]

    def count(self, outcome: Outcome) -> int:
        return sum(step.outcome is outcome for step in self.steps)

    @property
    def is_passed(self) -> bool:
        return not self.count(Outcome.FAILED)
