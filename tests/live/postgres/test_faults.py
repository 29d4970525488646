import os
import signal
import time
from pathlib import Path

from support.codes import cautions
from support.running import ANSWERED, SELDOM, read_until
from support.runs import ALONE, PATIENCE_SECONDS, ServerPlace, failed_checks, servers_of

SMALL = ("--workload", "point-select", "--size", "2MB", *ALONE)
LONG_TRIALS = (*SMALL, "--trial-time", "1s", *SELDOM, "--blocks", "2", "--rounds", "1..1")


def kill_one(place: ServerPlace, name: str) -> None:
    """Kill the first process of a server or a file system, and not one that it has started: that it would outlive."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not (found := roots_at_work(place, name)):
        assert time.monotonic() < give_up, f"no {name} was ever at work"
        time.sleep(0.01)
    os.kill(found[0], signal.SIGKILL)


def roots_at_work(place: ServerPlace, name: str) -> list[int]:
    """The processes of that name which none of that name has started, and which are neither stopped nor dead."""
    found = servers_of(place, name)
    pids = {pid for pid, _ in found}
    return [pid for pid, state in found if state not in "TZX" and parent_of(pid) not in pids]


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def test_a_server_or_a_file_system_that_is_killed_is_made_up_for(place: ServerPlace) -> None:
    process = place.start("run", "--json", *place.options(*LONG_TRIALS))
    read_until(process, "round 1: 2 blocks")
    kill_one(place, "postgres")
    read_until(process, "round 2: 2 blocks")
    kill_one(place, "gocryptfs")
    read_until(process, "lost: ")
    _, err = process.communicate(timeout=3 * PATIENCE_SECONDS)
    assert process.returncode in ANSWERED, err
    document = place.tdelta("show", "--json").document
    lost = cautions(document, "server-lost")
    assert [one.parameters["why_code"] for one in lost] == ["server-died"] * 2
    assert failed_checks(document) == []
    assert place.left() == []
