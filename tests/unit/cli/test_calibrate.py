import json
from collections.abc import Callable

import pytest

from support.calibration_samples import invalid, short, valid
from tdelta.cli.calibrate import calibrate
from tdelta.cli.run import run
from tdelta.records import Event, MachineCalibration, Phase
from tdelta.session import RunRequest
from tdelta.session.instrument import calibrate as series

from .asking import ASKED, WORDS
from .calling import call


class FakeCalibration:
    """Remembers what it was asked, announces one stage, and answers with ``found``."""

    def __init__(self) -> None:
        self.found = valid()
        self.requests: list[RunRequest] = []

    def __call__(self, request: RunRequest, observer: Callable[[Event], None]) -> MachineCalibration:
        self.requests.append(request)
        observer(Phase("calibrate", "run 1"))
        return self.found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> FakeCalibration:
    fake = FakeCalibration()
    monkeypatch.setattr(series, "calibrate_machine", fake)
    return fake


def test_without_options_it_takes_ten_minutes_and_else_the_defaults_of_a_run(asked: FakeCalibration) -> None:
    assert call("calibrate").code == 0
    assert asked.requests == [RunRequest(max_seconds=600.0)]


def test_on_a_server_it_takes_an_hour_and_a_servers_defaults(asked: FakeCalibration) -> None:
    assert call("calibrate", "--engine", "mariadb").code == 0
    (request,) = asked.requests
    assert (request.max_seconds, request.trial_seconds, request.blocks_per_round) == (
        3600.0,
        2.0,
        8,
    )


def test_every_option_reaches_the_request(asked: FakeCalibration) -> None:
    words = "--temp-store memory --warmup 50ms"
    assert call("calibrate", *WORDS.split(), *words.split()).code == 0
    assert asked.requests == [RunRequest(**ASKED, temp_store="memory", warmup_seconds=0.05)]


def test_the_answer_goes_to_standard_output_and_progress_to_standard_error(asked: FakeCalibration) -> None:
    done = call("calibrate")
    assert done.out.startswith("VALID: for sqlite, workload order-entry")
    assert done.err == "calibrate: run 1\n"


@pytest.mark.parametrize(("found", "code"), [(valid(), 0), (invalid(), 4), (short(), 130)])
def test_the_exit_code_says_whether_the_instrument_tells_the_truth(
    asked: FakeCalibration, found: MachineCalibration, code: int
) -> None:
    asked.found = found
    done = call("calibrate", "--json")
    values = json.loads(done.out)
    assert (done.code, values["exit_code"], values["schema"]) == (code, code, "tdelta.calibration/1")


def test_what_a_calibration_cannot_take_is_no_option_of_it() -> None:
    for word in (
        "--vary",
        "--budget",
        "--self-test",
        "--restore",
        "--load-generator",
        "--baseline",
        "--no-calibration",
    ):
        assert call("calibrate", word, "x").code == 2


def test_its_options_are_those_of_a_run() -> None:
    own = {"inject", "max_seconds", "as_json"}
    of_run = {option.name for option in run.params}
    assert {option.name for option in calibrate.params} - own <= of_run
