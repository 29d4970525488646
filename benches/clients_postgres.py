"""The cost of the PostgreSQL client, against pgbench: the same point select, prepared, on the same server and tables.

    .venv/bin/python benches/clients_postgres.py [--threads 1 4] [--pairs 20] [--operations 20000] [--json FILE]

Paired runs in a drawn order on one private server (pgbench's own tables). The ratios, tdelta over pgbench, of
throughput and of the client's CPU time a transaction come with the 95 % interval of the mean log ratio. pgbench's CPU
time is its whole process's, less that of a run of one transaction a connection. Where the machine has other work too,
put `chrt -f 1` ahead of the command: the scheduler's luck is then no part of it. Prints; asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from tdelta import _native

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "live"))
from postgres.private import PrivateServer, private_server
from postgres.programs import folder_of_programs

SEED = 20_26
SCALE = 10
SCRIPT = "\\set aid random(1, 100000 * :scale)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;"
TPS = re.compile(r"tps = ([0-9.]+) \(without initial connection time\)")


def pgbench(server: PrivateServer, *arguments: str) -> tuple[str, float]:
    """Runs pgbench; what it printed, and the CPU seconds it used."""
    binaries = folder_of_programs()
    assert binaries is not None
    place = ["-h", str(server.sockets), "-p", str(server.port), "-U", "tdelta"]
    command = [str(binaries / "pgbench"), *arguments, *place, "postgres"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, printed
    return printed, usage.ru_utime + usage.ru_stime


def pgbench_run(server: PrivateServer, threads: int, operations: int) -> dict[str, float]:
    """Transactions a second and CPU seconds a transaction of pgbench."""
    many = ["-n", "-S", "-M", "prepared", "-c", str(threads), "-j", str(threads)]
    _, start_cpu = pgbench(server, *many, "-t", "1")
    printed, cpu = pgbench(server, *many, "-t", str(operations // threads))
    found = TPS.search(printed)
    assert found, printed
    return {"tps": float(found.group(1)), "cpu": (cpu - start_cpu) / operations}


def tdelta_run(twin: _native.ServerTwin, stream: int, operations: int) -> dict[str, float]:
    """The same of the load loop."""
    orders = {"seed": SEED, "stream": stream, "operations": operations, "first_op": 1, "deadline_ns": 600_000_000_000}
    report = twin.trial(json.dumps(orders))
    outcome, extra = report["outcome"], report["extra"]
    assert outcome["operations"] == outcome["rows"] == operations, outcome
    cpu = extra["client_cpu_user_seconds"] + extra["client_cpu_system_seconds"]
    return {"tps": operations / outcome["elapsed_ns"] * 1e9, "cpu": cpu / operations}


def paired(server: PrivateServer, threads: int, operations: int, pairs: int) -> list[dict[str, dict[str, float]]]:
    """The results of both, one entry a pair; the first two pairs warm up and are dropped."""
    twin = _native.ServerTwin(json.dumps(server.options()), threads)
    mix = [{"name": "select", "weight": 1, "text": SCRIPT}]
    twin.prepare(json.dumps(mix), json.dumps({"scale": SCALE}))
    order = random.Random(SEED)
    done = []
    for pair in range(pairs + 2):
        runs = {
            "tdelta": lambda stream=pair: tdelta_run(twin, stream, operations),
            "pgbench": lambda: pgbench_run(server, threads, operations),
        }
        done.append({which: runs[which]() for which in order.sample(list(runs), 2)})
    twin.close()
    return done[2:]


def ratio(pairs: list[dict[str, dict[str, float]]], figure: str) -> dict[str, Any]:
    """The mean ratio of one figure, tdelta over pgbench, with its 95 % interval."""
    logs = [math.log(pair["tdelta"][figure] / pair["pgbench"][figure]) for pair in pairs]
    middle, half = statistics.mean(logs), 1.96 * statistics.stdev(logs) / math.sqrt(len(logs))
    return {"mean": math.exp(middle), "ci95": [math.exp(middle - half), math.exp(middle + half)]}


def summary(threads: int, pairs: list[dict[str, dict[str, float]]]) -> dict[str, Any]:
    """The output for one number of threads."""
    median = {
        f"{which}_{figure}": statistics.median(pair[which][figure] for pair in pairs)
        for which in ("tdelta", "pgbench")
        for figure in ("tps", "cpu")
    }
    return {
        "threads": threads,
        "throughput_ratio": ratio(pairs, "tps"),
        "client_cpu_ratio": ratio(pairs, "cpu"),
        "median": median,
        "pairs": len(pairs),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--operations", type=int, default=20_000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with private_server("shared_buffers=512MB", "max_wal_size=4GB") as server:
        pgbench(server, "-i", "-q", "-s", str(SCALE))
        found = [
            summary(threads, paired(server, threads, arguments.operations, arguments.pairs))
            for threads in arguments.threads
        ]
    print(json.dumps(found, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
