"""What encrypts the folder of a twin: a policy of fscrypt, a gocryptfs over it, a LUKS device under its file system.

Keys are drawn here for one room, are never written anywhere, and are gone with the mount: fscrypt's lies in the
kernel's keyring of that file system, the others take it through a pipe. The numbers are of linux/fscrypt.h.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import struct
import subprocess
import time
from pathlib import Path

from tdelta.driver.mounts import is_mounted
from tdelta.driver.storage.images import run_tool
from tdelta.driver.supervisor import launch
from tdelta.errors import EnvironmentFault
from tdelta.messages import Refusal

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
_LOOK_AGAIN_SECONDS = 0.01


def encrypt_folder(mount: Path, folder: Path) -> None:
    """Put a key into the keyring of a mounted ext4, and have an empty folder in it encrypt whatever comes into it.

    Raises:
        EnvironmentFault: the kernel refuses.
    """
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

    Raises:
        StorageFault: it cannot be made.
        EnvironmentFault: it does not mount.
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
    """Make a LUKS2 device of a block device and open it.

    Raises:
        StorageFault: cryptsetup fails.
    """
    key = secrets.token_bytes(_LUKS_KEY_BYTES)
    quickly = ("--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000")  # a key of 512 random bits needs no slow one
    cipher = ("--type", "luks2", "--cipher", "aes-xts-plain64", "--key-size", "512")
    by_key = ("--batch-mode", "--key-file", "-")
    run_tool(("cryptsetup", "luksFormat", *by_key, *cipher, *quickly, str(device)), device, key)
    run_tool(("cryptsetup", "open", *by_key, str(device), name), device, key)
    return Path("/dev/mapper", name)


def close_luks_when_unused(device: Path, name: str) -> None:
    """Have an open device close itself when nobody uses it any more: with its mount, whoever undoes that."""
    run_tool(("cryptsetup", "close", "--deferred", name), device)
