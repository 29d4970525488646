import os
import threading
import time

import pytest

from support.refused import Part, refused
from tdelta.errors import Defect, EnvironmentFault
from tdelta.processes.actions import (
    IDLE,
    SECONDS,
    WHILE_NS,
    WHILE_WORK,
    Act,
    Beside,
    Halt,
    Outcome,
    alone,
    inspected,
    of_recorded,
    prepared,
)
from tdelta.processes.process_tree import usage
from tdelta.processes.protocol import nobody_waits
from tdelta.records import Measurement, Usage
from tdelta.records.trials import Circumstances


def used_here() -> Usage:
    return usage(os.getpid())


class Toy(Act):
    def __init__(self, error: Exception | None = None) -> None:
        self.done: list[str] = []
        self._error = error

    def prepare(self) -> None:
        self.done.append("prepare")

    def perform(self) -> Outcome:
        self.done.append("perform")
        if self._error is not None:
            raise self._error
        return Outcome({"pages": 7}, seconds=2.5)

    def undo(self) -> None:
        self.done.append("undo")


def done_beside(act: Act) -> Beside:
    beside = Beside(act)
    with beside.going_on(Halt()):
        pass
    return beside


def test_an_action_alone_is_a_trial_of_one_operation() -> None:
    toy, began = Toy(), list[str]()
    measured = alone(toy, "restart", used_here, Halt(), lambda: began.append("ready"))
    assert (toy.done, began) == (["prepare", "perform", "undo"], ["ready"])
    assert (measured.operations, measured.elapsed_ns) == (1, 2_500_000_000)
    assert measured.transactions["restart"].total_ns == 2_500_000_000
    assert measured.engine_counters == {SECONDS: 2_500_000_000, "action_pages": 7}


def test_what_programs_of_an_action_used_and_what_it_left_are_part_of_its_trial() -> None:
    class Leaves(Toy):
        def perform(self) -> Outcome:
            return Outcome(programs=Usage(3.0, 1.0))

        def inspect(self) -> dict[str, int]:
            self.done.append("inspect")
            return {"bytes": 9}

    toy = Leaves()
    measured = alone(toy, "backup", lambda: Usage(), Halt(), nobody_waits)
    assert toy.done == ["prepare", "inspect", "undo"]
    assert measured.cpu_seconds == 4.0
    assert measured.engine_counters["action_bytes"] == 9
    added = inspected(toy, done_beside(toy).added(Measurement(10, 99, {}, {}, usage=Usage(1.0))))
    assert added.cpu_seconds == 5.0
    assert added.engine_counters["action_bytes"] == 9


def test_an_action_beside_a_load_is_added_to_what_that_measured() -> None:
    measured = done_beside(Toy()).added(Measurement(10, 99, {}, {}, engine_counters={"reads": 1}))
    assert measured.engine_counters == {"reads": 1, SECONDS: 2_500_000_000, "action_pages": 7}
    assert (measured.operations, measured.elapsed_ns) == (10, 99)


def test_nothing_beside_a_load_adds_nothing() -> None:
    assert done_beside(IDLE).added(Measurement(10, 99, {}, {})) == Measurement(10, 99, {}, {})


class Counter:
    """Statements that a load had executed, each time that somebody asks."""

    def __init__(self, *counts: int) -> None:
        self._counts = iter(counts)
        self._asked = 0

    def __call__(self) -> int:
        self._asked += 1
        return next(self._counts)

    def wait_for(self, times: int) -> None:
        """A load that goes on until somebody has asked so often."""
        while self._asked < times:
            time.sleep(0.001)


def test_the_stretch_of_an_action_that_ends_first_is_counted_to_its_end() -> None:
    counter = Counter(100, 130, 900)
    beside = Beside(Toy(), counter)
    with beside.going_on(Halt()):
        counter.wait_for(2)
        while beside._ended is None:  # it notes when that was
            time.sleep(0.001)
    counters = beside.added(Measurement(10, 99, {}, {})).engine_counters
    assert counters[WHILE_WORK] == 30
    assert counters[SECONDS] == 2_500_000_000


def test_the_stretch_of_an_action_that_outlasts_its_load_is_counted_to_the_loads_end() -> None:
    load_ended = threading.Event()

    class Slow(Toy):
        def perform(self) -> Outcome:
            load_ended.wait()
            time.sleep(0.01)
            return super().perform()

    counter = Counter(100, 900, 900)
    beside = Beside(Slow(), counter)
    with beside.going_on(Halt()):
        counter.wait_for(1)
        load_ended.set()
    counters = beside.added(Measurement(10, 99, {}, {})).engine_counters
    assert counters[WHILE_WORK] == 800


def test_with_nothing_beside_a_load_its_stretch_begins_after_the_head_and_ends_with_the_load() -> None:
    counter = Counter(7, 57)
    beside = Beside(IDLE, counter, head_seconds=0.02)
    with beside.going_on(Halt()):
        while beside._began is None:
            time.sleep(0.001)
    counters = beside.added(Measurement(10, 99, {}, {})).engine_counters
    assert set(counters) == {WHILE_NS, WHILE_WORK}
    assert counters[WHILE_WORK] == 50
    assert counters[WHILE_NS] > 0


def test_an_action_that_stops_the_database_itself_is_no_standstill() -> None:
    class Stops(Toy):
        def perform(self) -> Outcome:
            return Outcome({"stopped_ns": 5}, stops=True)

    stood = Measurement(10, 99, {}, {}, circumstances=Circumstances("the server was stopped"))
    assert done_beside(Stops()).added(stood).standstill == ""


def test_recorded_operations_have_their_share_of_the_cpu_time() -> None:
    used = Usage(cpu_user_seconds=3.0, cpu_system_seconds=1.0, syscall_read_bytes=8)
    measured = of_recorded(Measurement(75, 99, {}, {}, total_operations=100, usage=used))
    assert measured.usage == Usage(cpu_user_seconds=2.25, cpu_system_seconds=0.75, syscall_read_bytes=8)


def test_an_action_that_fails_fails_the_trial() -> None:
    with pytest.raises(Defect, match="no such table"), Beside(Toy(Defect("no such table"))).going_on(Halt()):
        pass


def test_an_action_that_is_halted_fails_nothing_and_adds_nothing() -> None:
    halt = Halt()

    class Waits(Toy):
        def perform(self) -> Outcome:
            halt.wait_until(lambda: False, "the moon")
            return Outcome()

        def undo(self) -> None:
            halt.wait_until(lambda: False, "the sun")

    act = Waits()
    beside = Beside(act)
    with prepared(act, halt), beside.going_on(halt):
        halt.ask()
    assert beside.added(Measurement(10, 99, {}, {})) == Measurement(10, 99, {}, {})


def test_an_action_is_undone_after_a_failure_and_the_failure_is_what_is_said() -> None:
    class Fails(Toy):
        def undo(self) -> None:
            super().undo()
            raise Defect("it cannot be undone")

    toy = Fails(Defect("no such table"))
    with pytest.raises(Defect, match="no such table"):
        alone(toy, "restart", used_here, Halt(), nobody_waits)
    assert toy.done == ["prepare", "perform", "undo"]


def test_an_action_that_cannot_be_undone_fails_the_trial() -> None:
    class Fails(Toy):
        def undo(self) -> None:
            raise Defect("it cannot be undone")

    with pytest.raises(Defect, match="cannot be undone"):
        alone(Fails(), "restart", used_here, Halt(), nobody_waits)


def test_whoever_waits_ends_when_asked_and_when_it_is_in_vain() -> None:
    halt = Halt()
    with refused(EnvironmentFault, "action-stopped", what=Part("the moon")):
        halt.wait_until(lambda: False, "the moon", seconds=0.01)
    halt.ask()
    assert halt.is_asked
    with refused(EnvironmentFault, "action-stopped", what="the moon"):
        halt.wait_until(lambda: False, "the moon")
    halt.wait_until(lambda: True, "what is so already")


def test_a_tree_of_processes_has_used_what_its_members_did_also_those_that_died() -> None:
    before = usage(os.getpid())
    child = os.fork()
    if child == 0:
        end = time.process_time() + 0.05
        while time.process_time() < end:
            pass
        os._exit(0)
    os.waitpid(child, 0)
    after = usage(os.getpid())
    spent = sum((after.cpu_user_seconds, after.cpu_system_seconds))
    assert spent - before.cpu_user_seconds - before.cpu_system_seconds >= 0.03
