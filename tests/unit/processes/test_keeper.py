"""A folder of a killed run is removed by its keeper; and where that was killed, too, by the next command."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.processes import until
from tdelta.processes import TwinFolder, default_base, sweep_all

OWNER = """
import subprocess, sys
from pathlib import Path
from tdelta.processes import TwinFolder

folder = TwinFolder(Path(sys.argv[1]), "r1")
(folder.path / "load-0").mkdir()
folder.file("twin").write_bytes(b"rows")
print(folder._keeper.pid, flush=True)
sys.stdin.read()
"""
OWNER_OF_A_HOLDER = OWNER.replace(
    "sys.stdin.read()",
    """
import os, time
if os.fork() == 0:  # as a child is before it begins its program: it has the lock, and nothing else here
    for name in os.listdir("/proc/self/fd"):
        try:
            if not os.readlink(f"/proc/self/fd/{name}").endswith(".tdelta-owner"):
                os.close(int(name))
        except OSError:
            pass
    time.sleep(1.0)
    os._exit(0)
sys.stdin.read()
""",
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tdelta"


@contextmanager
def owned(base: Path, program: str = OWNER) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that owns a folder, and the process id of its keeper."""
    with subprocess.Popen(
        [sys.executable, "-c", program, str(base)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        yield owner, int(owner.stdout.readline())


def left_without_keeper(base: Path) -> Path:
    with owned(base) as (owner, keeper):
        os.kill(keeper, signal.SIGKILL)
        owner.kill()
    return base / "twins-r1"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT, signal.SIGUSR1])
def test_a_folder_goes_with_its_owner(tmp_path: Path, number: signal.Signals) -> None:
    with owned(tmp_path / "base") as (owner, _):
        assert (tmp_path / "base" / "twins-r1" / "twin.db").exists()
        owner.send_signal(number)
    until(lambda: list((tmp_path / "base").iterdir()) == [])
    until(lambda: not (default_base() / "elsewhere").exists())


def test_a_folder_goes_also_where_a_child_of_its_owner_holds_the_lock_a_while_longer(tmp_path: Path) -> None:
    with owned(tmp_path / "base", OWNER_OF_A_HOLDER) as (owner, _):
        time.sleep(0.2)  # the child has closed what is not the lock
        owner.kill()
    until(lambda: list((tmp_path / "base").iterdir()) == [])


def test_a_keeper_ends_with_a_folder_that_its_owner_removes(tmp_path: Path) -> None:
    with TwinFolder(tmp_path, "r1") as folder:
        keeper = folder._keeper.pid
    assert not Path(f"/proc/{keeper}").exists()


def test_a_keeper_takes_no_folder_from_an_owner_that_lives(tmp_path: Path) -> None:
    with TwinFolder(tmp_path, "r1") as folder:
        folder._keeper.close(1.0)  # it would wait for a minute
        assert folder.path.is_dir()


def test_where_the_keeper_was_killed_too_the_next_sweep_removes_what_is_left(cache: Path) -> None:
    folder = left_without_keeper(cache)
    assert (folder / "twin.db").exists()
    assert sweep_all() == (folder,)
    assert list(cache.iterdir()) == []


def test_a_sweep_finds_folders_in_other_places(tmp_path: Path, cache: Path) -> None:
    folder = left_without_keeper(tmp_path / "other")
    assert (folder / "twin.db").exists()
    assert sweep_all() == (folder,)
    assert list((tmp_path / "other").iterdir()) == list(cache.iterdir()) == []


def test_a_sweep_leaves_the_folder_of_an_owner_that_lives(tmp_path: Path) -> None:
    with TwinFolder(tmp_path / "other", "r1") as folder:
        assert sweep_all() == ()
        assert folder.path.is_dir()


def test_a_link_to_a_folder_that_is_gone_is_forgotten(tmp_path: Path, cache: Path) -> None:
    folder = left_without_keeper(tmp_path / "other")
    (folder / "twin.db").unlink()
    (folder / "load-0").rmdir()
    (folder / ".tdelta-owner").unlink()
    folder.rmdir()
    assert sweep_all() == ()
    assert list(cache.iterdir()) == []


def test_a_folder_and_its_files_are_for_their_owner_only_from_the_first_byte(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with TwinFolder(tmp_path / "base", "r1") as folder:
            source = tmp_path / "source"
            source.write_bytes(b"rows")
            copied = folder.copy(source, "twin")
            assert [path.stat().st_mode & 0o777 for path in (folder.path, copied)] == [0o700, 0o600]
    finally:
        os.umask(before)
