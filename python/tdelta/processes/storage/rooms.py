"""Rooms: the folder that one instance lives in, on the storage of its condition, and what lies below it.

Twins of every kind lie on images of one kind (ext4 in a loop device), so that they differ in encryption only; what
gocryptfs keeps lies on such an image, too. Where no level needs an image, and none can be mounted, rooms are folders.
All of it lies in the folder of the run, whose keeper undoes the mounts in it when tdelta dies.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tdelta import own_folders
from tdelta.design.storages import USER_FOLDER, is_user_folder, storage_of
from tdelta.errors import EnvironmentFault, UsageError
from tdelta.evidence import FileClass, MarkerHit, TwinFile, search
from tdelta.measure.encrypted_folders import encryption_of
from tdelta.measure.procfs import read_text
from tdelta.messages import Refusal
from tdelta.processes.files import TwinFolder, sweep
from tdelta.processes.process_tree import usage
from tdelta.processes.storage import images
from tdelta.processes.storage.images import LOOP_CONTROL, MAKER
from tdelta.processes.workers import relying_on
from tdelta.records import StorageFound, Usage

_IN_IMAGES = ("fscrypt", "luks")
"""Storage that needs an image, since the kernel encrypts below a mount of its own."""

_EXT4_ENCRYPTS = "sys/fs/ext4/features/encryption"
_MAPPER = "device-mapper"


def require_storage(level: str, root: Path = Path("/")) -> None:
    """See that storage of a level can be made here, or that the user's folder is encrypted; ``root`` is for tests."""
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


_END_SECONDS = 20.0
_KERNEL_CIPHER = "xts(aes)"


@dataclass(frozen=True, slots=True)
class Room:
    """The folder of one instance. What is in it can be read in the clear as long as it is mounted.

    ``kept`` lies below it, the image or a folder of files; None where that is the user's. The ``process`` is
    what encrypts; None where the kernel does.
    """

    path: Path
    found: StorageFound
    kept: Path | None
    process: subprocess.Popen[bytes] | None = None

    def usage(self) -> Usage:
        """Resources of the encrypting process so far; nothing of the kernel's own threads, which are nobody's."""
        return Usage() if self.process is None else usage(self.process.pid)

    def below(self, needles: Sequence[bytes]) -> tuple[MarkerHit, ...]:
        if self.kept is None:
            return ()
        for folder in (self.path, self.path.parent):  # gocryptfs first, then what it keeps
            images.flush(folder)
        if self.kept.is_file():
            name, paths = f"{self.kept.name} (image)", [self.kept]
        else:
            paths = [path for path in self.kept.rglob("*") if path.is_file() and not path.is_symlink()]
            name = f"{self.kept.name}/ ({len(paths)} files)"
        found = search([_file(path) for path in paths], needles)
        scanned, markers = sum(one.scanned_bytes for one in found), sum(one.markers_found for one in found)
        return (MarkerHit(name, FileClass.STORAGE, scanned, markers),)


class Rooms:
    """All rooms of one run; an image holds ``image_bytes`` at most."""

    def __init__(self, folder: TwinFolder, levels: Sequence[str], image_bytes: int) -> None:
        self._folder = folder
        self._has_images = needs_images(levels)
        self._image_bytes = image_bytes
        self._rooms: dict[str, Room] = {}
        self.found: dict[str, StorageFound] = {}
        """The storage that was found in the rooms of each level."""

    @contextlib.contextmanager
    def room(self, level: str, name: str) -> Iterator[Room]:
        with contextlib.ExitStack() as stack:
            room = self._own(level, name, stack) if is_user_folder(level) else self._made(level, name, stack)
            _require_in_force(level, room)
            if room.process is not None:
                stack.enter_context(relying_on("the encrypted file system below a copy", room.process.pid))
            self._rooms[name] = room
            try:
                yield room
            finally:  # what the kernel takes is listed once it was needed
                self.found[level] = replace(room.found, driver=kernel_driver(_KERNEL_CIPHER))
                del self._rooms[name]

    def usage(self, name: str) -> Usage:
        return self._rooms[name].usage() if name in self._rooms else Usage()

    @property
    def processes(self) -> tuple[int, ...]:
        return tuple(room.process.pid for room in self._rooms.values() if room.process is not None)

    def below(self, name: str, needles: Sequence[bytes]) -> tuple[MarkerHit, ...]:
        return self._rooms[name].below(needles) if name in self._rooms else ()

    def _own(self, level: str, name: str, stack: contextlib.ExitStack) -> Room:
        home = Path(level)
        sweep(home)
        path = stack.enter_context(TwinFolder(home, f"{self._folder.run_id}-{name}")).path
        return Room(path, StorageFound(encryption_of(path) or "", is_image=False, is_direct=False), None)

    def _made(self, level: str, name: str, stack: contextlib.ExitStack) -> Room:
        base = self._folder.path / f"disk-{name}"
        image = base.with_suffix(".img") if self._has_images else None
        base.mkdir(mode=0o700)
        stack.callback(own_folders.remove, base)
        is_direct = False
        if image is not None:
            stack.callback(image.unlink, missing_ok=True)
            images.make_image(image, self._image_bytes)
            is_direct = _mounted(level, image, base)
            stack.callback(images.detach, base)
        home, kept, process = base / "twin", image, None
        home.mkdir(mode=0o700)
        if level == "fscrypt":
            images.encrypt_folder(base, home)
        if level == "gocryptfs":
            ciphertext = base / "ciphertext"
            ciphertext.mkdir(mode=0o700)
            process = images.mount_gocryptfs(ciphertext, home, base / "gocryptfs.log")
            stack.callback(_end, process)
            stack.callback(images.detach, home)
            kept = image or ciphertext
        encryption = encryption_of(home) or ""
        return Room(home, StorageFound(encryption, image is not None, is_direct), kept or home, process)


def _mounted(level: str, image: Path, at: Path) -> bool:
    """Mount an image, by LUKS where that is the level. Returns whether its loop device reads and writes directly."""
    with images.attached(image) as (device, is_direct):
        if level != "luks":
            images.make_file_system(device)
            images.mount_ext4(device, at)
            return is_direct
        name = f"tdelta-{at.parent.name}-{at.name}"
        opened = images.open_luks(device, name)
        try:
            images.make_file_system(opened)
            images.mount_ext4(opened, at)
        finally:  # it closes itself when nobody uses it any more: with its mount, whoever undoes that
            images.run_tool(("cryptsetup", "close", "--deferred", name), device)
        return is_direct


def _require_in_force(level: str, room: Room) -> None:
    wanted, found = storage_of(level), room.found.encryption
    is_right = bool(found) == wanted.encrypts and found.startswith(wanted.seen)
    if not is_right:
        raise EnvironmentFault(
            Refusal.of("storage-refused", storage=level, fault=f"{found or 'no encryption'} found there")
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait for a file system whose mount is undone; end one that goes on."""
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _file(path: Path) -> TwinFile:
    status = path.stat()
    return TwinFile(path.name, str(path), FileClass.STORAGE, (status.st_dev, status.st_ino))
