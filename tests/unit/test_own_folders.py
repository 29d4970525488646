"""Folders of this user's own: no other user's link, file or folder can redirect what is removed."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.refused import refused
from tdelta import own_folders
from tdelta.errors import StorageFault
from tdelta.processes.files import TwinFolder, default_base, is_owned, sweep, sweep_all
from tdelta.processes.mounts import unmount
from tdelta.store.store import make_private

STRANGER = 54321
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user, which only root may")


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder of this user's that is not a run's, as full as a run's would be."""
    folder = tmp_path / "victim"
    folder.mkdir()
    for name in (".tdelta-owner", "rows"):
        (folder / name).touch()
    return folder


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def kept(folder: Path) -> bool:
    return {path.name for path in folder.iterdir()} == {".tdelta-owner", "rows"}


def test_a_folder_is_removed_with_all_that_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "own" / "deeper" / "still").mkdir(parents=True)
    (tmp_path / "own" / "deeper" / "file").touch()
    own_folders.remove(tmp_path / "own")
    assert list(tmp_path.iterdir()) == []


def test_what_a_link_leads_to_is_never_removed(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "twins-20261101-z").symlink_to(victim)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "link").symlink_to(victim)
    own_folders.remove(tmp_path / "twins-20261101-z")
    own_folders.remove(tmp_path / "own")
    assert sweep(tmp_path) == ()
    assert kept(victim)
    assert not (tmp_path / "own").exists()


def test_a_folder_that_was_exchanged_while_it_is_removed_is_left_alone(
    tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "twins-r1"
    folder.mkdir()
    for name in (".tdelta-owner", "rows"):
        (folder / name).touch()
    empty = own_folders.empty

    def exchange(descriptor: int, but: str = "") -> bool:
        if not folder.is_symlink():
            folder.rename(tmp_path / "moved")
            folder.symlink_to(victim)
        return empty(descriptor, but)

    monkeypatch.setattr(own_folders, "empty", exchange)
    sweep(tmp_path)
    assert kept(victim)
    assert list((tmp_path / "moved").iterdir()) == []


def test_a_run_whose_folder_was_exchanged_removes_its_own(tmp_path: Path, victim: Path) -> None:
    with TwinFolder(tmp_path, "r1") as folder:
        (folder.path / "rows").touch()
        folder.path.rename(tmp_path / "moved")
        folder.path.symlink_to(victim)
        with pytest.raises(OSError, match=str(folder.path)):
            own_folders.unlink(folder.path / "rows")
    assert kept(victim)
    assert list((tmp_path / "moved").iterdir()) == []
    folder.path.unlink()


@needs_root
@pytest.mark.parametrize("strange", ["the folder", "its lock"])
def test_nothing_of_another_users_is_taken_for_a_run_of_ours(tmp_path: Path, victim: Path, strange: str) -> None:
    folder = victim.rename(tmp_path / "twins-r1")
    os.chown(folder if strange == "the folder" else folder / ".tdelta-owner", STRANGER, STRANGER)
    assert sweep(tmp_path) == ()
    assert not is_owned(tmp_path, "r1")
    assert kept(folder)


@needs_root
def test_a_folder_of_another_users_is_neither_removed_nor_used(tmp_path: Path) -> None:
    folder = tmp_path / "twins-r1"
    folder.mkdir(0o777)
    os.chown(folder, STRANGER, STRANGER)
    own_folders.remove(folder)
    with refused(StorageFault, "folder-unusable", folder="twins-r1"):
        TwinFolder(tmp_path, "r1")
    assert folder.is_dir()


@needs_root
@pytest.mark.parametrize(
    "act",
    [
        lambda path: own_folders.remove(path / "deeper"),
        lambda path: own_folders.remove_empty(path / "empty"),
        lambda path: own_folders.unlink(path / "file"),
        lambda path: own_folders.opened(path / "deeper"),
        lambda path: own_folders.make(path / "new"),
        lambda path: unmount(path / "deeper"),
    ],
)
def test_a_link_of_another_users_is_not_followed_on_the_way(tmp_path: Path, act: Callable[[Path], object]) -> None:
    target = tmp_path / "target"
    for name in ("deeper", "empty"):
        (target / name).mkdir(parents=True)
    (target / "deeper" / "file").touch()
    (target / "file").touch()
    before = sorted(target.rglob("*"))
    (tmp_path / "link").symlink_to(target)
    os.chown(tmp_path / "link", STRANGER, STRANGER, follow_symlinks=False)
    with contextlib.suppress(OSError):
        act(tmp_path / "link")
    assert sorted(target.rglob("*")) == before


def test_a_link_of_ones_own_leads_where_it_says(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "here").symlink_to("disk")
    with TwinFolder(tmp_path / "here" / ".." / "here", "r1"):
        assert (tmp_path / "disk" / "twins-r1").is_dir()
    assert list((tmp_path / "disk").iterdir()) == []


def test_links_that_lead_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with refused(StorageFault, "folder-unusable", fault="Too many levels of symbolic links"):
        TwinFolder(tmp_path / "a", "r1")


def test_cache_and_data_are_for_their_owner_only_whatever_the_umask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_umask: None
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with TwinFolder(default_base(), "r1"), TwinFolder(tmp_path / "other" / "place", "r2"):
        for folder in (default_base(), default_base() / "elsewhere", tmp_path / "other" / "place"):
            assert folder.stat().st_mode & 0o777 == 0o700, folder
    assert sweep_all() == ()
    make_private(tmp_path / "share" / "tdelta" / "runs.sqlite")
    for folder in (tmp_path / "share", tmp_path / "share" / "tdelta"):
        assert folder.stat().st_mode & 0o777 == 0o700, folder
