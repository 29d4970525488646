"""Actions carried out: alone, and beside a load."""

from __future__ import annotations

import os
import time

import pytest

from tdelta.driver.acting import IDLE, SECONDS, Act, Beside, Halt, Outcome, alone, prepared
from tdelta.driver.tree_usage import usage
from tdelta.errors import Defect, EnvironmentFault
from tdelta.records import Measurement, Usage


def used_here() -> Usage:
    return usage(os.getpid())


class Toy:
    """An action that says what was done to it."""

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


def test_an_action_alone_is_a_trial_of_one_operation() -> None:
    toy: Act = Toy()
    began: list[str] = []
    measured = alone(toy, "restart", used_here, Halt(), lambda: began.append("ready"))
    assert isinstance(toy, Toy)
    assert (toy.done, began) == (["prepare", "perform", "undo"], ["ready"])
    assert (measured.operations, measured.elapsed_ns) == (1, 2_500_000_000)
    assert measured.transactions["restart"].total_ns == 2_500_000_000
    assert measured.engine_counters == {SECONDS: 2_500_000_000, "action_pages": 7}


def test_an_action_beside_a_load_is_added_to_what_that_measured() -> None:
    beside = Beside(Toy())
    with beside.going_on(Halt()):
        pass
    measured = beside.added(Measurement(10, 99, {}, {}, engine_counters={"reads": 1}))
    assert measured.engine_counters == {"reads": 1, SECONDS: 2_500_000_000, "action_pages": 7}
    assert (measured.operations, measured.elapsed_ns) == (10, 99)


def test_nothing_beside_a_load_adds_nothing() -> None:
    beside = Beside(IDLE)
    with beside.going_on(Halt()):
        pass
    assert beside.added(Measurement(10, 99, {}, {})) == Measurement(10, 99, {}, {})


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
        alone(toy, "restart", used_here, Halt(), None)
    assert toy.done == ["prepare", "perform", "undo"]


def test_an_action_that_cannot_be_undone_fails_the_trial() -> None:
    class Fails(Toy):
        def undo(self) -> None:
            raise Defect("it cannot be undone")

    with pytest.raises(Defect, match="cannot be undone"):
        alone(Fails(), "restart", used_here, Halt(), None)


def test_whoever_waits_ends_when_asked_and_when_it_is_in_vain() -> None:
    halt = Halt()
    with pytest.raises(EnvironmentFault, match="in vain for this: the moon"):
        halt.wait_until(lambda: False, "the moon", seconds=0.01)
    halt.ask()
    assert halt.is_asked
    with pytest.raises(EnvironmentFault, match="stopped while"):
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
