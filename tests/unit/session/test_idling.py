"""Servers that are left without work after the blocks of a round: when, for how long, and what is kept of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tdelta.errors import UsageError
from tdelta.records import IdleMeasure, Phase, Role
from tdelta.session import RunRequest
from tdelta.session.planning import plan

from .conducting import Sitting
from .served import OPTIONS, installed, served

IDLE = 20.0


@pytest.fixture
def sitting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sitting:
    installed(monkeypatch)
    return served(tmp_path)


def options(**given: Any) -> dict[str, Any]:
    return {**OPTIONS, "vary": {"cipher": ("aes-256",)}, "idle_seconds": IDLE, "max_seconds": 3600.0, **given}


def test_every_instance_is_looked_at_in_every_round_and_its_cpu_time_is_in_the_answer(sitting: Sitting) -> None:
    found = sitting.conduct(**options()).of(IdleMeasure)
    assert [one.condition.role for one in found] == [Role.BASELINE, Role.AA, Role.TREATMENT]
    assert [one.cpu_share.median for one in found] == pytest.approx([0.01, 0.01, 0.03])
    assert {(one.rounds, one.seconds) for one in found} == {(2, IDLE)}
    assert found[0].written_bytes_per_second.median == 700 / IDLE


def test_nothing_is_looked_at_unless_it_was_asked_for(sitting: Sitting) -> None:
    result = sitting.conduct(**options(idle_seconds=0.0))
    assert not result.of(IdleMeasure)
    assert not any(isinstance(event, Phase) and event.name == "idle" for event in sitting.events)


def test_where_time_is_short_no_instance_is_looked_at(sitting: Sitting) -> None:
    result = sitting.conduct(**options(idle_seconds=500.0, max_seconds=600.0))
    assert not result.of(IdleMeasure)
    assert result.counts.blocks


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_engines_within_a_worker_have_nothing_that_runs_by_itself(engine: str) -> None:
    with pytest.raises(UsageError) as refused:
        plan(RunRequest(engine=engine, idle_seconds=IDLE), "r1")
    assert [refusal.code for refusal in refused.value.refusals] == ["not-supported"]


def test_soak_on_a_server_looks_at_idle_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)
    made = {name: plan(RunRequest(study="soak", engine=name, seed=1), "r1").request for name in ("mariadb", "sqlite")}
    assert made["mariadb"].design.idle_seconds > 0 == made["sqlite"].design.idle_seconds
