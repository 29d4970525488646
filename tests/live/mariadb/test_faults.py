import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.codes import cautions, check_refused
from support.disks import fill, small_disk
from support.running import ANSWERED, SELDOM, read_until, waited_for
from support.runs import ALONE, PATIENCE_SECONDS, ServerPlace, at_work, failed_checks

SMALL = ("--workload", "point-select", "--size", "2MB", "--scope", "data", *ALONE)
LONG_TRIALS = (*SMALL, "--trial-time", "1s", "--blocks", "2", "--rounds", "1..1")
LONG_ENOUGH = (*LONG_TRIALS, *SELDOM)
"""For whoever looks for the one at work every few milliseconds."""

DISK_SIZE = "1400000000"


def test_a_server_that_is_killed_in_warm_up_in_a_block_or_under_a_search_is_made_up_for(place: ServerPlace) -> None:
    process = place.start("run", "--json", *place.options(*LONG_ENOUGH))
    for stage in ("warm-up: round 1", "round 2: 2 blocks", "evidence"):
        read_until(process, stage)
        os.kill(at_work(place, "mariadbd"), signal.SIGKILL)
        read_until(process, "lost: ")
    _, err = process.communicate(timeout=3 * PATIENCE_SECONDS)
    assert process.returncode in ANSWERED, err
    document = place.tdelta("show", "--json").document
    lost = [one.parameters for one in cautions(document, "server-lost")]
    assert [(one["round"], one["void_code"], one["why_code"]) for one in lost] == [
        (1, "before-trials", "server-died"),
        (2, "block", "server-died"),
        (3, "file-search", "server-died"),
    ]
    assert failed_checks(document) == []
    # The round whose files could not be searched keeps its blocks, and the next one has the search.
    assert document["counts"]["blocks"] == 4
    assert place.left() == []


def test_a_server_that_is_killed_under_a_command_of_the_users_is_made_up_for(place: ServerPlace) -> None:
    load = ("--load-generator", "sysbench oltp_point_select --tables=1 --table-size=9000 run")
    process = place.start("run", "--json", *place.options(*LONG_TRIALS, *load))
    read_until(process, "round 1: 2 blocks")
    time.sleep(0.2)  # sysbench has connected
    os.kill(at_work(place, "mariadbd"), signal.SIGKILL)
    read_until(process, "lost: block 1")
    _, err = process.communicate(timeout=3 * PATIENCE_SECONDS)
    assert process.returncode in ANSWERED, err
    assert place.left() == []


@pytest.fixture
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with small_disk(tmp_path_factory.mktemp("disk"), DISK_SIZE) as folder:
        yield folder


@pytest.mark.parametrize("stage", ["load: plain", "size"])
def test_a_disk_that_fills_up_is_told(place: ServerPlace, disk: Path, stage: str) -> None:
    process = place.start("run", "--json", *place.options(*LONG_TRIALS, "--dir", str(disk)))
    read_until(process, stage)
    fill(disk)
    ran = waited_for(process, PATIENCE_SECONDS)
    (said,) = (one["code"] for one in ran.document["refusals"])
    assert said in ("disk-refuses", "server-disk-full"), "whichever meets it first: a file of tdelta's, or the server"
    check_refused(ran, said)
    assert "--dir" in ran.err
    assert place.left() == []
    assert [path.name for path in disk.iterdir()] == ["filler"]
