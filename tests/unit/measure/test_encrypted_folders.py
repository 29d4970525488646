from pathlib import Path

import pytest

from support.refused import Part, refused
from tdelta.errors import UsageError
from tdelta.measure.encrypted_folders import encryption_of, require_encrypted


def mounted(root: Path, file_system: str, source: str) -> Path:
    """A machine whose only mount is of that kind."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text(f"27 1 254:0 / / rw - {file_system} {source} rw\n")
    return root


def device(root: Path, name: str, uuid: str = "", below: str = "") -> None:
    folder = root / "sys/class/block" / name
    (folder / "dm").mkdir(parents=True)
    (folder / "dm/uuid").write_text(f"{uuid}\n")
    if below:
        (folder / "slaves" / below).mkdir(parents=True)


def test_luks_is_seen_by_the_devices_uuid(tmp_path: Path) -> None:
    root = mounted(tmp_path / "root", "ext4", "/dev/dm-0")
    device(root, "dm-0", "CRYPT-LUKS2-5a3f-luks-home")
    assert encryption_of(tmp_path, root) == "LUKS2 (dm-crypt) under ext4"


def test_luks_is_seen_below_a_logical_volume(tmp_path: Path) -> None:
    root = mounted(tmp_path / "root", "xfs", "/dev/dm-1")
    device(root, "dm-1", "LVM-Zk3q", below="dm-0")
    device(root, "dm-0", "CRYPT-PLAIN-swap")
    assert encryption_of(tmp_path, root) == "PLAIN (dm-crypt) under xfs"


def test_a_logical_volume_on_a_bare_disk_is_not_encrypted(tmp_path: Path) -> None:
    root = mounted(tmp_path / "root", "xfs", "/dev/dm-1")
    device(root, "dm-1", "LVM-CRYPT-", below="sda2")
    device(root, "sda2")
    assert encryption_of(tmp_path, root) is None


@pytest.mark.parametrize(("kind", "name"), [("fuse.gocryptfs", "gocryptfs"), ("ecryptfs", "eCryptfs")])
def test_file_systems_that_encrypt_are_known_by_their_kind(tmp_path: Path, kind: str, name: str) -> None:
    assert encryption_of(tmp_path, mounted(tmp_path / "root", kind, "/home/.private")) == name


@pytest.mark.parametrize(
    ("answer", "expected"), [("aes-256-gcm", "ZFS encryption (aes-256-gcm) under zfs"), ("off", None)]
)
def test_zfs_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, expected: str | None) -> None:
    program = tmp_path / "bin" / "zfs"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n[ "$6" = tank/db ] && echo {answer}\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", str(program.parent))
    assert encryption_of(tmp_path, mounted(tmp_path / "root", "zfs", "tank/db")) == expected


def test_zfs_without_its_program_counts_as_not_encrypted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert encryption_of(tmp_path, mounted(tmp_path / "root", "zfs", "tank/db")) is None


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with refused(UsageError, "folder-not-encrypted", option=Part("nowhere")):
        require_encrypted(tmp_path / "nowhere")


def test_a_folder_that_nothing_encrypts_is_refused_with_what_was_found() -> None:
    with refused(UsageError, "folder-not-encrypted", option=Part("shm"), found=Part("tmpfs")):
        require_encrypted(Path("/dev", "shm"))
