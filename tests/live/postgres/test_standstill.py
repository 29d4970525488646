import os
import signal
import time
from pathlib import Path

from support.running import ANSWERED, SELDOM, read_until
from support.runs import ALONE, PATIENCE_SECONDS, ServerPlace, failed_checks, servers_of
from tdelta.processes.process_tree import parse_stat

LONG_TRIALS = ("--workload", "order-entry", "--size", "2MB", *ALONE, "--trial-time", "2s", *SELDOM)


def parent_of(pid: int) -> int:
    return parse_stat(Path(f"/proc/{pid}/stat").read_text()).parent


def under_the_one_at_work(place: ServerPlace) -> int:
    """The file system whose server is not frozen."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while True:
        awake = {parent_of(pid) for pid, state in servers_of(place, "postgres") if state not in "TZX"}
        for pid, _ in servers_of(place, "gocryptfs"):
            if parent_of(pid) in awake:
                return pid
        assert time.monotonic() < give_up, "no encrypted server was ever at work"
        time.sleep(0.01)


def test_a_file_system_that_is_stopped_for_a_while_voids_the_block_and_for_ever_the_round(place: ServerPlace) -> None:
    process = place.start("run", "--json", *place.options(*LONG_TRIALS, "--blocks", "2", "--rounds", "1..1"))
    read_until(process, "round 1: 2 blocks")
    file_system = under_the_one_at_work(place)
    time.sleep(0.3)
    os.kill(file_system, signal.SIGSTOP)
    time.sleep(1.5)
    os.kill(file_system, signal.SIGCONT)
    read_until(process, "again: block 1, since the server was stopped by a signal")
    os.kill(under_the_one_at_work(place), signal.SIGSTOP)
    read_until(process, "lost: block 1, since the encrypted file system under the server was stopped by a signal")
    _, err = process.communicate(timeout=3 * PATIENCE_SECONDS)
    assert process.returncode in ANSWERED, err
    document = place.tdelta("show", "--json").document
    assert sum("was discarded and" in caution for caution in document["cautions"]) == 2
    assert failed_checks(document) == []
    assert document["counts"]["blocks"] == 2
    assert place.left() == []
