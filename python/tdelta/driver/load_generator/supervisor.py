"""The process between tdelta and a load generator: runs it, accounts for all of its processes, leaves none of them.

See `tdelta.driver.supervising`. The end of the input, however tdelta came to its end, kills what runs and removes the
private folder. Threads read what a command prints. Started as ``python -m tdelta.driver.load_generator.supervisor``.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import IO

from tdelta import own_folders
from tdelta.driver import tree
from tdelta.driver.supervising import Failed, Host, Input, Reply, Request, launch, supervise
from tdelta.measure.procfs import read_text

_POLITE_SECONDS = 2.0
_LINGER_SECONDS = 1.0
_POLL_SECONDS = 0.01
_KILL_SECONDS = 30.0
_CHUNK_BYTES = 1 << 16
_MOST_OUTPUT_BYTES = 8 << 20


class CommandHost(Host):
    def __init__(self, requests: Input) -> None:
        super().__init__(requests)
        self._folder: Path | None = None

    def do_keep(self, request: Request) -> None:
        """Take charge of a private folder; there is no answer to it."""
        self._folder = Path(request["folder"])

    def do_stop(self, _request: Request) -> None:
        """Nothing: between trials there is nothing to stop, and one that runs takes any request for a stop."""

    def do_run(self, request: Request) -> Reply:
        """Run one command until it ends, or is asked to, or its time is over; nothing of it runs afterwards."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began_ns = time.monotonic_ns()
        try:
            process = launch(tuple(request["argv"]), request["environment"], subprocess.PIPE, subprocess.PIPE)
        except OSError as error:
            raise Failed("cannot be started", f"{error.strerror or error}") from error
        said = [(_Tail(stream), request[name]) for stream, name in ((process.stdout, "out"), (process.stderr, "err"))]
        ended_by = self._wait(process.pid, request["deadline_seconds"])
        elapsed_ns = time.monotonic_ns() - began_ns
        status = process.wait()
        left = _linger() if ended_by == "itself" else []
        _kill_all()
        for tail, path in said:
            tail.write(Path(path))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "status": status,
            "ended_by": ended_by,
            "elapsed_ns": elapsed_ns,
            "cpu_user_seconds": after.ru_utime - before.ru_utime,
            "cpu_system_seconds": after.ru_stime - before.ru_stime,
            "left": left,
        }

    def _wait(self, pid: int, seconds: float) -> str:
        """Wait for the command's end and say what brought it about: ``itself``, ``stop`` or ``deadline``.

        The command is not reaped here, so that its process group is certain to be its own whenever it is signalled.

        Raises:
            ParentGone: the input ended meanwhile; the command is killed then.
        """
        ending = os.pidfd_open(pid)
        try:
            ready = select.select(
                [ending, self._requests.descriptor], [], [], 0.0 if self._requests.has_line else seconds
            )[0]
            if ending in ready:
                return "itself"
            is_requested = bool(ready) or self._requests.has_line
            if is_requested:
                self._requests.line(None)
            os.killpg(pid, signal.SIGTERM)
            select.select([ending], [], [], _POLITE_SECONDS)
            os.killpg(pid, signal.SIGKILL)
            select.select([ending], [], [])
            return "stop" if is_requested else "deadline"
        finally:
            os.close(ending)

    def end(self) -> None:
        _kill_all()
        if self._folder is not None:
            own_folders.remove(self._folder)


class _Tail:
    """Reads all that a command prints and keeps its end, in memory: what prints without end fills no disk."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        assert stream is not None  # noqa: S101 - it was asked for
        self._stream = stream
        self._kept = bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while chunk := os.read(self._stream.fileno(), _CHUNK_BYTES):
            self._kept += chunk
            if len(self._kept) > 2 * _MOST_OUTPUT_BYTES:
                del self._kept[:-_MOST_OUTPUT_BYTES]

    def write(self, path: Path) -> None:
        """Wait for its end, which all that could write have come to, and write what was kept."""
        self._reader.join(_KILL_SECONDS)
        path.write_bytes(self._kept[-_MOST_OUTPUT_BYTES:])
        if not self._reader.is_alive():
            self._stream.close()


def _linger() -> list[str]:
    """Give what the command started a moment to end by itself. Returns the names of what then still runs."""
    give_up = time.monotonic() + _LINGER_SECONDS
    while (found := tree.living(os.getpid())) and time.monotonic() < give_up:
        time.sleep(_POLL_SECONDS)
    return sorted((read_text(Path(f"/proc/{pid}/comm")) or "?").strip() for pid in found)


def _kill_all() -> None:
    """Kill whatever is below this process, and collect all of it, so that its CPU time is counted."""
    tree.kill(os.getpid(), _KILL_SECONDS)
    tree.reap(())


if __name__ == "__main__":
    supervise(CommandHost)
