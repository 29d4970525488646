from collections import Counter
from pathlib import Path

import pytest

from support.fake_twins import FakeTwin
from support.refused import Part, check_messages, coded, refused
from tdelta.errors import ServerLost
from tdelta.messages import Caution, RunPart
from tdelta.records import Phase
from tdelta.store import RunStatus

from .served import OPTIONS, dies, installed, is_block, is_calibration, is_search, is_warm_up, served


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)


def lost(result) -> list[Caution]:
    return [caution for caution in result.cautions if caution.code == "server-lost"]


@pytest.mark.parametrize(
    ("when", "void", "rounds", "blocks"),
    [
        (is_warm_up, RunPart.of("before-trials"), {1: 2, 2: 2}, 4),
        (is_block, RunPart.of("block", block=1), {1: 2, 2: 2}, 4),
        (lambda job: job.stream == 1, RunPart.of("block", block=2), {0: 1, 1: 2, 2: 2}, 5),
        (is_search, RunPart.of("file-search"), {0: 2, 1: 2, 2: 2}, 6),
    ],
)
def test_the_stage_in_which_a_server_dies_is_void_and_another_round_makes_up_for_it(
    tmp_path: Path, when, void: RunPart, rounds: dict[int, int], blocks: int
) -> None:
    sitting = served(tmp_path, before_trial=dies(when))
    result = sitting.conduct(**OPTIONS)
    check_messages(lost(result), coded("server-lost", round=1, void=void))
    assert "its last word" not in "".join(map(str, result.cautions))
    in_round = Counter(trial.round for trial in sitting.trials())
    assert {number: count // 3 for number, count in in_round.items()} == rounds
    assert (result.counts.blocks, sitting.status()) == (blocks, RunStatus.DONE)
    assert all(check.ok for check in result.validity if "marker" in check.check or "search" in check.check)
    assert all(twin.ended for twin in sitting.twins.started)
    assert [event.name for event in sitting.events if isinstance(event, Phase)].count("lost") == 1


def test_no_trial_of_a_void_block_is_stored_and_its_number_is_given_again(tmp_path: Path) -> None:
    sitting = served(tmp_path, before_trial=dies(lambda job: job.stream == 1))
    sitting.conduct(**OPTIONS)
    stored = Counter((trial.round, trial.block) for trial in sitting.trials())
    assert stored == {(0, 0): 3, (1, 1): 3, (1, 2): 3, (2, 3): 3, (2, 4): 3}


def test_a_server_that_dies_in_calibration_is_calibrated_again(tmp_path: Path) -> None:
    sitting = served(tmp_path, before_trial=dies(is_calibration))
    result = sitting.conduct(**OPTIONS)
    check_messages(lost(result), coded("server-lost", round=1, void=RunPart.of("calibration")))
    assert result.counts.rounds == 2


def test_one_round_that_is_lost_at_its_first_block_still_has_an_answer(tmp_path: Path) -> None:
    result = served(tmp_path, before_trial=dies(is_block)).conduct(**OPTIONS, min_rounds=1, max_rounds=1)
    assert (result.counts.rounds, result.counts.blocks, result.stopped_by) == (1, 2, "rounds")


def test_a_fourth_death_ends_the_run_with_what_the_log_says(tmp_path: Path) -> None:
    sitting = served(tmp_path, before_trial=dies(is_block, times=4))
    with refused(ServerLost, "losses-too-many", losses=4, loss=Part("its last word")):
        sitting.conduct(**OPTIONS)
    assert sitting.status() is RunStatus.FAILED
    assert all(twin.ended for twin in sitting.twins.started)


def test_a_loss_that_there_is_no_time_to_make_up_for_is_told_where_nothing_else_is_known(tmp_path: Path) -> None:
    dying = dies(is_block)

    def before_trial(twin: FakeTwin, job) -> None:
        if is_block(job):
            twin._twins.clock.advance(50.0)
        dying(twin, job)

    sitting = served(tmp_path, before_trial=before_trial)
    with refused(ServerLost, "server-died"):
        sitting.conduct(**OPTIONS, trial_seconds=0.25, max_seconds=60.0)
    assert sitting.status() is RunStatus.FAILED


def test_losses_are_told_again_when_the_run_is_resumed(tmp_path: Path) -> None:
    sitting = served(tmp_path, before_trial=dies(is_block, times=4))
    with pytest.raises(ServerLost):
        sitting.conduct(**OPTIONS)
    sitting.twins = served(tmp_path).twins
    result = sitting.resume()
    assert len(lost(result)) >= 3
    assert result.counts.rounds == 2
