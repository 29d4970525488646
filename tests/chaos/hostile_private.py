"""The cases of `hostile` on private servers: what others on the machine see of keys, and whom the servers let in.

Keys are read out of the servers' files of keys while these run, and looked for in the arguments and environments of all
of the run's processes, in what it wrote, in the store and in an export. PostgreSQL's password of gocryptfs is in no
file, so that only the second half is asked there. Another user of the machine may not enter a folder of the run's, and
no process of the run's listens on a network.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from hostile_kit import ANSWERED, BRIEF, LONGEST_SECONDS, Case, Here, ended, files_below

from support.running import Ran, private_servers
from tdelta.engines.server.installed import find_servers
from tdelta.errors import EngineUnavailable

AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
LOOK_SECONDS = 0.2
_KEY = re.compile(rb"[0-9A-Fa-f]{32,}")


def cases() -> Iterator[Case]:
    """Of every server that is here."""
    for engine in private_servers():
        with contextlib.suppress(EngineUnavailable):
            named = ("--engine", engine, "--server-binary", str(find_servers(engine)[0].path))
            yield Case(f"{engine}: keys, folders, sockets", partial(_watched, named), ANSWERED)


def _watched(named: tuple[str, ...], here: Here) -> Ran:
    process = here.start("run", *BRIEF, *named)
    keys: set[bytes] = set()
    seen: dict[str, bytes] = {}
    open_to_others: set[str] = set()
    listening: set[str] = set()
    give_up = time.monotonic() + LONGEST_SECONDS
    while process.poll() is None and time.monotonic() < give_up:
        keys |= _keys(here.twins)
        for pid, words in here.processes():
            seen[f"arguments of {words[:60]}"] = words.encode()
            seen[f"environment of {words[:60]}"] = _read(Path(f"/proc/{pid}/environ"))
            listening |= _listeners(pid)
        open_to_others |= set(_entered_by_others(here.twins))
        time.sleep(LOOK_SECONDS)
    ran = ended(process)
    if ran.code not in ANSWERED:
        return ran
    seen |= {"standard output": ran.out.encode(), "standard error": ran.err.encode()}
    seen["store"] = here.store.read_bytes()
    seen["export"] = here.shell("tdelta export last --format json").out.encode()
    found = [where for where, text in seen.items() for key in keys if key.lower() in text.lower()]
    assert keys or "postgres" in named, "no key was found: this case saw nothing"
    assert not found, f"a key is in {found[:3]}"
    assert not open_to_others, f"others may enter {open_to_others}"
    assert not listening, f"listens: {listening}"
    return ran


def _keys(folder: Path) -> set[bytes]:
    """The content of key files."""
    files = [path for path in files_below(folder) if "key" in path.name]
    return {key for path in files for key in _KEY.findall(_read(path))}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _entered_by_others(folder: Path) -> list[str]:
    """Folders of runs that another user can list."""
    folders = [path for path in folder.iterdir() if path.is_dir()] if folder.exists() else []
    return [
        str(path)
        for path in folders
        if subprocess.run([*AS_NOBODY, "ls", str(path)], capture_output=True, check=False).returncode == 0
    ]


def _listeners(pid: int) -> set[str]:
    """Sockets of a process that listen on a network."""
    inodes = set()
    for link in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            target = str(link.readlink())
        except OSError:
            continue
        inodes.add(target.removeprefix("socket:[").removesuffix("]"))
    tables = (Path(f"/proc/{pid}/net/{name}") for name in ("tcp", "tcp6"))
    rows = [line.split() for table in tables for line in _read(table).decode().splitlines()[1:]]
    return {f"{row[1]} of process {pid}" for row in rows if row[3] == "0A" and row[9] in inodes}
