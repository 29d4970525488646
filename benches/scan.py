"""How fast files are searched for markers: beside plain reading of the same file, and beside Python's own search.

    .venv/bin/python benches/scan.py [--megabytes 256] [--rounds 15] [--dir DIR] [--json FILE]

One file of random bytes with planted markers, in the page cache, and the same bytes in memory. What is compared runs in
turns, in a drawn order, on one core (but for the last): the search of the file for 32 markers; reading it into a buffer
of the same size and doing nothing with it, which is the limit that memory and the kernel set; the search in memory; 32
calls of `bytes.count`, which is `bytes.find` to the end; and the statistics of bytes by block. Prints GB/s and, for
pairs of one round, the ratio with the 95 % interval of its mean log. Asserts only that searches find what was planted.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tdelta import _native
from tdelta.evidence import Markers

SEED = 20_26
BUFFER_BYTES = 256 << 10
PLANTED = 200


def planted_file(path: Path, size: int, needles: tuple[bytes, ...]) -> bytes:
    """Random bytes with markers at even distances, written and returned."""
    content = bytearray(random.Random(SEED).randbytes(size))
    for number in range(PLANTED):
        at = (number + 1) * (size // (PLANTED + 2))
        needle = needles[number % len(needles)]
        content[at : at + len(needle)] = needle
    path.write_bytes(content)
    return bytes(content)


def read_through(path: Path) -> int:
    """Read the file into one buffer and do nothing with it. Returns the bytes read."""
    buffer = bytearray(BUFFER_BYTES)
    total = 0
    descriptor = os.open(path, os.O_RDONLY)
    try:
        while count := os.preadv(descriptor, [buffer], total):
            total += count
    finally:
        os.close(descriptor)
    return total


def ways(path: Path, content: bytes, needles: tuple[bytes, ...]) -> dict[str, Callable[[], int]]:
    """Measured functions; each returns how many markers it found, or 0 where it searches for none."""

    def search(threads: int) -> int:
        return sum(_native.search_files([path], needles, threads)[0]["matches"])

    def read() -> int:
        return 0 if read_through(path) == len(content) else -1

    def count_bytes() -> int:
        return 0 if _native.byte_statistics([path], 4096, 1)[0]["fault"] is None else -1

    return {
        "search of the file": lambda: search(1),
        "plain read of the file": read,
        "search in memory": lambda: sum(_native.search_bytes(content, needles)),
        "bytes.count, one marker after another": lambda: sum(content.count(needle) for needle in needles),
        "statistics of the file's bytes": count_bytes,
        "search of the file, two threads": lambda: search(2),
    }


def measure(all_ways: dict[str, Callable[[], int]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each way in each round, in a drawn order; the first round warms up and is dropped."""
    order = random.Random(SEED)
    seconds: dict[str, list[float]] = {name: [] for name in all_ways}
    for _ in range(rounds + 1):
        for name in order.sample(list(all_ways), len(all_ways)):
            began = time.perf_counter()
            found = all_ways[name]()
            seconds[name].append(time.perf_counter() - began)
            assert found in (0, PLANTED), (name, found)
    return {name: taken[1:] for name, taken in seconds.items()}


def ratio(over: list[float], under: list[float]) -> dict[str, object]:
    """The ratio of speeds within a round, with the 95 % interval of its mean log."""
    logs = [math.log(b / a) for a, b in zip(over, under, strict=True)]
    middle, half = statistics.mean(logs), 1.96 * statistics.stdev(logs) / math.sqrt(len(logs))
    return {"mean": math.exp(middle), "ci95": [math.exp(middle - half), math.exp(middle + half)]}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--dir", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    size = arguments.megabytes * 10**6
    needles = Markers.drawn(SEED).needles
    with tempfile.TemporaryDirectory(dir=arguments.dir) as folder:
        path = Path(folder) / "markers"
        content = planted_file(path, size, needles)
        seconds = measure(ways(path, content, needles), arguments.rounds)
    speeds = {name: sorted(size / one / 1e9 for one in taken) for name, taken in seconds.items()}
    reading, searching = seconds["plain read of the file"], seconds["search of the file"]
    found = {
        "gigabytes_per_second": {
            name: {"median": statistics.median(all_), "least": all_[0], "most": all_[-1]}
            for name, all_ in speeds.items()
        },
        "search_over_plain_read": ratio(searching, reading),
        "search_over_bytes_count": ratio(searching, seconds["bytes.count, one marker after another"]),
        "markers": len(needles),
        "megabytes": arguments.megabytes,
        "rounds": arguments.rounds,
        "cpus": os.cpu_count(),
    }
    print(json.dumps(found, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
