"""Is CPU time that is injected into backups found inside its interval, and is nothing found between identical twins?

A program stands in for ``zstd``: it copies what it reads and, of a file that does not begin as a plain SQLite database
does, burns a known CPU time before. So backups of encrypted twins cost that much more than those of plain ones: the
truth for the ratio of CPU times is that of a run in which nothing is injected, and the injected time over the plain
twins' mean. Printed are both, and the ratios of the A/A twins.

    python benches/backup_injected.py [--inject 0.05] [--blocks 6] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_STAND_IN = """#!{python} -IS
import shutil, sys, time
into, out = sys.stdin.buffer, sys.stdout.buffer
if "-d" not in sys.argv:
    head = into.read(16)
    began = time.process_time()
    while head != b"SQLite format 3\\0" and time.process_time() - began < {inject}:
        pass
    out.write(head)
shutil.copyfileobj(into, out)
"""


def measured(inject: float, blocks: int, rounds: int, folder: Path) -> dict[str, Any]:
    """The document of one run whose backups of encrypted twins take so many CPU seconds more."""
    program = folder / "zstd"
    program.write_text(_STAND_IN.format(python=sys.executable, inject=inject), encoding="utf-8")
    program.chmod(0o700)
    options = ("--vary", "work=backup:compress=zstd", "--metric", "cpu_per_operation", "--size", "5MB")
    many = ("--blocks", str(blocks), "--rounds", f"{rounds}..{rounds}", "--no-bb", "--dir", str(folder))
    done = subprocess.run(
        [sys.executable, "-m", "tdelta", "run", "--json", *options, *many],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
    )
    if not done.stdout:
        sys.exit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def cpu_ratio(found: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """The ratio of CPU times of one run, and the plain twins' mean, s."""
    (verdict,) = (v for v in found["verdicts"] if v["metric"] == "cpu_per_operation" and v["primary"])
    return verdict["ratio_of_means"], verdict["baseline_value"] / 1e6


def main() -> None:
    """Two runs, and what was found beside the truth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inject", type=float, default=0.05, help="CPU seconds")
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    runs = []
    for inject in (0.0, asked.inject):
        with tempfile.TemporaryDirectory() as folder:
            runs.append(measured(inject, asked.blocks, asked.rounds, Path(folder)))
    (own, _), (ratio, plain_seconds) = (cpu_ratio(found) for found in runs)
    truth = own["median"] + asked.inject / plain_seconds
    low, high = ratio["hdi95"]
    print(f"encrypted over plain: {own['median']:.3f}; plain {plain_seconds:.4f} s, injected {asked.inject:.4f} s")
    print(f"truth {truth:.3f}, found {ratio['median']:.3f} ({low:.3f} to {high:.3f}), held {low <= truth <= high}")
    floors = [floor for found in runs for floor in found["noise_floor"] if floor["metric"] == "cpu_per_operation"]
    for floor in floors:
        low, high = floor["ratio"]["hdi95"]
        print(f"a/a {floor['ratio']['median']:.3f} ({low:.3f} to {high:.3f}), holds 1 {low <= 1 <= high}")


if __name__ == "__main__":
    main()
