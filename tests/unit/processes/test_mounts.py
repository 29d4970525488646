import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tdelta import own_folders
from tdelta.processes import TwinFolder, sweep
from tdelta.processes.mounts import is_mounted, mounts_below, unmount, unmount_below

TABLE = """\
22 1 0:21 / / rw - ext4 /dev/root rw
30 22 0:40 / /twins/a rw,relatime - fuse.gocryptfs /c rw
31 30 0:41 / /twins/a/deep\\040er rw - tmpfs tmpfs rw
32 22 0:42 / /twins/ab rw - tmpfs tmpfs rw
"""


def test_mounts_below_a_folder_are_found_innermost_first_and_no_others() -> None:
    assert mounts_below(Path("/twins/a"), TABLE) == (Path("/twins/a/deep er"), Path("/twins/a"))
    assert mounts_below(Path("/photos"), TABLE) == ()


@contextmanager
def held(folder: Path) -> Iterator[int]:
    descriptor = own_folders.opened(folder)
    yield descriptor
    os.close(descriptor)


def mount(point: Path) -> None:
    point.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(point)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("cannot mount a file system here")


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    point = tmp_path / "twins-r1" / "instance" / "da ta"
    mount(point)
    yield point
    subprocess.run(["umount", "--lazy", str(point)], capture_output=True, check=False)


def test_a_mount_is_seen_and_undone(mounted: Path) -> None:
    assert is_mounted(mounted)
    assert not is_mounted(mounted.parent)
    assert unmount(mounted)
    assert not is_mounted(mounted)


def test_a_mount_in_use_stays_unless_it_is_undone_lazily(mounted: Path) -> None:
    with (mounted / "open").open("w"):
        assert not unmount(mounted)
        assert is_mounted(mounted)
        with held(mounted.parent) as descriptor:
            unmount_below(descriptor)
        assert not is_mounted(mounted)


def test_the_folder_of_a_killed_run_is_swept_with_what_is_mounted_in_it(mounted: Path, tmp_path: Path) -> None:
    (tmp_path / "twins-r1" / ".tdelta-owner").touch()
    (mounted / "kept").touch()
    assert sweep(tmp_path) == (tmp_path / "twins-r1",)
    assert list(tmp_path.iterdir()) == []
    assert not is_mounted(mounted)


def test_a_run_that_ends_unmounts_before_it_removes(tmp_path: Path) -> None:
    with TwinFolder(tmp_path, "r2") as folder:
        mount(folder.path / "data")
    assert not folder.path.exists()
