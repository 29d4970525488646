"""DuckDB has the generator's rows after a load: every kind of value, in order, with any memory limit."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.generated import COLUMNS as EVERY
from support.generated import generated
from tdelta.engines.duckdb.database import write_files
from tdelta.engines.duckdb.engine import PROGRAM, DuckdbEngine, DuckdbSettings
from tdelta.processes import Worker

SEED = 7
ROWS = 20_000
LOADING_MIB = 256
TYPES = {
    "id": "BIGINT PRIMARY KEY",
    "flat": "BIGINT",
    "bell": "INTEGER",
    "price": "DOUBLE",
    "small": "DOUBLE",
    "noise": "VARCHAR",
    "prose": "VARCHAR",
    "shape": "CHAR(20)",
    "lines": "TEXT",
    "body": "BLOB",
}
TEXTS = ["a\nb", "a\r\nb", "a\rb", " padded ", "é", "", "\\N", "NULL", 'say "so"', "a,b", "#no comment", None]
COLUMNS: list[dict[str, Any]] = [
    *(EVERY[kind] for kind in ("serial", "uniform", "gaussian", "decimal")),
    {"name": "small", "distribution": "choice", "values": [1e-05, 5e-324, 1e22, 1.5e300, 0.1, 2, None]},
    *(EVERY[kind] for kind in ("text", "words", "pattern")),
    {"name": "lines", "distribution": "choice", "values": TEXTS},
    {
        "name": "body",
        "distribution": "bytes",
        "hex": [f"{row % 251:02x}ff00" if row % 3 else "" for row in range(ROWS)],
    },
]
PLAN = {"tables": [{"name": "t", "rows": ROWS, "columns": COLUMNS}]}

READ = """
import json, sys
from tdelta.engines.duckdb.database import Database
database = Database(json.loads(sys.argv[1]))
print(ascii(database.rows("SELECT * FROM t")))
database.close()
"""


def test_every_value_comes_into_a_table_as_it_was_made_and_in_its_order(tmp_path: Path) -> None:
    files = {"t": str(tmp_path / "0.csv")}
    write_files(PLAN, SEED, files)
    options = DuckdbEngine().options(
        tmp_path / "twin.db", DuckdbSettings("none", engine_threads=2, working_mib=LOADING_MIB), None
    )
    columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    order = {"tables_sql": [f"CREATE TABLE t ({columns})"], "tables": [("t", tuple(TYPES))], "files": files}
    with Worker(program=PROGRAM) as worker:
        worker.ask("open", options=options)
        before = worker.ask("digest", **order)
        worker.ask("open", options=options)
        worker.ask("load", **{**order, "tables_sql": []})
        assert worker.ask("checksums", tables=order["tables"]) == before
    ran = subprocess.run([sys.executable, "-c", READ, json.dumps(options)], capture_output=True, text=True, check=True)
    found = ast.literal_eval(ran.stdout)
    assert len(found) == ROWS
    assert found == generated(tmp_path, PLAN, SEED)["t"]
    assert {row[8] for row in found} == set(TEXTS)
