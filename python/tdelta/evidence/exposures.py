"""What puts marker rows on their way through every kind of file a server has, as statements, engine by engine.

At rest rows lie in tables. Under way they lie in logs, undo, temporary tables and the files of sorts, and only a server
that is made to can be searched there. Every plan does the same:

- a transaction changes the markers twice, back to what they were (bytes that do not change are not written), and
  commits: log, binary log, undo, which an older snapshot keeps from being purged;
- a temporary table of them is pressed out of memory;
- a sort larger than its buffer and, where queries make tables on disk, one of these, are held open half-way;
- a transaction that has changed the rows stays open, larger than the buffer that transactions have for the binary log;
- everything dirty is written.

Rows are the same before and after. Limits: on MariaDB a table that a query makes comes to the disk only beyond Aria's
cache (128 MiB by default; this one takes 190 MB for a moment): where the cache is larger its class reads "not tested".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tdelta.engines.servers import Settling
from tdelta.evidence.markers import MARKER_BYTES, TABLE

_HALF = MARKER_BYTES // 2
_SPILL = "tdelta_spill"
_COPIES = 200
"""512 markers so often are 6.5 MB, more than any buffer that the plans leave."""

_FAT_COPIES = 46
_FAT = 100
"""Rows of 100 markers, 46 for each: 150 MB, which Aria keeps in 190 MB of pages."""


@dataclass(frozen=True, slots=True)
class Step:
    """A statement and whose it is. ``is_held``: it does not end until the plan's `release` has run."""

    connection: str
    sql: str
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class ExposurePlan:
    """What is done, in this order.

    ``steps`` one after another; those that are held run beside what follows. ``held`` asks how many statements are
    being held now. ``settling`` writes what is dirty, and ``settled`` puts back what it set. Then the workload runs and
    files are searched. ``release`` ends what is held and ``after`` the rest; then ``settling`` once more, before the
    last look.
    """

    steps: tuple[Step, ...]
    settling: Settling
    release: tuple[Step, ...]
    after: tuple[Step, ...]
    held: str | None = None
    settled: tuple[str, ...] = ()

    @property
    def held_steps(self) -> int:
        """How many statements are to be held."""
        return sum(step.is_held for step in self.steps)


def _steps(connection: str, *statements: str) -> tuple[Step, ...]:
    return tuple(Step(connection, sql) for sql in statements)


CHANGE_SQL = (
    f"UPDATE {TABLE} SET marker = CONCAT(SUBSTR(marker, {_HALF + 1}), SUBSTR(marker, 1, {_HALF}))"  # halves stay whole
)
_LOCKS = ("tdelta_sort", "tdelta_table")


def _mysql_spill() -> tuple[Step, ...]:
    """READ COMMITTED, or the copy would wait for the row locks of a transaction that changes the markers."""
    return _steps(
        "spill",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET SESSION sort_buffer_size = 32768",
        f"CREATE TEMPORARY TABLE {_SPILL} (n INT NOT NULL, id INT NOT NULL, marker VARBINARY({MARKER_BYTES}) NOT NULL)"
        " ENGINE=InnoDB",
        f"INSERT INTO {_SPILL} WITH RECURSIVE copies(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE"
        f" n < {_COPIES}) SELECT n, id, marker FROM copies, {TABLE}",
    )


def _mysql_held(*small_tables: str) -> tuple[Step, ...]:
    """A sort and a table on disk, each held by its last statement at a lock that ``control`` has."""
    sort, table = _LOCKS
    return (
        *_steps("control", *(f"SELECT GET_LOCK('{name}', 0)" for name in _LOCKS)),
        Step(
            "spill",
            f"SELECT marker, IF(n = 1 AND id = 1, GET_LOCK('{sort}', 600), 0) FROM {_SPILL} ORDER BY n % 7, marker",
            is_held=True,
        ),
        *_steps("table", *small_tables),
        Step(
            "table",
            f"SELECT n FROM (WITH RECURSIVE copies(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE"
            f" n < {_FAT_COPIES}) SELECT n, id, CAST(REPEAT(marker, {_FAT}) AS BINARY({_FAT * MARKER_BYTES})) AS fat"
            f" FROM copies, {TABLE} LIMIT 1000000000) AS fats"
            f" WHERE fat IS NOT NULL AND IF(n = {_FAT_COPIES} AND id = 1, GET_LOCK('{table}', 600), 0) >= 0",
            is_held=True,
        ),
    )


_MYSQL_COMMITTED = (
    *_steps("snapshot", "START TRANSACTION WITH CONSISTENT SNAPSHOT", f"SELECT COUNT(*) FROM {TABLE}"),
    *_steps("writer", "BEGIN", CHANGE_SQL, CHANGE_SQL, "COMMIT"),
)
_MYSQL_OPEN = _steps("open", "BEGIN", CHANGE_SQL)
_MYSQL_RELEASE = _steps("control", "SELECT RELEASE_ALL_LOCKS()")
_MYSQL_AFTER = (
    *_steps("open", "ROLLBACK"),
    *_steps("snapshot", "COMMIT"),
    *_steps("spill", f"DROP TEMPORARY TABLE {_SPILL}"),
)


_SHARES = ("innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct")


def _keep(name: str) -> str:
    return f"SET @tdelta_{name} = @@GLOBAL.{name}"


def _put_back(name: str) -> str:
    return f"SET GLOBAL {name} = @tdelta_{name}"


def _mysql_settling(status: str) -> Settling:
    """Pages are written until none is dirty; the page cleaner goes by these shares once a second."""
    return Settling(
        statements=(*map(_keep, _SHARES), *(f"SET GLOBAL {name} = 0" for name in _SHARES)),
        query=f"SELECT VARIABLE_VALUE FROM {status} WHERE VARIABLE_NAME = 'Innodb_buffer_pool_pages_dirty'",
    )


_SETTLED = tuple(map(_put_back, reversed(_SHARES)))  # the one must not be above the other
_POOL = "innodb_buffer_pool_size"


def _press(*meanwhile: Step) -> tuple[Step, ...]:
    """InnoDB writes pages of temporary tables only when it needs their room: a pool too small for the table does it."""
    small = _steps("control", _keep(_POOL), f"SET GLOBAL {_POOL} = 6291456")
    return (*small, *meanwhile, *_steps("control", _put_back(_POOL)))


_MARIADB = ExposurePlan(
    steps=(
        *_MYSQL_COMMITTED,
        *_mysql_spill(),
        # Once it finds no room in a pool that shrinks, MariaDB's page cleaner looks for room only and writes no table's
        # page until one is evicted (seen in 10.11.19 with encrypted temporary tables): reading evicts some.
        *_press(*_steps("spill", f"SELECT COUNT(marker) FROM {_SPILL}")),
        *_mysql_held("SET SESSION tmp_memory_table_size = 16384, max_heap_table_size = 16384"),
        *_MYSQL_OPEN,
    ),
    held="SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User lock'",
    settling=_mysql_settling("information_schema.GLOBAL_STATUS"),
    release=_MYSQL_RELEASE,
    after=_MYSQL_AFTER,
    settled=_SETTLED,
)

_MYSQL = ExposurePlan(
    steps=(
        *_MYSQL_COMMITTED,
        *_mysql_spill(),
        *_press(),
        *_mysql_held("SET SESSION tmp_table_size = 16384, max_heap_table_size = 16384"),
        *_MYSQL_OPEN,
    ),
    held="SELECT COUNT(*) FROM performance_schema.processlist WHERE STATE = 'User lock'",
    settling=_mysql_settling("performance_schema.global_status"),
    release=_MYSQL_RELEASE,
    after=_MYSQL_AFTER,
    settled=_SETTLED,
)

_POSTGRES_CHANGE_SQL = f"UPDATE {TABLE} SET marker = substr(marker, {_HALF + 1}) || substr(marker, 1, {_HALF})"
_POSTGRES = ExposurePlan(
    steps=(
        *_steps("writer", "BEGIN", _POSTGRES_CHANGE_SQL, _POSTGRES_CHANGE_SQL, "COMMIT"),
        *_steps(
            "spill",
            "SET work_mem = '64kB'",
            "SET temp_buffers = '800kB'",
            f"CREATE TEMPORARY TABLE {_SPILL} AS SELECT n, id, marker FROM generate_series(1, {_COPIES}) AS n, {TABLE}",
            "BEGIN",
            f"DECLARE {_SPILL}_cursor CURSOR FOR SELECT marker FROM {_SPILL} ORDER BY n % 7, marker",
            f"FETCH 1 FROM {_SPILL}_cursor",
        ),
        *_steps("open", "BEGIN", _POSTGRES_CHANGE_SQL),
    ),
    settling=Settling(statements=("CHECKPOINT",)),
    release=(),
    after=(*_steps("open", "ROLLBACK"), *_steps("spill", "COMMIT", f"DROP TABLE {_SPILL}")),
)

EXPOSURES: Mapping[str, ExposurePlan] = MappingProxyType({"mariadb": _MARIADB, "mysql": _MYSQL, "postgres": _POSTGRES})
"""The plan of each engine, by the kind of its servers."""
