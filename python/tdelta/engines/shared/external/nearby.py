"""Which process a user's server is, where it runs on this machine: its CPU time can be read then.

Found by the socket that it listens on, and taken only if it is called as such a server is: what listens there may be
the mouth of a tunnel, or of a container, and its CPU time would say nothing. Nothing of the process is touched.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tdelta.engines.shared.external.dsn import Dsn, address_of

_PATIENCE_SECONDS = 5.0
_CREDENTIALS = struct.Struct("=3i")
"""``struct ucred``: process, user, group (socket(7), SO_PEERCRED)."""

_LISTENS = "0A"
"""The state of a socket that takes connections, as /proc/net/tcp has it."""

_LOADERS = ("ld-linux", "ld.so")
"""By which a server is started that brings its own C library; its program is among the words that follow."""

_WORDS_READ = 8
_SOCKET = re.compile(r"socket:\[(\d+)\]\Z")


def server_process(dsn: Dsn) -> int | None:
    """The first process of a server; None where it is not here, or cannot be told for certain."""
    found = _behind(dsn.socket) if dsn.socket is not None else _listening(dsn) if dsn.is_here else None
    return found if found is not None and _is_server(found, address_of(dsn.engine).processes) else None


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
    """Who listens on a port of this machine; of a family of processes that share the socket, the parent."""
    addresses = _addresses(dsn.host)
    nodes = {node for listed, node in _sockets(dsn.port) if listed.is_unspecified or listed in addresses}
    holders = set(_holders(nodes)) if nodes else set()
    firsts = [process for process in holders if _parent(process) not in holders]
    return firsts[0] if len(firsts) == 1 else None


def _addresses(host: str) -> frozenset[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    names = ("127.0.0.1", "::1") if host in ("", "localhost") else (host,)
    return frozenset(map(ipaddress.ip_address, names))


def _sockets(port: int) -> Iterator[tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, str]]:
    """The addresses and inodes of the sockets that listen on a port."""
    for table in ("tcp", "tcp6"):
        try:
            lines = Path("/proc/net", table).read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            address, _, at = fields[1].partition(":")
            if fields[3] == _LISTENS and int(at, 16) == port:
                yield _address(address), fields[9]


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address as /proc/net has it: words of 32 bits in the machine's own order."""
    packed = bytes.fromhex(text)
    words = [packed[at : at + 4] for at in range(0, len(packed), 4)]
    ordered = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    return ipaddress.ip_address(ordered)


def _holders(nodes: Iterable[str]) -> Iterator[int]:
    """The processes that hold one of these sockets, as far as this user may look."""
    wanted = frozenset(nodes)
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            links = [str(entry.readlink()) for entry in (folder / "fd").iterdir()]
        except OSError:
            continue
        if any((found := _SOCKET.match(link)) is not None and found[1] in wanted for link in links):
            yield int(folder.name)


def _parent(process: int) -> int | None:
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None


def _is_server(process: int, names: frozenset[str]) -> bool:
    """Whether a process is called as such a server, by itself or by the loader that it was started with."""
    folder = Path(f"/proc/{process}")
    try:
        name = (folder / "comm").read_text().strip()
        words = (folder / "cmdline").read_bytes().split(b"\0")[:_WORDS_READ]
    except OSError:
        return False
    loaded = {Path(os.fsdecode(word)).name for word in words} if name.startswith(_LOADERS) else set()
    return not names.isdisjoint({name} | loaded)
