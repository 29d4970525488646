"""Chooses the class of server that a PostgreSQL program is run as, by what encrypts its files."""

from __future__ import annotations

import os
import re
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
_VERSION = re.compile(r"^default_version\s*=\s*'([^']*)'", re.MULTILINE)
_FIRST_WITH_CIPHER = [2, 2]


def protected(binary: ServerBinary, options: Mapping[str, Any]) -> Postgres:
    """A server with what encrypts its files: the user's folder comes first, then pg_tde or its fork, then gocryptfs.

    Where a run varies storage, the storage encrypts; a server does beside it only if it has pg_tde.

    Raises:
        UsageError: nothing is seen to encrypt that folder.
        EngineUnavailable: gocryptfs is not installed, or pg_tde is too old.
        EnvironmentFault: this machine cannot mount it.
    """
    if "storage" in options.get("vary", ()) and extension_version(binary, EXTENSION) is None:
        return Postgres(binary)
    if options.get("encrypted_dir") is not None:
        folder = real_path(options["encrypted_dir"])
        return EncryptedFolder(binary, folder, require_encrypted(folder))
    for name in (EXTENSION, FORK):
        if (version := extension_version(binary, name)) is not None:
            _require_cipher(name, version)
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


def extension_version(binary: ServerBinary, name: str) -> str | None:
    """The version of an extension by its control file in the server's share folder, empty if it has none; None: it
    cannot be loaded.
    """
    folder = _share_folder(binary)
    if folder is None or not (control := folder / "extension" / f"{name}.control").is_file():
        return None
    found = _VERSION.search(control.read_text(encoding="utf-8"))
    return found[1] if found else ""


def _require_cipher(name: str, version: str) -> None:
    """See that pg_tde has a setting for its cipher: an older server would not start with it."""
    numbers = [int(part) for part in re.findall(r"\d+", version)]
    if name == EXTENSION and numbers and numbers < _FIRST_WITH_CIPHER:
        wanted = f"{'.'.join(map(str, _FIRST_WITH_CIPHER))} or newer"
        raise EngineUnavailable(Refusal.of("out-of-range", what=name, wanted=wanted, found=version))


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
