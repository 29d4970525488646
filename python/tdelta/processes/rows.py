"""Generated rows: loaded by a worker, and their checksums without any database."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable

from tdelta import _native
from tdelta.errors import UsageError
from tdelta.evidence import COLUMNS, TABLE, Markers, table_sql
from tdelta.messages import Refusal
from tdelta.processes.answers import as_checksums
from tdelta.processes.jobs import REBUILD, PopulateJob
from tdelta.processes.protocol import Checksums
from tdelta.processes.workers import Worker
from tdelta.workloads.dialect import Dialect


def require_no_markers(tables: Iterable[str]) -> None:
    if any(name.lower() == TABLE for name in tables):
        raise UsageError(Refusal.of("table-name-taken", table=TABLE))


def with_markers(job: PopulateJob, markers: Markers, dialect: Dialect) -> PopulateJob:
    """A load with the markers' table after all others, in an engine's SQL; their rows stay what they are."""
    require_no_markers(name for name, _ in job.tables)
    tables = job.plan["tables"]
    assert isinstance(tables, list)  # noqa: S101 - a data plan is made by the workload
    return dataclasses.replace(
        job,
        plan={**job.plan, "tables": [*tables, markers.table_plan()]},
        tables_sql=(*job.tables_sql, table_sql(dialect)),
        tables=(*job.tables, (TABLE, COLUMNS)),
    )


POPULATE_SECONDS = 24 * 3600.0
"""How long a load may take."""


def populate(worker: Worker, job: PopulateJob) -> None:
    """Have a worker make the tables, fill them, build the indexes and rebuild all; raises as `Worker.ask` does."""
    worker.ask("load", seconds=POPULATE_SECONDS, **job.request(os.cpu_count() or 1))
    if job.rebuild_sql:
        worker.ask("step", seconds=POPULATE_SECONDS, **job.step_request(REBUILD, 1))


def generated_checksums(job: PopulateJob) -> Checksums:
    return as_checksums(_native.plan_checksums(json.dumps(job.plan), job.seed, os.cpu_count() or 1))
