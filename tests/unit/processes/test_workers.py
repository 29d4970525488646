"""A worker process: asked, refused, killed; no database is needed to test that."""

import io
import json
import os
import queue
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from support.processes import is_gone, is_running
from support.refused import Coded, Part, check_messages, coded, refused
from tdelta.errors import Defect, EngineUnavailable, ServerLost, StatementFault, StorageFault, TdeltaError, WorkerFault
from tdelta.measure.aes import OPENSSL_VARIABLE, OPENSSL_WORD
from tdelta.measure.pressure import is_stopped
from tdelta.processes import Worker, workers
from tdelta.processes.answers import WORKER
from tdelta.processes.rpc import listen
from tdelta.processes.worker import Host
from tdelta.processes.workers import failure


def test_a_worker_is_another_process_which_ends_with_its_block() -> None:
    with Worker() as worker:
        assert worker.ask("hello") == {"pid": worker.pid}
        assert worker.pid != os.getpid()
    assert not is_running(worker.pid)


def environment_of(pid: int) -> dict[str, str]:
    entries = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(entry.split("=", 1) for entry in entries if entry)


def test_the_users_own_word_for_openssl_does_not_reach_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPENSSL_VARIABLE, "~0x200000200000000")
    with Worker() as plain, Worker({OPENSSL_VARIABLE: OPENSSL_WORD}) as told:
        for worker in (plain, told):
            worker.ask("hello")
        found = [environment_of(worker.pid).get(OPENSSL_VARIABLE) for worker in (plain, told)]
    assert found == [None, OPENSSL_WORD]


def test_an_order_out_of_turn_is_an_error_and_not_the_end_of_the_worker() -> None:
    with Worker() as worker:
        with refused(TdeltaError, "no-twin-open"):
            worker.ask("facts", queries={"page_size": "PRAGMA page_size"})
        assert worker.ask("hello") == {"pid": worker.pid}


def test_a_worker_that_does_not_answer_is_ended() -> None:
    with Worker() as worker:
        os.kill(worker.pid, signal.SIGSTOP)
        with refused(WorkerFault, "process-silent", seconds=0.01):
            worker.ask("hello", seconds=0.01)
        assert not is_running(worker.pid)


def test_a_worker_that_is_stopped_for_good_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdelta.processes.workers.LOOK_SECONDS", 0.05)
    monkeypatch.setattr("tdelta.processes.workers._PATIENCE_SECONDS", 0.2)
    with Worker() as worker:
        os.kill(worker.pid, signal.SIGSTOP)
        with refused(ServerLost, "stopped-by-signal", process=WORKER, seconds=0.2):
            worker.ask("hello")


def test_one_that_goes_on_in_time_answers_as_if_nothing_had_been(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdelta.processes.workers.LOOK_SECONDS", 0.05)
    with Worker() as worker:
        os.kill(worker.pid, signal.SIGSTOP)
        threading.Timer(0.5, os.kill, (worker.pid, signal.SIGCONT)).start()
        assert worker.ask("hello") == {"pid": worker.pid}


def test_a_worker_whose_server_is_stopped_for_good_is_given_up_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdelta.processes.workers.LOOK_SECONDS", 0.05)
    monkeypatch.setattr("tdelta.processes.workers._PATIENCE_SECONDS", 0.2)
    with subprocess.Popen(["sleep", "60"]) as server, Worker() as worker:
        worker.server = server.pid
        os.kill(server.pid, signal.SIGSTOP)
        with refused(ServerLost, "stopped-by-signal", process=Part("server"), seconds=0.2):
            worker.answer(30.0)  # to nothing that was asked: it waits, as for a server that is silent
        server.kill()


@pytest.mark.parametrize("is_servers", [True, False])
def test_one_above_a_file_system_that_is_stopped_for_good_is_given_up(
    monkeypatch: pytest.MonkeyPatch, *, is_servers: bool
) -> None:
    monkeypatch.setattr("tdelta.processes.workers.LOOK_SECONDS", 0.05)
    monkeypatch.setattr("tdelta.processes.workers._PATIENCE_SECONDS", 0.2)
    called = "the encrypted file system under the server" if is_servers else "what lies below"
    with subprocess.Popen(["sleep", "60"]) as below, Worker() as worker:
        os.kill(below.pid, signal.SIGSTOP)
        if is_servers:
            worker.file_systems = (below.pid,)
        relied_on = os.getpid() if is_servers else below.pid  # itself goes on
        with (
            workers.relying_on("what lies below", relied_on),
            refused(ServerLost, "stopped-by-signal", process=called, seconds=0.2),
        ):
            worker.answer(30.0)
        assert is_running(below.pid) if is_servers else is_gone(below.pid)  # a server's goes with the server
        below.kill()
    with Worker() as worker:
        assert worker.ask("hello") == {"pid": worker.pid}


def test_after_a_ctrl_c_none_is_waited_for_that_stands_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.01)
    with Worker() as worker:
        os.kill(worker.pid, signal.SIGSTOP)
        workers.hurry()
        try:
            with refused(ServerLost, "stopped-by-signal", seconds=0.01):
                worker.ask("hello")
        finally:
            workers.hurry(hurried=False)


def test_one_that_goes_on_after_a_ctrl_c_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(workers, "_HURRIED_SECONDS", 0.05)
    with Worker() as worker:
        worker.ask("hello")
        workers.hurry()
        try:
            with refused(ServerLost, "process-silent", seconds=0.05):
                worker.answer()  # nothing was asked, so nothing comes
        finally:
            workers.hurry(hurried=False)
    assert not is_running(worker.pid)


def test_one_that_does_what_must_be_done_is_not_hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(workers, "_HURRIED_SECONDS", 0.05)
    with Worker() as worker:
        worker.is_patient = True
        workers.hurry()
        try:
            with refused(WorkerFault, "process-silent", seconds=0.2):
                worker.answer(0.2)
        finally:
            workers.hurry(hurried=False)


def test_one_that_stands_stopped_is_not_waited_for_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_END_SECONDS", 3600.0)
    with Worker() as worker:
        os.kill(worker.pid, signal.SIGSTOP)
        while not is_stopped(worker.pid):
            time.sleep(0.001)
    assert not is_running(worker.pid)


@pytest.mark.parametrize(
    ("kind", "fault", "code"),
    [
        ("full", StorageFault, coded("disk-refuses", said="no")),
        ("io", StorageFault, coded("disk-refuses", said="no")),
        ("read_only", StorageFault, coded("disk-refuses", said="no")),
        ("cannot_open", StorageFault, coded("database-answer", said="no", fix=Part("ulimit -n"))),
        ("sql", StatementFault, coded("database-answer", said="no", fix=Part("see the scripts of"))),
        ("library", EngineUnavailable, coded("database-says", said="no")),
        ("corrupt", Defect, coded("defect", said="no")),
    ],
)
def test_what_a_database_says_is_the_fault_of_whoever_can_mend_it(
    kind: str, fault: type[TdeltaError], code: Coded
) -> None:
    found = failure(kind, "no")
    assert type(found) is fault
    check_messages(found.refusals, code)


def test_orders_are_handed_on_in_turn_and_the_end_of_the_input_ends_the_worker() -> None:
    lines = "".join(f"{json.dumps({'do': name})}\n" for name in ("hello", "stop", "close"))
    orders: queue.SimpleQueue = queue.SimpleQueue()
    listen(io.StringIO(lines), orders, Host())
    assert [orders.get() for _ in range(3)] == [{"do": "hello"}, {"do": "close"}, None]


def test_what_goes_on_beside_a_trial_is_begun_without_waiting_for_what_came_before() -> None:
    class Busy(Host):
        def __init__(self) -> None:
            super().__init__()
            self.begun: list[object] = []

        def now_aside(self, order: dict[str, object]) -> None:
            self.begun.append(order["said"])

    host = Busy()
    orders: queue.SimpleQueue = queue.SimpleQueue()
    listen(io.StringIO('{"do": "hello"}\n{"do": "aside", "said": "x"}\n'), orders, host)
    assert host.begun == ["x"]
    assert [orders.get() for _ in range(2)] == [{"do": "hello"}, None]


def test_a_value_that_native_code_refuses_is_an_answer() -> None:
    kind, message = Host().answer({"do": "loop_cost", "transactions": [], "constants": {}, "trial": {}})["error"]
    assert kind == "value"
    assert "not the expected JSON" in message or "transaction" in message
