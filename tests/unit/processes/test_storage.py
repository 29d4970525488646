"""The storage that a machine can make, and which of the kernel's drivers would encrypt; without making any."""

from pathlib import Path

import pytest

from support.data import text_of
from tdelta.errors import UsageError
from tdelta.processes.storage import rooms
from tdelta.processes.storage.rooms import kernel_driver, needs_images, require_storage

CRYPTO = text_of("machines/crypto")


def missing(level: str, root: Path) -> str:
    with pytest.raises(UsageError) as refused:
        require_storage(level, root)
    (refusal,) = refused.value.refusals
    assert refusal.code == "storage-missing"
    return str(refusal)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root's machine with every program, and a kernel that has nothing."""
    monkeypatch.setattr(rooms.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(rooms.os, "geteuid", lambda: 0)
    return tmp_path


def with_loop(root: Path) -> None:
    (root / "dev").mkdir()
    (root / "dev" / "loop-control").touch()


def test_all_that_is_missing_is_named_at_once(machine: Path) -> None:
    said = missing("luks", machine)
    assert "loop" in said
    assert "CONFIG_DM_CRYPT" in said
    assert "CONFIG_FS_ENCRYPTION" in missing("fscrypt", machine)
    assert "/dev/fuse" in missing("gocryptfs", machine)


def test_a_program_and_root_are_named_where_they_are_missing(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms.shutil, "which", lambda _name: None)
    monkeypatch.setattr(rooms.os, "geteuid", lambda: 1000)
    said = missing("luks", machine)
    assert all(word in said for word in ("mkfs.ext4", "cryptsetup", "root"))


def test_what_the_kernel_has_is_enough(machine: Path) -> None:
    with_loop(machine)
    (machine / "sys" / "fs" / "ext4" / "features").mkdir(parents=True)
    (machine / "sys" / "fs" / "ext4" / "features" / "encryption").touch()
    (machine / "proc").mkdir()
    (machine / "proc" / "misc").write_text("236 device-mapper\n")
    for level in ("plain", "fscrypt", "luks"):
        require_storage(level, machine)


def test_a_folder_of_the_users_must_be_encrypted(tmp_path: Path) -> None:
    for folder, code in ((tmp_path / "none", "path-unusable"), (Path("/sys"), "folder-not-encrypted")):
        with pytest.raises(UsageError) as refused:
            require_storage(str(folder))
        assert [refusal.code for refusal in refused.value.refusals] == [code]


def test_images_are_made_where_the_kernel_encrypts_and_by_the_side_of_what_is_made_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rooms, "_can_mount_images", lambda: False)
    assert needs_images(("plain", "fscrypt"))
    assert not needs_images(("plain", "gocryptfs"))
    monkeypatch.setattr(rooms, "_can_mount_images", lambda: True)
    assert needs_images(("plain", "gocryptfs"))
    assert not needs_images(("plain", "/mnt/safe"))
    assert not needs_images(())


def test_the_driver_of_the_highest_priority_is_the_kernels(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "crypto").write_text(CRYPTO)
    assert kernel_driver("xts(aes)", tmp_path) == "xts-aes-aesni"
    assert kernel_driver("gcm(aes)", tmp_path) == ""
