import errno
import os
from pathlib import Path

import pytest

from support.refused import refused
from tdelta.errors import StorageFault
from tdelta.processes import TwinFolder, sweep


def test_the_folder_is_there_while_it_is_owned_and_gone_afterwards(tmp_path: Path) -> None:
    with TwinFolder(tmp_path / "base", "r1") as folder:
        folder.file("a").write_bytes(b"rows")
        assert folder.path.is_dir()
    assert list((tmp_path / "base").iterdir()) == []


def test_a_relative_base_makes_an_absolute_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with TwinFolder(Path("base"), "r1") as folder:
        assert folder.path == tmp_path / "base" / "twins-r1"


def test_the_folder_goes_when_a_run_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), TwinFolder(tmp_path, "r1"):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_a_run_has_one_owner_at_a_time(tmp_path: Path) -> None:
    with TwinFolder(tmp_path, "r1") as owned, refused(StorageFault, "folder-in-use", folder="twins-r1"):
        TwinFolder(tmp_path, "r1")
    assert not owned.path.exists()


def test_a_folder_that_cannot_be_made_is_a_fault_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with refused(StorageFault, "folder-unusable", folder="twins-r1", fault="Not a directory"):
        TwinFolder(tmp_path / "file", "r1")


def test_a_copy_is_the_same_bytes_in_a_file_of_its_own(tmp_path: Path) -> None:
    with TwinFolder(tmp_path, "r1") as folder:
        source = folder.file("load")
        source.write_bytes(os.urandom(100_000))
        copied = folder.copy(source, "twin")
        assert copied.read_bytes() == source.read_bytes()
        assert copied.stat().st_ino != source.stat().st_ino


def test_a_copy_that_does_not_fit_is_a_fault_with_a_remedy(tmp_path: Path) -> None:
    with TwinFolder(tmp_path, "r1") as folder:
        source = folder.file("load")
        source.write_bytes(bytes(100_000))
        folder.file("twin").symlink_to("/dev/full")
        with refused(StorageFault, "cannot-copy", fault=os.strerror(errno.ENOSPC)):
            folder.copy(source, "twin")


def test_removing_a_twin_removes_its_log_and_journal_too(tmp_path: Path) -> None:
    with TwinFolder(tmp_path, "r1") as folder:
        path = folder.file("twin")
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{path}{suffix}").touch()
        other = folder.file("other")
        other.touch()
        folder.remove(path)
        assert {file.name for file in folder.path.glob("*.db*")} == {other.name}


def test_a_folder_that_is_owned_or_not_tdeltas_is_never_swept(tmp_path: Path) -> None:
    (tmp_path / "twins-of-the-user").mkdir()
    (tmp_path / "photos").mkdir()
    with TwinFolder(tmp_path, "r1") as owned:
        assert sweep(tmp_path) == ()
        assert owned.path.is_dir()
    assert {folder.name for folder in tmp_path.iterdir()} == {"twins-of-the-user", "photos"}


def test_sweeping_where_nothing_ever_was_is_no_fault(tmp_path: Path) -> None:
    assert sweep(tmp_path / "never") == ()


def test_what_is_killed_while_it_removes_leaves_a_folder_that_is_still_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    folder = TwinFolder(tmp_path, "r1")
    (folder.path / "a-file").write_text("rows")
    (folder.path / "twin").mkdir()
    with monkeypatch.context() as patched:
        patched.setattr("tdelta.own_folders.shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            folder.__exit__(None, None, None)
    assert (folder.path / ".tdelta-owner").exists()
    folder.__exit__(None, None, None)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_a_supervisor_removes_while_it_is_made_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chmod, removed = os.fchmod, []

    def interfere(descriptor: int, mode: int) -> None:
        made = Path(f"/proc/self/fd/{descriptor}").readlink()
        if made.name == "twins-r1" and not removed:
            removed.append(made)
            made.rmdir()
        chmod(descriptor, mode)

    monkeypatch.setattr(os, "fchmod", interfere)
    with TwinFolder(tmp_path, "r1") as folder:
        assert removed == [folder.path]
        assert folder.path.is_dir()
    assert list(tmp_path.iterdir()) == []
