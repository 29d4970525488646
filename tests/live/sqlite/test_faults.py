"""Faults that a user can fix: one clear message, exit code 2, no traceback, no process left."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.codes import check_refused
from support.disks import fill, small_disk
from support.running import PATIENCE_SECONDS, SMALL, Place, Ran, read_until, workers_left, workers_of

LONG = [option if option != "2..2" else "200..200" for option in SMALL]


UNWRITABLE = {"folder-unusable", "store-unusable"}


def refusals(ran: Ran, *shown: str) -> list[str]:
    assert ran.code == 2, ran.err
    assert "Traceback" not in ran.err
    assert all(words in ran.err for words in shown), ran.err
    return [one["code"] for one in ran.document["refusals"]]


Mount = Callable[[int], Path]


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    with contextlib.ExitStack() as stack:
        yield lambda kilobytes: stack.enter_context(small_disk(tmp_path / f"tiny-{kilobytes}", f"{kilobytes}k"))


def ended(place: Place, process: subprocess.Popen[str]) -> Ran:
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert workers_left(process.pid) == []
    return Ran(process.returncode, out, err)


@pytest.mark.parametrize("stage", ["load: none", "size", "round 1:", "after round 1"])
def test_a_disk_of_twins_that_fills_up_during_the_run_is_told(place: Place, mount: Mount, stage: str) -> None:
    disk = mount(60_000)
    process = place.start("run", "--json", *LONG, "--dir", str(disk))
    read_until(process, stage)
    fill(disk)
    check_refused(ended(place, process), "disk-refuses")
    assert [file.name for file in disk.iterdir()] == ["filler"]
    assert place.query("SELECT status FROM runs") == [("failed",)]


def test_a_run_whose_disk_was_full_is_completed_by_resume_once_there_is_room(place: Place, mount: Mount) -> None:
    disk = mount(60_000)
    options = [option if option != "2..2" else "4..4" for option in SMALL]
    process = place.start("run", *options, "--no-aa", "--dir", str(disk))
    read_until(process, "round 1:")
    fill(disk)
    assert ended(place, process).code == 2
    (disk / "filler").unlink()
    ran = place.tdelta("run", "--resume", "last")
    assert ran.code in (0, 3), ran.err


def test_a_disk_of_the_store_that_fills_up_during_the_run_is_told_and_trials_stay_readable(
    place: Place, mount: Mount
) -> None:
    disk = mount(2_000)
    process = place.start("run", "--json", *LONG, "--store", str(disk / "runs.sqlite"))
    read_until(process, "after round 1")
    fill(disk)
    check_refused(ended(place, process), "store-disk-full")
    (disk / "filler").unlink()
    assert list(place.twins.iterdir()) == []
    ran = place.tdelta("export", "last", "--format", "csv", "--store", str(disk / "runs.sqlite"))
    assert len(ran.out.splitlines()) > 6


def test_a_store_on_a_disk_that_is_full_from_the_start_is_told(place: Place, mount: Mount) -> None:
    disk = mount(100)
    fill(disk)
    check_refused(place.run("--store", str(disk / "runs.sqlite")), "store-disk-full")


@pytest.mark.parametrize("option", ["--dir", "--store"])
def test_a_file_system_that_is_read_only_is_told(place: Place, mount: Mount, option: str) -> None:
    disk = mount(20_000)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    (code,) = refusals(place.run(option, str(disk / "runs.sqlite")), str(disk), option)
    assert code in UNWRITABLE


def test_a_worker_that_is_killed_ends_the_run_with_a_message_and_keeps_the_trials(place: Place) -> None:
    process = place.start("run", "--json", *LONG)
    read_until(process, "round 1:")
    os.kill(workers_of(process.pid)[0], signal.SIGKILL)
    check_refused(ended(place, process), "process-died", exit_code=1)
    assert place.query("SELECT status FROM runs") == [("failed",)]
    assert list(place.twins.iterdir()) == []
