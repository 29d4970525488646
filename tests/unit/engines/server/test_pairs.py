from typing import Any, cast

import pytest

from tdelta.engines.mariadb.driver import MariaDb
from tdelta.engines.server.base import Encryption, Identity
from tdelta.engines.server.discovery import FoundServer
from tdelta.engines.server.dsn import parse_dsn
from tdelta.engines.server.pairs import hosts_of

HERE = "this machine"


def server(address: str, machine: str) -> FoundServer:
    return FoundServer(
        option="--baseline",
        dsn=parse_dsn(f"mysql://bench@{address}"),
        connection=cast(Any, None),
        kind=MariaDb(Identity("mariadb", "MariaDB", "11.4.2", "bench@%", machine)),
        encryption=Encryption((), can_be_asked=False, remedy=""),
        settings={},
    )


@pytest.mark.parametrize(
    ("baseline", "encrypted", "hosts"),
    [
        # what servers say of themselves
        (("db", "one"), ("db", "two"), ("one", "two")),
        (("localhost:3306", "container1"), ("localhost:3307", "container2"), ("container1", "container2")),
        (("127.0.0.1:3306", "db"), ("localhost:3307", "DB"), None),
        (("?socket=/run/s", "db"), ("db:3306", "db"), None),
        # where they say nothing, or both the same
        (("db1", ""), ("db2", ""), ("db1", "db2")),
        (("db1", "one"), ("db2", ""), ("db1", "db2")),
        (("db1:3306", ""), ("DB1:3307", ""), None),
        (("10.0.0.1", "mysql"), ("10.0.0.2", "mysql"), ("10.0.0.1", "10.0.0.2")),
        (("localhost", ""), ("db2", ""), (HERE, "db2")),
        (("?socket=/run/s", ""), ("[::1]:3307", ""), None),
    ],
)
def test_two_hosts_are_told_by_what_servers_say_and_by_their_addresses(
    baseline: tuple[str, str], encrypted: tuple[str, str], hosts: tuple[str, str] | None
) -> None:
    assert hosts_of(server(*baseline), server(*encrypted)) == hosts
