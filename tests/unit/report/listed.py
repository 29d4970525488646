"""Hand-built engines, studies and a plan to list."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.session.request import DryRun


@dataclass(frozen=True)
class FakeEngine:
    name: str
    available: bool
    version: str | None
    ciphers: tuple[str, ...]
    library: str
    install: str
    notes: str
    option: str = ""
    crypto: str = ""


@dataclass(frozen=True)
class FakeStudy:
    name: str
    title: str
    published: str
    runs: bool
    note: str


ENGINES = (
    FakeEngine("duckdb", False, None, (), "duckdb", "pip install duckdb", ""),
    FakeEngine("sqlite", True, "3.51.0", ("none", "aes-256"), "SQLite3 Multiple Ciphers", "nothing", "AES in hardware"),
)
STUDIES = (
    FakeStudy("order-entry", "users at a shop", "Oracle 12c, Swingbench", True, ""),
    FakeStudy("warehouse", "a fact table", "SQL Server Fast Track", False, "needs a server"),
)
PLAN = DryRun(
    conditions=("cipher=none", "cipher=aes-256"),
    seconds_at_least=40.0,
    seconds_at_most=85.0,
    disk_bytes=450 * 2**20,
    disk_free_bytes=20 * 2**30,
    memory_bytes=60 * 2**20,
    memory_free_bytes=3 * 2**30,
    directory="/somewhere",
    trials_at_least=54,
    cautions=("the disk is nearly full",),
)
