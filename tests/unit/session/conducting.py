"""Conducts small runs on fake twins, in a folder of the test's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.fake_twins import FakeTwins, Script
from tdelta.records import Event, RunResult, Trial
from tdelta.session import RunRequest, conduct, resume
from tdelta.session.state import RunState, TrialSize
from tdelta.store import RunStatus, Store

SMALL = {"workload": "point-select", "size_bytes": 1_000_000, "blocks_per_round": 2, "min_rounds": 2, "max_rounds": 2}
"""Without B/B twins, which `test_bb_twins` is about."""


@dataclass
class Sitting:
    base: Path
    twins: FakeTwins = field(default_factory=FakeTwins)
    events: list[Event] = field(default_factory=list)

    @property
    def store(self) -> Path:
        return self.base / "runs.sqlite"

    def scripted(self, **script: Any) -> Sitting:
        return Sitting(self.base, FakeTwins(Script(**script)))

    def request(self, **options: Any) -> RunRequest:
        return RunRequest(
            **{
                "seed": 7,
                "bb_control": False,
                "directory": self.base / "twins",
                "store": self.store,
                **SMALL,
                **options,
            }
        )

    def conduct(self, **options: Any) -> RunResult:
        return conduct(self.request(**options), self.events.append, make_twins=self.twins, now=self.twins.clock)

    def resume(self, run_id: str = "last", **more: Any) -> RunResult:
        return resume(run_id, self.store, self.events.append, make_twins=self.twins, now=self.twins.clock, **more)

    def trials(self, run_id: str = "last") -> tuple[Trial, ...]:
        with Store.open(self.store) as store:
            return store.trials(store.resolve(run_id))

    def status(self) -> RunStatus:
        with Store.open(self.store) as store:
            return store.status(store.resolve("last"))

    def state(self) -> RunState:
        with Store.open(self.store) as store:
            return RunState.of(store, store.resolve("last"))

    def size(self) -> TrialSize:
        found = self.state().trial_size
        assert found is not None
        return found


def check(result: RunResult, name: str) -> Any:
    (found,) = [validity for validity in result.validity if validity.code == name]
    return found
