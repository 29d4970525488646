"""Chooses the class of server that a PostgreSQL program is run as, by what encrypts its files."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tdelta.engines.postgres.profile import PROFILE
from tdelta.engines.postgres.server import Postgres
from tdelta.engines.postgres.storage import EncryptedFolder, Gocryptfs
from tdelta.engines.postgres.tde import EXTENSION, FORK, PgTde
from tdelta.engines.server.base import ServerBinary
from tdelta.engines.server.driver import started
from tdelta.errors import EngineUnavailable, EnvironmentFault
from tdelta.inputs import real_path
from tdelta.measure.encrypted_folders import require_encrypted
from tdelta.messages import Refusal

_FUSE_DEVICE = Path("/dev/fuse")
_ASK_SECONDS = 10.0


def protected(binary: ServerBinary, options: Mapping[str, Any]) -> Postgres:
    """A server with what encrypts its files: the user's folder comes first, then pg_tde or its fork, then gocryptfs.

    Where a run varies storage, the storage encrypts; a server does beside it only if it has pg_tde.

    Raises:
        UsageError: nothing is seen to encrypt that folder.
        EngineUnavailable: gocryptfs is not installed.
        EnvironmentFault: this machine cannot mount it.
    """
    if "storage" in options.get("vary", ()) and not has_extension(binary, EXTENSION):
        return Postgres(binary)
    if options.get("encrypted_dir") is not None:
        folder = real_path(options["encrypted_dir"])
        return EncryptedFolder(binary, folder, require_encrypted(folder))
    for name in (EXTENSION, FORK):
        if has_extension(binary, name):
            return PgTde(binary, name)
    return Gocryptfs(binary, gocryptfs_program())


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
    """The folder that ``pg_config`` beside the server names; some packages leave that program out."""
    question = [str(binary.path.with_name("pg_config")), "--sharedir"]
    try:
        said = subprocess.run(question, capture_output=True, text=True, check=False, timeout=_ASK_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Path(said.stdout.strip()) if said.returncode == 0 else None


SERVER = Postgres
driver, listed = started(PROFILE, protected)
