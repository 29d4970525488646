"""What all twins on servers have in common: whole trials one after another, and a load loop in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from tdelta.driver.answers import measurement
from tdelta.driver.jobs import Mix, TrialJob
from tdelta.driver.protocol import LoopCost
from tdelta.driver.workers import Worker
from tdelta.records import Measurement


class Trialled(Protocol):
    """What is run one after another."""

    def trial(self, job: TrialJob) -> Measurement:
        """Run one trial."""


AnyTwin = TypeVar("AnyTwin", bound=Trialled)


class WholeTrials:
    """The part of `tdelta.driver.protocol.Twins` that does not depend on whose servers they are."""

    def __init__(self, mix: Mix) -> None:
        self._mix = mix

    def block(self, entries: Sequence[tuple[AnyTwin, TrialJob]], order: Sequence[int]) -> tuple[Measurement, ...]:
        """Run one trial on each twin, one after another in the given order."""
        measured = {index: entries[index][0].trial(entries[index][1]) for index in order}
        return tuple(measured[index] for index in range(len(entries)))

    def loop_cost(self, job: TrialJob) -> LoopCost:
        """Run the transactions on a client that does nothing, in a worker like any other; of a command, nothing."""
        if self._mix.command is not None:
            return LoopCost(0.0, 0.0)
        with Worker() as worker:
            measured = measurement(worker.ask("loop_cost", **work_of(self._mix), trial=job.as_json()))
        statements = sum(span.count for span in measured.statements.values())
        return LoopCost(measured.elapsed_ns / max(1, statements), measured.response_ns)


def work_of(mix: Mix) -> dict[str, Any]:
    """The transactions as a worker is told them."""
    return {"transactions": mix.transactions, "constants": mix.constants}
