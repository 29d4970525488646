"""Trials that are no transactions: one load of all rows, or one rebuild of the tables.

A twin drops what it has, which is not measured, and is filled again with the same rows by its engine's fastest path; or
the workload's own statements rebuild its tables. Both end when what they made is in the files, as far as the engine can
be made to write it. The rows are the same before and after, so that trials can follow one another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tdelta.records import Client, Measurement, SpanTotals, Usage

STEP_SECONDS = 24 * 3600.0
"""How long one may take."""


def embedded_step(step: str, answer: Mapping[str, Any], rows: int) -> Measurement:
    """A step of an engine that runs in the worker, whose process is the database."""
    counters = {"rows": rows}
    return Measurement(
        **_one(step, answer),
        engine_counters=counters,
        files_bytes=answer.get("files", {}),
        pressure=answer.get("pressure", {}),
        usage=Usage.of(answer["usage"]),
    )


def client_step(step: str, answer: Mapping[str, Any]) -> Measurement:
    """A step of a server, as its client saw it: what the server used is the caller's to add."""
    used = answer["usage"]
    return Measurement(
        **_one(step, answer),
        client=Client(used["cpu_user_seconds"], used["cpu_system_seconds"]),
    )


def _one(step: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    elapsed_ns = answer["elapsed_ns"]
    return {
        "operations": 1,
        "total_operations": 1,
        "elapsed_ns": elapsed_ns,
        "transactions": {step: SpanTotals(1, elapsed_ns)},
        "statements": {},
    }
