"""How often do the what-if bands hold the cell they were fitted without?

Runs tdelta over cache shares and ciphers on SQLite's libraries (and MariaDB with ``--mariadb``), and counts the cells
whose measured posterior median lies within the 95 % band predicted from the other cells: for CPU an operation and for
response time, each cell once each. Prints every cell and the share with its exact interval.

    python benches/cache_prediction.py [--seconds 120] [--size 10MB] [--workload read-only] python
    benches/cache_prediction.py --mariadb --seconds 420 --size 100MB    # a server's smallest pool would hold all of
    less
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from tdelta.inference.quantiles import clopper_pearson

SHARES = "cache=5%,10%,20%,40%,80%"
RUNS = (
    ("--library", "sqlite3mc", "--vary", "cipher=aes-256,sqlcipher,chacha20"),
    ("--library", "sqlcipher", "--vary", "cipher=aes-256,aes-256-no-hmac"),
)
BRIEF = ("--trial-seconds", "1", "--discard", "0.3s", "--blocks", "6")  # ten servers' trials of two seconds take long
MARIADB = (("--engine", "mariadb", "--vary", "cipher=aes-256", "--scope", "data", *BRIEF),)


def measured(options: tuple[str, ...], asked: argparse.Namespace) -> list[dict[str, object]]:
    """The what-if of one run."""
    command = [sys.executable, "-m", "tdelta", "run", "--json", "--workload", asked.workload, "--size", asked.size]
    command += ["--vary", SHARES, "--max-time", f"{asked.seconds}s", "--no-aa-twin", *options, *asked.extra]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        sys.exit(done.stderr)
    found: list[dict[str, object]] = json.loads(done.stdout)["cache_prediction"]
    return found


def main() -> None:
    """Run, print every cell, and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--size", default="10MB")
    parser.add_argument("--workload", default="read-only")
    parser.add_argument("--mariadb", action="store_true")
    parser.add_argument("extra", nargs="*", help="more options of tdelta run, after --")
    asked = parser.parse_args()
    held: dict[str, list[bool]] = {"cpu": [], "response": []}
    for options in MARIADB if asked.mariadb else RUNS:
        for one in measured(options, asked):
            for cell in one["cells"]:
                for name, tally in held.items():
                    tally.append(cell[f"{name}_held"])
                    real, band = cell[name], cell[f"predicted_{name}"]
                    print(
                        f"{options[1]} {one['condition']['cipher']:>16} {100 * cell['cache']:5.1f} % {name:>8}"
                        f"  measured {real['median']:.3f} ({real['band95'][0]:.3f} … {real['band95'][1]:.3f})"
                        f"  predicted {band['median']:.3f} ({band['band95'][0]:.3f} … {band['band95'][1]:.3f})"
                        f"  {'held' if tally[-1] else 'MISSED'}",
                        flush=True,
                    )
    for name, tally in held.items():
        low, high = clopper_pearson(sum(tally), len(tally))
        print(f"{name}: {sum(tally)} of {len(tally)} cells held ({low:.0%} … {high:.0%})")


if __name__ == "__main__":
    main()
