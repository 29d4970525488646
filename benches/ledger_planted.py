"""Does a cost of a known kind land in its own line of the ledger?

Each pair of conditions of one run differs in one kind of work only, so what they differ by in CPU an operation is the
truth for that kind. Printed for each: the measured difference with its 95 % interval, the line with its own, whether
the line's interval holds the difference's median, and whether the two intervals meet.

- SQLCipher with HMAC-SHA512 and HMAC-SHA1 against the same without: the line ``integrity``.
- An added read of a page: reserved bytes that only the encrypted twin keeps (``--reserve natural``) make it read more
  pages. The truth for the line ``io`` is what a plain twin takes longer that keeps these bytes, too (``--reserve
  equal``): plain twins of two runs each, before and behind one another, so that drift falls on both.
- MariaDB with the redo log encrypted against tables alone (``--kind log``): the line ``log``.

    python benches/ledger_planted.py [--seconds 60] [--kind mac|io|log]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any


def measured(*options: str, seconds: int) -> dict[str, Any]:
    """The document of one run."""
    command = [sys.executable, "-m", "tdelta", "run", "--json", "--max-time", f"{seconds}s", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def line_of(ledger: dict[str, Any], kind: str) -> dict[str, Any] | None:
    """One line's amount; None where it is absent."""
    return next((line["amount"] for line in ledger["lines"] if line["kind"] == kind), None)


def told(what: str, with_it: dict[str, Any], without: dict[str, Any], kind: str) -> None:
    """Print one planted kind: the difference of two totals beside the line."""
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


def by_level(document: dict[str, Any], factor: str) -> dict[str, dict[str, Any]]:
    """Ledgers by a level of their condition."""
    return {str(ledger["condition"][factor]): ledger for ledger in document["ledger"]}


def main() -> None:
    """Run each kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--kind", choices=("mac", "io", "log"), default="mac")
    asked = parser.parse_args()
    if asked.kind == "io":
        added_reads(asked.seconds)
        return
    if asked.kind == "log":
        scopes = ("--engine", "mariadb", "--workload", "dml-trace", "--vary", "scope=data,+log", "--no-aa-twin")
        found = by_level(measured(*scopes, seconds=asked.seconds), "scope")
        told("redo log encrypted", found["+log"], found["data"], "log")
        return
    ciphers = "cipher=aes-256,aes-256-no-hmac,aes-256-hmac-sha1"
    for work in (("--workload", "scan", "--size", "20MB"), ("--size", "20MB")):
        found = by_level(measured("--library", "sqlcipher", "--vary", ciphers, *work, seconds=asked.seconds), "cipher")
        for cipher in ("aes-256", "aes-256-hmac-sha1"):
            told(f"{cipher}, {work[1]}", found[cipher], found["aes-256-no-hmac"], "integrity")


def added_reads(seconds: int) -> None:
    """Print what plain twins take for more pages, beside the line that says so."""
    scan = ("--workload", "scan", "--size", "20MB", "--page-size", "1024", "--vary", "cipher=sqlcipher")
    runs = [(reserve, measured("--reserve", reserve, *scan, seconds=seconds)) for reserve in _ALTERNATING]
    plain = {
        reserve: [_plain_cpu_us(document) for of, document in runs if of == reserve] for reserve in ("natural", "equal")
    }
    means = {reserve: sum(of) / len(of) for reserve, of in plain.items()}
    apart = max(max(of) - min(of) for of in plain.values())
    print(
        f"added reads: plain twins {plain}, so they take {means['equal'] - means['natural']:.4g} µs;"
        f" runs differ by {apart:.2g}"
    )
    for reserve, document in runs:
        if reserve == "natural":
            (line,) = (line for line in document["ledger"][0]["lines"] if line["kind"] == "io")
            print("  line io:", [(item["what"], round(item["count"], 1)) for item in line["items"]], line["amount"])


_ALTERNATING = ("natural", "equal", "equal", "natural")


def _plain_cpu_us(document: dict[str, Any]) -> float:
    return next(
        float(verdict["baseline_value"]) for verdict in document["verdicts"] if verdict["metric"] == "cpu_per_operation"
    )


if __name__ == "__main__":
    main()
