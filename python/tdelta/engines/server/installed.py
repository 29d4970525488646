"""Finds server programs, and tells them apart by what ``--version`` says.

A name proves nothing: Debian links ``mysqld`` to MariaDB. Looked at are the PATH, the folders in which distributions
and vendors put servers, and what ``scripts/mysql-server`` unpacked into tdelta's cache.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from tdelta.engines.base import Build
from tdelta.engines.profile import ServerProgram
from tdelta.engines.registry import profiles
from tdelta.engines.server.base import ServerBinary
from tdelta.errors import EngineUnavailable
from tdelta.messages import Refusal

_VERSION_SECONDS = 30.0
_FOLDERS = (
    "/usr/sbin",
    "/usr/bin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/local/libexec",
    "/usr/local/*/bin",
    "/opt/*/bin",
    "/opt/*/*/bin",
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/lib/percona-server-*/bin",
)
_WITHIN = ("bin", "sbin", "libexec", "", "usr/sbin", "usr/bin", "usr/libexec")
"""Where an installation has its server's program, below its prefix; first of all, where it is built from source."""

_LOADERS = ("usr/lib/*/ld-linux*.so.*", "usr/lib/ld-linux*.so.*", "usr/lib64/ld-linux*.so.*")
_ELF = b"\x7fELF"
_INTERPRETER = 3
_PROGRAM_HEADER_64 = 56


def find_servers(kind: str, given: Path | None = None) -> tuple[ServerBinary, ...]:
    """The servers of an engine that are installed or unpacked here, the newest first.

    Args:
        given: the one program that is to be taken (``--server-binary``).

    Raises:
        EngineUnavailable: there is none, or ``given`` is none.
    """
    if given is not None:
        return (_given(kind, given, f"--server-binary {given}"),)
    servers = installed_servers(kind)
    if not servers:
        program = _programs()[kind]
        names = " or ".join(program.names)
        raise EngineUnavailable(
            Refusal.of("no-server", kind=kind, names=names, folder=cache_folder(), remedy=program.remedy)
        )
    return servers


def installed_servers(kind: str) -> tuple[ServerBinary, ...]:
    """The same, without a complaint where there are none."""
    found = {server.path: server for server in _installed(kind)}
    return tuple(sorted(found.values(), key=lambda server: [-part for part in _numbers(server.version)]))


def named_servers(kind: str, paths: Sequence[Path]) -> dict[Path, ServerBinary]:
    """The servers of one engine that a user sets beside each other, in his order.

    Args:
        paths: of each the installation's prefix, the folder of its programs, or the program.

    Raises:
        EngineUnavailable: what is wrong with any of them, at once.
    """
    found: dict[Path, ServerBinary] = {}
    faults: list[Refusal] = []
    for path in paths:
        place = f"--vary server={path}"
        try:
            found[path] = _given(kind, _program_in(kind, path, place), place)
        except EngineUnavailable as fault:
            faults += fault.refusals
    if faults:
        raise EngineUnavailable(*faults)
    return found


def build_of(server: ServerBinary) -> Build:
    return Build(f"{server.path}: {server.text}", partial(_digest, server.path))


def _digest(path: Path) -> str:
    with path.open("rb") as program:
        return hashlib.file_digest(program, "sha256").hexdigest()


def _program_in(kind: str, path: Path, place: str) -> Path:
    if not path.is_dir():
        return path
    names = _programs()[kind].names
    there = [path / folder / name for name in names for folder in _WITHIN if (path / folder / name).is_file()]
    if not there:
        looked = ", ".join(dict.fromkeys(f"{folder}/" if folder else "itself" for folder in _WITHIN))
        raise EngineUnavailable(
            Refusal.of(
                "unexpected",
                expected=f"a server's program ({' or '.join(names)}) in this folder or below it",
                found=f"none in {looked}",
            ).at(place)
        )
    return there[0]


def _programs() -> dict[str, ServerProgram]:
    return {one.name: one.program for one in profiles() if one.program is not None}


def cache_folder() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "tdelta" / "servers"


def parse_version(text: str) -> tuple[str, str, str] | None:
    """Kind, product and version of what a program says of itself; None if it is no server that tdelta knows."""
    for kind, program in _programs().items():
        for pattern, product in program.products:
            if found := re.search(pattern, text):
                return kind, product, found[1]
    return None


def interpreter(path: Path) -> Path | None:
    """The dynamic loader that a 64-bit little-endian ELF program names; None for what is none (elf(5), PT_INTERP)."""
    try:
        with path.open("rb") as program:
            head = program.read(64)
            if not head.startswith(_ELF + b"\x02\x01"):
                return None
            offset, size, count = struct.unpack_from("<Q", head, 32) + struct.unpack_from("<HH", head, 54)
            program.seek(offset)
            headers = program.read(size * count)
            for start in range(0, size * count, _PROGRAM_HEADER_64):
                kind, _flags, where, _address, _physical, length = struct.unpack_from("<IIQQQQ", headers, start)
                if kind == _INTERPRETER:
                    program.seek(where)
                    return Path(os.fsdecode(program.read(length).rstrip(b"\0")))
    except (OSError, struct.error):
        pass
    return None


def _given(kind: str, path: Path, place: str) -> ServerBinary:
    if not path.is_file():
        raise EngineUnavailable(Refusal.of("unexpected", expected="a server's program", found="no file").at(place))
    server, said = _examined(path, _root_of(path.resolve()))
    if server is None:
        raise EngineUnavailable(
            Refusal.of("unexpected", expected="a server's program", found=f"{said} as the answer to --version").at(
                place
            )
        )
    if server.kind != kind:
        other = Refusal.of("unexpected", expected=f"a {kind} server", found=f"{server.kind} ({server.text})")
        raise EngineUnavailable(other.at(place))
    oldest = _programs()[server.kind].oldest
    if _numbers(server.version) < _numbers(oldest):
        old = Refusal.of("out-of-range", what=server.product, wanted=f"{oldest} or newer", found=server.version)
        raise EngineUnavailable(old.at(place))
    return server


def _installed(kind: str) -> Iterator[ServerBinary]:
    for path, root in _candidates(kind):
        server, _ = _examined(path, root)
        if server is not None and server.kind == kind:
            yield server


def _candidates(kind: str) -> Iterator[tuple[Path, Path | None]]:
    for name in _programs()[kind].names:
        if there := shutil.which(name):
            yield Path(there), None
        for pattern in _FOLDERS:
            yield from (
                (path, None) for path in sorted(Path("/").glob(f"{pattern[1:]}/{name}")) if os.access(path, os.X_OK)
            )
        for path in sorted(cache_folder().glob(f"*/usr/sbin/{name}")):
            yield path, path.parents[2]


def _root_of(path: Path) -> Path | None:
    """The folder a program was unpacked into, if it brings a C library of its own."""
    root = path.parents[2] if len(path.parents) > 2 else Path("/")  # ROOT/usr/sbin/mysqld
    return root if root != Path("/") and _launcher(root) else None


def _launcher(root: Path) -> tuple[str, ...]:
    loader = next((path for pattern in _LOADERS for path in sorted(root.glob(pattern))), None)
    return (str(loader), "--library-path", str(loader.parent)) if loader else ()


def _examined(path: Path, root: Path | None) -> tuple[ServerBinary | None, str]:
    launcher = _launcher(root) if root else ()
    text = _said([*launcher, str(path), "--version"])
    found = parse_version(text)
    if found is None:
        return None, text or "nothing"
    kind, product, version = found
    return ServerBinary(kind, product, path.resolve(), version, text, launcher, root, interpreter(path)), text


def _said(argv: list[str]) -> str:
    try:
        ran = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_VERSION_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (ran.stdout.strip() or ran.stderr.strip()).partition("\n")[0]


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]
