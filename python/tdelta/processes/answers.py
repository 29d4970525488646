"""A worker's answers as records: the measurement of a trial, and the checksums of tables."""

from __future__ import annotations

import base64
import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tdelta.errors import TdeltaError
from tdelta.measure.pressure import in_words
from tdelta.measure.procfs import read_cgroup_cpus
from tdelta.processes.jobs import TrialJob, WorkloadSpec
from tdelta.processes.protocol import Checksums, LoopCost, Tables, Twin, Twins
from tdelta.processes.workers import PROGRAM, Worker, failure
from tdelta.records import Checkpoint, Client, Injected, Measurement, Queue, RunDelays, SpanTotals, StatementCost, Usage
from tdelta.records.trials import Circumstances


def delay_is_others(*, is_closed: bool, load_threads: int, database_threads: int | None, usable_cpus: float) -> bool:
    """Whether none of tdelta's own threads can be the cause of run-queue delay, so that it may be taken out.

    It holds where all of these do:

    - The loop is closed. In an open loop a delay moves the next operation's start, and the loop spins until that is
      due.
    - The load is one thread, and the database runs on that very thread (an embedded engine that uses no other). A
      server's threads wait for one another and for the client, and delays of several threads overlap.
    - At least two CPUs are available, by affinity and by the quota of the cgroup: one for that thread, one for
      whatever else of tdelta wakes up (a quota that one thread can use up makes a delay of its own).

    What stands behind it, and is true of every trial: the other twins of the block sleep until it is their turn, the
    parent sleeps until all have answered, an injected cost is spun by the thread that is measured, and profiles, traces
    and searches have trials of their own. What wakes up four times a second, to see whether the process stands still,
    takes some microseconds.

    Limits: threads of the kernel count as other programs, those that write the database's own pages back among them.
    Where twins differ in what they write, part of that delay is the database's doing. The delay is of the recorded
    stretches as a whole, the loop's own time between operations included: what lies within the response times is less,
    by about the share that ``client_overhead_share`` in the result says. Heads of trials are not in it. Time that the
    host steals from a virtual machine is no run-queue delay.

    Args:
        database_threads: how many the database works with, the load's included; None for one in other processes.
        usable_cpus: how many CPUs this process may use.
    """
    return is_closed and load_threads == database_threads == 1 and usable_cpus >= load_threads + 1


def allowed_cpus(root: Path = Path("/")) -> float:
    """How many CPUs this process may use at once: by its affinity, and by the quotas of its cgroup and those above."""
    return min(float(len(os.sched_getaffinity(0))), read_cgroup_cpus(root))


SETTLE_SECONDS = 120.0
"""How long a server may take to come to rest after a load."""

_CONNECT_SECONDS = 60.0
_CONNECTIONS_A_SECOND = 50.0
"""Far fewer than any server takes."""


def connect_seconds(connections: int) -> float:
    """How long it may take to open so many connections."""
    return _CONNECT_SECONDS + connections / _CONNECTIONS_A_SECOND


WORKER = "a worker process"
"""The name, in messages about a standstill, of the process that runs a trial."""

_READ_SECONDS = 24 * 3600.0


def checksums(worker: Worker, tables: Tables) -> Checksums:
    return as_checksums(worker.ask("checksums", seconds=_READ_SECONDS, tables=tables))


def as_checksums(sums: Mapping[str, Any]) -> Checksums:
    """Rows and digest of each table, as a worker tells them."""
    return {table: (int(rows), str(digest)) for table, (rows, digest) in sums.items()}


def raise_failed(answer: Mapping[str, Any], failed: Callable[[str, str], TdeltaError] = failure) -> None:
    """Raise what a statement of a trial failed with, if one did; ``failed`` makes an exception of kind and message."""
    outcome = answer["outcome"]
    if outcome["stopped_by"] == "error":
        kind = next(iter(outcome["errors"]), "sql")
        said = "a trial could not begin" if kind == "threads" else "a statement failed during a trial"
        raise failed(kind, f"{said}: {outcome['first_error']}")


def measurement(answer: Mapping[str, Any]) -> Measurement:
    raise_failed(answer)
    outcome, spans = answer["outcome"], answer["spans"]
    extra = answer["extra"] or {}
    is_served, loop_delay_ns = "client_cpu_user_seconds" in extra, outcome.get("run_delay_ns")
    return Measurement(
        operations=outcome["operations"],
        total_operations=outcome["total_operations"],
        elapsed_ns=outcome["elapsed_ns"],
        transactions=_totals(spans, "tx:"),
        statements=_totals(spans, "stmt:"),
        errors=outcome["errors"],
        retries=outcome["retries"],
        histograms={name: base64.b64decode(text) for name, text in answer["histograms"].items()},
        engine_counters=extra.get("counters", {}),
        files_bytes=extra.get("files", {}),
        checkpoint=Checkpoint.of(extra),
        pressure=outcome.get("pressure", {}),
        delays=RunDelays(extra.get("run_delay_ns"), loop_delay_ns) if is_served else RunDelays(loop_delay_ns),
        circumstances=Circumstances(in_words(outcome.get("standstill"), WORKER)),
        injected=Injected(outcome["planted_cpu_ns"], outcome["planted_elapsed_ns"]),
        queue=Queue(outcome["queued_operations"], outcome["backlog_max"]),
        stopped_by=outcome["stopped_by"],
        client=Client(extra.get("client_cpu_user_seconds", 0.0), extra.get("client_cpu_system_seconds", 0.0)),
        usage=Usage.of(
            extra.get("usage", {}) | {name: outcome[name] for name in ("cpu_user_seconds", "cpu_system_seconds")}
        ),
    )


def of_embedded(
    answer: Mapping[str, Any], job: TrialJob, *, load_threads: int, database_threads: int | None
) -> Measurement:
    """The same of an embedded engine, with the delay that is other programs' doing where that is known."""
    measured = measurement(answer)
    if not delay_is_others(
        is_closed=job.rate is None,
        load_threads=load_threads,
        database_threads=database_threads,
        usable_cpus=allowed_cpus(),
    ):
        return measured
    delays = dataclasses.replace(measured.delays, others_delay_ns=measured.delays.run_delay_ns)
    return dataclasses.replace(measured, delays=delays)


def traced(answer: Mapping[str, Any]) -> Measurement:
    """The cost of the statements of a traced trial. Raises as `raise_failed` does."""
    raise_failed(answer)
    outcome, costs = answer["outcome"], answer["extra"]["costs"]
    return Measurement(
        operations=outcome["operations"],
        total_operations=outcome["total_operations"],
        elapsed_ns=outcome["elapsed_ns"],
        transactions={},
        statements={},
        stopped_by=outcome["stopped_by"],
        traced={name: StatementCost(**cost) for name, cost in costs.items()},
    )


def _totals(spans: Mapping[str, list[int]], prefix: str) -> dict[str, SpanTotals]:
    return {
        name.removeprefix(prefix): SpanTotals(count, total_ns)
        for name, (count, total_ns) in spans.items()
        if name.startswith(prefix) and count
    }


class SequentialTwins(Twins[Any]):
    """Twins whose trials run whole, one after another, and whose load loop runs in a process of its own."""

    loop_program = PROGRAM
    """The program of the worker in which the load loop is timed."""

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
            measured = measurement(worker.ask("loop_cost", **self._mix.work, trial=job.as_json()))
        statements = sum(span.count for span in measured.statements.values())
        return LoopCost(measured.elapsed_ns / max(1, statements), measured.response_ns)


# Trials that are no transactions: one load of all rows, or one rebuild of the tables. A twin drops what it has, which
# is not measured, and is filled again with the same rows by its engine's fastest path; or the workload's own statements
# rebuild its tables. Both end when the result is in the files, as far as the engine can be made to write it. The rows
# are the same before and after, so that trials can follow one another.

STEP_SECONDS = 24 * 3600.0
"""How long one may take."""


def embedded_step(step: str, answer: Mapping[str, Any], rows: int) -> Measurement:
    return Measurement.of_one(
        step,
        answer["elapsed_ns"],
        engine_counters={"rows": rows},
        files_bytes=answer.get("files", {}),
        pressure=answer.get("pressure", {}),
        usage=Usage.of(answer["usage"]),
    )


def client_step(step: str, answer: Mapping[str, Any]) -> Measurement:
    """A step of a server, as its client saw it: what the server used is the caller's to add."""
    used = answer["usage"]
    client = Client(used["cpu_user_seconds"], used["cpu_system_seconds"])
    return Measurement.of_one(step, answer["elapsed_ns"], client=client)
