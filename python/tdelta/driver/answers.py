"""What a worker's answers say, as records: the measurement of a trial, and the checksums of tables."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from tdelta.driver.jobs import TrialJob
from tdelta.driver.protocol import Checksums, Tables
from tdelta.driver.workers import Worker, failure
from tdelta.errors import TdeltaError
from tdelta.measure.delay import delay_is_others
from tdelta.measure.standstill import in_words
from tdelta.records import Checkpoint, Client, Measurement, Planted, Queue, RunDelays, SpanTotals, StatementCost, Usage
from tdelta.records.trials import Circumstances

WORKER = "a worker process"
"""What stands still where a trial's own process does, in words."""

_READ_SECONDS = 24 * 3600.0


def checksums(worker: Worker, tables: Tables) -> Checksums:
    """Have a worker read all rows of these tables."""
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
    """What a trial measured. Raises as `raise_failed` does."""
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
        planted=Planted(outcome["planted_cpu_ns"], outcome["planted_elapsed_ns"]),
        queue=Queue(outcome["queued_operations"], outcome["backlog_max"]),
        stopped_by=outcome["stopped_by"],
        client=Client(
            extra.get("client_cpu_user_seconds", 0.0),
            extra.get("client_cpu_system_seconds", 0.0),
            peak_rss_bytes=extra.get("client_peak_rss_bytes"),
        ),
        usage=Usage.of(
            extra.get("usage", {}) | {name: outcome[name] for name in ("cpu_user_seconds", "cpu_system_seconds")}
        ),
    )


def of_embedded(
    answer: Mapping[str, Any], job: TrialJob, *, load_threads: int, database_threads: int | None
) -> Measurement:
    """The same of an embedded engine, with the delay that is other programs' doing where that is known."""
    measured = measurement(answer)
    is_closed = job.rate is None
    if not delay_is_others(is_closed=is_closed, load_threads=load_threads, database_threads=database_threads):
        return measured
    delays = dataclasses.replace(measured.delays, others_delay_ns=measured.delays.run_delay_ns)
    return dataclasses.replace(measured, delays=delays)


def traced(answer: Mapping[str, Any]) -> Measurement:
    """What the statements of a traced trial cost; the rest of it says nothing. Raises as `raise_failed` does."""
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
