"""What encryption costs DuckDB to load the warehouse's fact table and to rebuild it in the order of its published key.

    .venv/bin/python benches/duckdb_load.py [--rows 2000000] [--repeats 5] [--cipher aes-256-gcm …] [--json FILE]

The rows are made once. Then every cipher, the plain file among them, is loaded and rebuilt in a drawn order, each time
into a new file by a process of its own: elapsed and CPU seconds of the process, the write into the file included.
Prints the median of the repeats with the least and the most, rows a second, the size on disk, and each cipher's costs
over the plain file's of the same repeat; asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import secrets
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tdelta.driver import LoadJob, TwinFolder, Worker
from tdelta.driver.duckdb.rows import GeneratedRows
from tdelta.driver.duckdb.twins import PROGRAM
from tdelta.engines import DuckdbEngine, DuckdbSettings
from tdelta.workloads import load

SEED = 20_26
HOURS = 24 * 3600.0
MEMORY_MIB = 2048
REBUILD = (
    "CREATE TABLE rebuilt AS SELECT * FROM fact_sales"
    " ORDER BY sales_order_number, sales_order_line_number, order_date_key"
)
STEPS = ("load", "rebuild")
COSTS = ("elapsed_seconds", "cpu_seconds")


def job_of(rows: int) -> LoadJob:
    """How so many rows of the fact table are made."""
    workload = load("warehouse")
    tables = tuple((table.name, tuple(column.name for column in table.columns)) for table in workload.tables)
    return LoadJob(workload.plan(rows / 1000), SEED, workload.tables_sql("duckdb"), (), tables)


def made(folder: TwinFolder, job: LoadJob) -> tuple[GeneratedRows, float, int]:
    """The rows in files, how long the generator and the writer took, and how many bytes they are."""
    rows, began = GeneratedRows(folder, job), time.monotonic()
    generated = rows.generate()
    with Worker(program=PROGRAM) as worker:
        worker.ask("write_rows", seconds=HOURS, database=str(generated), tables=job.tables, files=rows.files())
    return rows, time.monotonic() - began, sum(os.path.getsize(file) for file in rows.files().values())  # noqa: PTH202


def step(folder: TwinFolder, job: LoadJob, rows: GeneratedRows, cipher: str) -> dict[str, dict[str, float]]:
    """One load and one rebuild into a new file."""
    engine = DuckdbEngine()
    settings = DuckdbSettings(cipher, 1, len(os.sched_getaffinity(0)), MEMORY_MIB)
    path = folder.file(f"bench-{cipher}")
    key = secrets.token_hex(32) if engine.needs_key(cipher) else None
    try:
        with Worker(program=PROGRAM) as worker:
            worker.ask("open", options=engine.options(path, settings, key))
            order = {"tables_sql": job.tables_sql, "tables": job.tables, "files": rows.files()}
            loaded = worker.ask("load", seconds=HOURS, **order)
            size = path.stat().st_size
            rebuilt = worker.ask("run", seconds=HOURS, statements=[REBUILD])
            return {"load": {**loaded, "bytes": size}, "rebuild": {**rebuilt, "bytes": path.stat().st_size - size}}
    finally:
        path.unlink(missing_ok=True)


def measured(rows: int, repeats: int, ciphers: list[str]) -> list[dict[str, dict[str, dict[str, float]]]]:
    """What each repeat took, by cipher and step."""
    order, job = random.Random(SEED), job_of(rows)
    found = []
    with tempfile.TemporaryDirectory() as base, TwinFolder(Path(base), "bench") as folder:
        files, took, size = made(folder, job)
        print(f"rows made in {took:.1f} s: {rows / took:,.0f} rows a second, {size:,} bytes of text")
        for done in range(repeats):
            drawn = order.sample(ciphers, len(ciphers))
            found.append({cipher: step(folder, job, files, cipher) for cipher in drawn})
            print(f"{done + 1} of {repeats}", file=sys.stderr)
    return found


def spread(values: list[float], digits: int = 2) -> str:
    """Median (least … most)."""
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} … {max(values):.{digits}f})"


def main() -> None:
    """Measure and print."""
    encrypting = [cipher for cipher in DuckdbEngine.ciphers if cipher != "none"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cipher", action="append", choices=encrypting, dest="ciphers")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    DuckdbEngine().require()
    ciphers = ["none", *(options.ciphers or ["aes-256-gcm", "aes-256-ctr"])]
    found = measured(options.rows, options.repeats, ciphers)
    for name in STEPS:
        print(f"{name} of {options.rows:,} rows; median of {options.repeats} (least … most)")
        for cipher in ciphers:
            took = [one[cipher][name] for one in found]
            elapsed, cpu = (spread([of[cost] for of in took]) for cost in COSTS)
            rows = options.rows / statistics.median(of["elapsed_seconds"] for of in took)
            size = statistics.median(of["bytes"] for of in took)
            print(f"  {cipher:20} {elapsed} s elapsed, {cpu} s CPU, {rows:,.0f} rows a second, {size:,.0f} bytes")
        for cipher in ciphers[1:]:
            ratios = (spread([one[cipher][name][cost] / one["none"][name][cost] for one in found], 3) for cost in COSTS)
            print(f"  {cipher:20} over plain: elapsed {next(ratios)}, CPU {next(ratios)}")
    if options.json:
        options.json.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
