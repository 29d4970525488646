"""``tdelta run --baseline DSN --encrypted DSN`` on two private PostgreSQL servers that stand for a user's."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlite.running import Answered, Place, end, read_until, require, workers_left

from .own import PASSWORD, Server, free_port, objects, programs, two

VARIABLE = "OWN_SERVERS_PASSWORD"
SHORT = (
    *("--size", "5MB", "--trial-seconds", "0.2", "--blocks", "2", "--max-time", "60s", "--workload", "point-select"),
    *("--rounds", "1..1"),
)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    require(programs(), "apt-get install postgresql")
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
    return f"postgresql://{user}@127.0.0.1:{server.port}/app?password-env={variable}"


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
    found = place.answered(*SHORT, "--workload", "order-entry", "--assume-encrypted", *on(servers))
    assert [objects(server) for server in servers] == left_as_they_were
    return found


def test_a_run_on_two_servers_is_answered_and_leaves_them_as_they_were(answered: Answered) -> None:
    (verdict,) = [verdict for verdict in answered.document["verdicts"] if verdict["primary"]]
    assert verdict["condition"] == {"cipher": "encrypted", "threads": 1}
    checks = {check["check"]: check["detail"] for check in answered.document["validity"]}
    assert checks["files are encrypted as asked"] == "none: plain, as the user says, encrypted: as the user says"
    assert "tables the server cannot tell" in checks["the cipher in force is the one asked for"]
    assert "by checksum, at the end of 1 rounds" in checks["rows are the same after the last trial"]
    assert any("is what the user says" in caution for caution in answered.document["cautions"])
    assert answered.document["settings"]["own_servers"]["assumed"]
    assert "--assume-encrypted" in answered.document["settings"]["repeat"]


def test_important_differences_are_told(answered: Answered) -> None:
    differences = answered.document["settings"]["own_servers"]["differences"]
    important = [one["name"] for one in differences if one["is_important"]]
    assert important[0] == "shared_buffers"
    assert "work_mem" in important
    assert any("shared_buffers: 4096 8kB / 2048 8kB" in caution for caution in answered.document["cautions"])
    assert not any("is run in another way" in caution for caution in answered.document["cautions"])


def test_a_disk_that_nobody_vouches_for_is_unsound(servers: tuple[Server, Server], place: Place) -> None:
    ran = place.tdelta("run", *SHORT, *on(servers))
    assert ran.code == 4
    assert "--assume-encrypted says that the disk under it is encrypted" in ran.err


@pytest.mark.parametrize(
    ("user", "variable", "said"),
    [
        ("bench", "WRONG", "password authentication failed"),
        ("nobody", "NOBODYS", "a right is missing: GRANT CREATE ON DATABASE app TO nobody"),
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
    ran = place.tdelta("run", *SHORT, "--assume-encrypted", *on(servers, user=user, variable=variable))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count(said) == 2  # of both servers at once
    assert "Traceback" not in ran.err
    assert [objects(server) for server in servers] == left_as_they_were


def test_a_server_that_is_not_there_is_told(servers: tuple[Server, Server], place: Place) -> None:
    gone = f"postgres://bench@127.0.0.1:{free_port()}/app?password-env={VARIABLE}"
    ran = place.tdelta("run", *SHORT, "--assume-encrypted", "--baseline", dsn(servers[0]), "--encrypted", gone)
    assert ran.code == 2
    assert "is it running, does it listen there" in ran.err


def test_ctrl_c_leaves_nothing(
    servers: tuple[Server, Server], left_as_they_were: list[list[object]], place: Place
) -> None:
    process = place.start("run", "--assume-encrypted", "--no-aa-twin", *SHORT, *on(servers))
    read_until(process, "round 1:")
    assert all("tdelta_" in str(objects(server)) for server in servers)
    ran = end(process, signal.SIGINT)
    assert ran.code == 130
    assert workers_left(process.pid) == []
    assert [objects(server) for server in servers] == left_as_they_were
