"""When tables on a user's server are loaded anew: after trials that may have written, and where it is quick."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tdelta.engines.server import twin as server_twin
from tdelta.engines.server.base import Identity
from tdelta.engines.server.external_twins import Access, ExternalSettings, ExternalTwin, ExternalTwins, _Rows
from tdelta.processes.jobs import PopulateJob, TrialJob, WorkloadSpec

BASELINE = ExternalSettings("none", "baseline", threads=1, loaded="baseline")
AA = ExternalSettings("none", "aa", threads=1, loaded="baseline")
JOB = PopulateJob({}, 1, (), (), ())


class FakeSchema:
    class server:  # noqa: N801 - stands for a value
        identity = Identity("mariadb", "MariaDB", "10.11.19", "a@%")


class Filled(ExternalTwins):
    def __init__(self, load_seconds: float, *, writes: bool) -> None:
        schemas = cast(Any, {place: FakeSchema() for place in ("baseline", "aa", "encrypted")})
        super().__init__(schemas, Access(lambda _server: None), JOB, WorkloadSpec((), {}, writes=writes))
        self.load_seconds = load_seconds
        self.filled: list[str] = []

    def _fill(self, place: str) -> None:
        self.filled.append(place)
        self._rows[place] = _Rows(is_fresh=True, load_seconds=self.load_seconds)

    def connected(self, settings: ExternalSettings) -> ExternalTwin:
        return cast(Any, None)


@pytest.mark.parametrize(
    ("load_seconds", "writes", "expected"), [(0.5, True, 2), (0.5, False, 2), (60.0, True, 2), (60.0, False, 1)]
)
def test_tables_are_loaded_anew_if_they_may_have_changed_or_it_is_quick(
    load_seconds: float, writes: bool, expected: int
) -> None:
    twins = Filled(load_seconds, writes=writes)
    twins.start(BASELINE, "sizing")
    twins._used("baseline")
    twins.start(BASELINE, "round 1")
    assert twins.filled == ["baseline"] * expected


def test_tables_that_no_trial_touched_are_taken_as_they_are() -> None:
    twins = Filled(0.5, writes=True)
    for settings in (BASELINE, AA, BASELINE):
        twins.start(settings, "")
    assert twins.filled == ["baseline", "aa"]
    assert twins.library == "MariaDB 10.11.19"


def test_a_trial_with_nothing_beside_it_is_like_any_where_nothing_can_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    twin: Any = object.__new__(ExternalTwin)
    worker = SimpleNamespace(ask=lambda do, **_order: do, failed=None)
    vars(twin).update(_worker=worker, _settings=BASELINE, _agents=None, _is_stopped=False)
    vars(twin).update(_used=lambda: None, _can_act_beside=False)
    monkeypatch.setattr(server_twin, "raise_failed", lambda _answer, _failed: None)
    monkeypatch.setattr(server_twin, "measurement", lambda answer: answer)
    assert twin.trial(TrialJob(1, 1, 1, 1, 1.0, during="nothing")) == "trial"


def test_a_password_is_in_no_text_of_what_opens_connections() -> None:
    assert "s3cret" not in repr(Access(lambda _server: "s3cret", {"--baseline": 1}))
