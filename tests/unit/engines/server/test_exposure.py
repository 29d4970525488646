"""A plan is carried out in its order, what is held is waited for and release, whatever happens meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.refused import refused
from tdelta.engines.mariadb.driver import EVIDENCE
from tdelta.engines.mysql.driver import EVIDENCE as OF_MYSQL
from tdelta.engines.postgres.server import EVIDENCE as OF_POSTGRES
from tdelta.engines.server.evidence import ExposurePlan, ExposureStep, ServerExposure, ServerFiles, Settling
from tdelta.engines.server.sessions import Session
from tdelta.errors import StatementFault, WorkerFault
from tdelta.evidence import FileClass
from tdelta.processes.servers.recipes import ServerPaths

NEEDLE = bytes(range(200, 216))
PLAN = ExposurePlan(
    steps=(ExposureStep("a", "change"), ExposureStep("b", "wait", is_held=True), ExposureStep("a", "hold")),
    held="how many",
    settling=Settling(("flush",), "dirty"),
    settled=("flushed",),
    release=(ExposureStep("control", "release"),),
    after=(ExposureStep("a", "roll back"),),
)


@dataclass
class Fake:
    """A server whose ``wait`` lasts until ``release``."""

    said: list[str] = field(default_factory=list)
    closed: int = 0
    opened: int = 0
    dirty: list[str] = field(default_factory=lambda: ["3", "0"])
    refused: str = ""
    released: threading.Event = field(default_factory=threading.Event)
    waiting: int = 0

    def connect(self) -> FakeConnection:
        self.opened += 1
        return FakeConnection(self)


@dataclass
class FakeConnection(Session):
    server: Fake

    def run(self, sql: str) -> None:
        self.server.said.append(sql)
        if sql == self.server.refused:
            raise StatementFault(f"no {sql}")
        if sql == "wait":
            self.server.waiting += 1
            assert self.server.released.wait(30)
            self.server.waiting -= 1
        if sql == "release":
            self.server.released.set()

    def rows(self, sql: str) -> tuple[Sequence[str], Sequence[Sequence[str | None]]]:
        if sql == "how many":
            return ["n"], [[str(self.server.waiting)]]
        dirty = self.server.dirty
        return ["n"], [[dirty.pop(0) if len(dirty) > 1 else dirty[0]]]

    def close(self) -> None:
        self.server.closed += 1


@pytest.fixture
def place(tmp_path: Path) -> ServerPaths:
    place = ServerPaths(tmp_path, tmp_path / "s")
    (place.data / "tdelta").mkdir(parents=True)
    (place.data / "tdelta" / "t.ibd").write_bytes(NEEDLE)
    (place.data / "ib_logfile0").write_bytes(b"nothing")
    return place


def exposure(fake: Fake, place: ServerPaths, plan: ExposurePlan = PLAN) -> ServerExposure:
    return ServerExposure(plan, fake.connect, [ServerFiles(EVIDENCE.files, place, lambda: ())], [NEEDLE])


def test_within_the_block_a_statement_is_held_and_pages_are_written_and_all_is_put_back(
    place: ServerPaths,
) -> None:
    fake = Fake()
    with exposure(fake, place).under_way():
        assert fake.waiting == 1
        assert [said for said in fake.said if said != "wait"] == ["change", "hold", "flush", "flushed"]
    assert fake.waiting == 0
    assert fake.said[-2:] == ["release", "roll back"]
    assert fake.closed == fake.opened == 3


def test_what_every_look_finds_is_told_file_by_file(place: ServerPaths) -> None:
    found = exposure(Fake(), place)
    with found.under_way():
        found.scan()
    (place.data / "ib_logfile0").write_bytes(NEEDLE * 2)
    found.scan_afterwards()
    counts = {one.file_class: (one.name, one.markers_found) for one in found.found()}
    assert counts == {FileClass.TABLES: ("tdelta/t.ibd", 1), FileClass.REDO: ("ib_logfile0", 2)}


def test_looks_go_on_while_the_workload_runs_and_there_is_one_at_least(place: ServerPaths) -> None:
    found, left = exposure(Fake(), place), [True, True, False]
    found.scan_while(lambda: left.pop(0), 30.0)
    assert left == []
    assert {one.scanned_bytes for one in found.found()} == {3 * 16, 3 * 7}


def test_a_failure_in_the_block_lets_go_of_what_is_held_and_is_what_is_told(place: ServerPaths) -> None:
    fake = Fake()
    with pytest.raises(RuntimeError, match="the trial failed"), exposure(fake, place).under_way():
        raise RuntimeError("the trial failed")
    assert fake.released.is_set()
    assert fake.closed == fake.opened


def test_a_statement_that_is_refused_ends_it_with_the_servers_words(place: ServerPaths) -> None:
    for failing in ("change", "wait", "hold", "flush"):
        fake = Fake(refused=failing)
        with pytest.raises(StatementFault, match=f"no {failing}"), exposure(fake, place).under_way():
            pass
        assert fake.closed == fake.opened


def test_a_statement_that_does_not_hold_is_a_fault_and_no_evidence(place: ServerPaths) -> None:
    fake = Fake()
    fake.released.set()
    with refused(WorkerFault, "statement-ended"), exposure(fake, place).under_way():
        pass


@pytest.mark.parametrize("plan", [one.plan for one in (EVIDENCE, OF_MYSQL, OF_POSTGRES)])
def test_a_plan_that_holds_says_how_to_ask_and_lets_go_and_ends_every_transaction_it_leaves_open(
    plan: ExposurePlan,
) -> None:
    assert any(step.is_held for step in plan.steps) == bool(plan.held) == bool(plan.release)
    begun = {step.connection for step in plan.steps if step.sql.startswith(("BEGIN", "START"))}
    ended = {step.connection for step in (*plan.steps, *plan.after) if step.sql in ("COMMIT", "ROLLBACK")}
    assert begun == ended
    assert "control" not in {step.connection for step in plan.steps if step.is_held}
