"""Which process a user's server is, where it runs on this machine: its CPU time can be read then.

Found by the socket that it listens on, and taken only if it is called as such a server is: what listens there may be
the mouth of a tunnel, or of a container, and its CPU time would say nothing. Nothing of the process is touched.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from tdelta.engines.shared.external.dsn import Dsn, address_of

if TYPE_CHECKING:
    import psutil

_PATIENCE_SECONDS = 5.0
_CREDENTIALS = struct.Struct("=3i")
"""``struct ucred``: process, user, group (socket(7), SO_PEERCRED)."""

_LOADERS = ("ld-linux", "ld.so")
"""By which a server is started that brings its own C library; its program is among the words that follow."""

_WORDS_READ = 8


def server_process(dsn: Dsn) -> int | None:
    """The first process of a server; None where it is not here, or cannot be told for certain."""
    import psutil

    with contextlib.suppress(psutil.Error):
        found = _behind(dsn.socket) if dsn.socket is not None else _listening(dsn) if dsn.is_here else None
        if found is not None and _is_server(psutil.Process(found), address_of(dsn.engine).processes):
            return found
    return None


def _behind(path: str) -> int | None:
    """Who listens on a Unix socket, as the kernel says; 0 is a process that this one cannot see."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(_PATIENCE_SECONDS)
            client.connect(path)
            credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    except OSError:
        return None
    process, _, _ = _CREDENTIALS.unpack(credentials)
    return int(process) or None


def _listening(dsn: Dsn) -> int | None:
    """Who listens on a port of this machine; of a family of processes that share the socket, the first."""
    import psutil

    hosts = ("127.0.0.1", "::1") if dsn.host in ("", "localhost") else (dsn.host,)
    wanted = {ipaddress.ip_address(host) for host in ("0.0.0.0", "::", *hosts)}  # noqa: S104 - compared, not bound
    listening = [one for one in psutil.net_connections("tcp") if one.status == psutil.CONN_LISTEN and one.pid]
    at_port = [one for one in listening if one.laddr.port == dsn.port and ipaddress.ip_address(one.laddr.ip) in wanted]
    firsts = {_first(psutil.Process(one.pid)) for one in at_port}
    return firsts.pop() if len(firsts) == 1 else None


def _first(process: psutil.Process) -> int:
    """The oldest ancestor of the same name: a server's workers share its socket."""
    while (parent := process.parent()) is not None and parent.name() == process.name():
        process = parent
    return int(process.pid)


def _is_server(process: psutil.Process, names: frozenset[str]) -> bool:
    """Whether a process is called as such a server, by itself or by the loader that it was started with."""
    name = process.name()
    words = process.cmdline()[:_WORDS_READ] if name.startswith(_LOADERS) else []
    return not names.isdisjoint({name, *(Path(word).name for word in words)})
