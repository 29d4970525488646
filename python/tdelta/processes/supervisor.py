"""A supervisor: the process between tdelta and programs that it starts, none of which outlives tdelta.

Ctrl-C and its like are not for it. Should it be killed itself, the kernel kills what it started. Started as ``python -m
tdelta.processes.supervisor``, it runs load generators, the programs of backups and the command of ``--restore``;
servers have one with more abilities.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from tdelta import own_folders
from tdelta.measure.private import private
from tdelta.measure.procfs import read_text
from tdelta.measure.starting import dying_with
from tdelta.processes import process_tree as tree
from tdelta.processes.rpc import Failed, Host, Reply, Request, serve

_STDERR = 2
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_USER = 1000
_POLITE_SECONDS = 2.0
_LINGER_SECONDS = 1.0
_POLL_SECONDS = 0.01
_KILL_SECONDS = 30.0
_CHUNK_BYTES = 1 << 16
_MOST_OUTPUT_BYTES = 8 << 20
_MOST_SAID_BYTES = 1 << 16


class Supervisor(Host):
    ignores = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    is_supervisor = True


class ProgramsHost(Supervisor):
    def __init__(self) -> None:
        super().__init__()
        self._folder: Path | None = None

    def do_hello(self, _request: Request) -> Reply:
        return {}

    def do_keep(self, request: Request) -> None:
        self._folder = Path(request["folder"])

    def do_stop(self, _request: Request) -> None:
        """Nothing: between runs there is nothing to stop, and one under way takes any request for a stop."""

    def do_run(self, request: Request) -> Reply:
        """Run programs, each of which reads what the one before it writes; nothing of them runs afterwards.

        They end by themselves, or are asked to, or their time is over. The last one writes to ``target``; without that
        the end of what it writes is kept, as of all they say, and written to the files ``out`` and ``err``. Without
        these it is the answer's ``said``, both in one: no full disk can take it away.
        ``most_bytes`` limits the size of each file that they write, and they have no network.
        """
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began_ns = time.monotonic_ns()
        said = {"err": _Tail()}
        if not request.get("target"):
            said["out"] = _Tail() if "out" in request else said["err"]
        try:
            processes = _started(request, said)
        finally:
            for tail in {*said.values()}:
                tail.begin()  # not earlier: programs are started by a process of one thread
        ended_by = self._wait([process.pid for process in processes], request["deadline_seconds"])
        elapsed_ns = time.monotonic_ns() - began_ns
        statuses = [process.wait() for process in processes]
        left = _linger() if ended_by == "itself" else []
        _kill_all()
        ends = {name: tail.end() for name, tail in said.items()}
        for name in request.keys() & ends.keys():
            with private(Path(request[name])) as file:
                file.write(ends[name])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "statuses": statuses,
            "ended_by": ended_by,
            "elapsed_ns": elapsed_ns,
            "cpu_user_seconds": after.ru_utime - before.ru_utime,
            "cpu_system_seconds": after.ru_stime - before.ru_stime,
            "left": left,
            "said": "" if "err" in request else ends["err"][-_MOST_SAID_BYTES:].decode(errors="replace"),
        }

    def _wait(self, pids: list[int], seconds: float) -> str:
        """Wait for the end of all and say what brought it about: ``itself``, ``stop`` or ``deadline``.

        None is reaped here, so that its process group is certain to be its own whenever it is signalled.

        Raises:
            ParentGone: the input ended meanwhile.
        """
        give_up = time.monotonic() + seconds
        with contextlib.ExitStack() as stack:
            endings = [os.pidfd_open(pid) for pid in pids]
            for ending in endings:
                stack.callback(os.close, ending)
            while endings:
                watched = [*endings, self.requests.descriptor]
                left_seconds = 0.0 if self.requests.has_line else max(0.0, give_up - time.monotonic())
                found = select.select(watched, [], [], left_seconds)[0]
                endings = [ending for ending in endings if ending not in found]
                if not endings:
                    return "itself"
                is_requested = self.requests.descriptor in found or self.requests.has_line
                if is_requested or not found:
                    if is_requested:
                        self.requests.next(None)
                    _end_groups(pids, endings)
                    return "stop" if is_requested else "deadline"
        return "itself"

    def end(self) -> None:
        _kill_all()
        if self._folder is not None:
            own_folders.remove(self._folder)


class _Tail:
    """Reads all that programs write to it and keeps the end, in memory: what prints without end fills no disk."""

    def __init__(self) -> None:
        self._source, self.target = os.pipe()
        self._kept = bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)

    def begin(self) -> None:
        self._reader.start()

    def _read(self) -> None:
        while chunk := os.read(self._source, _CHUNK_BYTES):
            self._kept += chunk
            if len(self._kept) > 2 * _MOST_OUTPUT_BYTES:
                del self._kept[:-_MOST_OUTPUT_BYTES]
        os.close(self._source)

    def end(self) -> bytes:
        """Wait for its end, which all that could write have come to, and return what was kept."""
        self._reader.join(_KILL_SECONDS)
        return bytes(self._kept[-_MOST_OUTPUT_BYTES:])


def _started(request: Request, said: Mapping[str, _Tail]) -> list[subprocess.Popen[bytes]]:
    """The programs of a pipeline, which hold the ends of their pipes, and nobody else."""
    processes: list[subprocess.Popen[bytes]] = []
    with contextlib.ExitStack() as files:
        for tail in {*said.values()}:
            files.callback(os.close, tail.target)
        source: IO[bytes] | None = None
        if request.get("source"):
            source = files.enter_context(Path(request["source"]).open("rb"))
        out = said["out"].target if "out" in said else files.enter_context(private(Path(request["target"])))
        folder = Path(request["folder"]) if "folder" in request else None
        stages = request["stages"]
        for argv in stages:
            to = subprocess.PIPE if len(processes) < len(stages) - 1 else out
            try:
                process = launch(
                    tuple(argv),
                    request["environment"],
                    to,
                    said["err"].target,
                    source=source,
                    folder=folder,
                    most_bytes=request.get("most_bytes"),
                )
            except OSError as error:
                tree.kill(os.getpid(), _KILL_SECONDS)
                raise Failed("cannot be started", f"{argv[0]}: {error.strerror or error}") from error
            if processes and source is not None:
                source.close()
            source = process.stdout
            processes.append(process)
    return processes


def _end_groups(pids: list[int], endings: list[int]) -> None:
    """Ask programs to end, and kill those that do not, whose descriptors are ``endings``."""
    for number, seconds in ((signal.SIGTERM, _POLITE_SECONDS), (signal.SIGKILL, _KILL_SECONDS)):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, number)
        give_up = time.monotonic() + seconds
        while endings and (left_seconds := give_up - time.monotonic()) > 0.0:
            ended = select.select(endings, [], [], left_seconds)[0]
            endings = [ending for ending in endings if ending not in ended]


def _linger() -> list[str]:
    """Give what programs started a moment to end by itself. Returns the names of what then still runs."""
    give_up = time.monotonic() + _LINGER_SECONDS
    while (found := tree.living(os.getpid())) and time.monotonic() < give_up:
        time.sleep(_POLL_SECONDS)
    return sorted((read_text(Path(f"/proc/{pid}/comm")) or "?").strip() for pid in found)


def _kill_all() -> None:
    """Kill whatever is below this process, and collect all of it, so that its CPU time is counted."""
    tree.kill(os.getpid(), _KILL_SECONDS)
    tree.reap(())


def launch(
    argv: tuple[str, ...],
    environment: Mapping[str, str],
    out: IO[bytes] | int,
    err: IO[bytes] | int,
    *,
    source: IO[bytes] | None = None,
    folder: Path | None = None,
    secret: str | None = None,
    leaves_root: bool = False,
    most_bytes: int | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program, in a process group of its own, tied to this process's life.

    It reads ``source``, or ``secret``, or nothing. ``leaves_root``: run as another user, for programs that refuse root.
    ``most_bytes`` limits the size of each file that it writes, and it has no network.
    """
    process = subprocess.Popen(
        argv,
        stdin=source or (subprocess.DEVNULL if secret is None else subprocess.PIPE),
        stdout=out,
        stderr=err,
        cwd=folder,
        env=environment,
        process_group=0,
        preexec_fn=_prepared(leaves_root=leaves_root and os.geteuid() == 0, most_bytes=most_bytes),
    )
    if secret is not None and process.stdin is not None:
        with process.stdin as standard_input:
            standard_input.write(secret.encode())
    return process


def _prepared(*, leaves_root: bool, most_bytes: int | None) -> Callable[[], None]:
    die_with_this = dying_with(os.getpid())

    def prepare() -> None:
        for number in Supervisor.ignores:
            signal.signal(number, signal.SIG_DFL)
        if leaves_root:
            _leave_root()
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
            _leave_network()
        die_with_this()  # after the above: a change of credentials takes it back

    return prepare


def _leave_root() -> None:
    """Enter a user namespace in which this user has the id of nobody in particular, for programs that refuse root."""
    if not _unshared(_CLONE_NEWUSER, _USER, _USER):
        os.write(_STDERR, b"cannot leave root: no user namespaces here; run tdelta as another user\n")
        os._exit(1)


def _leave_network() -> None:
    """Have no network, if the kernel permits it; a user other than root needs a user namespace for that."""
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        ctypes.CDLL(None).unshare(_CLONE_NEWNET)
    else:
        _unshared(_CLONE_NEWUSER | _CLONE_NEWNET, user, group)


def _unshared(namespaces: int, user_within: int, group_within: int) -> bool:
    user, group = os.geteuid(), os.getegid()  # within the namespace they are nobody's until they are mapped
    if ctypes.CDLL(None).unshare(namespaces) != 0:
        return False
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user_within} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group_within} {group} 1")
    return True


if __name__ == "__main__":
    serve(ProgramsHost())
