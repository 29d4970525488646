"""Whether a folder lies on an encrypted file system, and on which: asked of the kernel, not of who mounted it.

Recognized are dm-crypt (LUKS, also below LVM or RAID), fscrypt (a policy on the folder), ZFS's own encryption, and the
file systems that encrypt whatever is in them. A disk that encrypts itself, or an encrypted volume of a cloud, cannot be
seen from here: it counts as not encrypted.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import struct
import subprocess
from pathlib import Path

from tdelta.errors import EnvironmentFault, UsageError
from tdelta.measure.machine import Mount, mount_of, parse_mountinfo
from tdelta.measure.procfs import read_text
from tdelta.messages import Refusal

_ENCRYPTING = {
    "fuse.gocryptfs": "gocryptfs",
    "fuse.encfs": "EncFS",
    "fuse.cryfs": "CryFS",
    "fuse.securefs": "securefs",
    "ecryptfs": "eCryptfs",
}

_GET_POLICY = 0xC0096616
"""``FS_IOC_GET_ENCRYPTION_POLICY_EX`` of linux/fscrypt.h: a size, then a policy of 12 (version 1) or 24 bytes."""

_POLICY_BYTES = 24
_FSCRYPT_MODES = {1: "AES-256-XTS", 5: "AES-128-CBC-ESSIV", 7: "SM4-XTS", 9: "Adiantum"}
_ZFS_SECONDS = 10.0


def require_encrypted(folder: Path) -> str:
    """The encryption of a user's folder, in words for people (``LUKS2 (dm-crypt) under ext4``); refuses one without."""
    if not folder.is_dir():
        raise UsageError(
            Refusal.of("folder-not-encrypted", option=f"--encrypted-dir {folder!s}", found="no such folder")
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise EnvironmentFault(Refusal.of("path-unusable", path=folder, fault="not writable for this user"))
    found = encryption_of(folder)
    if found is None:
        where = _mount(folder.resolve(), Path("/"))
        on = f"{where.file_system} from {where.source}" if where else "a file system that the kernel does not list"
        raise UsageError(Refusal.of("folder-not-encrypted", option=f"--encrypted-dir {folder!s}", found=on))
    return found


def encryption_of(folder: Path, root: Path = Path("/")) -> str | None:
    """The encryption of a folder's files, in words for people; None where nothing is seen."""
    mount = _mount(folder.resolve(), root)
    if mount is None:
        return None
    if mount.file_system in _ENCRYPTING:
        return _ENCRYPTING[mount.file_system]
    by = fscrypt_policy(folder) or _zfs(mount) or _dm_crypt(mount, root)
    return f"{by} under {mount.file_system}" if by else None


def fscrypt_policy(folder: Path) -> str | None:
    policy = bytearray(struct.pack("<Q", _POLICY_BYTES) + bytes(_POLICY_BYTES))
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.ioctl(descriptor, _GET_POLICY, policy, True)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    mode = policy[9]
    return f"fscrypt ({_FSCRYPT_MODES.get(mode, f'mode {mode}')})"


def _mount(folder: Path, root: Path) -> Mount | None:
    return mount_of(folder, parse_mountinfo(read_text(root / "proc/self/mountinfo") or ""))


def _zfs(mount: Mount) -> str | None:
    program = shutil.which("zfs") if mount.file_system == "zfs" else None
    if program is None:
        return None
    question = [program, "get", "-H", "-o", "value", "encryption", mount.source]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        said = subprocess.run(question, capture_output=True, text=True, check=False, timeout=_ZFS_SECONDS)
        value = said.stdout.strip()
        return f"ZFS encryption ({value})" if said.returncode == 0 and value not in ("off", "-", "") else None
    return None


def _dm_crypt(mount: Mount, root: Path) -> str | None:
    """The dm-crypt device at or below a mount's; its uuid begins with ``CRYPT-`` and its type."""
    if not mount.source.startswith("/dev/"):
        return None
    return _crypt_below(root / "sys/class/block" / Path(mount.source).resolve().name)


def _crypt_below(device: Path) -> str | None:
    uuid = read_text(device / "dm/uuid") or ""
    if uuid.startswith("CRYPT-"):
        return f"{uuid.split('-')[1]} (dm-crypt)"
    below = (_crypt_below(device.parent / slave.name) for slave in sorted(device.glob("slaves/*")))
    return next(filter(None, below), None)
