"""How fast rows are generated and loaded into DuckDB, and in how much memory: does the generator outpace the load?

    .venv/bin/python benches/duckdb_load.py [--rows 2000000] [--cipher aes-256-gcm] [--dir DIR] [--json FILE]
    .venv/bin/python benches/duckdb_load.py --rows 100000000    # some 25 GB of disk, and within 4 GiB of memory

The fact table of the workload `warehouse`, by the way that twins go: a worker has the native generator write the rows
into a file, another loads that file into a twin's. Each is timed alone, the load with its checkpoint. CPU time and the
peak of resident memory (`VmHWM`) are the worker's own, the interpreter and DuckDB's code included. With `--digest`,
DuckDB's checksum of the file is compared with that of the table, as a run does. Prints; asserts nothing but the number
of rows.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import secrets
import tempfile
import time
from pathlib import Path
from typing import Any

from tdelta.engines.duckdb.engine import LOADING_MIB, PROGRAM, DuckdbEngine, DuckdbSettings
from tdelta.engines.duckdb.twins import GeneratedRows
from tdelta.engines.registry import dialects
from tdelta.processes import PopulateJob, TwinFolder, Worker
from tdelta.workloads import load

SEED = 20_26
SECONDS = 24 * 3600.0
LIMIT_BYTES = 4 << 30
"""The memory that generation and load must fit in."""


def job_of(rows: int) -> PopulateJob:
    """The fact table with so many rows."""
    workload = load("warehouse", dialects())
    plan: Any = workload.plan(1.0)
    for table in plan["tables"]:
        table["rows"] = rows
    tables = tuple((table.name, tuple(column.name for column in table.columns)) for table in workload.tables)
    return PopulateJob(plan, SEED, workload.tables_sql(dialects()["duckdb"]), (), tables)


def peak_bytes(worker: Worker) -> int:
    """The most memory that a worker had resident so far."""
    status = Path(f"/proc/{worker.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) << 10


def cpu_seconds(worker: Worker) -> float:
    """The CPU time of a worker so far, user and system."""
    fields = Path(f"/proc/{worker.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed(worker: Worker, rows: int, order: str, **content: object) -> tuple[dict[str, Any], Any]:
    """The cost of an order of so many rows: seconds, rows per second, CPU time, and the peak of memory by then."""
    cpu, began = cpu_seconds(worker), time.monotonic()
    answer = worker.ask(order, seconds=SECONDS, **content)
    seconds = time.monotonic() - began
    found = {
        "seconds": seconds,
        "rows_per_second": rows / seconds,
        "cpu_seconds": cpu_seconds(worker) - cpu,
        "peak_rss_bytes": peak_bytes(worker),
    }
    return found, answer


def generate(rows: GeneratedRows, job: PopulateJob, count: int) -> dict[str, Any]:
    """Have a worker write the file."""
    rows.path.mkdir()
    with Worker(program=PROGRAM) as worker:
        found, sizes = timed(worker, count, "write_rows", plan=job.plan, seed=job.seed, files=rows.files())
    size = sum(sizes.values())
    return {**found, "file_bytes": size, "bytes_per_row": size / count}


def load_into(
    path: Path, rows: GeneratedRows, job: PopulateJob, count: int, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Have another load it into a twin's file, as twins are loaded."""
    engine, threads = DuckdbEngine(), len(os.sched_getaffinity(0))
    settings = DuckdbSettings(arguments.cipher, engine_threads=threads, working_mib=arguments.memory_mib)
    key = secrets.token_hex(32) if engine.needs_key(arguments.cipher) else None
    order = {"tables_sql": job.tables_sql, "tables": job.tables, "files": rows.files()}
    with Worker(program=PROGRAM) as worker:
        worker.ask("open", seconds=SECONDS, options=engine.options(path, settings, key))
        found, _ = timed(worker, count, "load", **order)
        facts = worker.ask("facts", queries=engine.fact_queries())
        table, _ = job.tables[0]
        loaded = worker.ask("facts", seconds=SECONDS, queries={"rows": f"SELECT count(*) FROM {table}"})["rows"]
        assert int(loaded) == count, f"expected {count:,} rows, found {loaded}"
        sums = worker.ask("checksums", seconds=SECONDS, tables=job.tables) if arguments.digest else None
    told = {**found, "file_bytes": path.stat().st_size, "settings": facts}
    if sums is None:
        return told
    with Worker(program=PROGRAM) as worker:
        options = engine.options(path.with_name("digest"), dataclasses.replace(settings, cipher="none"), None)
        worker.ask("open", seconds=SECONDS, options={**options, "path": None})
        digest, expected = timed(worker, count, "digest", **order)
    return {**told, "digest_of_the_file": {**digest, "is_that_of_the_table": sums == expected}}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--cipher", default="none")
    parser.add_argument("--memory-mib", type=int, default=LOADING_MIB, help="DuckDB's memory_limit; twins' by default")
    parser.add_argument("--digest", action="store_true", help="compare DuckDB's checksums of the file and of the table")
    parser.add_argument("--dir", type=Path, help="where the files are made, and removed from")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    job = job_of(arguments.rows)
    with tempfile.TemporaryDirectory(dir=arguments.dir) as base, TwinFolder(Path(base), "bench") as folder:
        rows = GeneratedRows(folder, job)
        generated = generate(rows, job, arguments.rows)
        loaded = load_into(folder.file("twin"), rows, job, arguments.rows, arguments)
    peak = max(generated["peak_rss_bytes"], loaded["peak_rss_bytes"])
    found = {
        "rows": arguments.rows,
        "cipher": arguments.cipher,
        "generation": generated,
        "load": loaded,
        "generation_over_load": {
            "rows_per_second": generated["rows_per_second"] / loaded["rows_per_second"],
            "rows_per_cpu_second": loaded["cpu_seconds"] / generated["cpu_seconds"],
        },
        "peak_rss_bytes": peak,
        "is_within_4_gib": peak <= LIMIT_BYTES,
        "cpus": os.cpu_count(),
    }
    print(json.dumps(found, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
