"""Rows of the generator by way of SQLite, whose columns hold whatever they are given, as it is."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from tdelta.engines.embedded.sql import quoted
from tdelta.engines.sqlite.engine import WORKER, SqliteEngine, TwinSettings
from tdelta.engines.sqlite.libraries import SQLITE3MC
from tdelta.processes import Worker

COLUMNS: dict[str, dict[str, Any]] = {
    "serial": {"name": "id", "distribution": "serial"},
    "uniform": {"name": "flat", "distribution": "uniform", "lo": -(2**62), "hi": 2**62},
    "gaussian": {"name": "bell", "distribution": "gaussian", "lo": 100, "hi": 200, "width": 3.0, "null_share": 0.1},
    "decimal": {"name": "price", "distribution": "decimal", "lo": -5, "hi": 99.99, "places": 2},
    "text": {"name": "noise", "distribution": "text", "min": 0, "max": 12, "null_share": 0.25},
    "words": {"name": "prose", "distribution": "words", "min": 1, "max": 4},
    "pattern": {"name": "shape", "distribution": "pattern", "template": '"#,?"'},
}


def generated(folder: Path, plan: Mapping[str, Any], seed: int) -> dict[str, list[tuple[Any, ...]]]:
    """Every table's rows in order."""
    path = folder / "rows.sqlite"
    tables = {table["name"]: [column["name"] for column in table["columns"]] for table in plan["tables"]}
    made = [f'CREATE TABLE "{table}" ({", ".join(map(quoted, columns))})' for table, columns in tables.items()]
    with Worker(program=WORKER) as worker:
        worker.ask("open", **SqliteEngine(SQLITE3MC).making(path, TwinSettings("none"), None))
        worker.ask("load", plan=plan, seed=seed, threads=1, tables=made, indexes=[])
    with closing(sqlite3.connect(path)) as source:
        return {table: source.execute(f'SELECT * FROM "{table}" ORDER BY rowid').fetchall() for table in tables}
