import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import tdelta.session.instrument.plan
from support.prospect_samples import whole
from support.refused import Part, check_messages
from tdelta.inference.instrument.prospects import PlanQuery
from tdelta.records import Event, Metric, Phase
from tdelta.records.instrument import Prospect
from tdelta.session.request import RunRequest

from .calling import call


class FakeProspecting:
    def __init__(self) -> None:
        self.stored: list[tuple[Any, ...]] = []
        self.pilots: list[tuple[Any, ...]] = []

    def from_runs(
        self, names: Sequence[str], asked: PlanQuery, store: Path | None, metric: Metric | None = None
    ) -> Prospect:
        self.stored.append((tuple(names), asked, store, metric))
        return whole()

    def from_pilot(
        self,
        request: RunRequest,
        asked: PlanQuery,
        observer: Callable[[Event], None],
        pilot_seconds: float | None = None,
    ) -> Prospect:
        self.pilots.append((request, asked, pilot_seconds))
        observer(Phase("pilot", "identical copies"))
        return whole()


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> FakeProspecting:
    fake = FakeProspecting()
    for name in ("from_runs", "from_pilot"):
        monkeypatch.setattr(tdelta.session.instrument.plan, name, getattr(fake, name))
    return fake


def test_without_words_there_is_a_pilot_of_the_default_run(session: FakeProspecting) -> None:
    done = call("plan")
    assert done.code == 0
    assert session.pilots == [(RunRequest(), PlanQuery(), None)]
    assert done.out == call("plan", "last").out
    assert done.err == "pilot: identical copies\n"


def test_options_of_a_run_reach_the_pilot_and_say_what_is_given(session: FakeProspecting) -> None:
    words = "--threads 4 --blocks 8 --size 20MB --vary cipher=aes-128 --pilot-time 40s --max-time 30m"
    call("plan", *words.split())
    ((request, asked, seconds),) = session.pilots
    assert (request.threads, request.blocks_per_round, request.size_bytes) == (4, 8, 20_000_000)
    assert request.vary == {"cipher": ("aes-128",)}
    assert (asked.max_seconds, seconds) == (1800.0, 40.0)
    assert request.max_seconds == RunRequest().max_seconds, "--max-time is the planned run's, not the pilot's"
    assert request.typed == ("blocks_per_round",)


def test_a_study_by_its_name_is_piloted(session: FakeProspecting) -> None:
    call("plan", "order-entry")
    assert session.pilots[0][0] == RunRequest(study="order-entry")


def test_stored_runs_are_read(session: FakeProspecting) -> None:
    call("plan", "last", "kqmt", "--store", "/s", "--metric", "cpu_per_operation")
    assert session.stored == [(("last", "kqmt"), PlanQuery(), Path("/s"), Metric.CPU_PER_OPERATION)]
    assert session.pilots == []


def test_effects_tolerances_and_the_chance_are_asked_for(session: FakeProspecting) -> None:
    call("plan", "last", *["--effect", "3%", "--effect", "0%", "--tolerance", "1%", "--assurance", "90%"])
    asked = session.stored[0][1]
    assert (asked.effects, asked.tolerances, asked.assurance) == ((0.0, 0.03), (0.01,), 0.9)


def test_json_alone_is_on_standard_output(session: FakeProspecting) -> None:
    assert json.loads(call("plan", "last", "--json").out)["schema"] == "tdelta.plan/1"


def test_options_of_a_pilot_do_not_go_with_stored_runs(session: FakeProspecting) -> None:
    done = call("plan", "last", "--threads", "4", "--pilot-time", "1m")
    assert done.code == 2
    assert "--threads, --pilot-time" in done.err


@pytest.mark.parametrize("text", ["0.4", "1", "120%", "often"])
def test_a_chance_out_of_range_is_refused(session: FakeProspecting, text: str) -> None:
    done = call("plan", "last", "--assurance", text)
    assert done.code == 2
    check_messages(done.refusals, "unexpected", expected=Part("0.5"), found=Part(str(text)))


def test_a_tolerance_of_nothing_is_refused(session: FakeProspecting) -> None:
    done = call("plan", "last", "--tolerance", "0%")
    assert done.code == 2
    check_messages(done.refusals, "out-of-range", found=Part("0%"), what="the tolerance")
