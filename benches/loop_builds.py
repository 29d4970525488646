"""Whether the load loop is as fast as an earlier version's: two builds in alternation, each in its own process.

From the root of the repository; the earlier version is a checkout with its native module built::

    git worktree add ../earlier 02f0ab0
    .venv/bin/python benches/loop_builds.py --against ../earlier [--operations 5000] [--pairs 400] [--json FILE]

Each process has the twin of its build's `benches/loop.py` (point selects on 100,000 rows in memory) and a client that
does nothing, and is asked for one trial at a time, the two in a drawn order, on the same CPU. The ratios, this version
over the earlier one, of the time per operation come with the 95 % interval of the mean log ratio. Prints; asserts
nothing.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

SEED = 20_26
WARM_UP = 3
KINDS = ("select", "nothing")
ROWS = {"sbtest1": 100_000}


def outcome_ns(report: Any) -> int:
    """The elapsed time of a trial; earlier versions answered with JSON, and histograms beside it."""
    if isinstance(report, tuple):
        report = json.loads(report[0])
    outcome = report["outcome"]
    if outcome["errors"]:
        sys.exit(f"expected no errors, found {outcome['first_error']}")
    return int(outcome["elapsed_ns"])


def serve(checkout: Path) -> None:
    """Run a trial of the version in `checkout` for each line: its kind, its stream, its operations."""
    sys.path[:0] = [str(checkout / "benches")]
    loop: Any = importlib.import_module("loop")
    loop.load_library()
    with tempfile.TemporaryDirectory() as folder:
        twin, _ = loop.prepared_twin(folder)
        mix = loop.mix(ROWS)
        for line in sys.stdin:
            kind, stream, operations = line.split()
            orders = loop.trial(int(stream), int(operations))
            report = twin.trial(orders) if kind == "select" else loop._native.loop_cost(*mix, orders)
            print(outcome_ns(report), flush=True)
        twin.close()


class Build:
    """A version's process."""

    def __init__(self, checkout: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve", str(checkout)],
            env={**os.environ, "PYTHONPATH": str(checkout / "python")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Build:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def trial_ns(self, kind: str, stream: int, operations: int) -> float:
        """Ns per operation of one trial."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{kind} {stream} {operations}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline()) / operations


def compare(builds: dict[str, Build], kind: str, operations: int, pairs: int) -> dict[str, Any]:
    """Both in alternation; the first pairs warm up and are dropped."""
    order = random.Random(SEED)
    found = [
        {which: builds[which].trial_ns(kind, pair, operations) for which in order.sample(list(builds), 2)}
        for pair in range(pairs + WARM_UP)
    ][WARM_UP:]
    logs = [math.log(pair["now"] / pair["earlier"]) for pair in found]
    middle, half = statistics.mean(logs), 1.96 * statistics.stdev(logs) / math.sqrt(len(logs))
    return {
        "client": kind,
        "time_ratio_now_over_earlier": {
            "mean": math.exp(middle),
            "ci95": [math.exp(middle - half), math.exp(middle + half)],
        },
        "ns_per_operation": {which: statistics.median(pair[which] for pair in found) for which in builds},
        "pairs": pairs,
        "operations": operations,
    }


def main() -> None:
    """Measure and print, or be one of the two processes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="the earlier version")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--operations", type=int, default=5_000)
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve)
        return
    if arguments.against is None:
        parser.error("expected --against CHECKOUT, with its native module built")
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with ExitStack() as stack:
        checkouts = {"now": Path(__file__).resolve().parents[1], "earlier": arguments.against.resolve()}
        builds = {which: stack.enter_context(Build(checkout)) for which, checkout in checkouts.items()}
        found = [compare(builds, kind, arguments.operations, arguments.pairs) for kind in KINDS]
    print(json.dumps(found, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
