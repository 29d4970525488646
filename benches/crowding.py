"""Does the loop of `cpu_crowding` tell how much real work is slowed by work on the other CPUs?

In turns: the loop's own ratio, then one kind of work's CPU time while another process does the same on each other CPU,
over that alone, then the loop again. What counts is the share of CPU time that crowding makes up, 1 - 1 / ratio.
Printed for each kind: its share where the loop's is above 0.2 before and behind, over the loop's. The last line has the
mean and standard deviation of that from kind to kind, which is what a ledger's line of crowding has to allow for.

A machine whose CPUs have a core each has nothing to tell, which is said. Virtual ones may share one for minutes, and
then not.

    python benches/crowding.py [--seconds 240]
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from multiprocessing.synchronize import Event

import apsw

from tdelta.measure import cpu_crowding

ROWS, WORDS = 60_000, "SELECT sum(length(body)), count(DISTINCT grp) FROM t"
CROWDED, FEWEST = 0.2, 5
BLOCK = os.urandom(1 << 20)
Work = Callable[[], object]


def scan(cipher: str, cache_kib: int) -> Work:
    """Scans of a table, out of a cache or past it."""
    folder = tempfile.mkdtemp()
    connection = apsw.Connection(f"{folder}/t.db")
    if cipher:
        connection.pragma("cipher", cipher)
        connection.pragma("hexkey", "00112233")
    connection.pragma("cache_size", -cache_kib)
    connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, grp INTEGER, body TEXT)")
    with connection:
        connection.executemany("INSERT INTO t VALUES(?, ?, ?)", ((n, n % 97, f"{n:0200}") for n in range(ROWS)))
    shutil.rmtree(folder)  # the file itself lives as long as it is open
    return lambda: connection.execute(WORDS).fetchall()


def works() -> dict[str, Callable[[], Work]]:
    """What is done, made anew in each process."""
    return {
        "scan of rows, cached": lambda: scan("", 1 << 16),
        "scan, pages copied": lambda: scan("", 200),
        "scan, AES-256 decrypted": lambda: scan("aes256cbc", 200),
        "SHA-256": lambda: lambda: hashlib.sha256(BLOCK).digest(),
        "copies of memory": lambda: lambda: [bytes(bytearray(BLOCK)) for _ in range(20)],
    }


def companion(name: str, cpu: int, go: Event, there: Event, over: Event) -> None:
    """Does the same over and over while it is told to."""
    os.sched_setaffinity(0, {cpu})
    work = works()[name]()
    while not over.is_set():
        if go.is_set():
            there.set()
            work()
        else:
            there.clear()
            time.sleep(0.001)


def cpu_seconds(work: Work) -> float:
    """CPU time of one piece of work."""
    began = time.thread_time()
    work()
    return time.thread_time() - began


def loop_share() -> float:
    """The share of the loop's CPU time that others make up."""
    ratio = cpu_crowding()
    assert ratio is not None
    return 1 - 1 / ratio


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=240.0)
    until = time.monotonic() + parser.parse_args().seconds
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        parser.error("one CPU cannot be crowded")
    context = multiprocessing.get_context("spawn")
    over, go = context.Event(), {name: context.Event() for name in works()}
    theirs = {name: [context.Event() for _ in cpus[1:]] for name in works()}
    processes = [
        context.Process(target=companion, args=(name, cpu, go[name], there, over), daemon=True)
        for name in works()
        for cpu, there in zip(cpus[1:], theirs[name], strict=True)
    ]
    for process in processes:
        process.start()
    mine = {name: make() for name, make in works().items()}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in mine}
    loop: list[float] = []
    allowed = os.sched_getaffinity(0)
    try:
        loop.append(loop_share())
        while time.monotonic() < until:
            for name, work in mine.items():
                os.sched_setaffinity(0, {cpus[0]})
                alone = cpu_seconds(work)
                go[name].set()
                for there in theirs[name]:
                    there.wait(30)
                crowded = cpu_seconds(work)
                go[name].clear()
                while any(there.is_set() for there in theirs[name]) and all(one.is_alive() for one in processes):
                    time.sleep(0.001)
                alone = (alone + cpu_seconds(work)) / 2
                os.sched_setaffinity(0, allowed)
                loop.append(loop_share())
                if min(loop[-2:]) > CROWDED:
                    found[name].append((statistics.mean(loop[-2:]), 1 - alone / crowded))
    finally:
        over.set()
        for process in processes:
            process.join(10)
    print(f"loop: {statistics.mean(loop):.3f} of the CPU time, {len(loop)} times, {min(loop):.3f} to {max(loop):.3f}")
    shares = []
    for name, pairs in found.items():
        if len(pairs) < FEWEST:
            print(f"{name}: {len(pairs)} moments at which CPUs slowed one another are too few to tell")
            continue
        theirs_share, its = (statistics.mean(values) for values in zip(*pairs, strict=True))
        shares.append(its / theirs_share)
        print(f"{name}: {its:.3f} where the loop's is {theirs_share:.3f}: {shares[-1]:.2f} of it, {len(pairs)} moments")
    if len(shares) > 1:
        print(f"from kind to kind: {statistics.mean(shares):.2f} ± {statistics.stdev(shares):.2f} of the loop's")


if __name__ == "__main__":
    main()
