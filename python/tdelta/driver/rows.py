"""Generated rows: loaded by a worker, and their checksums without any database."""

from __future__ import annotations

import json
import os

from tdelta import _native
from tdelta.driver.answers import as_checksums
from tdelta.driver.jobs import PopulateJob
from tdelta.driver.protocol import Checksums
from tdelta.driver.workers import Worker

POPULATE_SECONDS = 24 * 3600.0
"""How long a load may take."""


def populate(worker: Worker, job: PopulateJob) -> None:
    """Have a worker make the tables, fill them and build the indexes; raises as `Worker.ask` does."""
    worker.ask(
        "load",
        seconds=POPULATE_SECONDS,
        plan=job.plan,
        seed=job.seed,
        threads=os.cpu_count() or 1,
        tables=job.tables_sql,
        indexes=job.indexes_sql,
    )


def generated_checksums(job: PopulateJob) -> Checksums:
    return as_checksums(_native.plan_checksums(json.dumps(job.plan), job.seed, os.cpu_count() or 1))
