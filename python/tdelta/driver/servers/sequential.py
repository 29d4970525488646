"""What all twins on servers have in common: whole trials one after another, and a load loop in a process of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from tdelta.driver.acting import of_recorded
from tdelta.driver.agents.load_agents import AgentLoad
from tdelta.driver.agents.merging import fault
from tdelta.driver.answers import measurement
from tdelta.driver.jobs import TrialJob, WorkloadSpec
from tdelta.driver.load_generator.trial import with_server
from tdelta.driver.protocol import LoopCost, Twin, Twins
from tdelta.driver.workers import PROGRAM, Worker
from tdelta.records import Measurement
from tdelta.records.trials import Circumstances

_SETTLE_SECONDS = 120.0


class SequentialBlocks(Twins[Any]):
    """The part of `tdelta.driver.protocol.Twins` that does not depend on whose servers they are."""

    loop_program = PROGRAM
    """What the worker runs in which the load loop is timed."""

    def __init__(self, mix: WorkloadSpec) -> None:
        self._mix = mix

    def block(self, entries: Sequence[tuple[Twin, TrialJob]], slots: Sequence[int]) -> tuple[Measurement, ...]:
        measured = {index: entries[index][0].trial(entries[index][1]) for index in slots}
        return tuple(measured[index] for index in range(len(entries)))

    def loop_cost(self, job: TrialJob) -> LoopCost:
        """Run the transactions on a client that does nothing, in a worker like any other; of a command, nothing."""
        if self._mix.command is not None:
            return LoopCost(0.0, 0.0)
        with Worker(program=self.loop_program) as worker:
            measured = measurement(worker.ask("loop_cost", **work_of(self._mix), trial=job.as_json()))
        statements = sum(span.count for span in measured.statements.values())
        return LoopCost(measured.elapsed_ns / max(1, statements), measured.response_ns)


def by_agents(agents: AgentLoad, worker: Worker, job: TrialJob) -> Measurement:
    """One trial by load agents, with what the server used meanwhile as this worker reads it, coming to rest included.

    Where the agents' figures do not count, that is why the measurement says that something stood still.
    """
    worker.ask("begin_external_load")
    done = agents.trial(job.as_json(), job.deadline_seconds)
    used = worker.ask("end_external_load", seconds=_SETTLE_SECONDS)
    own = measurement(done.answer)
    measured = of_recorded(with_server(own, used))
    return dataclasses.replace(
        measured,
        histograms={**measured.histograms, **done.histograms},
        client=dataclasses.replace(measured.client, agents=dict(done.agents)),
        circumstances=Circumstances(own.standstill or measured.standstill or fault(done.agents)),
        delays=dataclasses.replace(measured.delays, client_run_delay_ns=own.delays.client_run_delay_ns),
    )


def work_of(mix: WorkloadSpec) -> dict[str, Any]:
    return {"transactions": mix.transactions, "constants": mix.constants}
