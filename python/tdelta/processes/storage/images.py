"""An image of ext4 in a loop device, mounted; and what encrypts the folder of a twin.

The loop device frees itself with the last mount (``LO_FLAGS_AUTOCLEAR``), so that who undoes the mount, be it the
keeper of a run that was killed, leaves no device either. Images are sparse: they take of the disk what was written to
them. All of a run are made alike, whatever encrypts what is in them. The numbers are of linux/loop.h, linux/mount.h
and linux/fscrypt.h.

A policy of fscrypt encrypts, a gocryptfs over a folder, or a LUKS device under its file system. Keys are drawn here for
one room, are never written anywhere, and are gone with the mount: fscrypt's lies in the kernel's keyring of that file
system, the others take it through a pipe.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import secrets
import shutil
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tdelta.errors import EnvironmentFault, StorageFault
from tdelta.measure.private import private
from tdelta.messages import Refusal
from tdelta.processes.mounts import is_mounted, unmount
from tdelta.processes.supervisor import launch

LOOP_CONTROL = Path("/dev/loop-control")
MAKER = "mkfs.ext4"
BLOCK_BYTES = 4096

_JOURNAL_MIB = 16
_MAKE_SECONDS = 120.0
_UNMOUNT_SECONDS = 20.0
_LOOK_AGAIN_SECONDS = 0.05
_TRIES = 16

_CTL_GET_FREE, _CONFIGURE, _GET_STATUS64 = 0x4C82, 0x4C0A, 0x4C05
_INFO = struct.Struct("<5Q4I64s64s32s2Q")
_FLAGS = 8
"""The place of ``lo_flags`` among the fields."""

_AUTOCLEAR, _DIRECT_IO = 4, 16
_NOSUID, _NODEV = 2, 4


_ADD_KEY = 0xC0506617
"""``_IOWR('f', 23, struct fscrypt_add_key_arg)``."""

_SET_POLICY = 0x800C6613
"""``_IOR('f', 19, struct fscrypt_policy_v1)``: its size is the first version's, whichever policy is set."""

_KEY = struct.Struct("<II32sII32s")
_BY_IDENTIFIER = 2
_KEY_BYTES = 64
_IDENTIFIER = slice(8, 24)
_VERSION_2, _CONTENTS_XTS, _NAMES_CTS, _PAD_32 = 2, 1, 4, 3

_LUKS_KEY_BYTES = 64
_GOCRYPTFS_SECONDS = 30.0


def make_image(path: Path, size_bytes: int) -> None:
    try:
        with private(path) as file:
            file.truncate(size_bytes)
    except OSError as error:
        raise StorageFault(Refusal.of("folder-unusable", folder=path, fault=error.strerror)) from error


def make_file_system(device: Path) -> None:
    features = ["-O", "encrypt", "-J", f"size={_JOURNAL_MIB}", "-m", "0", "-b", str(BLOCK_BYTES)]
    lazily = ["-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard"]
    run_tool((MAKER, "-q", "-F", *features, *lazily, str(device)), device)


def run_tool(argv: tuple[str, ...], image: Path, secret: bytes | None = None) -> None:
    """Run a program that makes or opens storage; ``secret`` goes to its standard input."""
    try:
        done = subprocess.run(argv, input=secret or b"", capture_output=True, check=False, timeout=_MAKE_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StorageFault(Refusal.of("folder-unusable", folder=image, fault=error)) from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2] or f"status {done.returncode}"
        raise StorageFault(Refusal.of("folder-unusable", folder=image, fault=f"{argv[0]}: {said}"))


@contextmanager
def attached(image: Path) -> Iterator[tuple[Path, bool]]:
    try:
        file = os.open(image, os.O_RDWR | os.O_CLOEXEC)
        try:
            device, path = _free_device(file)
        finally:
            os.close(file)
        try:
            status = bytearray(_INFO.size)
            fcntl.ioctl(device, _GET_STATUS64, status, True)
            yield path, bool(_INFO.unpack(status)[_FLAGS] & _DIRECT_IO)
        finally:
            os.close(device)
    except OSError as error:
        raise EnvironmentFault(
            Refusal.of("storage-refused", storage=f"a loop device of {image}", fault=error.strerror)
        ) from error


def _free_device(file: int) -> tuple[int, Path]:
    """A loop device that is ours; others may take the one that was free."""
    info = _INFO.pack(0, 0, 0, 0, 0, 0, 0, 0, _AUTOCLEAR | _DIRECT_IO, b"", b"", b"", 0, 0)
    config = struct.pack("<2I", file, BLOCK_BYTES) + info + bytes(64)
    for last in range(_TRIES, 0, -1):
        control = os.open(LOOP_CONTROL, os.O_RDWR | os.O_CLOEXEC)
        try:
            path = Path(f"/dev/loop{fcntl.ioctl(control, _CTL_GET_FREE)}")
        finally:
            os.close(control)
        device = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.ioctl(device, _CONFIGURE, config)
        except OSError as error:
            os.close(device)
            if error.errno != errno.EBUSY or last == 1:
                raise
            continue
        return device, path
    raise AssertionError  # the last try raises


def mount_ext4(device: Path, at: Path) -> None:
    """Mount an ext4; its inode tables are left as they are: to fill them would be work beside what is measured."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(os.fsencode(device), os.fsencode(at), b"ext4", _NOSUID | _NODEV, b"noinit_itable") != 0:
        fault = os.strerror(ctypes.get_errno())
        raise EnvironmentFault(Refusal.of("storage-refused", storage=f"a mount of {device} on {at}", fault=fault))


def detach(at: Path) -> None:
    """Undo a mount as soon as nobody uses it; one that stays in use is undone when it no longer is."""
    give_up = time.monotonic() + _UNMOUNT_SECONDS
    while not unmount(at):
        if time.monotonic() > give_up:
            unmount(at, lazily=True)
            return
        time.sleep(_LOOK_AGAIN_SECONDS)


def flush(folder: Path) -> None:
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            ctypes.CDLL(None, use_errno=True).syncfs(descriptor)
        finally:
            os.close(descriptor)


def encrypt_folder(mount: Path, folder: Path) -> None:
    """Put a key into the keyring of a mounted ext4, and have an empty folder in it encrypt whatever comes into it."""
    key = bytearray(_KEY.pack(_BY_IDENTIFIER, 0, b"", _KEY_BYTES, 0, b"") + secrets.token_bytes(_KEY_BYTES))
    try:
        _ioctl(mount, _ADD_KEY, key)
        policy = struct.pack("<4B4x16s", _VERSION_2, _CONTENTS_XTS, _NAMES_CTS, _PAD_32, bytes(key[_IDENTIFIER]))
        _ioctl(folder, _SET_POLICY, bytearray(policy))
    except OSError as error:
        raise EnvironmentFault(Refusal.of("storage-refused", storage="fscrypt", fault=error.strerror)) from error


def _ioctl(folder: Path, request: int, argument: bytearray) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(descriptor, request, argument, True)
    finally:
        os.close(descriptor)


def mount_gocryptfs(ciphertext: Path, at: Path, log: Path) -> subprocess.Popen[bytes]:
    """Make a gocryptfs in an empty folder and mount it. Its process dies with tdelta's, and ends with the mount.

    A password of 256 random bits needs no slow key derivation, so scrypt does the least that gocryptfs takes. Of its
    two implementations of AES it takes Go's, as for PostgreSQL's own twins.
    """
    program = shutil.which("gocryptfs") or "gocryptfs"
    password = secrets.token_hex(32)
    run_tool((program, "-init", "-quiet", "-scryptn", "10", "--", str(ciphertext)), ciphertext, password.encode())
    quietly = ("-fg", "-quiet", "-nosyslog", "-openssl=false")
    with log.open("ab") as said:
        serve = (program, *quietly, "--", str(ciphertext), str(at))
        process = launch(serve, os.environ, said, said, secret=password)
    give_up = time.monotonic() + _GOCRYPTFS_SECONDS
    while not is_mounted(at):
        if process.poll() is not None or time.monotonic() > give_up:
            process.kill()
            process.wait()
            words = log.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
            raise EnvironmentFault(
                Refusal.of("storage-refused", storage="gocryptfs", fault=words or "it did not mount")
            )
        time.sleep(_LOOK_AGAIN_SECONDS)
    return process


def open_luks(device: Path, name: str) -> Path:
    """Make a LUKS2 device of a block device and open it; raises ``StorageFault`` where cryptsetup fails."""
    key = secrets.token_bytes(_LUKS_KEY_BYTES)
    quickly = ("--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000")  # a key of 512 random bits needs no slow one
    cipher = ("--type", "luks2", "--cipher", "aes-xts-plain64", "--key-size", "512")
    by_key = ("--batch-mode", "--key-file", "-")
    run_tool(("cryptsetup", "luksFormat", *by_key, *cipher, *quickly, str(device)), device, key)
    run_tool(("cryptsetup", "open", *by_key, str(device), name), device, key)
    return Path("/dev/mapper", name)
