"""Loads a user's dump into a private server by the user's own command (``--restore 'CMD'``).

The command is the user's, so a shell runs it, and in a pipe every part of it must succeed: a dump that ends early must
not pass for a whole one (bash's ``pipefail``; without bash only the last part counts, which is told). It finds the
server by placeholders, by the variables that the engines' own clients read, or by a home folder made for it, and no
other server: it has no network (where the kernel lets a process leave it). It runs in a process group of its own, no
longer than a deadline, and nothing of it is left, whatever ends it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tdelta import own_folders
from tdelta.driver.load_generator.connections import from_users_home, inherited_environment, make_home
from tdelta.driver.signals import held
from tdelta.errors import RestoreFault
from tdelta.messages import Refusal

_PLACEHOLDER = re.compile(r"\{(socket|port|user|database|folder)\}")
_LAST_LINES = 15
_MOST_NAMED = 5
_LONGEST_LINE = 300
_GRACE_SECONDS = 2.0
_PAUSE_SECONDS = 0.05
_CHUNK_BYTES = 1 << 14
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_LEAST_FILE_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class DumpEncryption:
    """How dumps of an engine say which tables are encrypted, which is the twins' to decide.

    Attributes:
        options: the words, for people.
        remedy: a filter that takes them out of a dump.
        refusal: a pattern for what a client says of a plain server that refuses them.
        plain_sql: a query for tables that a dump left plain on an encrypted server, where a plain one cannot show that
            it says so.
    """

    options: str
    remedy: str
    refusal: str
    plain_sql: str = ""

    def fault(self, tables: Sequence[str]) -> Refusal:
        """What is said of a dump by which these tables are encrypted or not; or of the client's words alone."""
        said = ", ".join(tables[:_MOST_NAMED])
        return Refusal.of("dump-encrypts", said=said, options=self.options, remedy=self.remedy)


@dataclass(frozen=True, slots=True)
class RestoreTarget:
    """The private server that a dump is loaded into, as its engine's own clients find it.

    Attributes:
        placeholders: what stands for ``{socket}``, ``{port}``, ``{user}``, ``{database}`` and ``{folder}``, which
            is one of the run's, for files of the command's own.
        variables: the clients' own variables with the server's whereabouts.
        option_file: the same for clients of MySQL, which believe it more; empty for others.
        encryption: how dumps of the engine say which tables are encrypted.
    """

    placeholders: Mapping[str, str]
    variables: Mapping[str, str]
    option_file: str = ""
    encryption: DumpEncryption | None = None


def restore_command(command: str, target: RestoreTarget) -> str:
    """The user's command with the placeholders filled in, each as one word of the shell's; other braces stay."""
    found = target.placeholders
    return _PLACEHOLDER.sub(lambda match: shlex.quote(found[match[1]]), from_users_home(command))


def restore(command: str, target: RestoreTarget, seconds: float) -> None:
    """Run a user's command that loads a dump.

    Raises:
        RestoreFault: it failed or took too long; with its last lines.
    """
    folder = Path(target.placeholders["folder"])
    home = folder.with_name(f"{folder.name}-home")
    environment = {**inherited_environment(), **make_home(home, target.option_file), **target.variables}
    status = os.statvfs(folder)
    most_bytes = max(_LEAST_FILE_BYTES, status.f_bavail * status.f_frsize // 2)
    with contextlib.ExitStack() as ending:
        ending.callback(own_folders.remove, home)
        with held():  # a Ctrl-C before its end is arranged for would leave it running
            process = subprocess.Popen(
                [*_shell(), restore_command(command, target)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                process_group=0,
                preexec_fn=_confined(most_bytes),
            )
            assert process.stdout is not None  # noqa: S101 - it was asked for
            tail = _Tail(process.stdout)
            ending.callback(_end, process, tail)
        code = _waited(process, seconds)
    if code is None:
        raise RestoreFault(Refusal.of("restore-too-slow", seconds=seconds, command=command, tail=tail.last_lines()))
    if code != 0:
        asks = target.encryption
        if asks is not None and (said := re.search(asks.refusal, tail.last_lines())) is not None:
            raise RestoreFault(asks.fault([said[0]]))
        raise RestoreFault(Refusal.of("restore-failed", found=_code(code), command=command, tail=tail.last_lines()))


def _confined(most_bytes: int) -> Callable[[], None]:
    """What the command begins with: no file of its own grows beyond a limit, and it leaves the network."""
    unshare = ctypes.CDLL(None).unshare
    user, group = os.geteuid(), os.getegid()

    def confine() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
        if user == 0:
            unshare(_CLONE_NEWNET)
        elif unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0:  # with the same user and group within
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1")

    return confine


def _shell() -> list[str]:
    bash = shutil.which("bash")
    return [bash, "--noprofile", "--norc", "-o", "pipefail", "-c"] if bash is not None else ["/bin/sh", "-c"]


def is_strict() -> bool:
    """Whether a failure within a pipe is seen here."""
    return shutil.which("bash") is not None


def _waited(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    deadline = time.monotonic() + seconds
    while process.poll() is None:
        if time.monotonic() >= deadline:
            return None
        time.sleep(_PAUSE_SECONDS)
    return process.returncode


def _end(process: subprocess.Popen[bytes], tail: _Tail) -> None:
    with held():  # bounded, and a second Ctrl-C is not to cut it short
        _end_group(process)
        tail.end()


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End what is left of the command's processes: politely, then not."""
    if _signal(process.pid, signal.SIGTERM):
        deadline = time.monotonic() + _GRACE_SECONDS
        while time.monotonic() < deadline and _is_there(process):
            time.sleep(_PAUSE_SECONDS)
        _signal(process.pid, signal.SIGKILL)
    process.wait()


def _is_there(process: subprocess.Popen[bytes]) -> bool:
    process.poll()  # a zombie of ours would count as there
    return _signal(process.pid, 0)


def _signal(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


def _code(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else str(code)


class _Tail:
    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._lines: deque[bytes] = deque([b""], maxlen=_LAST_LINES)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(self._stream.fileno(), _CHUNK_BYTES):
                first, *rest = chunk.split(b"\n")
                self._lines[-1] = (self._lines[-1] + first)[:_LONGEST_LINE]
                self._lines.extend(line[:_LONGEST_LINE] for line in rest)

    def end(self) -> None:
        """Stop reading; a process that left its group may hold the other end still."""
        self._reader.join(_GRACE_SECONDS)
        if not self._reader.is_alive():
            self._stream.close()

    def last_lines(self) -> str:
        lines = [line.decode("utf-8", "replace").rstrip() for line in self._lines]
        shown = [line for line in lines if line]
        return "; it wrote nothing" if not shown else "\n  " + "\n  ".join(shown)
