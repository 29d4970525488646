"""The cost of the native MySQL client, against sysbench: same server, same tables, same statements, same threads.

    .venv/bin/python benches/clients.py [--seconds 2] [--pairs 20] [--threads 1 4] [--json FILE]
    .venv/bin/python benches/clients.py --engine mysql …
    .venv/bin/python benches/clients.py --socket PATH --user USER       # a server that is there, with a schema sbtest

Needs sysbench, and the server unless `--socket` names one. sysbench prepares its own tables; the pairs run in a
drawn order, each as many transactions as sysbench did in so many seconds at first. For each workload and number of
threads the ratios of throughput and of client CPU per transaction (tdelta over sysbench) come with the 95 % interval of
the mean log ratio: over `--rounds`, each on a new server, or, with one round, over its pairs, which leaves out how one
server differs from the next. Client CPU is user plus system time of the client's own process; what
sysbench takes to start and to end is measured apart, by runs of one event, and left out. Prints; asserts nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tdelta import _native
from tdelta.engines.server.installed import find_servers
from tdelta.inference.quantiles import t_reach

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "live"))
from support.mysql_client import Program, running

ROWS = 100_000
SEED = 20_26
DATABASE = "sbtest"
POINT = "\\set id random(1, {rows})\nSELECT c FROM sbtest1 WHERE id=:id;\n"
RANGE = "\\set a random(1, {rows})\n\\set b :a + 99\nSELECT {what} FROM sbtest1 WHERE id BETWEEN :a AND :b{order};\n"
READ_ONLY = "".join(
    [
        "BEGIN;\n",
        POINT * 10,
        RANGE.replace("{what}", "c").replace("{order}", ""),
        RANGE.replace("{what}", "SUM(k)").replace("{order}", ""),
        RANGE.replace("{what}", "c").replace("{order}", " ORDER BY c"),
        RANGE.replace("{what}", "DISTINCT c").replace("{order}", " ORDER BY c"),
        "COMMIT;\n",
    ]
)
SCRIPTS = {"oltp_point_select": POINT, "oltp_read_only": READ_ONLY}
"""The statements of sysbench's Lua scripts of the same names."""


@dataclass(frozen=True)
class Run:
    """One run of one client."""

    transactions_per_second: float
    cpu_seconds_per_transaction: float


class Sysbench:
    """sysbench on one workload."""

    def __init__(self, socket: str, user: str, workload: str, threads: int) -> None:
        self._command = [
            "sysbench",
            workload,
            "--db-driver=mysql",
            f"--mysql-socket={socket}",
            f"--mysql-user={user}",
            f"--mysql-db={DATABASE}",
            "--tables=1",
            f"--table-size={ROWS}",
            f"--threads={threads}",
            "--rand-type=uniform",
            "--percentile=0",
        ]

    def prepare(self) -> None:
        """Make and fill the table."""
        for command in ("cleanup", "prepare"):
            subprocess.run([*self._command, command], check=True, capture_output=True, timeout=600)

    def run(self, events: int, start_cpu_seconds: float = 0.0, seconds: float = 0.0) -> Run:
        """Run until so many events are done (0: for some seconds)."""
        arguments = [*self._command, f"--time={math.ceil(seconds)}", f"--events={events}", "run"]
        with tempfile.TemporaryFile("w+") as answer:
            process = subprocess.Popen(arguments, stdout=answer, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            answer.seek(0)
            text = answer.read()
        found = re.search(r"transactions:\s+(\d+)\s+\(([0-9.]+) per sec", text)
        if found is None or process.returncode:
            sys.exit(f"sysbench: expected its count of transactions, found:\n{text}")
        cpu_seconds = usage.ru_utime + usage.ru_stime - start_cpu_seconds
        return Run(float(found[2]), cpu_seconds / max(1, int(found[1])))

    def start_cpu_seconds(self) -> float:
        """The time to start and to end."""
        return statistics.median(self.run(1).cpu_seconds_per_transaction for _ in range(5))


class Tdelta:
    """tdelta's client on the same."""

    def __init__(self, socket: str, user: str, workload: str, threads: int) -> None:
        options = {"protocol": "mysql", "socket": socket, "user": user, "database": DATABASE}
        self._twin = _native.ServerTwin(json.dumps(options), threads)
        text = SCRIPTS[workload].replace("{rows}", str(ROWS))
        self._twin.prepare(json.dumps([{"name": workload, "weight": 1, "text": text}]), "{}")

    def run(self, stream: int, operations: int) -> Run:
        """Run so many transactions."""
        orders = {"seed": SEED, "stream": stream, "operations": operations, "first_op": 1, "deadline_ns": 600 * 10**9}
        report = self._twin.trial(json.dumps(orders))
        outcome, extra = report["outcome"], report["extra"]
        if outcome["errors"]:
            sys.exit(f"tdelta: {outcome['first_error']}")
        cpu_seconds = extra["client_cpu_user_seconds"] + extra["client_cpu_system_seconds"]
        return Run(operations / outcome["elapsed_ns"] * 1e9, cpu_seconds / operations)

    def close(self) -> None:
        """Close its connections."""
        self._twin.close()


@contextlib.contextmanager
def private_server(engine: str, *options: str) -> Iterator[str]:
    """A server of that kind whose tables fit its buffer pool; its socket."""
    program = Program(find_servers(engine)[0])
    with tempfile.TemporaryDirectory() as folder:
        template = Path(folder) / "template"
        program.install(template)
        with running(program, template, Path(folder), "--innodb-buffer-pool-size=512M", *options) as server:
            with server.twin(database=None) as twin:
                twin.run(f"CREATE DATABASE {DATABASE}")
            yield str(server.socket)


def interval(rounds: list[list[float]]) -> dict[str, Any]:
    """A ratio with its 95 % interval: of the rounds' means, or with one round of its pairs."""
    units = [statistics.mean(logs) for logs in rounds] if len(rounds) > 1 else rounds[0]
    middle, error = statistics.mean(units), statistics.stdev(units) / math.sqrt(len(units))
    half = t_reach(len(units) - 1) * error
    return {"mean": math.exp(middle), "ci95": [math.exp(middle - half), math.exp(middle + half)]}


@dataclass(frozen=True)
class Pairs:
    """Of one round: what both clients did in alternation, so many transactions per run."""

    runs: list[dict[str, Run]]
    transactions: int

    def logs(self, metric: str) -> list[float]:
        """The log ratios of a metric, tdelta over sysbench."""
        return [math.log(getattr(runs["tdelta"], metric) / getattr(runs["sysbench"], metric)) for runs in self.runs]


def compare(socket: str, user: str, workload: str, threads: int, arguments: argparse.Namespace) -> Pairs:
    """Both clients in alternation, with new connections for each run; the first pair warms up and is dropped."""
    theirs = Sysbench(socket, user, workload, threads)
    start_cpu_seconds = theirs.start_cpu_seconds()
    order = random.Random(SEED)
    seconds = arguments.seconds
    operations = max(100, round(theirs.run(0, seconds=seconds).transactions_per_second * seconds))
    found = []
    for pair in range(arguments.pairs + 1):
        runs: dict[str, Run] = {}
        for which in order.sample(["tdelta", "sysbench"], 2):
            if which == "tdelta":
                with contextlib.closing(Tdelta(socket, user, workload, threads)) as ours:
                    runs[which] = ours.run(pair, operations)
            else:
                runs[which] = theirs.run(operations, start_cpu_seconds)
        found.append(runs)
    return Pairs(found[1:], operations)


def summary(workload: str, threads: int, rounds: list[Pairs]) -> dict[str, Any]:
    """The output for one workload with one number of threads."""
    every = [runs for pairs in rounds for runs in pairs.runs]

    def median(client: str, metric: str) -> float:
        return statistics.median(getattr(runs[client], metric) for runs in every)

    return {
        "workload": workload,
        "threads": threads,
        "throughput_ratio": interval([pairs.logs("transactions_per_second") for pairs in rounds]),
        "client_cpu_ratio": interval([pairs.logs("cpu_seconds_per_transaction") for pairs in rounds]),
        "transactions_per_second": {name: median(name, "transactions_per_second") for name in ("tdelta", "sysbench")},
        "client_cpu_us_per_transaction": {
            name: median(name, "cpu_seconds_per_transaction") * 1e6 for name in ("tdelta", "sysbench")
        },
        "pairs": len(every),
        "rounds": [math.exp(statistics.mean(pairs.logs("transactions_per_second"))) for pairs in rounds],
        "transactions_per_run": [pairs.transactions for pairs in rounds],
        "cpus": os.cpu_count(),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--pairs", type=int, default=20, help="of each round")
    parser.add_argument("--rounds", type=int, default=1, help="private servers, one after the other")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--workloads", nargs="+", choices=SCRIPTS, default=list(SCRIPTS))
    parser.add_argument("--engine", choices=["mariadb", "mysql"], default="mariadb")
    parser.add_argument("--socket")
    parser.add_argument("--user", default="root")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    cells = [(workload, threads) for workload in arguments.workloads for threads in arguments.threads]
    rounds: dict[tuple[str, int], list[Pairs]] = {cell: [] for cell in cells}
    for _ in range(arguments.rounds):
        given = contextlib.nullcontext(arguments.socket) if arguments.socket else private_server(arguments.engine)
        with given as socket:
            Sysbench(socket, arguments.user, "oltp_read_only", 1).prepare()
            for cell in cells:
                rounds[cell].append(compare(socket, arguments.user, *cell, arguments))
    found = [summary(*cell, pairs) for cell, pairs in rounds.items()]
    print(json.dumps(found, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
