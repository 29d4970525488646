from typing import Any

import pytest

from support.disturbed_runs import DisturbedRuns
from support.external_runs import KilledRuns
from support.external_studies import TracedStudy
from support.server_checks import PassesServerCheck

from . import own


class TestMysqlExternalRuns(DisturbedRuns, KilledRuns, PassesServerCheck, TracedStudy):
    driver = "PyMySQL"
    own = own
    engine = "mysql"
    scheme = "mysql"
    sessions_sql = "SELECT ID FROM performance_schema.processlist WHERE ID <> CONNECTION_ID() AND USER = 'tdelta'"
    kill_sql = "KILL {}"
    read_only_sql = ("SET GLOBAL super_read_only = 1",)
    writable_sql = ("SET GLOBAL super_read_only = 0", "SET GLOBAL read_only = 0")

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def passwords(cls) -> None:
        """None: these servers ask for no password."""

    @classmethod
    def dsn(cls, port: Any, user: str = "tdelta", variable: str = "") -> str:
        return own.address(port, user)
