"""A replica's trials and their figures, on fake sessions and servers."""

import contextlib
import errno
import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tdelta.engines.server.replicas import Behind, Course, held_port
from tdelta.processes.actions import Halt
from tdelta.records import Measurement, Usage
from tdelta.records.trials import APPLY_NS, CONFIRMED, CPU_NS, LAG_BYTES, LAG_NS, LOG_BYTES, UNCONFIRMED


class FakeReplica:
    def __init__(self) -> None:
        self.said: list[str] = []
        self.log = 100
        self.waits = 0
        self.unreceived = [10, 5, 0]
        self.server = SimpleNamespace(usage=Usage)
        self.pair = self

    def synchronize(self, _halt: Halt) -> None:
        self.said.append("synchronize")

    def connect(self, *, confirms: bool) -> None:
        self.said.append("connect, confirms" if confirms else "connect")

    def receive(self) -> None:
        self.said.append("receive")

    def apply(self) -> None:
        self.said.append("apply")

    def rest(self) -> None:
        self.said.append("rest")

    def look(self) -> None:
        self.said.append("look")

    def catch_up(self, halt: Halt) -> bool:
        self.said.append("catch up")
        return not halt.is_asked

    def position(self) -> int:
        return self.log

    def behind(self) -> Behind:
        return Behind(self.unreceived.pop(0), 30)

    def confirmations(self) -> tuple[int, int]:
        self.waits += 4
        return self.waits, 2 * self.waits


@contextlib.contextmanager
def trial(level: str, halt: Halt) -> Iterator[tuple[FakeReplica, Course]]:
    replica: Any = FakeReplica()
    course = Course(replica, level, halt)
    with course.going_on():
        replica.said.append("load")
        replica.log += 64
        course.load_ended()
        yield replica, course


def counted(course: Course) -> dict[str, int]:
    return dict(course.added(Measurement(1, 1, {}, {}, engine_counters={"pages_read": 3})).engine_counters)


def test_a_replica_that_follows_is_waited_for_before_the_primary_is_brought_to_rest() -> None:
    with trial("async", Halt()) as (replica, course):
        assert replica.said == ["synchronize", "connect", "load", "catch up"]
    assert replica.said[4:] == ["rest"]
    found = counted(course)
    assert found.keys() == {"pages_read", LOG_BYTES, LAG_BYTES, LAG_NS, CPU_NS}
    assert (found["pages_read"], found[LOG_BYTES], found[LAG_BYTES]) == (3, 64, 30)


def test_commits_that_waited_are_counted_and_those_that_did_not() -> None:
    with trial("semisync", Halt()) as (replica, course):
        assert replica.said[1] == "connect, confirms"
    found = counted(course)
    assert (found[CONFIRMED], found[UNCONFIRMED]) == (4, 8)


def test_a_replica_that_was_stopped_receives_all_and_only_then_applies() -> None:
    with trial("none", Halt()) as (replica, course):
        assert replica.said == ["synchronize", "load"]
    assert replica.said[2:] == ["receive", "look", "look", "apply", "catch up", "rest"]
    assert counted(course).keys() == {"pages_read", LOG_BYTES, APPLY_NS, CPU_NS}


@pytest.mark.parametrize("level", ["none", "async"])
def test_a_trial_whose_replica_was_not_waited_for_to_the_end_was_cut_off(level: str) -> None:
    halt = Halt()
    halt.ask()
    with trial(level, halt) as (_, course):
        pass
    assert course.added(Measurement(1, 1, {}, {})).stopped_by == "signal"


def test_a_held_port_goes_to_nobody_but_a_server_that_says_which_it_wants() -> None:
    with held_port() as port, held_port() as other:
        assert port != other
        with socket.socket() as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(("127.0.0.1", port))
            server.listen()
        with socket.socket() as careless, pytest.raises(OSError, match=f"Errno {errno.EADDRINUSE}"):
            careless.bind(("127.0.0.1", other))
