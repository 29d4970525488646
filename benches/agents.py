"""The cost of load agents: throughput, skew of the starts, the time to add up, and memory by how many there are.

    .venv/bin/python benches/agents.py [--agents 1 2 4 8] [--delays 0 1 10] [--trials 5] [--seconds 3] [--json FILE]
    .venv/bin/python benches/agents.py --agents --simulated 1 10 100 1000       # the third table alone

The first table: each agent on a Ray node in a separate network namespace, with two connections to one MariaDB server
on this machine: directly, and through a proxy that hands data on after half of the delay (in ms) each way. Trials are
point selects in a closed loop, by tdelta's own coordinator and load loop; figures are medians over the trials. All is
on one machine, so its CPUs are shared by agents, proxy and server, but its one clock makes the skew of starts exact.
Takes root, `scripts/need-ray` and `scripts/need-servers`.

The second table: how long it took until all agents answered, and the memory of the head, of tdelta's coordinator and of
a node with its agent while twins are open, in MB, without what they map of files.

The third table: answers of agents that do not exist, each with the histograms of two transactions, go through what
handles real ones: the coordinator's line of JSON, its reading, and the merge. Times are of the CPU; memory is the
growth of the peak resident set of a process that does that once. Prints; asserts nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tdelta import _native
from tdelta.processes.jobs import TrialJob
from tdelta.ray import merging
from tdelta.ray.bridge import NodesRequest
from tdelta.ray.load_agents import AgentLoad, AgentPool
from tdelta.records.trials import overlap, skew_ns

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "live"))
from mariadb import own

from chaos.namespaces import Cluster, cannot, command
from support.own_engines import PASSWORD

DIRECT = "direct"
CONNECTIONS = 2
"""Of each agent."""

ROWS = 10_000
SCHEMA = "tdelta_bench"
WORK = {
    "transactions": [
        {"name": "point", "weight": 1, "text": f"\\set id random(1, {ROWS})\nSELECT pad FROM t WHERE id = :id;\n"}
    ],
    "constants": {},
}
SEED = 20_26
SIMULATED_TYPES = ("read", "write")
SIMULATED_OPERATIONS = 2_000
_CHUNK = 1 << 16
_MS = 1e6


class Proxy:
    """Hands on what comes to a port, each way after half a delay. Use as a context manager."""

    def __init__(self, host: str, to: tuple[str, int], delay_seconds: float) -> None:
        self._host, self._to, self._half = host, to, delay_seconds / 2
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.port = 0

    def __enter__(self) -> Proxy:
        self._thread.start()
        server = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, self._host, 0), self._loop).result()
        self.port = server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.CancelledError):  # asyncio would print it
            far_reader, far_writer = await asyncio.open_connection(*self._to)
            await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(_CHUNK):
                if self._half:
                    self._loop.call_later(self._half, writer.write, data)
                else:
                    writer.write(data)
            await asyncio.sleep(2 * self._half)
            writer.close()


@contextlib.contextmanager
def server(base: Path, cluster: Cluster) -> Iterator[int]:
    """The port of a MariaDB server with the bench's rows, on the cluster's address for databases."""
    addresses = f"{own.LOCAL},{cluster.database_address}"
    installed = own.install(base)
    with own.running(installed, base / "server", "--innodb-buffer-pool-size=64M", addresses=addresses) as running:
        with contextlib.closing(own.root(running)) as session:
            session.run(f"CREATE SCHEMA {SCHEMA}")
            session.run(f"USE {SCHEMA}")
            session.run("CREATE TABLE t (id INT PRIMARY KEY, pad CHAR(100) NOT NULL)")
            session.run(f"INSERT INTO t SELECT seq, REPEAT('x', 100) FROM seq_1_to_{ROWS}")
            for statement in own.USERS[:2]:
                session.run(statement.replace("{hosts}", cluster.hosts))
        yield running.port


def options(host: str, port: int) -> dict[str, object]:
    """Of the agents' connections."""
    of = {"protocol": "mysql", "host": host, "port": port, "user": "bench", "password": PASSWORD, "database": SCHEMA}
    return {**of, "tls": "disable", "answer_seconds": 60.0}


def trials(load: AgentLoad, agents: int, arguments: argparse.Namespace) -> dict[str, float]:
    """The results of so many agents in some trials of about the requested length."""
    operations = 20 * CONNECTIONS * agents
    found = load.trial(job(0, operations).as_json(), 600.0)
    for _ in range(3):  # until it is about as long
        took_seconds = max(1e-3, found.answer["outcome"]["elapsed_ns"] / 1e9)
        operations = max(operations, round(operations * min(20.0, arguments.seconds / took_seconds)))
        found = load.trial(job(1, operations).as_json(), 600.0)
    measured = []
    for number in range(arguments.trials):
        began = time.perf_counter()
        found = load.trial(job(2 + number, operations).as_json(), 600.0)
        measured.append((found, time.perf_counter() - began))
    parts = [one.agents for one, _ in measured]
    elapsed = [one.answer["outcome"]["elapsed_ns"] / 1e9 for one, _ in measured]
    return {
        "operations": operations,
        "operations_per_second": statistics.median(operations / seconds for seconds in elapsed),
        "skew_ms": statistics.median(skew_ns(of) / _MS for of in parts),
        "skew_most_ms": max(skew_ns(of) / _MS for of in parts),
        "overlap": statistics.median(overlap(of) for of in parts),
        "core_share": statistics.median(max(one.cpu_share for one in of.values()) for of in parts),
        "around_ms": statistics.median(1e3 * (whole - ran) for (_, whole), ran in zip(measured, elapsed, strict=True)),
    }


def job(stream: int, operations: int) -> TrialJob:
    """A trial's orders."""
    return TrialJob(SEED, stream, operations, 1, deadline_seconds=600.0)


def memory(cluster: Cluster, pool: AgentPool) -> dict[str, float]:
    """The memory of a cluster: its head with the part of the GCS, tdelta's coordinator, and each node, the largest."""
    head = cluster.head_processes()
    return {
        "head_mb": sum(map(held_mb, head)),
        "gcs_mb": sum(held_mb(pid) for pid in head if "gcs_server" in command(pid)),
        "coordinator_mb": held_mb(pool.pid),
        "node_mb": max(sum(map(held_mb, node.processes())) for node in cluster.nodes if node.ray is not None),
    }


def held_mb(pid: int) -> float:
    """A process's memory but for what it maps of files, which its like on the same machine share."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    sizes = {name: amount.split() for name, _, amount in (line.partition(":") for line in lines[1:])}
    return sum(int(sizes[name][0]) for name in ("Pss_Anon", "Pss_Shmem")) * 1024 / 1e6


def measured(arguments: argparse.Namespace) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of the first table, and of memory."""
    rows, taken = [], []
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        base = Path(folder)
        cluster = Cluster(base, max(arguments.agents))
        stack.callback(cluster.end)
        port = stack.enter_context(server(base, cluster))
        for agents in sorted(arguments.agents):
            cluster.start(agents)
            with contextlib.ExitStack() as of_agents:
                began = time.monotonic()
                pool = AgentPool(NodesRequest(agents, cluster.address))
                of_agents.callback(pool.end)
                placed_seconds = time.monotonic() - began
                for delay in (DIRECT, *arguments.delays):
                    at = (cluster.database_address, port)
                    with contextlib.ExitStack() as of_delay:
                        if delay != DIRECT:
                            proxy = of_delay.enter_context(Proxy(at[0], at, delay / 1e3))
                            at = (at[0], proxy.port)
                        load = pool.twin()
                        of_delay.callback(load.end)
                        load.connect(options(*at), CONNECTIONS * agents, WORK)
                        row = {"agents": agents, "delay": delay, **trials(load, agents, arguments)}
                        held = memory(cluster, pool)
                    rows.append(row)
                    print_row(row, is_first=len(rows) == 1)
                taken.append({"agents": agents, "placed_seconds": placed_seconds, **held})
    for row in taken:
        print_row(row, is_first=row is taken[0])
    return rows, taken


def answer(of: random.Random, number: int) -> dict[str, Any]:
    """An agent's answer on one trial, with random times."""
    spans, histograms = {}, {}
    for name in SIMULATED_TYPES:
        times = [round(of.lognormvariate(12.0, 0.8)) for _ in range(SIMULATED_OPERATIONS)]
        spans[f"tx:{name}"] = [len(times), sum(times)]
        histograms[f"tx:{name}"] = base64.b64encode(_native.histogram_of(times, [1] * len(times))).decode()
    began, ended = of.randrange(10**6), 3 * 10**9 + of.randrange(10**7)
    operations = len(SIMULATED_TYPES) * SIMULATED_OPERATIONS
    outcome = {
        **dict.fromkeys(
            ("rows", "queued_operations", "planted_cpu_ns", "planted_elapsed_ns", "backlog_max", "run_delay_ns"), 0
        ),
        **dict.fromkeys(("first_error", "standstill")),
        "operations": operations,
        "total_operations": operations,
        "cpu_user_seconds": 0.5,
        "cpu_system_seconds": 0.3,
        "elapsed_ns": ended - began,
        "waited_ns": 0,
        "operations_digest": 0,
        "errors": {},
        "retries": {},
        "stopped_by": "count",
    }
    extra = {"client_cpu_user_seconds": 0.5, "client_cpu_system_seconds": 0.3}
    times = {"began_ns": began, "ended_ns": ended, "clock_error_ns": 1000}
    ok = {"outcome": outcome, "spans": spans, "histograms": histograms, "extra": extra, **times}
    return {"ok": ok, "node": f"n{number}"}


def simulate(agents: int) -> dict[str, float]:
    """Add up one trial of so many agents in this process, and say what that took."""
    of = random.Random(agents)
    json.dumps(answer(of, 0))  # what the first one takes is no agent's
    before = peak_bytes()
    made = {str(number): answer(of, number) for number in range(agents)}
    began = time.process_time()
    line = json.dumps({"ok": {"answers": made, "replaced": 0}})
    del made
    said = time.process_time()
    answers = json.loads(line)["ok"]["answers"]
    read = time.process_time()
    found = {name: one["ok"] for name, one in answers.items()}
    parts = merging.parts(found, {name: one["node"] for name, one in answers.items()})
    merged = merging.added(list(found.values()))
    kept = merging.own_histograms(found)
    fault = merging.fault(parts)
    ended = time.process_time()
    assert not fault
    assert merged["outcome"]["operations"] == 2 * SIMULATED_OPERATIONS * agents
    return {
        "agents": agents,
        "line_kb": len(line) / 1e3,
        "stored_kb": sum(map(len, kept.values())) / 1e3,
        "said_cpu_ms": 1e3 * (said - began),
        "read_cpu_ms": 1e3 * (read - said),
        "merge_cpu_ms": 1e3 * (ended - read),
        "memory_mb": (peak_bytes() - before) / 1e6,
    }


def peak_bytes() -> int:
    """The most memory that this process had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def simulated(counts: list[int]) -> list[dict[str, Any]]:
    """The third table's rows, each from a separate process."""
    rows = []
    for agents in counts:
        command = [sys.executable, __file__, "--one", str(agents)]
        ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
        rows.append(json.loads(ran.stdout))
        print_row(rows[-1], is_first=len(rows) == 1)
    return rows


def print_row(row: dict[str, Any], *, is_first: bool) -> None:
    """One row, after the columns' names where it is the first."""
    if is_first:
        print("\n" + "  ".join(f"{name:>12}" for name in row))
    cells = (f"{value:,.4g}" if isinstance(value, float) else str(value) for value in row.values())
    print("  ".join(f"{cell:>{max(12, len(name))}}" for name, cell in zip(row, cells, strict=True)), flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, nargs="*", default=[1, 2, 4, 8])
    parser.add_argument("--delays", type=float, nargs="*", default=[0, 1, 10], help="ms, there and back")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="of a trial, about")
    parser.add_argument("--simulated", type=int, nargs="*", default=[1, 10, 100, 1000])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(simulate(arguments.one)))
        return
    if arguments.agents and (lacking := cannot()):
        sys.exit(f"agents.py: {lacking}; or leave --agents empty")
    rows, taken = measured(arguments) if arguments.agents else ([], [])
    found = {"measured": rows, "memory": taken, "simulated": simulated(arguments.simulated)}
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
