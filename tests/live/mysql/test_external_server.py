from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from support.external_servers import HostileGlobals
from support.refused import has
from tdelta.engines.server.base import DATABASE
from tdelta.engines.server.schemas import RunSchema
from tdelta.processes.workers import Refused

from . import own


class TestMysqlExternalServers(HostileGlobals):
    own = own
    isolation_setting = "transaction_isolation"
    user = DATABASE
    password = None
    harmful: ClassVar[Mapping[str, str]] = {**HostileGlobals.harmful, "sql_require_primary_key": "1"}

    def test_a_table_without_a_key_where_the_server_demands_one_is_told_with_what_to_do(
        self, spoilt: RunSchema
    ) -> None:
        with pytest.raises(Refused) as caught:
            spoilt.server.connection.run("CREATE TABLE tdelta_r8.keyless (a INT)")
        fault: Any = spoilt.server.failed(caught.value.kind, str(caught.value))
        assert has(fault.refusals, "server-primary-keys")
