"""Interleaved slices, with participants that are pipes."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.refused import refused
from tdelta.driver import TrialJob
from tdelta.driver.interleave import interleave
from tdelta.errors import Defect, TdeltaError, WorkerFault

JOB = TrialJob(seed=1, stream=2, operations=100, first_op=1, deadline_seconds=30.0, slices=2)


class Participant:
    """Answers as soon as it is stopped, or at once if it is quick."""

    def __init__(self, name: str, *, quick: bool = True, failure: TdeltaError | None = None) -> None:
        self.name, self.quick, self.failure = name, quick, failure
        self.begun: list[dict[str, Any]] = []
        self.stops = self.looks = 0
        self.reader, self._writer = os.pipe()

    def fileno(self) -> int:
        return self.reader

    def send(self, do: str, **arguments: Any) -> None:
        if do == "stop":
            self.stops += 1
            os.write(self._writer, b".")
            return
        interleaving = arguments["interleaving"]
        self.begun.append({"trial": arguments["trial"], **interleaving})
        self.first_words = struct.unpack_from("=II", Path(interleaving["path"]).read_bytes())
        if self.quick:
            os.write(self._writer, b".")

    def answer(self) -> dict[str, Any]:
        os.read(self.reader, 1)
        if self.failure:
            raise self.failure
        return {"name": self.name}

    def look(self) -> None:
        self.looks += 1

    def close(self) -> None:
        os.close(self.reader)
        os.close(self._writer)


@pytest.fixture
def made() -> Iterator[list[Participant]]:
    participants: list[Participant] = []
    yield participants
    for participant in participants:
        participant.close()


def test_everyone_is_handed_its_own_number_in_the_same_slots_and_the_first_has_the_token(
    made: list[Participant],
) -> None:
    made += [Participant("a"), Participant("b")]
    answers = interleave([(participant, JOB) for participant in made], (1, 0, 0, 1), 5.0)
    assert answers == [{"name": "a"}, {"name": "b"}]
    sent = [(begun["participant"], begun["slots"], begun["trial"]) for one in made for begun in one.begun]
    assert sent == [(0, [1, 0, 0, 1], JOB.as_json()), (1, [1, 0, 0, 1], JOB.as_json())]
    assert [one.first_words for one in made] == [(0, 1), (0, 1)]
    assert not Path(str(made[0].begun[0]["path"])).exists()


def test_one_failure_stops_the_others_and_is_the_one_that_is_raised(made: list[Participant]) -> None:
    failure = Defect("no such table")
    made += [Participant("a", quick=False), Participant("b", failure=failure)]
    with pytest.raises(TdeltaError) as raised:
        interleave([(participant, JOB) for participant in made], (0, 1, 0, 1), 5.0)
    assert raised.value is failure
    assert [participant.stops for participant in made] == [1, 0]


def test_twins_that_never_answer_are_a_fault(made: list[Participant]) -> None:
    made += [Participant("a", quick=False), Participant("b")]
    with refused(WorkerFault, "block-silent", seconds=0.01):
        interleave([(participant, JOB) for participant in made], (0, 1), 0.01)


def test_whoever_keeps_the_block_waiting_is_looked_at(made: list[Participant], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdelta.driver.workers.LOOK_SECONDS", 0.02)
    made += [Participant("a", quick=False), Participant("b")]
    with refused(WorkerFault, "block-silent", seconds=0.1):
        interleave([(participant, JOB) for participant in made], (0, 1), 0.1)
    assert made[0].looks >= 3
    assert made[1].looks == 0
