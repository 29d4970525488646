"""What pages cost the code under test itself: the unit costs of a run's cost breakdown.

Measured on fresh twins ahead of the first rounds, so that how far prices differ from moment to moment is in them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tdelta.errors import ServerFault, ServerLost, StorageFault, TdeltaError
from tdelta.messages import Caution
from tdelta.processes import Twin
from tdelta.records import Condition
from tdelta.session.context import RunContext

_HURRIED = "--max-time left no time for them"

FAULT = "fault"
"""Of a measurement: why there is none."""

MOST_ROUNDS = 5
"""Rounds ahead of which prices are measured."""


class UnitCosts:
    """Prices by the condition's key, JSON values; each condition has one measurement for each of the first rounds.

    Twins alike in all that a price depends on share a measurement.
    """

    def __init__(self, context: RunContext) -> None:
        self._plan = context.plan
        self._state = context.state
        self._shared: dict[tuple[object, ...], dict[str, object] | None] = {}
        self._measures = False
        self._is_hurried = False

    def cautions(self) -> tuple[Caution, ...]:
        """Why some could not be measured, each reason once."""
        faults = {one[FAULT]: None for measured in self._state.unit_costs.values() for one in measured if FAULT in one}
        return tuple(Caution.of("prices-unknown", fault=fault) for fault in faults)

    def begin_round(self, number: int, *, is_hurried: bool = False) -> None:
        """What was measured for twins of another round counts for these no more. Rounds have numbers from 0.

        A round that is hurried has no time for prices, and says so.

        All twins of a round are measured, or none, whatever was found before: what is done to one is done to all.
        """
        self._shared.clear()
        self._measures = number < MOST_ROUNDS
        self._is_hurried = is_hurried

    def collect(self, conditions: Sequence[Condition], twin: Twin) -> None:
        """Measure the prices of a fresh twin, which stands for these conditions; none where it has none."""
        found = self._measured(conditions[0], twin) if self._measures and not self._is_hurried else None
        for condition in conditions:
            if found:
                self._state.unit_costs.setdefault(condition.key, []).append(found)
            elif self._is_hurried:
                self._state.unit_costs.setdefault(condition.key, [{FAULT: _HURRIED}])

    def _measured(self, condition: Condition, twin: Twin) -> dict[str, object] | None:
        settings = self._plan.twin_settings(condition, 0)
        page_size = self._plan.engine.page_size(settings)
        scope = condition.get("scope")
        alike = (settings.cipher, page_size, settings.aes_instructions, scope)
        if alike not in self._shared:
            self._shared[alike] = self._asked(twin)
        return self._shared[alike]

    def _asked(self, twin: Twin) -> dict[str, object] | None:
        try:
            return twin.prices()
        except (StorageFault, ServerFault, ServerLost):
            raise
        except TdeltaError as error:  # a library by path may lack what the wheels have; the run is sound without
            return {FAULT: str(error)}
