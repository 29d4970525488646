from __future__ import annotations

from dataclasses import replace

from tdelta.engines.server.evidence import (
    COPIES,
    HALF,
    SPILL,
    ExposurePlan,
    ServerEvidence,
    Settling,
    parts,
    rules,
    steps,
)
from tdelta.evidence import FileClass
from tdelta.evidence.markers import TABLE

_CHANGE_SQL = f"UPDATE {TABLE} SET marker = substr(marker, {HALF + 1}) || substr(marker, 1, {HALF})"
_PLAN = ExposurePlan(
    steps=(
        *steps("writer", "BEGIN", _CHANGE_SQL, _CHANGE_SQL, "COMMIT"),
        *steps(
            "spill",
            "SET work_mem = '64kB'",
            "SET temp_buffers = '800kB'",
            f"CREATE TEMPORARY TABLE {SPILL} AS SELECT n, id, marker FROM generate_series(1, {COPIES}) AS n, {TABLE}",
            "BEGIN",
            f"DECLARE {SPILL}_cursor CURSOR FOR SELECT marker FROM {SPILL} ORDER BY n % 7, marker",
            f"FETCH 1 FROM {SPILL}_cursor",
        ),
        *steps("open", "BEGIN", _CHANGE_SQL),
    ),
    settling=Settling(statements=("CHECKPOINT",)),
    release=(),
    after=(*steps("open", "ROLLBACK"), *steps("spill", "COMMIT", f"DROP TABLE {SPILL}")),
)


_OF_USERS = r"(1638[4-9]|1639\d|16[4-9]\d\d|1[7-9]\d{3}|[2-9]\d{4}|\d{6,})"
"""Objects below 16384 are PostgreSQL's own (FirstNormalObjectId, access/transam.h)."""

_FILES = rules(
    (rf"base/\d+/{_OF_USERS}(_fsm|_vm|_init)?(\.\d+)?", FileClass.TABLES),
    (r"tmp/.*|(.*/)?pgsql_tmp.*", FileClass.TEMP),
    (r"(.*/)?t\d+_\d+[^/]*", FileClass.TEMP_TABLES),
    (r"pg_wal/.*", FileClass.WAL),
    (r"(base|global)/.*", FileClass.DICTIONARY),
    (r"pg_tblspc/.*", FileClass.TABLES),
    (r"(log|pg_log)/.*|[^/]*\.log", FileClass.LOGS),
)

_PARTS = parts(data=(FileClass.TABLES,), log=(FileClass.WAL,))


EVIDENCE = ServerEvidence(_PLAN, _FILES, {"": _PARTS}, _CHANGE_SQL)
WITH_TEMPORARY = replace(EVIDENCE, parts={"": {**_PARTS, "temp": frozenset((FileClass.TEMP,))}})
"""Where temporary files can be encrypted: those of sorts and joins. Temporary tables are relations, left open."""
