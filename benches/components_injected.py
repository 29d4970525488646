"""Does a cost of a known kind land in its own line of the cost breakdown?

Each pair of conditions of one run differs in one kind of work only, so what they differ by in CPU an operation is the
truth for that kind. Printed for each: the measured difference with its 95 % interval, the line with its own, whether
the line's interval holds the difference's median, and whether the two intervals meet.

- SQLCipher with HMAC-SHA512 and HMAC-SHA1 against the same without: the line ``integrity``.
- MariaDB with the redo log encrypted against tables alone (``--kind log``): what its timed calls take more.

    python benches/components_injected.py [--seconds 60] [--kind mac|log]
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from typing import Any


def measured(*options: str, seconds: int) -> dict[str, Any]:
    """The document of one run."""
    command = [sys.executable, "-m", "tdelta", "run", "--json", "--max-time", f"{seconds}s", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        sys.exit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def line_of(breakdown: dict[str, Any], kind: str) -> dict[str, Any] | None:
    """One line's amount; None where it is absent."""
    return next((line["amount"] for line in breakdown["components"] if line["kind"] == kind), None)


def told(what: str, with_it: dict[str, Any], without: dict[str, Any], kind: str) -> None:
    """Print one injected kind: the difference of two totals beside the line."""
    line = line_of(with_it, kind)
    truth = with_it["cpu"]["us"] - without["cpu"]["us"]
    halves = [(of["cpu"]["hdi95"][1] - of["cpu"]["hdi95"][0]) / 2 for of in (with_it, without)]
    half = (halves[0] ** 2 + halves[1] ** 2) ** 0.5
    if line is None:
        print(f"{what}: no line {kind}")
        return
    low, high = line["hdi95"]
    holds = "holds it" if low <= truth <= high else "does not hold its median"
    meets = "intervals meet" if low <= truth + half and truth - half <= high else "INTERVALS ARE APART"
    print(
        f"{what}: differs by {truth:.4g} µs (± {half:.2g}), line {kind} {line['us']:.4g} ({low:.4g} … {high:.4g}):"
        f" {holds}; {meets}",
        flush=True,
    )


def calls_more(with_it: dict[str, Any], without: dict[str, Any]) -> dict[str, Any]:
    """The additional time of one condition's calls over another's, as a line."""
    own, other = (line_of(of, "cipher") for of in (with_it, without))
    if own is None or other is None:
        return {"kind": "calls for the log", "amount": None}
    us = own["us"] - other["us"]
    low = us - math.hypot(own["us"] - own["hdi95"][0], other["hdi95"][1] - other["us"])
    high = us + math.hypot(own["hdi95"][1] - own["us"], other["us"] - other["hdi95"][0])
    return {"kind": "calls for the log", "amount": {"us": us, "hdi95": (low, high)}}


def by_level(document: dict[str, Any], factor: str) -> dict[str, dict[str, Any]]:
    """Cost breakdowns by a level of their condition."""
    return {str(breakdown["condition"][factor]): breakdown for breakdown in document["cost_breakdown"]}


def main() -> None:
    """Run each kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--kind", choices=("mac", "log"), default="mac")
    parser.add_argument("extra", nargs="*", help="more options of tdelta run, after --")
    asked = parser.parse_args()
    if asked.kind == "log":
        scopes = ("--engine", "mariadb", "--workload", "dml-trace", "--vary", "scope=data,+log", "--no-aa")
        found = by_level(measured(*scopes, *asked.extra, seconds=asked.seconds), "scope")
        for scope in ("+log", "data"):
            found[scope]["components"].append(calls_more(found["+log"], found["data"]))
        told("redo log encrypted", found["+log"], found["data"], "calls for the log")
        return
    ciphers = "cipher=aes-256,aes-256-no-hmac,aes-256-hmac-sha1"
    for work in (("--workload", "scan", "--size", "20MB"), ("--size", "20MB")):
        options = ("--library", "sqlcipher", "--vary", ciphers, *work, *asked.extra)
        found = by_level(measured(*options, seconds=asked.seconds), "cipher")
        for cipher in ("aes-256", "aes-256-hmac-sha1"):
            told(f"{cipher}, {work[1]}", found[cipher], found["aes-256-no-hmac"], "integrity")


if __name__ == "__main__":
    main()
