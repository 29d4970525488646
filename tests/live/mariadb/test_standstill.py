import os
import signal
import time

from support.running import ANSWERED, SELDOM, read_until
from support.runs import ALONE, PATIENCE_SECONDS, ServerPlace, at_work, failed_checks

LONG_TRIALS = (
    *("--workload", "point-select", "--size", "2MB", "--scope", "data"),
    *(*ALONE, "--trial-time", "2s", *SELDOM),
)


def test_a_server_that_is_stopped_for_a_while_voids_the_block_and_for_ever_the_round(place: ServerPlace) -> None:
    process = place.start("run", "--json", *place.options(*LONG_TRIALS, "--blocks", "2", "--rounds", "1..1"))
    read_until(process, "round 1: 2 blocks")
    time.sleep(0.5)
    server = at_work(place, "mariadbd")
    os.kill(server, signal.SIGSTOP)
    time.sleep(1.5)
    os.kill(server, signal.SIGCONT)
    read_until(process, "again: block 1, since the server was stopped by a signal")
    time.sleep(0.5)
    os.kill(at_work(place, "mariadbd"), signal.SIGSTOP)
    read_until(process, "lost: block 1, since the server was stopped by a signal for 10 s")
    _, err = process.communicate(timeout=3 * PATIENCE_SECONDS)
    assert process.returncode in ANSWERED, err
    document = place.tdelta("show", "--json").document
    assert sum("was discarded and" in caution for caution in document["cautions"]) == 2
    assert failed_checks(document) == []
    assert document["counts"]["blocks"] == 2
    trials = place.trials()
    assert all(trial["run_delay_ns"] is not None and trial["client_run_delay_ns"] is not None for trial in trials)
    assert {trial["others_delay_ns"] for trial in trials} == {None}
    assert place.left() == []
