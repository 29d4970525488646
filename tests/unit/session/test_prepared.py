"""The size of trials, remembered with loaded data."""

from pathlib import Path
from typing import Any

import pytest

from support.fake_twins import FakeTwins, equal_rows
from tdelta.errors import InvalidTwins, ServerFault
from tdelta.messages import Refusal
from tdelta.records import Phase, Role

from .served import OPTIONS, installed, served


class Kept(FakeTwins):
    """Twins whose data outlive the run, with what is remembered of them."""

    remembers = True

    def __init__(self, like: FakeTwins, facts: dict[str, Any]) -> None:
        super().__init__(like.script)
        self.recall = facts.get
        self.remember = facts.__setitem__
        self.damaged = False

    def discard(self) -> bool:
        was, self.damaged = self.damaged, False
        return was


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


@pytest.mark.parametrize("damage", ["rows", "start"])
@pytest.mark.parametrize("is_kept", [True, False])
def test_kept_data_that_do_not_do_are_discarded_and_loaded_anew_once(
    tmp_path: Path, damage: str, is_kept: bool
) -> None:
    def rows(settings: Any, tables: Any, trials: int) -> Any:
        sums = equal_rows(settings, tables, trials)
        is_other = damage == "rows" and twins.damaged and twins.started
        return dict.fromkeys(sums, (1, "0")) if is_other else sums

    def before_trial(_twin: Any, _job: Any) -> None:
        if damage == "start" and twins.damaged:
            raise ServerFault(Refusal.of("server-waits"))

    sitting = served(tmp_path, rows=rows, before_trial=before_trial)
    sitting.twins = twins = Kept(sitting.twins, {})
    twins.damaged = True
    if not is_kept:
        twins.discard = lambda: False  # type: ignore[method-assign]
        with pytest.raises((InvalidTwins, ServerFault)):
            sitting.conduct(**OPTIONS)
        return
    result = sitting.conduct(**OPTIONS)
    assert result.counts.rounds == 2
    assert not any(validity.failed for validity in result.validity)
    assert sum(event.detail.startswith("anew") for event in sitting.events if isinstance(event, Phase)) == 1
