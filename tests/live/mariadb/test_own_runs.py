"""``tdelta run --baseline DSN --encrypted DSN`` on two private servers that stand for a user's."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import pytest
from sqlite.running import Answered, Place, end, read_until, require, workers_left

from .own import PASSWORD, Server, free_port, objects, root, two

VARIABLE = "OWN_SERVERS_PASSWORD"
SHORT = (
    *("--size", "5MB", "--trial-seconds", "0.2", "--blocks", "2", "--max-time", "60s", "--workload", "point-select"),
    "--rounds",
)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    require(which("mariadbd") and which("mariadb-install-db"), "apt-get install mariadb-server")
    with two(tmp_path_factory.mktemp("own")) as both:
        yield both


@pytest.fixture(scope="module", autouse=True)
def password() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, PASSWORD)
        patch.setenv("WRONG", "wr0ng")
        patch.setenv("NOBODYS", "x")
        yield


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def dsn(server: Server, user: str = "bench", variable: str = VARIABLE) -> str:
    return f"mysql://{user}@127.0.0.1:{server.port}/?password-env={variable}"


def on(servers: tuple[Server, Server], **which: str) -> tuple[str, ...]:
    return ("--baseline", dsn(servers[0], **which), "--encrypted", dsn(servers[1], **which))


@pytest.fixture(scope="module")
def left_as_they_were(servers: tuple[Server, Server]) -> list[list[object]]:
    return [objects(server) for server in servers]


@pytest.fixture(scope="module")
def answered(
    servers: tuple[Server, Server],
    left_as_they_were: list[list[object]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Answered:
    place = Place(tmp_path_factory.mktemp("answered"))
    found = place.answered(*SHORT, "1..1", "--workload", "order-entry", *on(servers))
    assert [objects(server) for server in servers] == left_as_they_were
    return found


def test_a_run_on_two_servers_is_answered_and_leaves_them_as_they_were(answered: Answered) -> None:
    (verdict,) = [verdict for verdict in answered.document["verdicts"] if verdict["primary"]]
    assert verdict["condition"] == {"cipher": "encrypted", "threads": 1}
    assert "the encrypted server" in answered.document["answer"] or answered.document["decision"] == "unsound"
    checks = {check["check"]: check["detail"] for check in answered.document["validity"]}
    assert checks["files are encrypted as asked"] == (
        "none: plain tables by the server's catalog, encrypted: encrypted tables by the server's catalog"
    )
    assert "tables encrypted" in checks["the cipher in force is the one asked for"]
    assert "by checksum, at the end of 1 rounds" in checks["rows are the same after the last trial"]
    assert "3 twins NOT searched: servers of yours" in checks["no marker in any file of an encrypted twin"]


def test_what_the_servers_are_and_in_what_they_differ_is_told(
    answered: Answered, servers: tuple[Server, Server]
) -> None:
    facts = answered.document["settings"]["own_servers"]
    assert facts["servers"][0]["where"] == f"bench@127.0.0.1:{servers[0].port}"
    assert [scope["name"] for scope in facts["servers"][1]["scopes"] if scope["is_encrypted"]] == ["data"]
    assert [one["name"] for one in facts["differences"]] == ["innodb_buffer_pool_size", "sort_buffer_size"]
    cautions = answered.document["cautions"]
    assert any("innodb_buffer_pool_size: 67108864 / 33554432" in caution for caution in cautions)
    assert any(caution.startswith("there is one server of each kind") for caution in cautions)
    assert not any("is run in another way" in caution for caution in cautions)
    assert answered.document["settings"]["engine"] == "mariadb"  # whatever the DSN begins with


def test_the_cpu_time_of_servers_on_this_machine_is_theirs(answered: Answered) -> None:
    facts = answered.document["settings"]["own_servers"]
    if os.geteuid() != 0:
        pytest.skip("only root sees whose socket it is")
    assert facts["servers"][0]["has_cpu_time"]
    assert facts["servers"][1]["has_cpu_time"]
    cpu = [one for one in answered.document["verdicts"] if one["metric"] == "cpu_per_operation"]
    assert cpu
    assert all(one["baseline_value"] > 0 for one in cpu if one["transaction"] == "all")


def test_no_password_is_kept_and_a_repeat_names_where_it_is(answered: Answered) -> None:
    repeat = answered.document["settings"]["repeat"]
    assert f"password-env={VARIABLE}" in repeat
    assert "--engine" not in repeat
    assert "--baseline" in repeat
    for file in answered.place.base.rglob("*"):
        assert not file.is_file() or PASSWORD.encode() not in file.read_bytes()
    shown = answered.place.tdelta("show")
    assert answered.document["settings"]["own_servers"]["servers"][0]["where"] in " ".join(shown.out.split())
    assert "servers of yours: MariaDB" in shown.out


@pytest.mark.parametrize(
    ("user", "variable", "said"),
    [
        ("bench", "WRONG", "Access denied"),
        ("nobody", "NOBODYS", "a right is missing: GRANT"),
        ("bench", "NOT_THERE", "expected that variable in the environment"),
    ],
)
def test_who_may_not_is_told_so_and_nothing_is_made(
    servers: tuple[Server, Server],
    left_as_they_were: list[list[object]],
    place: Place,
    user: str,
    variable: str,
    said: str,
) -> None:
    ran = place.tdelta("run", *SHORT, "1..1", *on(servers, user=user, variable=variable))
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert "--baseline" in ran.err
    assert "--encrypted" in ran.err
    assert "Traceback" not in ran.err
    assert "wr0ng" not in ran.err
    assert [objects(server) for server in servers] == left_as_they_were


def test_one_server_twice_and_one_that_is_not_there_are_refused(
    servers: tuple[Server, Server], left_as_they_were: list[list[object]], place: Place
) -> None:
    plain, _ = servers
    twice = place.tdelta("run", *SHORT, "1..1", "--baseline", dsn(plain), "--encrypted", dsn(plain))
    assert twice.code == 2
    assert "both are one and the same server" in twice.err
    gone = f"mysql://bench@127.0.0.1:{free_port()}/?password-env={VARIABLE}"
    refused = place.tdelta("run", *SHORT, "1..1", "--baseline", dsn(plain), "--encrypted", gone)
    assert refused.code == 2
    assert "is it running, does it listen there" in refused.err
    assert [objects(server) for server in servers] == left_as_they_were


def test_a_schema_that_exists_stays_as_it_is(servers: tuple[Server, Server], place: Place) -> None:
    _, encrypted = servers
    with contextlib.closing(root(encrypted)) as asked:
        asked.run("CREATE SCHEMA tdelta_taken")
        try:
            asked.run("CREATE TABLE tdelta_taken.precious (id INT)")
            before = [objects(server) for server in servers]
            ran = place.tdelta("run", *SHORT, "1..1", *on(servers), "--schema", "tdelta_taken")
            assert ran.code == 2
            assert "expected no schema tdelta_taken, found one, which is left as it is" in ran.err
            assert [objects(server) for server in servers] == before
        finally:
            asked.run("DROP SCHEMA tdelta_taken")


def test_servers_that_are_the_wrong_way_round_are_unsound(servers: tuple[Server, Server], place: Place) -> None:
    plain, encrypted = servers
    ran = place.tdelta("run", *SHORT, "1..1", "--baseline", dsn(encrypted), "--encrypted", dsn(plain))
    assert ran.code == 4
    assert "expected plain tables, found them encrypted" in ran.err


def test_ctrl_c_leaves_nothing_and_the_run_can_be_completed(
    servers: tuple[Server, Server], left_as_they_were: list[list[object]], place: Place
) -> None:
    process = place.start("run", "--no-aa-twin", *SHORT, "1..1", *on(servers))
    read_until(process, "round 1:")
    assert any("tdelta_" in str(objects(server)) for server in servers)
    ran = end(process, signal.SIGINT)
    assert ran.code == 130
    assert "Traceback" not in ran.err
    assert workers_left(process.pid) == []
    assert [objects(server) for server in servers] == left_as_they_were
    resumed = place.tdelta("run", "--resume", "last", "--json")
    assert resumed.code in (0, 3), resumed.err
    assert resumed.document["counts"]["rounds"] >= 1
    assert [objects(server) for server in servers] == left_as_they_were


def test_ctrl_c_while_tables_are_loaded_leaves_nothing(
    servers: tuple[Server, Server], left_as_they_were: list[list[object]], place: Place
) -> None:
    process = place.start("run", *SHORT, "1..1", "--size", "200MB", *on(servers))
    read_until(process, "load: the baseline")
    ran = end(process, signal.SIGINT)
    assert ran.code == 130
    assert ran.err.splitlines()[-1] == "error: interrupted"
    assert [objects(server) for server in servers] == left_as_they_were


def test_what_a_kill_leaves_is_told_by_the_next_run_with_what_removes_it(
    servers: tuple[Server, Server], left_as_they_were: list[list[object]], place: Place
) -> None:
    process = place.start("run", "--no-aa-twin", *SHORT, "1..1", *on(servers))
    read_until(process, "round 1:")
    end(process, signal.SIGKILL)
    assert workers_left(process.pid) == []
    left = told_left(place, servers)
    assert len(left) == 2
    assert all("is left of run" in said for said in left)
    for server in servers:
        with contextlib.closing(root(server)) as asked:
            asked.run(left[0].split("remove it: ")[1])
    assert [objects(server) for server in servers] == left_as_they_were


def told_left(place: Place, servers: tuple[Server, Server]) -> list[str]:
    """What a dry run says is left, once both servers have seen that the killed run's sessions are gone."""
    give_up = time.monotonic() + 30.0
    left: list[str] = []
    while len(left) < len(servers) and time.monotonic() < give_up:
        ran = place.tdelta("run", "--dry-run", "--json", *SHORT, "1..1", *on(servers))
        assert ran.code == 0, ran.err
        left = [caution for caution in ran.document["cautions"] if "is left of" in caution]
    return left
