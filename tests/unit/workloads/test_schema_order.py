"""An index keeps the engine's own order of NULLs, or it could not answer a plain ORDER BY."""

import pytest

from tdelta.engines.registry import dialects, profile
from tdelta.workloads import load
from tdelta.workloads.dialect import GENERIC
from tdelta.workloads.schema import Schema


@pytest.mark.parametrize("engine", ["sqlite", "mariadb", "mysql", "postgres"])
def test_no_index_says_where_nulls_go(engine: str) -> None:
    dialect = profile(engine).dialect
    made = Schema(GENERIC, (), ("CREATE INDEX i ON t (a DESC, b)", "CREATE INDEX j ON t (b)")).into(dialect)
    assert made.indexes == ("CREATE INDEX i ON t(a DESC, b)", "CREATE INDEX j ON t(b)")
    assert not any("NULLS" in sql for sql in load("order-entry", dialects()).indexes_sql(dialect))
