"""Every bench and every campaign runs: seconds each, far too short for a figure."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from chaos.namespaces import cannot
from support.running import BRIEF, require

TESTS = Path(__file__).parents[2]
BENCHES = TESTS.parent / "benches"
TARGET = os.environ.get("CARGO_TARGET_DIR", str(BENCHES.parent / "target"))
"""Where the Rust tests were built: what the bench of crates has in common with them is not compiled again."""

MOST_SECONDS = 600.0
"""Beside other tests; alone the longest takes a minute and a half."""

SMALL = ("--", "--size", "3MB", "--trial-time", "0.03s", "--blocks", "2", "--rounds", "1..1", "--no-bb")

BARE = ("--no-aa", "--no-bb")

SMOKE: dict[str, list[tuple[str, ...]]] = {
    "agents": [("--agents", "2", "--delays", "1", "--trials", "1", "--seconds", "0.2", "--simulated", "10")],
    "aes": [("--proofs", "1", "--cipher", "aes-128")],
    "analyze_calibration": [("--experiments", "2", "--rows", "^one run each, runs differ 1")],
    "backup_injected": [("--blocks", "1", "--rounds", "1")],
    "calibrated_truth": [("--calibrate", "45s", "--runs", "1", "--rounds", "1..1", "--", "--size", "3MB")],
    "calibration": [
        ("--experiments", "2", "--rows", "^gate"),
        ("--grid", "--processes", "1", "--experiments", "2", "--rows", "^normal, log ratio 1.5"),
    ],
    "chaos/conversions": [("--kind", "mariadb alter", "--tries", "1", "--seed", "1")],
    "chaos/disk_faults": [("--tries", "40", "--seed", "2")],
    "chaos/frozen": [("--from", "5", "--count", "1", "--seed", "0")],
    "chaos/hostile": [("--areas", "streams", "--count", "2"), ("--areas", "dsns", "--count", "2")],
    "chaos/kills": [("--tries", "3", "--seed", "7")],
    "chaos/packs": [("--tries", "150", "--seed", "5")],
    "chaos/power_loss": [("--tries", "150", "--seed", "4")],
    "chaos/projects": [("--tries", "300", "--seed", "5")],
    "chaos/rekey": [
        ("--library", "sqlcipher", "--kind", "rekey", "--count", "3", "--seed", "5"),
        ("--library", "sqlite3mc", "--journal", "wal", "--count", "3", "--seed", "5"),
    ],
    "chaos/servers": [("--tries", "60", "--seed", "7")],
    "chaos/sqlite_files": [("--tries", "30", "--seed", "3")],
    "chaos/store": [("--tries", "30", "--seed", "2")],
    "chaos/workloads": [("--tries", "200", "--seed", "5")],
    "clients": [
        ("--engine", engine, "--seconds", "0.5", "--pairs", "2", "--threads", "1", "--workloads", "oltp_point_select")
        for engine in ("mariadb", "mysql")
    ],
    "clients_crates": [
        (
            *("--engine", engine, "--profile", "dev", "--target", TARGET),
            *("--connections", "1", "2", "--pairs", "2", "--seconds", "0.1"),
        )
        for engine in ("mariadb", "postgres")
    ],
    "clients_postgres": [("--threads", "1", "--pairs", "2", "--operations", "4000")],
    "cold_scans": [("--size", "2MB", "--blocks", "2", "--rounds", "1", "--max-time", "3m", "--", *BARE)],
    "dbapi": [("--statements", "50", "--pairs", "3")],
    "duckdb_load": [("--rows", "10000", "--digest")],
    "cipher_cost": [("--repeats", "1")],
    "fuzz_importers": [("--mutations", "1", "--seed", "7")],
    "importing": [("--rows", "1000")],
    "jags": [("--count", "50", "--draws", "50")],
    "components_injected": [("--seconds", "60", "--kind", "mac", *SMALL, "--no-aa")],
    "loop": [("--operations", "200", "--pairs", "5")],
    "loop_builds": [("--against", str(BENCHES.parent), "--operations", "200", "--pairs", "5")],
    "nuts": [("--model", "rounds", "--rounds", "2", "--draws", "50")],
    "perf_modes": [("--scans", "6", "--rows", "2000")],
    "server_runs": [
        (
            *("--against", str(BENCHES.parent), "--engines", "mariadb", "--workloads", "point-select"),
            *("--repeats", "1", "--max-time", "4m", *SMALL[1:], "--no-aa"),
        )
    ],
    "scan": [("--megabytes", "2", "--rounds", "2")],
    "paper/scaling": [("--experiments", "1", "--family", "constant")],
    "truth": [
        ("--self-test", "1", "--inject", "10%", "--runs", "1", "--max-time", "60s", *SMALL),
        ("--summarize", "truth.jsonl"),
        (
            *("--nodes", "2", "--inject", "10%", "--runs", "1", "--max-time", "300s", "--out", "nodes.jsonl"),
            *("--", "--threads", "2", "--rate", "50", "--workload", "point-select"),
            *("--size", "3MB", "--trial-time", "1s", "--warmup", "0s", "--blocks", "2", "--rounds", "1..1"),
            "--no-aa",
        ),
    ],
    "widths": [("--experiments", "1", "--processes", "1")],
}
"""How each is run here; where there are several ways, one after the other in one folder.

Clients do so much that their CPU time stands out from what it varies by where they start, which is taken off it.
"""

IMPORTED = {"grid_tables", "chaos/counting", "chaos/hostile_peers", "chaos/namespaces", "chaos/test_nodes"} | {
    f"chaos/hostile_{part}" for part in ("cases", "kit", "private", "servers")
}

CODES = {"calibrated_truth": (0, 1)}

PROGRAMS = {
    "clients": ("sysbench", "apt-get install sysbench"),
    "cipher_cost": ("openssl", "apt-get install openssl"),
    "jags": ("jags", "scripts/need-jags"),
    "perf_modes": ("perf", "apt-get install linux-perf"),
}


def test_every_bench_is_here() -> None:
    benches = {path.relative_to(BENCHES) for path in (*BENCHES.glob("*.py"), *BENCHES.glob("paper/*.py"))}
    campaigns = {path.relative_to(TESTS) for path in TESTS.glob("chaos/*.py")}
    assert {path.with_suffix("").as_posix() for path in benches | campaigns} == set(SMOKE) | IMPORTED


@pytest.mark.timeout(1300)
@pytest.mark.parametrize("name", SMOKE)
def test_a_bench_runs(name: str, tmp_path: Path) -> None:
    if name in PROGRAMS:
        program, remedy = PROGRAMS[name]
        require(shutil.which(program), remedy)
    if name in ("agents", "truth"):
        require(find_spec("ray"), "scripts/need-ray")
        require(not cannot(), cannot())
    if name == "nuts":
        require(find_spec("numpyro"), "pip install numpyro")
    environment = os.environ | BRIEF | {"XDG_DATA_HOME": str(tmp_path / "data"), "OMP_NUM_THREADS": "1"}
    for options in SMOKE[name]:
        ran = subprocess.run(
            [sys.executable, str((TESTS if name.startswith("chaos/") else BENCHES) / f"{name}.py"), *options],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
        )
        assert ran.returncode in CODES.get(name, (0,)), ran.stdout + ran.stderr
        assert ran.stdout.strip(), ran.stderr
