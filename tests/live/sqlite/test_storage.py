import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from support.processes import until
from support.running import ANSWERED, PATIENCE_SECONDS, SELDOM, Answered, Place, read_until, recorded, require
from tdelta.errors import UsageError
from tdelta.measure.procfs import read_text
from tdelta.processes.process_tree import below
from tdelta.processes.storage.rooms import require_storage

LEVELS = ("plain", "fscrypt", "gocryptfs")
FOLDERS = ("plain", "gocryptfs")
FOUND = {"plain": "none", "fscrypt": "fscrypt (AES-256-XTS) under ext4", "gocryptfs": "gocryptfs"}
ROOMS = """
import sys, time
from contextlib import ExitStack
from pathlib import Path
from tdelta.processes import TwinFolder
from tdelta.processes.storage import rooms
from tdelta.processes.storage.rooms import Rooms
rooms._can_mount_images = lambda: sys.argv[3] == "images"
levels = sys.argv[2].split(",")
with TwinFolder(Path(sys.argv[1]), "r1") as folder, ExitStack() as stack:
    rooms = Rooms(folder, levels, 64 << 20)
    for level in levels:
        room = stack.enter_context(rooms.room(level, level))
        room.path.joinpath("row").write_bytes(b"marker" * 4096)
        markers = sum(found.markers_found for found in room.below([b"markermarker"]))
        print(level, room.found.encryption or "none", room.found.is_image, markers > 0, sep="|", flush=True)
    print("ready", flush=True)
    time.sleep(120)
"""


@pytest.fixture(autouse=True, scope="module")
def makeable() -> None:
    for level in LEVELS:
        try:
            require_storage(level)
        except UsageError as lacking:
            require(False, str(lacking))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Answered:
    options = ("--vary", f"storage={','.join(LEVELS)}", "--vary", "cipher=none,aes-256", "--rounds", "1..1")
    return recorded(tmp_path_factory, "sqlite-storage", *options, "--size", "1MB", "--no-aa")


def by_condition(run: Answered, of: str) -> dict[tuple[str, str], list[Any]]:
    found: dict[tuple[str, str], list[Any]] = {}
    for one in run.document[of]:
        found.setdefault((one["condition"]["cipher"], one["condition"]["storage"]), []).append(one)
    return found


def test_every_layer_has_a_verdict_alone_and_with_the_cipher(run: Answered) -> None:
    primary = [one for one in run.document["verdicts"] if one["primary"]]
    judged = {(one["condition"]["cipher"], one["condition"]["storage"]) for one in primary}
    assert judged == {(cipher, level) for cipher in ("none", "aes-256") for level in LEVELS} - {("none", "plain")}
    assert {(v["baseline"]["cipher"], v["baseline"]["storage"]) for v in primary} == {("none", "plain")}


def test_the_image_shows_the_rows_of_the_plain_twin_alone_and_the_mount_those_of_all(run: Answered) -> None:
    states = {
        key: {one["file_class"]: one["state"] for one in found} for key, found in by_condition(run, "evidence").items()
    }
    assert states["none", "plain"]["storage"] == states["none", "plain"]["database"] == "plain"
    for level in LEVELS[1:]:
        assert (states["none", level]["database"], states["none", level]["storage"]) == ("mounted", "encrypted")
        assert (states["aes-256", level]["database"], states["aes-256", level]["storage"]) == ("encrypted",) * 2
    assert states["aes-256", "plain"]["storage"] == "encrypted"
    images = [one["files"] for found in by_condition(run, "evidence").values() for one in found]
    assert any(name.endswith(".img (image)") for names in images for name in names)


def test_what_is_in_force_is_said_with_the_kernels_driver(run: Answered) -> None:
    layers = {key: found[0] for key, found in by_condition(run, "storage").items()}
    assert layers["none", "fscrypt"]["encryption"] == "fscrypt (AES-256-XTS) under ext4"
    assert "aes" in layers["none", "fscrypt"]["driver"]
    assert layers["none", "fscrypt"]["driver"] == run.document["versions"]["kernel's AES-XTS"]
    assert (layers["none", "gocryptfs"]["encryption"], layers["none", "gocryptfs"]["driver"]) == ("gocryptfs", "")
    codes = {one["code"] for one in run.document["caution_codes"]}
    assert {"storage-mounted", "storage-cached", "storage-kernel-threads", "storage-fuse"} <= codes


def test_gocryptfs_is_in_the_cpu_time(run: Answered) -> None:
    cpu = {
        one["condition"]["storage"]: one["condition_value"]
        for one in run.document["verdicts"]
        if one["metric"] == "cpu_per_operation" and one["transaction"] == "all" and one["condition"]["cipher"] == "none"
    }
    baseline = next(one["baseline_value"] for one in run.document["verdicts"] if one["metric"] == "cpu_per_operation")
    assert cpu["gocryptfs"] > 1.5 * baseline  # seven times, where it was measured


def left(folder: Path) -> list[str]:
    mounts = [line for line in (read_text(Path("/proc/self/mountinfo")) or "").splitlines() if str(folder) in line]
    backing = [read_text(path) or "" for path in Path("/sys/block").glob("loop*/loop/backing_file")]
    commands = [read_text(path) or "" for path in Path("/proc").glob("[0-9]*/cmdline")]
    return [*mounts, *(one for one in (*backing, *commands) if str(folder) in one)]


def test_nothing_of_a_run_is_left(run: Answered) -> None:
    assert not left(run.place.twins)
    assert not list(run.place.twins.glob("twins-*"))


@pytest.mark.parametrize(
    ("number", "levels", "carrier"),
    [(signal.SIGINT, LEVELS, "images"), (signal.SIGKILL, LEVELS, "images"), (signal.SIGKILL, FOLDERS, "folders")],
)
def test_rooms_are_gone_after_a_kill(
    number: signal.Signals, levels: tuple[str, ...], carrier: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", ROOMS, str(tmp_path), ",".join(levels), carrier]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, process_group=0) as rooms:
        assert rooms.stdout is not None
        lines = list(iter(rooms.stdout.readline, "ready\n"))
        is_image = carrier == "images"
        assert [line.strip() for line in lines] == [
            f"{level}|{FOUND[level]}|{is_image}|{level == 'plain'}" for level in levels
        ]
        assert len(left(tmp_path / "twins-r1")) >= len(levels)
        os.kill(rooms.pid, number)
    until(lambda: not left(tmp_path / "twins-r1") and not list(tmp_path.glob("twins-*")))


def test_a_file_system_that_is_stopped_for_a_while_voids_the_block_and_for_ever_the_round(place: Place) -> None:
    options = (
        "--workload",
        "order-entry",
        "--size",
        "1MB",
        "--no-aa",
        "--no-bb",
        "--trial-time",
        "2s",
        *SELDOM,
    )
    storage = ("--vary", f"storage={','.join(FOLDERS)}", "--vary", "cipher=none")
    process = place.start(
        "run", "--json", *options, *storage, "--blocks", "2", "--rounds", "1..1", "--max-time", "600s"
    )
    read_until(process, "round 1: 2 blocks")
    stop_file_system_of(process.pid, seconds=1.5)
    read_until(process, "again: block 1, since the encrypted file system below a copy was stopped by a signal")
    stop_file_system_of(process.pid)
    read_until(process, "lost: block 1, since the encrypted file system below a copy was stopped by a signal")
    _, err = process.communicate(timeout=3 * PATIENCE_SECONDS)
    assert process.returncode in ANSWERED, err
    assert not list(place.twins.iterdir())


def stop_file_system_of(tdelta: int, seconds: float | None = None) -> None:
    (process,) = (one.pid for one in below(tdelta) if b"gocryptfs\0" in Path(f"/proc/{one.pid}/cmdline").read_bytes())
    os.kill(process, signal.SIGSTOP)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(process, signal.SIGCONT)
