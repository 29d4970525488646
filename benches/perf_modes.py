"""The effect of sampling on a server whose threads hand work to each other: perf on whole CPUs, and on threads.

A private MariaDB scans a table that is far larger than its buffer pool: one thread reads rows, others fetch pages
ahead, and they are switched some ten thousand times a scan. Scans come in threes, in a drawn order: one that nobody
samples, one sampled on whole CPUs (``perf record -a``), one with perf following threads (``-p``). Printed of both ways:
elapsed time, the server's CPU time and its switches over those of the scan that nobody sampled, with 95 % intervals of
the mean log ratio; and the CPU time of a scan that perf sampled. Asserts nothing. Needs a MariaDB server, perf, and the
right to sample whole CPUs.

    .venv/bin/python benches/perf_modes.py [--scans 60] [--rows 400000]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path

from tdelta import _native
from tdelta.engines.server.installed import find_servers
from tdelta.profiling.perf import Perf, Recording, find_perf

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "live"))
from support.mysql_client import Program, Server, running

SEED = 20_26
SCAN = "SELECT COUNT(*), SUM(k), MAX(c) FROM t;\n"
WAYS = ("nobody", "whole CPUs", "threads")
FIGURES = ("elapsed", "CPU time", "switches")


@dataclasses.dataclass(frozen=True)
class Scan:
    """One scan: seconds, CPU seconds and switches of the server, and what perf told."""

    figures: tuple[float, float, float]
    recording: Recording | None


class Scans:
    """Scans of one server."""

    def __init__(self, server: Server, rows: int, perf: Perf, folder: Path) -> None:
        self._pid, self._perf, self._folder = server.pid, perf, folder
        with server.twin() as twin:
            twin.run("CREATE TABLE t (id INT PRIMARY KEY, k INT, c CHAR(200)) ENGINE=InnoDB")
            twin.run(f"INSERT INTO t SELECT seq, seq % 997, REPEAT(MD5(seq), 6) FROM seq_1_to_{rows}")
        self._twin = _native.ServerTwin(server.options(), 1)
        self._twin.prepare(json.dumps([{"name": "scan", "weight": 1, "text": SCAN}]), "{}")
        self._stream = 0

    def scan(self, way: str) -> Scan:
        """Scan once, sampled in one way."""
        perf = dataclasses.replace(self._perf, looks_at_cpus=way == "whole CPUs")
        sampling = nullcontext() if way == "nobody" else perf.sampling(lambda: (self._pid,), self._folder / "perf.data")
        with sampling as attached:
            if attached is not None:
                attached.begin()
            before = self._counted()
            began = time.perf_counter()
            self._operation()
            elapsed = time.perf_counter() - began
            after = self._counted()
            samples = None if attached is None else attached.end()
        recording = None if samples is None else perf.read(samples)
        return Scan((elapsed, after[0] - before[0], after[1] - before[1]), recording)

    def _operation(self) -> None:
        self._stream += 1
        orders = {"seed": SEED, "stream": self._stream, "operations": 1, "first_op": 1, "deadline_ns": 600 * 10**9}
        outcome = self._twin.trial(json.dumps(orders))["outcome"]
        if outcome["errors"]:
            sys.exit(f"the scan failed: {outcome['first_error']}")

    def _counted(self) -> tuple[float, int]:
        """CPU seconds of the server, and switches of the threads that it has."""
        switches = 0
        for task in Path(f"/proc/{self._pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):
                status = (task / "status").read_text().splitlines()
                switches += sum(int(line.split()[1]) for line in status if "ctxt_switches" in line)
        return process_seconds(self._pid), switches


def process_seconds(pid: int) -> float:
    """CPU time of a process and all its threads, those that ended included (clock_getcpuclockid(3))."""
    return time.clock_gettime(~pid << 3 | 2)


def ratio(logs: list[float]) -> str:
    """A mean ratio with its 95 % interval."""
    if len(logs) < 2:
        return f"{len(logs)} scans that can be compared are too few"
    middle, half = statistics.mean(logs), 1.96 * statistics.stdev(logs) / math.sqrt(len(logs))
    return f"{math.exp(middle):.3f} ({math.exp(middle - half):.3f} … {math.exp(middle + half):.3f})"


def mean_ms(scans: list[Scan], of: Callable[[Recording], float]) -> str:
    """The samples of a scan, with the standard error of their mean."""
    values = [of(one.recording) / 1e6 for one in scans if one.recording is not None]
    if len(values) < 2:
        return f"{len(values)} recordings are too few, in"
    return f"{statistics.mean(values):6.1f} ± {statistics.stdev(values) / math.sqrt(len(values)):.1f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scans", type=int, default=60)
    parser.add_argument("--rows", type=int, default=400_000)
    arguments = parser.parse_args()
    order = random.Random(SEED)
    program = Program(find_servers("mariadb")[0])
    found: defaultdict[str, list[Scan]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program.install(folder / "template")
        with running(program, folder / "template", folder, "--innodb-buffer-pool-size=16M") as server:
            scans = Scans(server, arguments.rows, find_perf(), folder)
            for number in range(arguments.scans + 1):
                for way in order.sample(WAYS, len(WAYS)):
                    one = scans.scan(way)
                    if number:  # the first ones warm up
                        found[way].append(one)
    plain = found["nobody"]
    middle = [statistics.median(one.figures[at] for one in plain) for at in range(len(FIGURES))]
    print(f"a scan: {1e3 * middle[0]:.0f} ms, {1e3 * middle[1]:.0f} ms of CPU time, {middle[2]:.0f} switches")
    for way in WAYS[1:]:
        print(f"perf on {way}, {len(found[way])} scans, over those that nobody samples:")
        for at, figure in enumerate(FIGURES):
            pairs = [(one.figures[at], other.figures[at]) for one, other in zip(found[way], plain, strict=True)]
            # A thread that ended meanwhile takes its switches with it.
            print(f"  {figure:<10} {ratio([math.log(its / other) for its, other in pairs if min(its, other) > 0])}")
        print(f"  sampled    {mean_ms(found[way], lambda r: sum(f.cpu_ns for f in r.functions))} ms")


if __name__ == "__main__":
    main()
