"""A trial whose operations are given to it while it runs."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tdelta import _native
from tdelta.processes.dbapi import explained
from tdelta.processes.rpc import Reply, Request
from tdelta.processes.worker_host import TwinHost
from tdelta.ray.chunks import HandOut

CLOSED = {"seed": 1, "stream": 2, "operations": 400, "discard": 40, "first_op": 0, "deadline_ns": 60_000_000_000}
NUMBER = 5


class Cursor:
    def __init__(self, bound: list[int]) -> None:
        self.bound = bound
        self.description = None
        self.connection = self

    def execute(self, _sql: str, parameters: tuple[int]) -> None:
        self.bound.append(parameters[0])

    def fetchall(self) -> list[tuple[object, ...]]:
        return []

    def commit(self) -> None:
        """There is nothing to be kept."""


class Fed(TwinHost):
    """A worker's host on so many connections; ``bound`` are the numbers of the operations that it did."""

    def __init__(self, connections: int) -> None:
        super().__init__()
        self.bound: list[int] = []
        connect = lambda _old: Cursor(self.bound)  # noqa: E731
        self.twin = _native.DbApiTwin('{"parameters": "qmark"}', connect, connections, explained)
        self.do_prepare({"transactions": [{"name": "a", "weight": 1.0, "text": "SELECT :op;"}], "constants": {}})

    def ran(self, chunks: list[tuple[int, int]], *, is_complete: bool = False, **trial: Any) -> Reply:
        fed = {"number": NUMBER, "chunks": chunks, "is_complete": is_complete}
        request = {"do": "trial", "trial": {**CLOSED, **trial}, "begin_ns": 0, "fed": fed}
        answer: Reply = self.answer(json.loads(json.dumps(request)))
        return answer


def test_operations_are_those_of_the_chunks_after_those_that_are_not_recorded() -> None:
    host = Fed(connections=3)
    later: list[list[int] | None] = [[60, 80], [200, 203], None]
    wants: list[Reply] = []

    def say(said: Request) -> None:
        wants.append(said)
        host.now_feed({"number": NUMBER - 1, "chunk": [300, 400]})  # of a trial that is over
        host.now_feed({"number": NUMBER, "chunk": later.pop(0)})

    host.say = say
    outcome = host.ran([(40, 50), (50, 51)])["ok"]["outcome"]
    assert outcome["stopped_by"] == "count"
    assert outcome["operations"] == 10 + 1 + 20 + 3
    assert sorted(host.bound) == [*range(40), *range(40, 51), *range(60, 80), *range(200, 203)]
    assert wants == [{"wants": NUMBER}] * 3


def test_what_is_complete_wants_nothing() -> None:
    host = Fed(connections=1)
    host.say = lambda said: pytest.fail(str(said))
    outcome = host.ran([(40, 42)], is_complete=True)["ok"]["outcome"]
    assert (outcome["operations"], outcome["waited_ns"]) == (2, 0)


def test_a_trial_that_waits_for_a_chunk_ends_when_it_is_to_stop() -> None:
    host = Fed(connections=2)

    def say(_said: Request) -> None:
        while len(host.bound) < 50:  # it has begun all that it has
            time.sleep(0.001)
        host.request_stop()

    host.say = say
    outcome = host.ran([(40, 50)])["ok"]["outcome"]
    assert (outcome["stopped_by"], outcome["operations"]) == ("signal", 10)


def test_chunks_are_for_closed_loops_in_one_piece() -> None:
    host = Fed(connections=1)
    for trial in ({"pace": {"kind": "poisson", "rate": 100.0}},):
        assert host.ran([(40, 50)], **trial)["error"][0] == "value"
    assert not host.bound


def test_several_processes_do_every_operation_of_a_trial_once() -> None:
    connections = {1: 1, 2: 2}
    handed, asking = HandOut(40, 400, connections), threading.Lock()
    firsts = {number: handed.first(number) for number in connections}

    def bound(number: int) -> list[int]:
        host = Fed(connections[number])  # native twins stay in their thread

        def say(_said: Request) -> None:
            with asking:
                chunk = handed.next(number)
            host.now_feed({"number": NUMBER, "chunk": chunk})

        host.say = say
        segment = {"from": number - 1, "to": 2 * number - 1, "of": 3}
        assert host.ran(firsts[number], segment=segment)["ok"]["outcome"]["stopped_by"] == "count"
        return host.bound

    with ThreadPoolExecutor() as threads:
        one, other = threads.map(bound, connections)
    assert sorted([*one, *other]) == list(range(400))
