"""What marker rows are put through on servers of MySQL's family, and which of their files are what.

Limits: on MariaDB a table that a query makes comes to the disk only beyond Aria's cache (128 MiB by default; this one
takes 190 MB for a moment): where the cache is larger its class reads "not tested".
"""

from __future__ import annotations

from tdelta.engines.shared.evidence import COPIES, HALF, SPILL, ExposurePlan, ExposureStep, steps
from tdelta.engines.shared.file_classes import rules
from tdelta.engines.shared.settling import Settling
from tdelta.evidence import FileClass
from tdelta.evidence.markers import MARKER_BYTES, TABLE

_FAT_COPIES = 46
_FAT = 100
"""Rows of 100 markers, 46 for each: 150 MB, which Aria keeps in 190 MB of pages."""


CHANGE_SQL = (
    f"UPDATE {TABLE} SET marker = CONCAT(SUBSTR(marker, {HALF + 1}), SUBSTR(marker, 1, {HALF}))"  # halves stay whole
)
_LOCKS = ("tdelta_sort", "tdelta_table")


def spill() -> tuple[ExposureStep, ...]:
    """READ COMMITTED, or the copy would wait for the row locks of a transaction that changes the markers."""
    return steps(
        "spill",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET SESSION sort_buffer_size = 32768",
        f"CREATE TEMPORARY TABLE {SPILL} (n INT NOT NULL, id INT NOT NULL, marker VARBINARY({MARKER_BYTES}) NOT NULL)"
        " ENGINE=InnoDB",
        f"INSERT INTO {SPILL} WITH RECURSIVE copies(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE"
        f" n < {COPIES}) SELECT n, id, marker FROM copies, {TABLE}",
    )


def held(*small_tables: str) -> tuple[ExposureStep, ...]:
    """A sort and a table on disk, each held by its last statement at a lock that ``control`` has."""
    sort, table = _LOCKS
    return (
        *steps("control", *(f"SELECT GET_LOCK('{name}', 0)" for name in _LOCKS)),
        ExposureStep(
            "spill",
            f"SELECT marker, IF(n = 1 AND id = 1, GET_LOCK('{sort}', 600), 0) FROM {SPILL} ORDER BY n % 7, marker",
            is_held=True,
        ),
        *steps("table", *small_tables),
        ExposureStep(
            "table",
            f"SELECT n FROM (WITH RECURSIVE copies(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE"
            f" n < {_FAT_COPIES}) SELECT n, id, CAST(REPEAT(marker, {_FAT}) AS BINARY({_FAT * MARKER_BYTES})) AS fat"
            f" FROM copies, {TABLE} LIMIT 1000000000) AS fats"
            f" WHERE fat IS NOT NULL AND IF(n = {_FAT_COPIES} AND id = 1, GET_LOCK('{table}', 600), 0) >= 0",
            is_held=True,
        ),
    )


COMMITTED = (
    *steps("snapshot", "START TRANSACTION WITH CONSISTENT SNAPSHOT", f"SELECT COUNT(*) FROM {TABLE}"),
    *steps("writer", "BEGIN", CHANGE_SQL, CHANGE_SQL, "COMMIT"),
)
OPEN = steps("open", "BEGIN", CHANGE_SQL)
RELEASE = steps("control", "SELECT RELEASE_ALL_LOCKS()")
AFTER = (
    *steps("open", "ROLLBACK"),
    *steps("snapshot", "COMMIT"),
    *steps("spill", f"DROP TEMPORARY TABLE {SPILL}"),
)


_SHARES = ("innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct")


def _keep(name: str) -> str:
    return f"SET @tdelta_{name} = @@GLOBAL.{name}"


def _put_back(name: str) -> str:
    return f"SET GLOBAL {name} = @tdelta_{name}"


def flushing(status: str) -> Settling:
    """Pages are written until none is dirty; the page cleaner goes by these shares once a second."""
    return Settling(
        statements=(*map(_keep, _SHARES), *(f"SET GLOBAL {name} = 0" for name in _SHARES)),
        query=f"SELECT VARIABLE_VALUE FROM {status} WHERE VARIABLE_NAME = 'Innodb_buffer_pool_pages_dirty'",
    )


SETTLED = tuple(map(_put_back, reversed(_SHARES)))  # the one must not be above the other
_POOL = "innodb_buffer_pool_size"


def press(*meanwhile: ExposureStep) -> tuple[ExposureStep, ...]:
    """InnoDB writes pages of temporary tables only when it needs their room: a pool too small for the table does it."""
    small = steps("control", _keep(_POOL), f"SET GLOBAL {_POOL} = 6291456")
    return (*small, *meanwhile, *steps("control", _put_back(_POOL)))


FILES = rules(
    (r"(.*/)?#sql-temptable.*", FileClass.DISK_TABLES),
    (r"tmp/mysql_temptable.*", FileClass.DISK_TABLES),
    (r"tmp/.*", FileClass.TEMP),
    (r"(mysql|sys|performance_schema|information_schema)/.*|mysql\.ibd|aria_log.*", FileClass.DICTIONARY),
    (r"ibtmp\d+|#innodb_temp/.*", FileClass.TEMP_TABLES),
    (r"ib_logfile\d+|#innodb_redo/.*", FileClass.REDO),
    (r"undo_?\d+|.*\.ibu", FileClass.UNDO),
    (r".*\.b?dblwr", FileClass.DOUBLEWRITE),
    (r"ibdata\d+", FileClass.SYSTEM),
    (r"[^/]*relay[^/]*\.(\d{6,}|index|info)", FileClass.RELAY),
    (r"[^/]*\.(\d{6,}|index|state)", FileClass.BINLOG),
    (r".*\.(frm|opt|sdi|par|TRG|TRN|cfg)", FileClass.DICTIONARY),
    (r".*/[^/]*\.(ibd|MYD|MYI|MAD|MAI|CSV|CSM|ARZ|ARM)", FileClass.TABLES),
    (r"ddl_recovery.*\.log", FileClass.OTHER),
    (r"[^/]*\.(log|err)", FileClass.LOGS),
)


def exposure_plan(small_tables: str, processes: str, status: str, *meanwhile: ExposureStep) -> ExposurePlan:
    """The plan of a server.

    Args:
        small_tables: has queries make their tables on disk.
        processes: the table with what sessions wait for.
        status: the table of status counters.
        meanwhile: done while the buffer pool is too small.
    """
    return ExposurePlan(
        steps=(*COMMITTED, *spill(), *press(*meanwhile), *held(small_tables), *OPEN),
        held=f"SELECT COUNT(*) FROM {processes} WHERE STATE = 'User lock'",
        settling=flushing(status),
        release=RELEASE,
        after=AFTER,
        settled=SETTLED,
    )
