import math
from pathlib import Path

import pytest

from tdelta.inference import cost_breakdown, rounds
from tdelta.processes import signals
from tdelta.session.clock import Clock

from .conducting import Sitting


@pytest.fixture
def sitting(tmp_path: Path) -> Sitting:
    return Sitting(tmp_path)


@pytest.fixture(autouse=True)
def no_rest_is_much(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fakes have no process of their own that the machine's perf could sample; tests of profiles bring a fake perf."""
    if not request.module.__name__.endswith("test_profiling"):
        monkeypatch.setattr(cost_breakdown, "MUCH", math.inf)


@pytest.fixture(autouse=True)
def signals_are_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process of the command line's."""
    monkeypatch.setattr(signals, "_are_ours", True)


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other programs on the machine of the tests decide nothing here."""
    monkeypatch.setattr(Clock, "slowdown", lambda _clock: 1.0)


@pytest.fixture(autouse=True)
def coarse_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Posteriors of fake twins are computed on the coarse grid: a third of the time, for figures that nobody reads."""
    monkeypatch.setitem(rounds.fit_rounds.__kwdefaults__, "nodes", rounds.COARSE)
