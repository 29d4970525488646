"""DuckDB, as far as it is data."""

from __future__ import annotations

from tdelta.engines.profile import Profile
from tdelta.workloads.dialect import Dialect

PROFILE = Profile(
    name="duckdb",
    product="DuckDB",
    dialect=Dialect("duckdb", "duckdb", bytes_literal="unhex('{}')"),
    fills_cpus=True,
    cold_operations=None,
    shown="planted rows in its file",
)
