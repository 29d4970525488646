"""Whether agents did each operation of a trial once, as the load loop reports it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refused import refused
from tdelta import _native
from tdelta.errors import ServerLost
from tdelta.processes.jobs import TrialJob
from tdelta.processes.workers import failure
from tdelta.ray.chunks import Chunk, HandOut
from tdelta.ray.load_agents import AgentLoad, segments
from tdelta.ray.merging import not_once

from .answers import answer

SCRIPT = json.dumps([{"name": "one", "weight": 1, "text": "SELECT :op;"}])


def order(operations: int, discard: int = 0) -> dict[str, Any]:
    return TrialJob(7, 1, operations, 0, 60.0, discard=discard).as_json()


def ran(trial: Mapping[str, Any], agents: int) -> dict[str, dict[str, Any]]:
    """The load loop's answer on each agent's segment, without a database."""
    parts = segments(agents, agents)
    runs = (_native.loop_cost(SCRIPT, "{}", json.dumps({**trial, "segment": one.as_json()})) for one in parts)
    return {str(number): one for number, one in enumerate(runs, 1)}


@given(operations=st.integers(1, 300), discard=st.integers(0, 400), agents=st.integers(1, 5))
def test_the_load_loop_says_of_segments_that_each_operation_was_done_once(
    operations: int, discard: int, agents: int
) -> None:
    trial = order(operations, discard)
    answers = ran(trial, agents)
    assert not_once(trial, answers) is None
    assert not_once(trial, {**answers, "twice": answers["1"]}) is not None
    for name in answers:
        if answers[name]["outcome"]["total_operations"]:
            assert not_once(trial, {other: one for other, one in answers.items() if other != name}) is not None


def reported(done: Mapping[int, list[int]], recorded_from: int) -> dict[str, dict[str, Any]]:
    digests = {number: sum(map(digest, operations)) % (1 << 64) for number, operations in done.items()}
    return {
        str(number): answer(
            [1],
            operations=sum(operation >= recorded_from for operation in operations),
            total_operations=len(operations),
            operations_digest=digests[number],
        )
        for number, operations in done.items()
    }


def digest(operation: int) -> int:
    return (_native.operations_digest(operation + 1) - _native.operations_digest(operation)) % (1 << 64)


def handed_out(first: int, last: int, agents: int, draw: Any) -> dict[int, list[int]]:
    """The operations handed out to agents that ask in a random order, at random times."""
    times = iter_times(draw)
    chunks = HandOut(first, last, dict.fromkeys(range(1, agents + 1), 2), clock=lambda: next(times))
    found: dict[int, list[Chunk]] = {number: chunks.first(number) for number in range(1, agents + 1)}
    while not chunks.is_over:
        number = draw(st.integers(1, agents))
        if (chunk := chunks.next(number)) is not None:
            found[number].append(chunk)
    return {number: [k for one in of for k in range(*one)] for number, of in found.items()}


def iter_times(draw: Any) -> Iterator[float]:
    now = 0.0
    while True:
        now += draw(st.sampled_from([0.0, 0.001, 0.01, 0.1]))
        yield now


@given(st.data())
def test_what_is_handed_out_and_done_passes_and_any_one_fault_is_found(data: st.DataObject) -> None:
    operations, discard, agents = (data.draw(st.integers(*edges)) for edges in ((20, 200), (0, 10), (1, 4)))
    done = handed_out(discard, operations, agents, data.draw)
    for operation in range(discard):
        done[1 + operation % agents].append(operation)
    trial = order(operations, discard)
    assert not_once(trial, reported(done, discard)) is None
    taken = data.draw(st.sampled_from([number for number, of in done.items() if of]))
    place = data.draw(st.integers(0, len(done[taken]) - 1))
    fault = data.draw(st.sampled_from(["left out", "twice", "another"]))
    operation = done[taken].pop(place)
    if fault == "twice":
        done[data.draw(st.sampled_from(sorted(done)))] += [operation, operation]
    elif fault == "another":  # as many, but one is done in another's place
        done[taken].append(data.draw(st.integers(0, operations + 10).filter(lambda other: other != operation)))
    found = not_once(trial, reported(done, discard))
    assert found is not None
    assert found.code == "agents-not-once"
    assert found.parameters["expected"] == operations
    assert found.parameters["found"] == sum(map(len, done.values()))


@pytest.mark.parametrize("ending", [{"stopped_by": "signal"}, {"stopped_by": "deadline"}, {"errors": {"busy": 1}}])
def test_of_a_trial_that_ended_early_it_says_nothing(ending: dict[str, Any]) -> None:
    assert not_once(order(9), {"1": answer([1] * 3, **ending)}) is None


class Pool:
    start_seconds = 1.0

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found

    def invoke(self, *_: object, **__: object) -> dict[str, Any]:
        return {"1": {"ok": self.found, "node": "here"}}


def test_a_trial_whose_operations_were_not_each_done_once_leaves_its_twin_unlike_the_others() -> None:
    def trial(operations: int) -> Any:
        load = AgentLoad(Pool(answer([1000] * 4)), "t", failure, "program")  # type: ignore[arg-type]
        return load.trial(order(operations, discard=1), 5.0)

    assert trial(5).agents["1"].operations == 4
    with refused(ServerLost, "agents-not-once"):
        trial(6)
