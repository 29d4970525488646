"""`tdelta cipher-cost` against `openssl speed`, on the same machine, in turns.

    .venv/bin/python benches/cipher_cost.py [--repeats 9] [--page-bytes 16384] [--json FILE]

Both call the same AES-256-CBC through EVP, with the CPU's AES instructions and without. `openssl speed` works on one
buffer in place, over and over, and sets no IV; a database sets one for every page and finds its pages elsewhere. So
tdelta is run on three rings: the shortest there is (two pages read, two written), its default, and 64 MiB, which no
second-level cache holds. Prints; asserts nothing. `openssl` must belong to the libcrypto that tdelta loads: both
versions are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
from pathlib import Path

from tdelta.measure.cipher_cost import LEVELS, RING_BYTES, level_environment, measure_cipher_cost

SEED = 20_26
SPEED = re.compile(r"^\+F:.*:([\d.]+)$", re.MULTILINE)
DIRECTIONS = ("decrypt", "encrypt")


def openssl_speed(direction: str, level: str, page_bytes: int) -> float:
    """GB/s by `openssl speed`, which counts its user CPU time over one second."""
    words = ["openssl", "speed", "-mr", "-seconds", "1", "-bytes", str(page_bytes), "-evp", "aes-256-cbc"]
    words += ["-decrypt"] if direction == "decrypt" else []
    done = subprocess.run(words, env=level_environment(level), capture_output=True, text=True, check=True)
    return float(SPEED.findall(done.stdout)[-1]) / 1e9


def tdelta_floor(page_bytes: int, ring_bytes: int) -> dict[tuple[str, str], float]:
    """GB/s by tdelta, by direction and level."""
    found = measure_cipher_cost([page_bytes], ["aes-256"], ["cbc"], seconds=3.0, ring_bytes=ring_bytes)
    return {(cell.direction, cell.aes_instructions): cell.gigabytes_per_second for cell in found.cells}


def repeat(page_bytes: int, rings: dict[str, int], order: random.Random) -> dict[str, dict[tuple[str, str], float]]:
    """One measurement of everything, in a drawn order."""
    cells = [(direction, level) for direction in DIRECTIONS for level in LEVELS]
    turns: list[tuple[str, tuple[str, str] | None]] = [("openssl", cell) for cell in cells]
    turns += [(name, None) for name in rings]
    found: dict[str, dict[tuple[str, str], float]] = {"openssl": {}}
    for name, cell in order.sample(turns, len(turns)):
        if cell is None:
            found[name] = tdelta_floor(page_bytes, rings[name])
        else:
            found[name][cell] = openssl_speed(*cell, page_bytes)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--page-bytes", type=int, default=16384)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rings = {"shortest ring": 4 * arguments.page_bytes, "default ring": RING_BYTES, "64 MiB ring": 64 << 20}
    order = random.Random(SEED)
    repeats = [repeat(arguments.page_bytes, rings, order) for _ in range(arguments.repeats)]
    version = subprocess.run(["openssl", "version"], capture_output=True, text=True, check=True).stdout.strip()
    found: dict[str, object] = {
        "openssl_program": version,
        "libcrypto": measure_cipher_cost([4096], ["aes-128"], ["ctr"], ["on"], seconds=0.1).library_version,
        "page_bytes": arguments.page_bytes,
        "repeats": arguments.repeats,
        "rings_bytes": rings,
        "cpus": os.cpu_count(),
    }
    for direction in DIRECTIONS:
        for level in LEVELS:
            cell = (direction, level)
            row: dict[str, object] = {
                name: round(statistics.median(one[name][cell] for one in repeats), 4) for name in repeats[0]
            }
            for name in rings:
                ratios = sorted(one[name][cell] / one["openssl"][cell] for one in repeats)
                middle = round(statistics.median(ratios), 3)
                row[f"{name} / openssl"] = {"median": middle, "range": [round(ratios[0], 3), round(ratios[-1], 3)]}
            found[f"{direction}, instructions {level}, GB/s"] = row
    print(json.dumps(found, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
