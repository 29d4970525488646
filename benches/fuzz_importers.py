"""Mutated files against every importer: a result or a clear fault, within 256 MiB, and nothing hangs.

From the root of the repository::

    python benches/fuzz_importers.py --mutations 100000
    python benches/fuzz_importers.py --mutations 5000 --importer sysbench --seed 7

The mutations are those of ``tests/fuzz``. Without ``--seed`` one is drawn; it is printed, and repeats the run. Files
that fail are left in ``--saved``. Ends with 1 if there are any.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.fuzzing import fuzz
from tdelta.importers.detect import IMPORTERS


def main() -> int:
    """Fuzz what is asked for, one importer after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutations", type=int, default=100_000, help="files for each importer")
    parser.add_argument("--importer", action="append", choices=[importer.name for importer in IMPORTERS])
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--saved", type=Path, default=Path("fuzz-failures"))
    asked = parser.parse_args()
    seed = random.SystemRandom().randrange(10**9) if asked.seed is None else asked.seed
    print(f"seed {seed}")
    print(f"{'importer':<24} {'results':>9} {'faults':>9} {'failures':>9} {'seconds':>9}")
    failed = False
    for name in asked.importer or [importer.name for importer in IMPORTERS]:
        start = time.perf_counter()
        outcome = fuzz(name, asked.mutations, seed, asked.saved)
        seconds = time.perf_counter() - start
        print(
            f"{name:<24} {outcome.results:>9} {outcome.faults:>9} {len(outcome.failures):>9} {seconds:>9.1f}",
            flush=True,
        )
        for failure in outcome.failures:
            print(failure)
        failed = failed or bool(outcome.failures)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
