"""The size of trials, remembered with loaded data."""

from pathlib import Path
from typing import Any

import pytest

from support.fake_twins import FakeTwins
from tdelta.records import Role

from .served import OPTIONS, installed, served


class Kept(FakeTwins):
    """Twins whose data outlive the run, with what is remembered of them."""

    def __init__(self, like: FakeTwins, facts: dict[str, Any]) -> None:
        super().__init__(like.script)
        self.recall = facts.get
        self.remember = facts.__setitem__


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)


def sizes(base: Path, facts: dict[str, Any], **options: Any) -> tuple[set[int], bool]:
    """The operations of the baseline's trials, and whether the run sized them itself."""
    sitting = served(base)
    sitting.twins = Kept(sitting.twins, facts)
    sitting.conduct(**{**OPTIONS, "seed": len(list(base.parent.iterdir())), **options})
    trials = [trial for trial in sitting.trials() if trial.condition.role is Role.BASELINE]
    calibrated = any(twin.name.startswith("calibration") for twin in sitting.twins.started)
    return {trial.measurement.total_operations for trial in trials}, calibrated


def test_the_next_run_takes_the_size_that_trials_had_and_corrects_it(tmp_path: Path) -> None:
    facts: dict[str, Any] = {}
    (first,), calibrated = sizes(tmp_path / "a", facts)
    assert calibrated
    (second,), calibrated = sizes(tmp_path / "b", facts)
    assert not calibrated
    assert second == pytest.approx(first, rel=0.1)


def test_trials_of_another_length_are_sized_anew(tmp_path: Path) -> None:
    facts: dict[str, Any] = {}
    sizes(tmp_path / "a", facts)
    assert sizes(tmp_path / "b", facts, trial_seconds=0.5)[1]
    assert sizes(tmp_path / "c", facts, workload="insert")[1]
