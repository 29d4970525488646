import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.processes import until
from support.refused import Part, coded, refused
from tdelta.errors import LoadFault, ServerFault, ServerLost, StatementFault, StorageFault, TdeltaError
from tdelta.messages import Refusal
from tdelta.processes import TwinFolder
from tdelta.processes.process_tree import usage
from tdelta.processes.servers.recipes import Command, Recipe, Service
from tdelta.processes.servers.server import Server, greets
from tdelta.processes.servers.supervisor import cpus_for

from .faking import is_gone, recipe, state


@contextmanager
def running(made: Recipe) -> Iterator[Server]:
    with Server(made) as server:
        server.start(initialize=True)
        yield server


def test_a_server_starts_answers_and_leaves_nothing(tmp_path: Path) -> None:
    made = recipe(tmp_path / "twin")
    with running(made) as server:
        assert server.alive()
        until(lambda: greets(made.place.socket, made.greeting))  # a busy machine may take a second
        pids = server.pids()
        assert server.pid in pids
        assert len(pids) == 2
    assert list(tmp_path.iterdir()) == []
    assert all(is_gone(pid) for pid in pids)


def test_what_a_service_beside_a_server_uses_is_not_the_servers(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    work = f"sum(range(30_000_000)); open({str(ready)!r}, 'w'); import time; time.sleep(60)"
    service = Service(Command((sys.executable, "-S", "-c", work)), ready)
    with running(recipe(tmp_path / "twin", service=service)) as server:
        used, every = server.usage(), usage(server.supervisor_pid)
        assert every.cpu_user_seconds > 2 * used.cpu_user_seconds
        assert len(server.pids()) == 2
        assert server.measured_pid == server.pid


def test_a_server_keeps_to_its_cores_with_all_that_it_starts(tmp_path: Path) -> None:
    with running(recipe(tmp_path / "twin", cores=1)) as server:
        pids = server.pids()
        assert len(pids) == 2
        assert {os.sched_getaffinity(pid) == cpus_for(1) for pid in pids} == {True}


def test_more_cores_than_there_are_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ServerFault, match="cores=100000"):
        Server(recipe(tmp_path / "twin", cores=100_000))


def test_files_are_written_for_their_owner_only_before_anything_starts(tmp_path: Path) -> None:
    made = recipe(tmp_path / "twin", initialize=(Command(("grep", "-q", "abab", str(tmp_path / "twin/keys/key"))),))
    with Server(made) as server:
        server.initialize(seconds=10.0)
        modes = {path: path.stat().st_mode & 0o777 for path in made.files}
        assert set(modes.values()) == {0o600}
        assert made.place.folder.stat().st_mode & 0o777 == 0o700


def test_a_frozen_server_does_not_answer_and_none_of_its_processes_runs(tmp_path: Path) -> None:
    made = recipe(tmp_path / "twin")
    with running(made) as server:
        pids = server.pids()
        server.freeze()
        assert [state(pid) for pid in pids] == ["T", "T"]
        assert server.alive()
        assert not greets(made.place.socket, made.greeting)
        server.thaw()
        until(lambda: greets(made.place.socket, made.greeting))
        assert "T" not in [state(pid) for pid in pids]


def test_a_server_that_is_frozen_for_long_breathes_now_and_then_and_is_frozen_again(tmp_path: Path) -> None:
    made = recipe(tmp_path / "twin")
    ticks = made.place.data / "ticks"
    with Server(made, pulse_seconds=0.2) as server:
        server.start(initialize=True)
        server.freeze()
        before = ticks.stat().st_size
        until(lambda: ticks.stat().st_size > before)
        until(lambda: [state(pid) for pid in server.pids()] == ["T", "T"])


def test_a_frozen_server_can_be_stopped_and_started_again(tmp_path: Path) -> None:
    made = recipe(tmp_path / "twin")
    with running(made) as server:
        first = server.pids()
        server.freeze()
        server.stop()
        assert all(is_gone(pid) for pid in first)
        assert not server.alive()
        assert made.place.data.is_dir()
        server.start()
        assert server.pid not in first


def test_a_killed_server_keeps_its_folder_and_loses_its_processes(tmp_path: Path) -> None:
    made = recipe(tmp_path / "twin")
    with running(made) as server:
        pids = server.pids()
        server.freeze()
        server.kill()
        assert all(is_gone(pid) for pid in pids)
        assert made.place.data.is_dir()
        with refused(ServerFault, "database-says"):
            server.thaw()


def test_a_server_that_will_not_start_shows_its_complaint_and_its_last_lines(tmp_path: Path) -> None:
    with Server(recipe(tmp_path / "twin", "fails")) as server:
        with pytest.raises(ServerFault) as caught:
            server.start(initialize=True)
        assert "status 7" in str(caught.value)
        assert "no such table space" in str(caught.value)
        words = str(caught.value).partition("the last lines of its log:\n")[2]
        assert words.endswith("word")
        assert len(words.splitlines()) < 20


def test_a_server_that_says_the_disk_is_full_is_a_storage_fault(tmp_path: Path) -> None:
    with Server(recipe(tmp_path / "twin", "full")) as server, refused(StorageFault, "server-disk-full", folder="twin"):
        server.start(initialize=True)


@pytest.mark.parametrize(("is_full", "expected"), [(False, ServerFault), (True, StorageFault)])
@pytest.mark.parametrize(("mode", "status"), [("speechless", 1), ("fails", 7)])
def test_a_server_that_dies_on_a_full_disk_without_a_word_of_it_blames_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, status: int, is_full: bool, expected: type[TdeltaError]
) -> None:
    monkeypatch.setattr("tdelta.processes.servers.server.has_no_room", lambda _folder: is_full)
    died = coded("server-disk-full", said=Part(f"status {status}")) if is_full else coded("server-ended", status=status)
    with Server(recipe(tmp_path / "twin", mode)) as server, refused(expected, died):
        server.start(initialize=True)


def test_a_server_that_takes_no_connection_in_time_is_ended(tmp_path: Path) -> None:
    with Server(recipe(tmp_path / "twin", "silent")) as server:
        with refused(ServerFault, "server-takes-no-connection", seconds=0.5):
            server.start(initialize=True, seconds=0.5)
        assert server.pids() == ()


def test_a_server_that_will_not_stop_is_said_to_and_removed_all_the_same(tmp_path: Path) -> None:
    with running(recipe(tmp_path / "twin", "stubborn")) as server:
        pids = server.pids()
        with refused(ServerFault, "database-says"):
            server.stop(seconds=0.3)
    assert all(is_gone(pid) for pid in pids)
    assert list(tmp_path.iterdir()) == []


def test_what_initializes_is_ended_when_it_takes_too_long_and_its_status_is_told(tmp_path: Path) -> None:
    slow, wrong = Command(("sleep", "1000")), Command(("sh", "-c", "echo oh dear; exit 3"))
    with Server(recipe(tmp_path / "slow", initialize=(slow,))) as server:
        with refused(ServerFault, "database-says"):
            server.initialize(seconds=0.2)
        assert server.pids() == ()
    with (
        Server(recipe(tmp_path / "wrong", initialize=(wrong,))) as server,
        refused(ServerFault, "database-says", said=Part("status 3"), shows="oh dear"),
    ):
        server.start(initialize=True)


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    missing = Command(("/nowhere/mysqld",))
    with (
        Server(recipe(tmp_path / "twin", serve=missing)) as server,
        refused(ServerFault, "database-says", said=Part("/nowhere/mysqld ")),
    ):
        server.start(initialize=True)


def test_a_command_gets_its_secret_on_its_standard_input_and_nowhere_else(tmp_path: Path) -> None:
    word = "hush-hush"
    script = "cat > got; tr '\\0' ' ' < /proc/$$/cmdline > said; env >> said"
    told = Command(("sh", "-c", script), {"FOUND": "yes"}, secret=word)
    made = recipe(tmp_path / "twin", initialize=(told,))
    with Server(made, {"ADDED": "too"}) as server:
        server.initialize(seconds=10.0)
        assert (made.place.folder / "got").read_text() == "hush-hush"
        said = (made.place.folder / "said").read_text()
        assert "hush" not in said
        assert "FOUND=yes" in said
        assert "ADDED=too" in said


def test_the_users_word_for_openssl_does_not_reach_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENSSL_ia32cap", "~0x200000200000000")
    made = recipe(tmp_path / "twin", initialize=(Command(("sh", "-c", "env > said")),))
    with Server(made) as server:
        server.initialize(seconds=10.0)
        assert "OPENSSL_ia32cap" not in (made.place.folder / "said").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root leaves root")
def test_a_program_that_refuses_root_is_run_as_somebody_and_its_files_are_ours(tmp_path: Path) -> None:
    made = recipe(tmp_path / "twin", initialize=(Command(("sh", "-c", "id -u > who"), as_user=True),))
    with Server(made) as server:
        server.initialize(seconds=10.0)
        who = made.place.folder / "who"
        assert who.read_text().strip() == "1000"
        assert who.stat().st_uid == os.geteuid()


def test_a_folder_that_is_there_already_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "twin").mkdir()
    (tmp_path / "twin" / "precious").touch()
    with refused(StorageFault, "disk-refuses", said=Part("File exists")):
        Server(recipe(tmp_path / "twin"))
    assert (tmp_path / "twin" / "precious").exists()


def test_a_socket_whose_path_would_be_too_long_goes_to_a_folder_that_is_removed_as_well(tmp_path: Path) -> None:
    made = recipe(tmp_path / ("d" * 100))
    assert made.place.folder not in made.place.socket.parents
    with running(made):
        assert made.place.socket.parent.stat().st_mode & 0o777 == 0o700
    assert not made.place.socket.parent.exists()


def test_a_supervisor_that_is_killed_takes_the_server_along_and_end_clears_up(tmp_path: Path) -> None:
    made = recipe(tmp_path / "twin")
    with running(made) as server:
        pid, pids = server.pid, server.pids()
        server.freeze()
        os.kill(server.supervisor_pid, signal.SIGKILL)
        until(lambda: is_gone(pid))
        assert not server.alive()
        with refused(ServerFault, "supervisor-gone", server="twin"):
            server.pids()
    assert list(tmp_path.iterdir()) == []
    assert len(pids) == 2
    assert all(is_gone(pid) for pid in pids)


OWNER = """
import os, signal, sys
from pathlib import Path
from tdelta.processes import TwinFolder
from tdelta.processes.servers.server import Server
from tests.unit.processes.servers.faking import recipe

folder = TwinFolder(Path(sys.argv[1]), "r1")
servers = [Server(recipe(folder.path / f"twin-{number}")) for number in range(2)]
for server in servers:
    server.start(initialize=True)
servers[0].freeze()
print(*[pid for server in servers for pid in (server.supervisor_pid, *server.pids())], flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_when_tdelta_is_killed_neither_a_process_nor_a_folder_stays(tmp_path: Path, number: signal.Signals) -> None:
    root = Path(__file__).parents[4]
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        pids = [int(pid) for pid in owner.stdout.readline().split()]
        assert len(pids) == 6
        owner.send_signal(number)
        owner.wait()
    until(lambda: all(is_gone(pid) for pid in pids))
    until(lambda: list(tmp_path.iterdir()) == [])  # the keeper goes last


def test_ctrl_c_and_its_like_do_not_end_a_supervisor(tmp_path: Path) -> None:
    with running(recipe(tmp_path / "twin")) as server:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(server.supervisor_pid, number)
        assert server.alive()


def test_a_run_that_goes_on_keeps_its_folder_when_a_server_ends(tmp_path: Path) -> None:
    with TwinFolder(tmp_path, "r1") as folder:
        with Server(recipe(folder.path / "twin")):
            pass
        assert folder.path.is_dir()


def test_a_run_folder_that_an_order_of_a_dead_run_makes_again_goes_as_well(tmp_path: Path) -> None:
    with Server(recipe(tmp_path / "twins-r1" / "twin")):
        assert (tmp_path / "twins-r1").is_dir()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "shown",
    [
        ServerLost(Refusal.of("database-says", said="the server closed the connection")),
        LoadFault(Refusal.of("load-failed", tool="sysbench", how="failed")),
        ServerFault(Refusal.of("server-not-started")),
    ],
)
def test_whatever_fails_under_a_server_that_died_is_a_loss_with_its_log(tmp_path: Path, shown: TdeltaError) -> None:
    made = recipe(tmp_path / "twin")
    with running(made) as server:
        made.place.log.write_text("Thank you for the fish\n")
        os.kill(server.pid, signal.SIGKILL)
        with refused(ServerLost, "server-died", server="twin", shows="Thank you for the fish"), server.at_work():
            raise shown


def test_thawing_a_server_that_died_is_a_loss(tmp_path: Path) -> None:
    with running(recipe(tmp_path / "twin")) as server:
        server.freeze()
        os.kill(server.pid, signal.SIGKILL)
        until(lambda: not server.alive())
        with refused(ServerLost, "server-died", server="twin"), server.at_work():
            server.thaw()


def test_a_supervisor_that_was_killed_is_a_loss(tmp_path: Path) -> None:
    with running(recipe(tmp_path / "twin")) as server:
        os.kill(server.supervisor_pid, signal.SIGKILL)
        with refused(ServerLost, "server-died", server="twin"), server.at_work():
            server.freeze()


def test_what_fails_on_a_server_that_lives_is_what_it_was(tmp_path: Path) -> None:
    twin = running(recipe(tmp_path / "twin"))
    with twin as server, pytest.raises(StatementFault, match="no such table"), server.at_work():
        raise StatementFault("no such table")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("[ERROR] No space left on device", ServerLost(Refusal.of("database-says", said="closed"))),
        ("a word", StorageFault(Refusal.of("disk-refuses", said="errno 28"))),
    ],
)
def test_a_server_that_died_of_a_full_disk_says_so(tmp_path: Path, words: str, shown: TdeltaError) -> None:
    made = recipe(tmp_path / "twin")
    with running(made) as server:
        made.place.log.write_text(f"{words}\n")
        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(StorageFault) as caught, server.at_work():
            raise shown
        assert caught.value.refusals[0].code in ("server-disk-full", "disk-refuses")
