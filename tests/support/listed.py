from dataclasses import replace

from tdelta.engines.profile import EngineInfo
from tdelta.messages import Caution
from tdelta.records import DatabaseFacts
from tdelta.session.preflight import DryRun, TableLine, TransactionLine
from tdelta.session.studies import Study

ENGINES = (
    EngineInfo("duckdb", False, None, (), "duckdb", "pip install duckdb", ""),
    EngineInfo("sqlite", True, "3.51.0", ("none", "aes-256"), "SQLite3 Multiple Ciphers", "nothing", "AES in hardware"),
)
STUDIES = (
    Study("order-entry", "users at a shop", "Oracle 12c, Swingbench", True, ""),
    Study("warehouse", "a fact table", "SQL Server Fast Track", False, "needs a server", tables=("warehouse", "more")),
)
PLAN = DryRun(
    conditions=("cipher=none", "cipher=aes-256"),
    seconds_least=15.0,
    seconds_at_least=40.0,
    seconds_at_most=85.0,
    disk_bytes=450 * 2**20,
    disk_free_bytes=20 * 2**30,
    memory_bytes=60 * 2**20,
    memory_free_bytes=3 * 2**30,
    directory="/somewhere",
    trials_at_least=54,
    cautions=(Caution.verbatim("the disk is nearly full"),),
)
OWN_PLAN = replace(
    PLAN,
    database=DatabaseFacts("app.db", 25 * 2**20, 4096, tables=12, rows=123_456, proposed=True),
    tables=tuple(TableLine(f"t{n}", 10_000 - n, 2**20 - n) for n in range(12)),
    transactions=(
        TransactionLine("read_t0", "Read t0 by key", 0.7, "-- One row.\n\\set id random(1, 9)\nSELECT * FROM t0;\n"),
        TransactionLine("insert_t0", "Insert into t0", 0.3, "INSERT INTO t0 VALUES (:op);\n"),
    ),
    notes=("no update of table 't0'",),
    written="./mine",
)
