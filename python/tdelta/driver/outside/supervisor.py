"""The process between tdelta and a load command: runs it, accounts for all of its processes, leaves none of them.

Orders come as JSON lines on standard input, one answer leaves for each as a JSON line. Whatever a command starts
becomes this process's child when its own parent ends (``PR_SET_CHILD_SUBREAPER``), even where it took a session of its
own; so their CPU is counted and they can be found and killed. The end of the input, however tdelta came to its end,
kills them and removes the private folder. Should this process be killed itself, the kernel kills the command, but not
what that has started.
Started as ``python -I -S supervisor.py FOLDER``: it imports nothing but Python's own library.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_POLITE_SECONDS = 2.0
_LINGER_SECONDS = 1.0
_POLL_SECONDS = 0.01

Order = dict[str, Any]


class Orders:
    """The lines of standard input, to be waited for along with other descriptors."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._buffer = b""
        self.has_ended = False

    def next(self) -> Order | None:
        """Wait for the next order; None at the end."""
        while b"\n" not in self._buffer:
            if self.has_ended:
                return None
            self._read()
        line, _, self._buffer = self._buffer.partition(b"\n")
        order: Order = json.loads(line)
        return order

    def says_stop(self) -> bool:
        """Whether there is a reason to stop in what has arrived, which has to be something."""
        if b"\n" not in self._buffer and not self.has_ended:
            self._read()
        return self.has_ended or (b"\n" in self._buffer and bool(self.next()))

    def _read(self) -> None:
        part = os.read(self.descriptor, 1 << 16)
        self._buffer += part
        self.has_ended = not part


def run(order: Order, orders: Orders, libc: ctypes.CDLL) -> Order:
    """Run one command until it ends, or is told to, or its time is over; nothing of it runs any more afterwards."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with Path(order["out"]).open("wb") as out, Path(order["err"]).open("wb") as err:
        began_ns = time.monotonic_ns()
        try:
            process = _start(order, out, err, libc)
        except OSError as error:
            return {"cannot_start": f"{error.strerror or error}"}
    ended_by = _wait(process.pid, orders, order["deadline_seconds"])
    elapsed_ns = time.monotonic_ns() - began_ns
    status = process.wait()
    left = _linger() if ended_by == "itself" else []
    _kill_children()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "status": status,
        "ended_by": ended_by,
        "elapsed_ns": elapsed_ns,
        "cpu_user_seconds": after.ru_utime - before.ru_utime,
        "cpu_system_seconds": after.ru_stime - before.ru_stime,
        "left": left,
    }


def _start(order: Order, out: BinaryIO, err: BinaryIO, libc: ctypes.CDLL) -> subprocess.Popen[bytes]:
    me = os.getpid()

    def die_with_supervisor() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != me:
            os._exit(1)

    return subprocess.Popen(
        order["argv"],
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        env=order["environment"],
        start_new_session=True,  # so that its process group is its own
        preexec_fn=die_with_supervisor,
    )


def _wait(pid: int, orders: Orders, seconds: float) -> str:
    """Wait for the command's end and say what brought it about: ``itself``, ``stop`` or ``deadline``.

    The command is not reaped here, so that its process group is certain to be its own whenever it is signalled.
    """
    with _descriptor_of(pid) as ending:
        ready = select.select([ending, orders.descriptor], [], [], seconds)[0]
        while ready and ending not in ready and not orders.says_stop():
            ready = select.select([ending, orders.descriptor], [], [], seconds)[0]
        if ending in ready:
            return "itself"
        os.killpg(pid, signal.SIGTERM)
        select.select([ending], [], [], 0.0 if orders.has_ended else _POLITE_SECONDS)
        os.killpg(pid, signal.SIGKILL)
        select.select([ending], [], [])
        return "stop" if ready else "deadline"


@contextlib.contextmanager
def _descriptor_of(pid: int) -> Iterator[int]:
    """A descriptor that can be read from once the process has ended."""
    descriptor = os.pidfd_open(pid)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _linger() -> list[str]:
    """Give what the command started a moment to end by itself. Returns the names of what then still runs."""
    give_up = time.monotonic() + _LINGER_SECONDS
    while (children := _children()) and time.monotonic() < give_up:
        time.sleep(_POLL_SECONDS)
    return sorted(_name(pid) for pid in children)


def _kill_children() -> None:
    """Kill children until there are none. A grandchild becomes a child when its parent is killed.

    Only children are signalled, since a child's id is its own until it is reaped here.
    """
    while children := _children():
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        time.sleep(_POLL_SECONDS)


def _children() -> list[int]:
    """This process's children that run; those that have ended are reaped."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return []
    me = str(os.getpid())
    return [int(path.name) for path in Path("/proc").glob("[0-9]*") if _parent(path) == me]


def _parent(path: Path) -> str:
    try:
        return (path / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
    except OSError:
        return ""


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return "?"


def main() -> None:
    """Serve orders until the input ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # each connection of the command is an open file
    orders = Orders(sys.stdin.fileno())
    try:
        while (order := orders.next()) is not None:
            if order["do"] == "run":
                sys.stdout.write(json.dumps(run(order, orders, libc)) + "\n")
                sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # tdelta is gone: nobody to tell
    finally:
        _kill_children()
        shutil.rmtree(sys.argv[1], ignore_errors=True)


if __name__ == "__main__":
    main()
