"""The cost of a page for each cipher of the embedded engine, with and without the CPU's AES instructions.

    .venv/bin/python benches/aes.py [--proofs 15] [--cipher aes-128 --cipher aes-256 …] [--json FILE]

Each figure comes from the proof that tdelta itself makes of a level (`tdelta.engines.embedded.pricing`): a worker of
its own makes a plain and an encrypted file of 512 pages of 4096 bytes and scans them by turns; what counts is the least
CPU time. Ciphers and levels come in a drawn order, one proof of each at a time. Prints the median of the proofs with
the least and the most; asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
from pathlib import Path

from tdelta.engines.embedded.pricing import ask_proof
from tdelta.engines.sqlite.engine import SqliteEngine
from tdelta.measure.aes import CryptoKind, cannot_hide, hidden_environment
from tdelta.processes import TwinFolder, Worker

SEED = 20_26
LEVELS = {"on": {}, "off": hidden_environment(CryptoKind.OWN)}


def measured(ciphers: list[str], proofs: int) -> dict[tuple[str, str], list[float]]:
    """µs per page by cipher and level, one figure a proof."""
    order, engine = random.Random(SEED), SqliteEngine()
    pairs = [(cipher, level) for cipher in ciphers for level in LEVELS]
    found: dict[tuple[str, str], list[float]] = {pair: [] for pair in pairs}
    with tempfile.TemporaryDirectory() as base, TwinFolder(Path(base), "bench") as folder:
        for done in range(proofs):
            for cipher, level in order.sample(pairs, len(pairs)):
                with Worker(LEVELS[level], engine.program) as worker:
                    proof = ask_proof(worker, engine, folder, cipher, None)
                found[cipher, level].append(proof.cipher_us_per_page)
            print(f"{done + 1} of {proofs}", file=sys.stderr)
    return found


def spread(values: list[float]) -> str:
    """Median (least … most)."""
    return f"{statistics.median(values):8.2f} ({min(values):.2f} … {max(values):.2f})"


def main() -> None:
    """Measure and print."""
    ciphers = [cipher for cipher in SqliteEngine().ciphers if cipher != "none"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--proofs", type=int, default=15)
    parser.add_argument("--cipher", action="append", choices=ciphers, dest="ciphers")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if reason := cannot_hide(CryptoKind.OWN):
        sys.exit(f"the level off cannot be had here: {reason}")
    found = measured(options.ciphers or ciphers, options.proofs)
    print(f"µs of CPU that a cipher adds to a page of 4096 bytes; median of {options.proofs} (least … most)")
    for cipher in options.ciphers or ciphers:
        times = statistics.median(found[cipher, "off"]) / statistics.median(found[cipher, "on"])
        print(f"{cipher:10} on {spread(found[cipher, 'on'])}   off {spread(found[cipher, 'off'])}   {times:.1f} times")
    if options.json:
        options.json.write_text(json.dumps({f"{cipher} {level}": us for (cipher, level), us in found.items()}))


if __name__ == "__main__":
    main()
