"""The keeper of schemas drops what its run has made and nothing else, and gives up in time."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tdelta.engines.server import schema_keeper as keeper
from tdelta.engines.server.schema_keeper import KeptServer, drop
from tdelta.processes.workers import Refused

SOON_SECONDS = 0.3
VERSION = {"SELECT VERSION": [["10.11.2-MariaDB", "", "app@%", "db1"]]}
COLUMNS = {
    "SELECT VERSION": ["version", "comment", "user", "machine"],
    "SELECT ID": ["id"],
    "SELECT GET_LOCK": ["held"],
}
FREE = {"SELECT GET_LOCK": [["1"]]}
MARKED = {"SELECT TABLE_SCHEMA": [["tdelta_r1", "tdelta run r1"], ["tdelta_r2", "tdelta run r2"]]}


class Session:
    """A MariaDB that answers by the beginning of a statement, and refuses some."""

    def __init__(self, *answers: Mapping[str, list[list[str]]], refused: Mapping[str, str] | None = None) -> None:
        self.asked: list[str] = []
        self.answers = {start: rows for one in (VERSION, *answers) for start, rows in one.items()}
        self.refused = dict(refused or {})

    def rows(self, sql: str) -> tuple[list[str], list[list[str | None]]]:
        self.asked.append(sql)
        for start, kind in self.refused.items():
            if sql.startswith(start):
                raise Refused(kind, "no")
        found = next((start for start in self.answers if sql.startswith(start)), "")
        return COLUMNS.get(found, ["name", "mark"]), [list(row) for row in self.answers.get(found, [])]

    def run(self, sql: str) -> None:
        self.rows(sql)

    def text(self, sql: str) -> str:
        raise AssertionError(sql)

    def close(self) -> None:
        pass

    def put(self, start: str) -> list[str]:
        return [sql for sql in self.asked if sql.startswith(start)]


def dropped(session: Session, *schemas: str, seconds: float = 60.0) -> KeptServer:
    server = KeptServer("mariadb", "", "r1", {}, dict.fromkeys(schemas, "mark"), time.monotonic() + seconds)
    drop(server, lambda: session)
    return server


def test_a_schema_with_the_mark_of_the_run_is_dropped_and_no_other() -> None:
    session = Session(FREE, MARKED)
    assert dropped(session, "tdelta_r1", "tdelta_r2", "tdelta_r3").schemas == {}
    assert session.put("DROP") == ["DROP SCHEMA `tdelta_r1`"]


@pytest.mark.usefixtures("clock")
def test_a_drop_takes_as_long_as_it_takes_and_the_next_schema_has_its_time_then() -> None:
    schemas = {"SELECT TABLE_SCHEMA": [["tdelta_r1", "tdelta run r1"], ["tdelta_r1_aa", "tdelta run r1"]]}

    class Slow(Session):
        def run(self, sql: str) -> None:
            if sql.startswith("DROP"):
                time.sleep(1000)
            super().run(sql)

    session = Slow(FREE, schemas)
    assert dropped(session, "tdelta_r1", "tdelta_r1_aa", seconds=SOON_SECONDS).schemas == {}
    assert len(session.put("DROP")) == 2


def test_of_a_run_that_made_nothing_no_server_is_asked() -> None:
    session = Session()
    dropped(session)
    assert session.asked == []


def test_one_that_was_made_and_not_yet_marked_is_dropped_where_it_is_empty() -> None:
    session = Session(FREE, {"SELECT SCHEMA_NAME AS name FROM information_schema.SCHEMATA WHERE": [["tdelta_r1", ""]]})
    dropped(session, "tdelta_r1")
    assert session.put("DROP") == ["DROP SCHEMA `tdelta_r1`"]


def test_sessions_of_the_run_are_ended_first() -> None:
    session = Session(FREE, MARKED, {"SELECT ID": [["7"]]})
    dropped(session, "tdelta_r1")
    assert session.put("KILL") == ["KILL 7"]
    assert session.asked.index("KILL 7") < session.asked.index("DROP SCHEMA `tdelta_r1`")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes on where the keeper waits, and stands otherwise."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))


@pytest.mark.usefixtures("clock")
def test_a_schema_whose_lock_is_held_stays() -> None:
    session = Session({"SELECT GET_LOCK": [["0"]]}, MARKED)
    assert list(dropped(session, "tdelta_r1", seconds=SOON_SECONDS).schemas) == ["tdelta_r1"]
    assert session.put("DROP") == []
    assert len(session.put("SELECT GET_LOCK")) > 1


@pytest.mark.parametrize(
    ("kind", "tries"), [("auth", 1), ("denied", 1), ("read_only", 1), ("busy", 2), ("connection", 2)]
)
@pytest.mark.usefixtures("clock")
def test_what_another_try_does_not_mend_is_tried_once(kind: str, tries: int) -> None:
    session = Session(FREE, MARKED, refused={"DROP": kind})
    assert list(dropped(session, "tdelta_r1", seconds=SOON_SECONDS).schemas) == ["tdelta_r1"]
    assert min(len(session.put("DROP")), 2) == tries


def test_another_server_that_answers_there_now_is_left_alone() -> None:
    session = Session(FREE, MARKED, {"SELECT VERSION": [["8.4.2", "MySQL Community Server", "app@%", "db1"]]})
    dropped(session, "tdelta_r1")
    assert session.asked == session.put("SELECT VERSION")


def test_a_keeper_whose_server_is_gone_ends_in_time(tmp_path: Path) -> None:
    program = f"import {keeper.__name__} as k; k.DROP_SECONDS = {SOON_SECONDS}; k.serve(k.SchemaKeeperHost())"
    options = {"protocol": "mysql", "socket": str(tmp_path / "none"), "user": "app"}
    server = {"engine": "mariadb", "program": "tdelta.processes.worker", "run_id": "r1", "options": options}
    orders = [
        {"do": "keep", "server": "--baseline", **server},
        {"do": "begin", "server": "--baseline", "schema": "tdelta_r1", "sessions": "mark"},
    ]
    ran = subprocess.run(
        [sys.executable, "-c", program],
        input="".join(json.dumps(order) + "\n" for order in orders),
        capture_output=True,
        text=True,
        timeout=60.0,
        check=True,
    )
    assert (ran.stdout, ran.stderr) == ("", "")
