"""DuckDB under the load loop: how its driver is spoken to, and what it does beside statements."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from tdelta import _native
from tdelta.driver.dbapi import ClientError
from tdelta.engines.duckdb.database import Database
from tdelta.measure.caches import empty_page_cache

STYLE = {"parameters": "dollar", "is_spread": True}
"""``$1``, which may come more than once; transactions are statements; queries run in threads of DuckDB's.

The driver has no prepared statement: each execution is parsed and planned, as it is for whoever uses DuckDB so.
"""


def load_twin(database: Database, connections: int) -> _native.DbApiTwin:
    """So many connections to an attached file, for trials."""
    return _native.DbApiTwin(
        json.dumps(STYLE),
        partial(_connect, database),
        connections,
        database.explained,
        cool=partial(database.cool, empty_page_cache),
        files=database.file_sizes,
        settle=database.settle,
    )


def _connect(database: Database, old: object) -> Any:
    if old is not None:
        raise ClientError("script", r"\connect: DuckDB runs within the process, which connects to nothing")
    return database.connect().cursor
