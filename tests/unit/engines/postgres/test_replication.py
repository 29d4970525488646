"""Replication of PostgreSQL, on recorded answers."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from support.refused import Part, refused
from tdelta.engines.postgres.replication import REPLICATION, PostgresReplication
from tdelta.engines.server.replicas import Behind, Link
from tdelta.engines.server.sessions import Session
from tdelta.errors import EnvironmentFault
from tdelta.processes.servers.recipes import Command, Recipe, place_for


class FakeSession(Session):
    def __init__(self, **answers: str) -> None:
        self.said: list[str] = []
        self.answers = {
            "wal_receiver": "",
            "sync_state": "",
            "paused": "f",
            "pg_current_wal_lsn": "1750",
            "receive": "1700",
            "replay": "900",
        } | answers

    def run(self, sql: str) -> None:
        self.said.append(sql)
        if "primary_conninfo" in sql:
            self.answers["wal_receiver"] = "" if sql.endswith("''") else "streaming"
        if "standby_names" in sql:
            self.answers |= {"SHOW": "*", "sync_state": "sync"}

    def rows(self, sql: str) -> tuple[Sequence[str], Sequence[Sequence[str | None]]]:
        self.said.append(sql)
        return [""], [[next((answer for word, answer in self.answers.items() if word in sql), None)]]


def joined(primary: FakeSession, replica: FakeSession, place: Path = Path("/run/x")) -> PostgresReplication:
    pair = REPLICATION.pair(primary, replica)
    pair.join(Link(place_for(place, ".s.PGSQL.5432"), 0))
    return pair


def test_what_is_behind_is_told_apart_by_received_and_applied() -> None:
    assert joined(FakeSession(), FakeSession()).behind() == Behind(unreceived=50, unapplied=850)


def test_commits_wait_only_once_the_replica_streams_and_is_synchronous() -> None:
    primary, replica = FakeSession(), FakeSession()
    joined(primary, replica).connect(confirms=True)
    assert "ALTER SYSTEM SET synchronous_standby_names = '*'" in primary.said
    assert any("sync_state" in sql for sql in primary.said)


def test_a_replica_that_receives_only_holds_commits_back_and_applies_them_after() -> None:
    replica = FakeSession()
    pair = joined(FakeSession(), replica)
    pair.receive()
    assert "ALTER SYSTEM SET recovery_min_apply_delay = '1d'" in replica.said
    pair.apply()
    assert replica.said[-2:] == ["ALTER SYSTEM SET recovery_min_apply_delay = '0'", "SELECT pg_reload_conf()"]


def test_the_socket_is_named_whatever_its_folder_is_called() -> None:
    replica = FakeSession()
    joined(FakeSession(), replica, Path("/run/it's-one")).connect(confirms=False)
    (told,) = [sql for sql in replica.said if "primary_conninfo" in sql]
    assert told.endswith(r"""= E'host=''/run/it\\''s-one'' port=5432 user=postgres application_name=tdelta_replica'""")


def test_a_replica_that_does_not_stream_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdelta.engines.postgres.replication._CONNECT_SECONDS", 0)
    replica = FakeSession(paused="t")
    pair = joined(FakeSession(), replica)
    monkeypatch.setattr(replica, "run", replica.said.append)
    with refused(EnvironmentFault, "replica-not-connected", seconds=0, said=Part("paused")):
        pair.connect(confirms=False)


def test_the_replica_is_made_a_standby_at_its_start_and_let_in_by_the_socket_only(tmp_path: Path) -> None:
    recipes = [
        Recipe(
            place_for(folder),
            {folder / "postgresql.conf": "max_wal_senders = 0\n", folder / "pg_hba.conf": "local all all trust\n"},
            (),
            Command(("postgres", "-D", "x"), as_user=True),
            {},
        )
        for folder in (tmp_path / "a", tmp_path / "b")
    ]
    primary, replica = REPLICATION.recipes(*recipes, Link(recipes[0].place, 0))
    texts = {path.name: text for path, text in primary.files.items()}
    assert [line.split()[1] for line in texts["pg_hba.conf"].splitlines()] == ["all", "replication"]
    assert texts["postgresql.conf"].endswith("wal_sender_timeout = 0\n")
    assert primary.serve == recipes[0].serve
    assert replica.serve.argv[-3:] == ("postgres", "-D", "x")
    assert str(tmp_path / "b" / "data" / "standby.signal") in replica.serve.argv
    assert replica.serve.as_user
