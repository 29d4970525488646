"""An instance is awake exactly while somebody needs it."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from processes.servers.faking import recipe, state

from support.processes import until
from support.refused import refused
from tdelta.engines.mariadb.driver import MariaDb
from tdelta.engines.server.base import ServerBinary, ServerSettings
from tdelta.engines.server.private_twin import Instance, on_one_cpu
from tdelta.errors import ServerFault, ServerLost
from tdelta.processes.servers.server import Server

ENGINE = MariaDb(ServerBinary("mariadb", "MariaDB", Path("/usr/sbin/mariadbd"), "10.11.19", "a fake"))


def frozen(server: Server) -> Instance:
    server.start(initialize=True)
    server.freeze()
    return Instance(ENGINE, ServerSettings("none"), server.recipe, server)


def test_a_server_is_awake_until_the_last_of_those_who_need_it_is_done(tmp_path: Path) -> None:
    with Server(recipe(tmp_path / "twin")) as server:
        instance = frozen(server)
        with instance.awake():
            with instance.awake():
                assert state(server.pid) != "T"
            assert state(server.pid) != "T"
        assert state(server.pid) == "T"


def test_a_server_that_died_while_frozen_is_a_loss_and_stays_one(tmp_path: Path) -> None:
    with Server(recipe(tmp_path / "twin")) as server:
        instance = frozen(server)
        os.kill(server.pid, signal.SIGKILL)
        until(lambda: not server.alive())
        for _ in range(2):
            with pytest.raises(ServerLost), instance.at_work():
                pass
        with refused(ServerFault, "database-says"), instance.awake():
            pass


def test_a_client_and_the_process_forked_for_it_share_a_cpu_and_the_server_keeps_its_own() -> None:
    forking = ["sh", "-c", "read word; sleep 60 & echo $!; read word; kill $!"]
    with (
        subprocess.Popen(["cat"], stdin=subprocess.PIPE) as client,
        subprocess.Popen(forking, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as server,
    ):
        assert client.stdin
        assert server.stdin
        assert server.stdout
        allowed = os.sched_getaffinity(server.pid)
        with on_one_cpu(client.pid, server.pid):
            print("connect", file=server.stdin)
            serving = int(server.stdout.readline())
        assert os.sched_getaffinity(serving) == os.sched_getaffinity(client.pid) == {max(allowed)}
        assert os.sched_getaffinity(server.pid) == allowed
        print("end", file=server.stdin)
        client.stdin.close()
