"""Which kinds of storage can be made on this machine, and what is missing for the others."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from tdelta.design.storages import USER_FOLDER, storage_of
from tdelta.errors import UsageError
from tdelta.measure.encrypted_folders import encryption_of
from tdelta.measure.procfs import read_text
from tdelta.messages import Refusal
from tdelta.processes.storage.images import LOOP_CONTROL, MAKER

_IN_IMAGES = ("fscrypt", "luks")
"""What needs an image, since the kernel encrypts below a mount of its own."""

_EXT4_ENCRYPTS = "sys/fs/ext4/features/encryption"
_MAPPER = "device-mapper"


def require_storage(level: str, root: Path = Path("/")) -> None:
    """See that storage of a level can be made here, or that the user's folder is encrypted.

    Args:
        root: where the kernel's files are, for tests.
    """
    if storage_of(level) is USER_FOLDER:
        _require_folder(Path(level))
        return
    missing = list(_missing(level, root))
    if missing:
        raise UsageError(Refusal.of("storage-missing", storage=level, missing="; ".join(missing)))


def _require_folder(folder: Path) -> None:
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(Refusal.of("path-unusable", path=str(folder), fault="not a writable folder"))
    if encryption_of(folder) is None:
        raise UsageError(Refusal.of("folder-not-encrypted", option=f"--vary storage={folder!s}", found="none"))


def _missing(level: str, root: Path) -> Iterator[str]:
    for program in storage_of(level).programs:
        if shutil.which(program) is None:
            yield f"the program {program}"
    if level in _IN_IMAGES:
        if os.geteuid() != 0:
            yield "root, who alone may mount images"
        elif not os.access(root / LOOP_CONTROL.relative_to("/"), os.R_OK | os.W_OK):
            yield f"loop devices ({LOOP_CONTROL})"
    if level == "fscrypt" and not (root / _EXT4_ENCRYPTS).exists():
        yield f"a kernel whose ext4 encrypts (/{_EXT4_ENCRYPTS}; CONFIG_FS_ENCRYPTION)"
    if level == "luks" and _MAPPER not in (read_text(root / "proc/misc") or ""):
        yield "a kernel with the device mapper (device-mapper in /proc/misc; CONFIG_BLK_DEV_DM, CONFIG_DM_CRYPT)"
    if level == "gocryptfs" and not os.access(root / "dev/fuse", os.R_OK | os.W_OK):
        yield "file systems in user space (/dev/fuse)"


def needs_images(levels: Sequence[str]) -> bool:
    """Whether rooms of these levels are images: where tdelta itself encrypts, and images can be mounted or must be."""
    encrypting = [level for level in levels if storage_of(level).is_made and storage_of(level).encrypts]
    return any(level in _IN_IMAGES for level in encrypting) or (bool(encrypting) and _can_mount_images())


def _can_mount_images() -> bool:
    return os.geteuid() == 0 and os.access(LOOP_CONTROL, os.R_OK | os.W_OK) and shutil.which(MAKER) is not None


def kernel_driver(name: str, root: Path = Path("/")) -> str:
    """The kernel's driver of an algorithm by ``/proc/crypto``, that of the highest priority; empty where it lists none.

    Algorithms are listed once they were asked for: ask while such storage is mounted.
    """
    found = []
    for entry in (read_text(root / "proc/crypto") or "").split("\n\n"):
        fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in entry.splitlines())}
        if fields.get("name") == name and fields.get("priority", "").isdigit():
            found.append((int(fields["priority"]), fields.get("driver", "")))
    return max(found, default=(0, ""))[1]
