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


@pytest.mark.parametrize(
    ("source", "devices", "found"),
    [
        ("dm-0", [("dm-0", "CRYPT-LUKS2-5a3f-luks-home", "")], "LUKS2 (dm-crypt) under xfs"),
        ("dm-1", [("dm-1", "LVM-Zk3q", "dm-0"), ("dm-0", "CRYPT-PLAIN-swap", "")], "PLAIN (dm-crypt) under xfs"),
        ("dm-1", [("dm-1", "LVM-CRYPT-", "sda2"), ("sda2", "", "")], None),
    ],
)
def test_dm_crypt_is_seen_by_the_uuid_of_a_device_or_of_one_below_it(
    tmp_path: Path, source: str, devices: list[tuple[str, str, str]], found: str | None
) -> None:
    root = mounted(tmp_path / "root", "xfs", f"/dev/{source}")
    for of in devices:
        device(root, *of)
    assert encryption_of(tmp_path, root) == found


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
    root = mounted(tmp_path / "root", "zfs", "tank/db")
    monkeypatch.setenv("PATH", str(program.parent))
    assert encryption_of(tmp_path, root) == expected
    monkeypatch.setenv("PATH", str(tmp_path))
    assert encryption_of(tmp_path, root) is None, "without its program it counts as not encrypted"


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with refused(UsageError, "folder-not-encrypted", option=Part("nowhere")):
        require_encrypted(tmp_path / "nowhere")


def test_a_folder_that_nothing_encrypts_is_refused_with_what_was_found() -> None:
    with refused(UsageError, "folder-not-encrypted", option=Part("shm"), found=Part("tmpfs")):
        require_encrypted(Path("/dev", "shm"))
