import json
import signal
import time

import pytest

from support.codes import file_states
from support.running import ANSWERED, PATIENCE_SECONDS, SMALL, Place, end, read_until, workers_left
from support.texts import has_no_answer

LONG = [option if option != "2..2" else "200..200" for option in SMALL]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_rounds_ends_with_what_is_known_and_can_be_resumed(
    place: Place, number: signal.Signals
) -> None:
    process = place.start("run", "--json", *LONG)
    read_until(process, "after round 1")
    ran = end(process, number)
    assert ran.code == 130
    assert "Traceback" not in ran.err
    document = json.loads(ran.out)
    assert (document["interrupted"], document["stopped_by"], document["exit_code"]) == (True, "interrupt", 130)
    assert document["counts"]["trials"] >= 6
    assert any("interrupted" in caution for caution in document["cautions"])
    assert workers_left(process.pid) == []
    assert list(place.twins.iterdir()) == []
    assert place.query("SELECT status FROM runs") == [("interrupted",)]
    assert place.tdelta("show", "--json").document == document


def test_a_run_interrupted_by_a_signal_is_completed_by_resume(place: Place) -> None:
    options = [option if option != "2..2" else "3..3" for option in SMALL]
    process = place.start("run", "--json", "--no-aa", *options)
    read_until(process, "round 1:")
    assert end(process, signal.SIGINT).code == 130
    before = place.query("SELECT * FROM trials ORDER BY trial")
    ran = place.tdelta("run", "--resume", "last", "--json")
    assert ran.code in ANSWERED, ran.err
    assert not ran.document["interrupted"]
    assert file_states(ran.document, "aes-256")["database"] == "encrypted", "it has been searched, too"
    assert place.query("SELECT * FROM trials ORDER BY trial")[: len(before)] == before


@pytest.mark.parametrize("stage", ["run ", "load: none", "load: aes-256", "size"])
def test_ctrl_c_during_set_up_ends_with_a_word_and_leaves_nothing(place: Place, stage: str) -> None:
    process = place.start("run", *LONG)
    read_until(process, stage)
    ran = end(process, signal.SIGINT)
    assert (ran.code, has_no_answer(ran.out)) == (130, True)
    assert ran.err.splitlines()[-1] == "error: interrupted"
    assert "Traceback" not in ran.err
    assert workers_left(process.pid) == []
    assert list(place.twins.iterdir()) == []


def test_ctrl_c_during_a_long_load_does_not_wait_for_it(place: Place) -> None:
    options = [option if option != "3MB" else "400MB" for option in LONG]
    process = place.start("run", *options)
    read_until(process, "load: none")
    ran = end(process, signal.SIGINT)
    assert ran.code == 130
    assert "load: aes-256" not in ran.err
    assert list(place.twins.iterdir()) == []


def test_a_reader_that_goes_away_does_not_stop_the_run(place: Place) -> None:
    process = place.start("run", *SMALL, "--workload", "point-select", "--no-aa")
    assert process.stderr is not None
    process.stderr.close()
    assert process.wait(PATIENCE_SECONDS) in ANSWERED
    assert process.stdout is not None
    assert "AES-256" in process.stdout.read()
    process.stdout.close()


MANY = {
    "Ctrl-C, many times": [signal.SIGINT] * 40,
    "the end of a session": [signal.SIGHUP, signal.SIGTERM, signal.SIGINT] * 5,
    "quit": [signal.SIGQUIT],
    "a user's signal": [signal.SIGUSR1],
}


@pytest.mark.parametrize("numbers", MANY.values(), ids=MANY)
@pytest.mark.parametrize("stage", ["load: none", "round 1:"])
def test_any_signals_in_a_row_end_with_the_same_code_and_leave_nothing(
    place: Place, stage: str, numbers: list[signal.Signals]
) -> None:
    process = place.start("run", *LONG)
    read_until(process, stage)
    for number in numbers[:-1]:
        process.send_signal(number)
        time.sleep(0.005)
    ran = end(process, numbers[-1])
    assert ran.code == 130, ran.err
    assert "Traceback" not in ran.err
    assert workers_left(process.pid) == []
    assert list(place.twins.iterdir()) == []
