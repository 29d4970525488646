from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tdelta.engines.postgres.private import PostgresEngine
from tdelta.engines.postgres.profile import PROFILE
from tdelta.engines.postgres.protection import Protection
from tdelta.engines.postgres.storage import EncryptedFolder, Gocryptfs, Unencrypted
from tdelta.engines.postgres.tde import EXTENSION, FORK, PgTde
from tdelta.engines.profile import EngineInfo
from tdelta.engines.servers import ServerBinary
from tdelta.engines.shared.private import driver as private
from tdelta.errors import EngineUnavailable, EnvironmentFault
from tdelta.inputs import real_path
from tdelta.measure.encrypted_folders import require_encrypted
from tdelta.messages import Refusal

_FUSE_DEVICE = Path("/dev/fuse")
_ASK_SECONDS = 10.0


def protection_for(binary: ServerBinary, encrypted_folder: Path | None = None) -> Protection:
    """How the files of this server are to be encrypted.

    Args:
        encrypted_folder: the user's ``--encrypted-dir``, which comes first; then pg_tde or its fork, then gocryptfs.

    Raises:
        UsageError: nothing is seen to encrypt that folder.
        EngineUnavailable: gocryptfs is not installed.
        EnvironmentFault: this machine cannot mount it.
    """
    if encrypted_folder is not None:
        folder = real_path(encrypted_folder)
        return EncryptedFolder(folder, require_encrypted(folder))
    for name in (EXTENSION, FORK):
        if has_extension(binary, name):
            return PgTde(name)
    return Gocryptfs(gocryptfs_program())


def gocryptfs_program() -> Path:
    """Where gocryptfs is.

    Raises:
        EngineUnavailable: nowhere on the search path.
        EnvironmentFault: there is no device for file systems in user space.
    """
    found = shutil.which("gocryptfs")
    if found is None:
        raise EngineUnavailable(
            Refusal.of(
                "program-missing",
                program="gocryptfs, which encrypts PostgreSQL's files,",
                remedy="apt-get install gocryptfs, or name an encrypted folder with --encrypted-dir",
            )
        )
    if not os.access(_FUSE_DEVICE, os.R_OK | os.W_OK):
        raise EnvironmentFault(
            Refusal.of(
                "path-unusable",
                path=_FUSE_DEVICE,
                fault=(
                    "gocryptfs requires it (modprobe fuse; in containers --device /dev/fuse --cap-add SYS_ADMIN), or"
                    " use --encrypted-dir"
                ),
            )
        )
    return Path(found)


def has_extension(binary: ServerBinary, name: str) -> bool:
    """Whether a server can load an extension: its control file is in the server's own share folder."""
    folder = _share_folder(binary)
    return folder is not None and (folder / "extension" / f"{name}.control").is_file()


def _share_folder(binary: ServerBinary) -> Path | None:
    """What ``pg_config`` beside the server says; some packages leave that program out."""
    question = [str(binary.path.with_name("pg_config")), "--sharedir"]
    try:
        said = subprocess.run(question, capture_output=True, text=True, check=False, timeout=_ASK_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Path(said.stdout.strip()) if said.returncode == 0 else None


def driver(options: Mapping[str, Any]) -> private.PrivateDriver:
    """The newest server that is found, or the one that is asked for, with what encrypts its files.

    Where a run varies storage, the storage encrypts; a server does beside it only if it has pg_tde.

    Raises:
        EngineUnavailable: there is none, ``--server-binary`` is not that server, or nothing is there to encrypt with.
        UsageError: nothing is seen to encrypt the folder that is given.
        EnvironmentFault: this machine cannot.
    """

    def make(binary: ServerBinary) -> PostgresEngine:
        if "storage" in options["vary"] and not has_extension(binary, EXTENSION):
            return PostgresEngine(binary, Unencrypted())
        return _protected(binary, options["encrypted_dir"])

    return private.made(PROFILE, options, make)


def listed() -> Iterator[EngineInfo]:
    return private.listed(PROFILE, _protected)


def _protected(binary: ServerBinary, encrypted_folder: Path | None = None) -> PostgresEngine:
    return PostgresEngine(binary, protection_for(binary, encrypted_folder))
