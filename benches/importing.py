"""Rows a second of CPU time and peak memory of importing ten million rows: CSV and pgbench logs, plain and packed.

From the root of the repository (some 900 MB of temporary files)::

    OMP_NUM_THREADS=1 python benches/importing.py --rows 10000000

Each file is read by a process of its own, whose peak memory (resident set) stands beside that of one that reads a
thousand rows: constant memory shows as the same figure twice.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

_READ = """
import json, resource, sys, time
from pathlib import Path
from tdelta.importers.conditions import parse_arguments
from tdelta.importers.detect import read_files
start = time.process_time()
found = [it for it in read_files(parse_arguments(sys.argv[1:2])) if it.group.transaction in ("all", "a", "b")]
count = sum(it.count for it in found)
seconds = time.process_time() - start
print(json.dumps([count, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""
_FEW = 1000


def csv_rows(rows: int) -> Iterator[str]:
    """A CSV of samples: two conditions, two transactions."""
    yield "condition,transaction,response_ms\n"
    draw = random.Random(1)
    parts = [
        f"{draw.choice(('none', 'aes-256'))},{draw.choice('ab')},{draw.gammavariate(2, 5):.3f}\n" for _ in range(997)
    ]
    for number in range(rows):
        yield parts[number % 997]


def log_rows(rows: int) -> Iterator[str]:
    """A log as ``pgbench -l`` writes it, of one script."""
    draw = random.Random(2)
    times = [int(draw.gammavariate(2, 400)) + 1 for _ in range(997)]
    for number in range(rows):
        second, microsecond = 1650000000 + number // 4000, number * 250 % 1000000
        yield f"{number % 8} {number // 8} {times[number % 997]} 0 {second} {microsecond}\n"


def measured(path: Path) -> tuple[int, float, float]:
    """Rows, seconds of CPU time and peak MiB of reading a file."""
    out = subprocess.run([sys.executable, "-c", _READ, str(path)], capture_output=True, text=True, check=True).stdout
    count, seconds, mib = json.loads(out)
    return int(count), float(seconds), float(mib)


def main() -> None:
    """Write, read and weigh each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    rows = parser.parse_args().rows
    print(f"{'file':<26} {'rows':>10} {'MB':>7} {'rows/CPU s':>10} {'peak MiB':>9} {'with 1000 rows':>15}")
    kinds: list[tuple[str, Callable[[int], Iterator[str]], bool]] = [
        ("CSV", csv_rows, False),
        ("CSV, gzip", csv_rows, True),
        ("pgbench log", log_rows, False),
        ("pgbench log, gzip", log_rows, True),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, write, is_packed in kinds:
            mib: list[float] = []
            for wanted in (_FEW, rows):
                path = Path(folder) / "plain.txt"
                with gzip.open(path, "wt", 1) if is_packed else path.open("w") as file:
                    file.writelines(write(wanted))
                count, seconds, peak = measured(path)
                assert count == wanted, (count, wanted)
                mib.append(peak)
            size = path.stat().st_size / 1e6
            print(
                f"{name:<26} {rows:>10} {size:>7.0f} {rows / seconds:>10.0f} {mib[1]:>9.0f} {mib[0]:>15.0f}", flush=True
            )


if __name__ == "__main__":
    main()
