"""``tdelta run --baseline DSN --encrypted DSN`` on two private MySQL servers, one of them encrypted, disturbed."""

from __future__ import annotations

from typing import Any

from tdelta_disturbed_runs import DisturbedRuns

from . import own


class TestMysqlOwnRuns(DisturbedRuns):
    own = own  # type: ignore[assignment]
    scheme = "mysql"
    sessions_sql = "SELECT ID FROM performance_schema.processlist WHERE ID <> CONNECTION_ID() AND USER = 'tdelta'"
    kill_sql = "KILL {}"
    read_only_sql = ("SET GLOBAL super_read_only = 1",)
    writable_sql = ("SET GLOBAL super_read_only = 0", "SET GLOBAL read_only = 0")

    @classmethod
    def dsn(cls, port: Any, user: str = "tdelta", variable: str = "") -> str:
        return own.address(port, user)
