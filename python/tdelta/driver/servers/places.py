"""Where a server's folder and socket go: a Unix socket's path is at most 107 bytes, and folders may be deep."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path

from tdelta.driver.servers.recipes import ServerPaths

_SOCKET_BYTES = 107
_SOCKET_NAME = "s"


def place_for(folder: Path, socket_name: str = _SOCKET_NAME) -> ServerPaths:
    """The place of a server in ``folder``. Makes nothing: the supervisor does, and removes it.

    The socket lies in the folder if its path is short enough, else in one of its own, which nobody else may enter.
    """
    near = folder / socket_name
    if len(os.fsencode(near)) <= _SOCKET_BYTES:
        return ServerPaths(folder, near)
    return ServerPaths(folder, _runtime_folder() / f"tdelta-{secrets.token_hex(6)}" / socket_name)


def _runtime_folder() -> Path:
    named = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    if named.is_absolute() and os.access(named, os.W_OK):
        return named
    return Path(tempfile.gettempdir())
