"""Replication of the MySQL family, on recorded answers of MariaDB."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from support.refused import refused
from tdelta.engines.mariadb.driver import MariaDb
from tdelta.engines.server.replicas import Behind, Link, Replication
from tdelta.engines.server.sessions import Session
from tdelta.errors import EnvironmentFault
from tdelta.processes.servers.recipes import Command, Recipe, place_for

STATUS = {
    "Master_Log_File": "binlog.000002",
    "Read_Master_Log_Pos": "700",
    "Relay_Master_Log_File": "binlog.000001",
    "Exec_Master_Log_Pos": "900",
    "Slave_IO_Running": "Yes",
    "Last_IO_Error": "",
    "Last_SQL_Error": "",
}


REPLICATION = MariaDb.replication


class FakeSession(Session):
    def __init__(self, **status: str) -> None:
        self.ran: list[str] = []
        self.status = STATUS | status
        self.waited: str | None = "0"
        self.clients = "0"

    def run(self, sql: str) -> None:
        self.ran.append(sql)

    def rows(self, sql: str) -> tuple[Sequence[str], Sequence[Sequence[str | None]]]:
        self.ran.append(sql)
        if sql == "SHOW SLAVE STATUS":
            return list(self.status), [list(self.status.values())]
        if sql == "SHOW MASTER STATUS":
            return ["File", "Position"], [["binlog.000002", "750"]]
        if sql == "SHOW BINARY LOGS":
            return ["Log_name", "File_size"], [["binlog.000001", "1000"], ["binlog.000002", "750"]]
        if "clients" in sql:
            return [""], [[self.clients]]
        return [""], [[self.waited]]


def pair(primary: FakeSession, replica: FakeSession) -> Replication:
    return REPLICATION.pair(primary, replica)


def test_positions_count_on_from_one_file_to_the_next() -> None:
    of = pair(FakeSession(), FakeSession())
    assert of.position() == 1750
    assert of.behind() == Behind(unreceived=50, unapplied=850)


@pytest.mark.parametrize(("answer", "applied"), [("0", True), ("3", True), ("-1", False), (None, False)])
def test_all_is_applied_where_the_server_says_that_it_is(answer: str | None, applied: bool) -> None:
    replica = FakeSession()
    replica.waited = answer
    assert pair(FakeSession(), replica).await_applied(1.0) is applied
    assert "binlog.000002', 750, 1.0" in replica.ran[-1]


def test_commits_are_waited_for_only_once_the_replica_confirms() -> None:
    primary, replica = FakeSession(), FakeSession()
    primary.clients = "1"
    pair(primary, replica).connect(confirms=True)
    assert replica.ran[:2] == ["SET GLOBAL rpl_semi_sync_slave_enabled = ON", "START SLAVE"]
    assert primary.ran[0] == "SET GLOBAL rpl_semi_sync_master_enabled = ON"


def test_a_replica_that_does_not_connect_is_refused_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdelta.engines.server.mysql_family._CONNECT_SECONDS", 0)
    replica = FakeSession(Slave_IO_Running="Connecting", Last_IO_Error="Access denied")
    with refused(EnvironmentFault, "replica-not-connected", seconds=0, said="Access denied"):
        pair(FakeSession(), replica).connect(confirms=False)


def test_an_error_of_either_thread_is_a_fault() -> None:
    assert pair(FakeSession(), FakeSession()).fault() == ""
    assert pair(FakeSession(), FakeSession(Last_SQL_Error="Duplicate entry")).fault() == "Duplicate entry"


def test_the_primary_listens_on_its_loopback_only_and_no_password_is_in_any_recipe(tmp_path: Path) -> None:
    link = Link(place_for(tmp_path / "a"), 3999)
    recipes = [
        Recipe(place_for(folder), {folder / "server.cnf": "[mysqld]\nskip_networking\n"}, (), Command(("x",)), {})
        for folder in (tmp_path / "a", tmp_path / "b")
    ]
    primary, replica = ("".join(one.files.values()).splitlines() for one in REPLICATION.recipes(*recipes, link))
    after = primary.index("skip_networking")
    assert {"skip_networking=OFF", "bind_address=127.0.0.1", "port=3999", "skip_name_resolve=ON"} <= {*primary[after:]}
    assert not any(line.startswith(("port", "bind_address", "skip_networking=")) for line in replica)
    assert {"server_id=2", "skip_slave_start=ON"} <= {*replica}
    assert link.password not in repr(link)
    assert link.password != Link(link.primary, 3999).password
