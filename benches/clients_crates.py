"""The savings of the native clients over the crates `mysql` and `postgres`, under the same load loop.

    .venv/bin/python benches/clients_crates.py [--connections 1 4 64 2048] [--pairs 16] [--seconds 1] [--json FILE]
    .venv/bin/python benches/clients_crates.py --engine postgres …

Builds `benches/rivals` with cargo (into --target), starts one process with each client, and gives both the same
operations by turns in a drawn order: point selects and, on MariaDB and MySQL, sysbench's read-only transactions, on a
private server. Ratios are the crate's over the native client's, of throughput and of client CPU per transaction, with
the 95 % interval of the mean log ratio; memory is the peak resident size of each process. Prints; asserts nothing.
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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

sys.path.insert(0, str(Path(__file__).parent))
import clients
import clients_postgres

WHICH = ("own", "crate")
SEED = 20_26
HERE = Path(__file__).parent / "rivals"


def built(target: Path, profile: str) -> Path:
    """The program, compiled."""
    command = [
        "cargo",
        "build",
        "--profile",
        profile,
        "--locked",
        "--quiet",
        "--manifest-path",
        str(HERE / "Cargo.toml"),
    ]
    subprocess.run(command, check=True, env={**os.environ, "CARGO_TARGET_DIR": str(target)})
    return target / ("debug" if profile == "dev" else profile) / "rivals"


class Rival:
    """One process with one client's connections."""

    def __init__(self, program: Path, which: str, options: dict[str, Any], connections: int, work: Work) -> None:
        script = [{"name": "transaction", "weight": 1, "text": work.script}]
        arguments = [which, json.dumps(options), str(connections), json.dumps(script), json.dumps(work.constants)]
        self._process = subprocess.Popen(
            [str(program), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit("rivals: the process ended; its error is above")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def run(self, stream: int, operations: int) -> dict[str, float]:
        """Transactions per second, and client CPU seconds per transaction, of so many transactions."""
        orders = {"seed": SEED, "stream": stream, "operations": operations, "first_op": 1, "deadline_ns": 600 * 10**9}
        assert self._process.stdin is not None
        print(json.dumps(orders), file=self._process.stdin, flush=True)
        outcome = self._answer()
        if outcome["errors"] or outcome["operations"] != operations:
            sys.exit(f"rivals: {outcome['first_error']}")
        cpu_seconds = outcome["cpu_user_seconds"] + outcome["cpu_system_seconds"]
        return {
            "throughput": operations / outcome["elapsed_ns"] * 1e9,
            "cpu": cpu_seconds / operations,
            "rows": outcome["rows"] / operations,
        }

    def peak_bytes(self) -> int:
        """The most memory that the process has held."""
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{self._process.pid}/status").read_text())
        assert found is not None
        return int(found[1]) * 1024


class Work:
    """A transaction, and what its variables hold."""

    def __init__(self, name: str, script: str, constants: dict[str, int]) -> None:
        self.name = name
        self.script = script
        self.constants = constants


@contextmanager
def server(engine: str, connections: int) -> Iterator[tuple[dict[str, Any], list[Work]]]:
    """A private server with its tables: how to reach it, and the work on it."""
    most = 2 * connections + 50
    if engine == "postgres":
        with clients_postgres.private_server(
            "shared_buffers=512MB", "max_wal_size=4GB", f"max_connections={most}"
        ) as private:
            clients_postgres.pgbench(private, "-i", "-q", "-s", str(clients_postgres.SCALE))
            point = Work("point select", clients_postgres.SCRIPT, {"scale": clients_postgres.SCALE})
            yield private.options(port=private.port), [point]
        return
    with clients.private_server(
        engine, f"--max-connections={most}", f"--table-open-cache={2 * most}", "--max-prepared-stmt-count=1000000"
    ) as socket:
        clients.Sysbench(socket, "root", "oltp_read_only", 1).prepare()
        options = {"protocol": "mysql", "socket": socket, "user": "root", "database": clients.DATABASE}
        yield (
            options,
            [Work(name, text.replace("{rows}", str(clients.ROWS)), {}) for name, text in clients.SCRIPTS.items()],
        )


def compare(rivals: dict[str, Rival], work: Work, connections: int, pairs: int, seconds: float) -> dict[str, Any]:
    """Both clients by turns; the first pair warms up and is dropped."""
    pilot = rivals["own"].run(0, 50 * connections)
    operations = max(20 * connections, round(pilot["throughput"] * seconds))
    order = random.Random(SEED)
    runs = []
    for pair in range(pairs + 1):
        runs.append({which: rivals[which].run(pair + 1, operations) for which in order.sample(WHICH, 2)})
    runs = runs[1:]
    assert all(run["own"]["rows"] == run["crate"]["rows"] for run in runs), "the clients read other numbers of rows"

    def ratio(metric: str) -> dict[str, Any]:
        return clients.interval([[math.log(run["crate"][metric] / run["own"][metric]) for run in runs]])

    return {
        "work": work.name,
        "connections": connections,
        "crate_over_own": {"throughput": ratio("throughput"), "client_cpu": ratio("cpu")},
        "client_cpu_us": {which: statistics.median(run[which]["cpu"] for run in runs) * 1e6 for which in WHICH},
        "per_second": {which: statistics.median(run[which]["throughput"] for run in runs) for which in WHICH},
        "peak_megabytes": {which: rivals[which].peak_bytes() / 1e6 for which in WHICH},
        "pairs": len(runs),
        "transactions_per_run": operations,
        "cpus": os.cpu_count(),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=["mariadb", "mysql", "postgres"], default="mariadb")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 4, 64, 2048])
    parser.add_argument("--pairs", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--target", type=Path, default=HERE.parents[1] / "target" / "rivals")
    parser.add_argument("--profile", default="release", help="cargo's profile; figures are of release builds only")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    program = built(arguments.target, arguments.profile)
    found = []
    with server(arguments.engine, max(arguments.connections)) as (options, all_work):
        for work in all_work:
            for connections in arguments.connections:
                with ExitStack() as stack:
                    rivals = {
                        which: stack.enter_context(Rival(program, which, options, connections, work)) for which in WHICH
                    }
                    found.append(compare(rivals, work, connections, arguments.pairs, arguments.seconds))
                print(json.dumps(found[-1], indent=2), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
