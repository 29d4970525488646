"""Does a cost of a known kind land in its own line of the cost breakdown?

Each pair of conditions of one run differs in one kind of work only, so what they differ by in CPU an operation is the
truth for that kind. Printed for each: the measured difference with its 95 % interval, the line with its own, whether
the line's interval holds the difference's median, and whether the two intervals meet.

- SQLCipher with HMAC-SHA512 and HMAC-SHA1 against the same without: the line ``integrity``.
- An added read of a page: reserved bytes that only the encrypted twin keeps (``--reserve natural``) make it read more
  pages, which the line ``io`` counts. What they cost plain files is too little to be told from two runs where a machine
  changes its speed by the second, so the truth is made in one process, with the prices that the line has: two plain
  files of the same rows, one with reserved bytes, are scanned in turns, and prices are measured in between.
- MariaDB with the redo log encrypted against tables alone (``--kind log``): what its timed calls take more.

    python benches/components_planted.py [--seconds 60] [--kind mac|io|log]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from tdelta import _native
from tdelta.engines.sqlite.engine import SqliteEngine, TwinSettings
from tdelta.engines.sqlite.loading import load_library
from tdelta.engines.sqlite.page_prices import PAGES, SPARE_BYTES, page_prices
from tdelta.inference.prices import Price, price_of
from tdelta.measure import price_effort

PAGE_BYTES, RESERVED_BYTES = 1024, 80
ROWS, BODY_BYTES = 100_000, 180
MOMENTS, TURNS = 20, 20
NOTHING: dict[str, Any] = {"cpu": {"us": 0.0, "hdi95": [0.0, 0.0]}}


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


def calls_more(with_it: dict[str, Any], without: dict[str, Any]) -> dict[str, Any]:
    """What the calls of one condition take more than those of another, as a line."""
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
    parser.add_argument("--kind", choices=("mac", "io", "log"), default="mac")
    parser.add_argument("--moments", type=int, default=MOMENTS, help="at which an added read of a page is timed")
    parser.add_argument("extra", nargs="*", help="more options of tdelta run, after --")
    asked = parser.parse_args()
    if asked.kind == "io":
        added_reads(asked.seconds, asked.moments, asked.extra)
        return
    if asked.kind == "log":
        scopes = ("--engine", "mariadb", "--workload", "dml-trace", "--vary", "scope=data,+log", "--no-aa-twin")
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


def added_reads(seconds: int, moments: int, more_options: list[str]) -> None:
    """Print what plain files take for more pages, beside what the line makes of as many."""
    scan = ("--workload", "scan", "--size", "20MB", "--page-size", str(PAGE_BYTES), "--vary", "cipher=sqlcipher")
    document = measured("--reserve", "natural", *scan, *more_options, seconds=seconds)
    (line,) = (line for line in document["cost_breakdown"][0]["components"] if line["kind"] == "io")
    more = next(item["count"] for item in line["items"] if item["what"] == "pages read beyond plain")
    print(f"the run: {more:,.0f} pages read beyond plain, line io {line['amount']}", flush=True)
    (truth_us, error_us), price = page_more_us(moments)
    line_us, half_us = more * price.us, 1.96 * more * price.sd
    total = {"cpu": {"us": more * truth_us, "hdi95": [more * (truth_us + sign * error_us) for sign in (-1.0, 1.0)]}}
    amount = {"us": line_us, "hdi95": [line_us - half_us, line_us + half_us]}
    told(
        f"{more:,.0f} added reads of a page", {**total, "components": [{"kind": "io", "amount": amount}]}, NOTHING, "io"
    )


def page_more_us(times: int) -> tuple[tuple[float, float], Price]:
    """What a page more costs a scan of a plain file, µs of CPU, with the half of its 95 % interval; and the price."""
    load_library()
    engine = SqliteEngine()
    settings = TwinSettings("none", PAGE_BYTES, "off", "off", 0, 1, 1024)
    differences, moments = [], []
    with tempfile.TemporaryDirectory() as folder:
        files = [
            scanned(engine, f"{folder}/{reserved}", dataclasses.replace(settings, reserved_bytes=reserved))
            for reserved in (0, RESERVED_BYTES)
        ]
        pages = [int(file.text("PRAGMA page_count")) for file in files]
        for file in files:
            scan_us(file)  # fills the system's cache
        for moment in range(times):
            moments.append(plain_read_us(engine, f"{folder}/price-{moment}", settings))
            for turn in range(TURNS):
                order = (0, 1) if turn % 2 else (1, 0)
                took = {index: scan_us(files[index]) for index in order}
                differences.append((took[1] - took[0]) / (pages[1] - pages[0]))
    error = 1.96 * statistics.stdev(differences) / len(differences) ** 0.5
    return (statistics.fmean(differences), error), price_of(moments)


def plain_read_us(engine: SqliteEngine, path: str, settings: TwinSettings) -> list[float]:
    """The price of a plain page read, µs, as a run measures it: of every pass."""
    large = dataclasses.replace(settings, cache_bytes=4 * PAGES * PAGE_BYTES)
    options = {
        "create": engine.create_options(path, settings, None),
        "reading": engine.open_options(path, settings, None),
        "writing": engine.open_options(path, large, None),
    }
    return page_prices({"plain": options}, PAGE_BYTES - SPARE_BYTES, price_effort.PASSES)["plain_read"]


def scanned(engine: SqliteEngine, path: str, settings: TwinSettings) -> _native.SqliteTwin:
    """A plain file of rows as long as the workload's, open with a cache that holds next to nothing of it."""
    made = _native.SqliteTwin(json.dumps(engine.create_options(path, settings, None)), 1)
    made.text("CREATE TABLE item (id INTEGER PRIMARY KEY, price INTEGER NOT NULL, body TEXT NOT NULL)")
    made.text(
        f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})"
        f" INSERT INTO item SELECT i, i % 1000, hex(randomblob({BODY_BYTES // 2})) FROM n"
    )
    made.close()
    return _native.SqliteTwin(json.dumps(engine.open_options(path, settings, None)), 1)


def scan_us(file: _native.SqliteTwin) -> float:
    """The CPU time of one scan, µs."""
    began_ns = time.thread_time_ns()
    file.text("SELECT sum(price) FROM item")
    return (time.thread_time_ns() - began_ns) / 1000


if __name__ == "__main__":
    main()
